//! The page in a real browser: `wasm-pack test --headless --chrome`. The same input gives the same bits as natively,
//! where the tests of `ratescope-lab` wrote them; and the class that the scripts of the page use makes a picture of a
//! click.

use crate::page::Page;
use crate::{common, runs};
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_replay_has_the_committed_bits() {
    common::assert_same_lines(&common::bits(), include_str!("vectors/bits.txt"));
}

#[wasm_bindgen_test]
fn the_limiters_make_the_committed_decisions() {
    let committed = include_str!("vectors/limiters.txt");
    common::assert_same_lines(&common::limiters::decisions(), committed);
}

#[wasm_bindgen_test]
fn the_runs_have_the_committed_columns() {
    common::assert_same_lines(&runs::runs(), include_str!("vectors/runs.txt"));
}

#[wasm_bindgen_test]
fn the_naughty_user_on_redis() {
    common::limiters::assert_naughty_user();
}

#[wasm_bindgen_test]
fn numbers_are_written_as_natively() {
    common::assert_decimals();
}

const SIZE: [f64; 2] = [600.0, 300.0];

/// A view of the page that has drawn its first frame, and its canvas.
fn shown(view: &str, fragment: &str) -> (Page, HtmlCanvasElement) {
    let document = web_sys::window().unwrap().document().unwrap();
    let canvas: HtmlCanvasElement = document.create_element("canvas").unwrap().unchecked_into();
    let mut page = Page::new(canvas.clone(), view).unwrap();
    page.open(fragment);
    page.resize(SIZE[0], SIZE[1], 1.0, None).unwrap();
    page.frame(1000.0).unwrap();
    (page, canvas)
}

/// The number of different colours on the canvas.
fn colours(canvas: &HtmlCanvasElement) -> usize {
    let context = canvas.get_context("2d").unwrap().unwrap();
    let context: CanvasRenderingContext2d = context.unchecked_into();
    let data = context.get_image_data(0.0, 0.0, SIZE[0], SIZE[1]).unwrap().data();
    let mut pixels: Vec<&[u8]> = data.0.chunks(4).collect();
    pixels.sort_unstable();
    pixels.dedup();
    pixels.len()
}

#[wasm_bindgen_test]
fn a_canvas_is_painted() {
    let (_page, canvas) = shown("scope", "auto-rate=2&at=5");
    assert_eq!([canvas.width(), canvas.height()], [600, 300]);
    assert!(colours(&canvas) > 1);
}

/// Without a log, and without a service.
#[wasm_bindgen_test]
fn a_view_of_nothing_yet_is_blank() {
    for view in ["tune", "live"] {
        let (_page, canvas) = shown(view, "");
        assert_eq!(colours(&canvas), 1, "{view}");
    }
}

#[wasm_bindgen_test]
fn a_click_becomes_an_event() {
    let (mut page, canvas) = shown("scope", "auto=off&at=5");
    let before = page.svg();
    assert!(!page.recording().contains("events"), "{}", page.recording());
    page.press(300.0, 150.0, false, false);
    assert!(!page.release(1010.0) || !page.svg().is_empty());
    page.frame(1020.0).unwrap();
    assert_ne!(page.svg(), before);
    assert!(page.recording().contains("event"), "the link repeats it: {}", page.recording());
    assert!(colours(&canvas) > 1);
}

#[wasm_bindgen_test]
fn time_passes_from_frame_to_frame_unless_it_is_paused() {
    let (mut page, _canvas) = shown("scope", "auto-rate=2&at=5");
    let first = page.svg();
    page.frame(2000.0).unwrap();
    let second = page.svg();
    assert_ne!(first, second);
    page.pause();
    page.frame(2500.0).unwrap();
    let paused = page.svg();
    page.frame(9000.0).unwrap();
    assert_eq!(page.svg(), paused);
}

#[wasm_bindgen_test]
fn a_wrong_link_is_told_and_changes_nothing() {
    let (mut page, _canvas) = shown("scope", "limit=7/1m");
    page.open("limit=many");
    assert!(page.has_problem());
    assert_eq!(page.set("limit", "8"), "");
    assert_eq!(page.get("limit"), "8");
}
