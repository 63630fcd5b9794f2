//! The same input gives the same bits in the page as natively, where `tests/bits.rs` wrote them,
//! and the same texts.
//!
//! `wasm-pack test --headless --chrome -- --features page-tune --test web`
#![cfg(all(feature = "page", target_arch = "wasm32"))]

mod common;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

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
    common::assert_same_lines(&common::runs::runs(), include_str!("vectors/runs.txt"));
}

#[wasm_bindgen_test]
fn the_naughty_user_on_redis() {
    common::limiters::assert_naughty_user();
}

#[wasm_bindgen_test]
fn numbers_are_written_as_natively() {
    common::assert_decimals();
}

#[wasm_bindgen_test]
fn every_rate_of_the_replay_comes_back_from_its_text() {
    for line in include_str!("vectors/bits.txt").lines() {
        for bits in line.split(' ').skip(2) {
            common::assert_comes_back(f64::from_bits(u64::from_str_radix(bits, 16).unwrap()));
        }
    }
}
