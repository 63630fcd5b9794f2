//! In any view nothing overlaps, and everything is a number on the canvas.

use super::{at, run, texts, tops, view};
use proptest::prelude::*;
use ratescope::{Span, Time};
use ratescope_lab::plot::{Anchor, Mark, Point, Rect, Text};
use ratescope_lab::run::pace::Gap;
use ratescope_lab::view::Viewport;
use ratescope_lab::view::compare::{Below, draw, head, height, pitch, readings, total, words};

/// About where a text is: narrower than it may be, so that texts that overlap here do so anywhere.
fn extent(text: &Text) -> Rect {
    let (width, height) = (text.text.chars().count() as f64 * text.size * 0.5, 0.75 * text.size);
    let x = match text.anchor {
        Anchor::Start => text.at.x,
        Anchor::Middle => text.at.x - width / 2.0,
        Anchor::End => text.at.x - width,
    };
    Rect { x, y: text.at.y - height / 2.0, width, height }
}

#[test]
fn no_two_labels_overlap() {
    let lanes = ["token-bucket"; 12].join(";");
    let many = format!("at=50&lanes={lanes}");
    let bursts = "auto=off&script=10%20at%204.5s,10%20at%205.5s&window=10s&at=5.8";
    for link in ["at=75", "at=9&auto-rate=100", "limit=100/10s&auto-rate=10000&at=3", bursts, &many]
    {
        let comparison = run(link);
        let tops = tops(&comparison, comparison.now());
        for width in [320.0, 480.0, 768.0, 2000.0] {
            let marks = draw(&comparison, &view(&comparison, width, &tops));
            let all: Vec<_> = texts(&marks).map(|text| (&text.text, extent(text))).collect();
            for (i, (a, here)) in all.iter().enumerate() {
                for (b, there) in &all[i + 1..] {
                    let beside = here.right() <= there.x || there.right() <= here.x;
                    let above = here.bottom() <= there.y || there.bottom() <= here.y;
                    assert!(beside || above, "{link} {width}: {a:?} {here:?} {b:?} {there:?}");
                }
            }
        }
    }
}

#[test]
fn up_to_eight_lanes_fit_a_screen() {
    assert!((1..=8).all(|lanes| height(lanes, [1200.0, 0.0], Below::Totals) <= 900.0));
    assert!((1..12).all(|lanes| height(lanes + 1, [400.0, 0.0], Below::Totals)
        > height(lanes, [400.0, 0.0], Below::Totals)));
}

#[test]
fn without_room_nothing_is_drawn() {
    let comparison = run("at=10");
    for size in [[0.0, 0.0], [100.0, 900.0], [1000.0, 200.0], [f64::NAN, f64::NAN]] {
        let view = Viewport { size, ..view(&comparison, 1000.0, &[]) };
        assert_eq!(draw(&comparison, &view), []);
    }
    let view = Viewport { window: Span::ZERO, ..view(&comparison, 1000.0, &[]) };
    assert_eq!(draw(&comparison, &view), []);
}

/// Every point that a mark is made of, with how far it reaches from there.
pub(crate) fn reaches(mark: &Mark) -> Vec<Rect> {
    let point = |p: &Point| Rect { x: p.x, y: p.y, width: 0.0, height: 0.0 };
    match mark {
        Mark::Line { from, to, .. } => vec![point(from), point(to)],
        Mark::Polyline { points, .. } | Mark::Area { points, .. } => {
            points.iter().map(point).collect()
        }
        Mark::Segments { pairs, .. } => {
            pairs.iter().flat_map(|(a, b)| [point(a), point(b)]).collect()
        }
        Mark::Rects { rects, .. } => rects.clone(),
        Mark::Rounded { rect, .. } | Mark::Clip(rect) => vec![*rect],
        Mark::Text(text) => vec![extent(text)],
        Mark::Unclip => vec![],
    }
}

fn a_link() -> impl Strategy<Value = String> {
    let lanes = prop::sample::subsequence(
        vec![
            "exim strict",
            "exim leaky",
            "earrrl",
            "token-bucket burst 30",
            "leaky-bucket",
            "sliding-window per user",
            "token-bucket %26 fixed-window 100/1m",
            "adaptive x2 decay 1m increase 10m floor 5 leaky",
            "sliding-log 0/1s",
        ],
        1..=9,
    );
    let rate = prop::sample::select(vec!["0.1", "1", "20", "500"]);
    let limit = prop::sample::select(vec!["10/10s", "0.5/1m", "100000/1h", "3/100ms"]);
    let cost = prop::sample::select(vec!["0", "1", "2.5", "1000000"]);
    (lanes, rate, limit, cost, 0.0..100.0, 0_u64..99).prop_map(|(lanes, rate, limit, cost, at, seed)| {
        let lanes = lanes.join(";");
        let at = Time::try_from_secs_f64(at).unwrap();
        format!("limit={limit}&lanes={lanes}&auto-rate={rate}&cost={cost}&seed={seed}&at={at}&do=3:events*20")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_is_a_number_on_the_canvas_and_below_the_heads(
        link in a_link(),
        width in 320.0..2000.0,
        back in -20.0..120.0,
        window in prop::sample::select(vec![1_u64, 10, 60, 3600, 86_400]),
        crosshair in prop::option::of(0.0..2000.0),
        own_time in any::<bool>(),
        below in prop::sample::select(vec![Below::Totals, Below::Nothing]),
        scale in prop::sample::select(vec![1.0, 0.01, 100.0, 0.0, f64::NAN, f64::INFINITY]),
    ) {
        let comparison = run(&link);
        let right = Time::try_from_secs_f64(comparison.now().as_secs_f64() - back).unwrap();
        let tops: Vec<_> = tops(&comparison, right).iter().map(|top| top * scale).collect();
        let gaps = [Gap { from: at(2.0), to: at(30.0), skipped: Span::from_secs(9), hidden: true }];
        let window = Span::from_secs(window);
        let top = total(&comparison, right, window) * scale;
        let pointer = crosshair.map(|x| [x, 0.0]);
        let size = [width, height(comparison.lanes().len(), [width, 0.0], below)];
        let view = Viewport { size, below, right, live: back == 0.0, window, top, pointer, own_time, gaps: &gaps, ..view(&comparison, width, &tops) };
        let lanes = comparison.lanes().len() as f64;
        let pitch = pitch(comparison.lanes().len(), view.size, view.below);
        let mut clip: Option<Rect> = None;
        for mark in draw(&comparison, &view) {
            let all = reaches(&mark);
            prop_assert!(all.iter().all(|r| [r.x, r.y, r.width, r.height].iter().all(|v| v.is_finite())), "{mark:?}");
            match mark {
                Mark::Clip(rect) => clip = Some(rect),
                Mark::Unclip => clip = None,
                // A clipped mark shows only within its clip, which was checked.
                _ if clip.is_some() => continue,
                _ => {}
            }
            for r in all {
                prop_assert!(r.x >= -0.1 && r.right() <= width + 0.1, "{width} {mark:?}");
                prop_assert!(r.y >= 0.0 && r.bottom() <= view.size[1], "{mark:?}");
                prop_assert!(r.y >= lanes * pitch || r.y.rem_euclid(pitch) >= head(width) - 1.5, "in a head: {mark:?}");
            }
        }
        prop_assert!([0, comparison.lanes().len()].contains(&readings(&comparison, &view).len()));
        prop_assert_eq!(words(&comparison, &view, right).len(), comparison.lanes().len());
    }
}
