//! The comparison's picture: what it shows is what the lanes say, wherever it is looked at.

#![allow(clippy::unwrap_used)]
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/picture.rs"]
mod picture;

use picture::in_both_themes;
use ratescope::replay::{Link, Replay};
use ratescope::run::pace::Gap;
use ratescope::view::compare::{Look, draw, height, top, total};
use ratescope::{Span, Time};

fn at(seconds: f64) -> Time {
    Time::from_secs(seconds).unwrap()
}

/// The run of a link, at the time that the link says.
fn run(link: &str) -> Replay {
    let link: Link = link.parse().unwrap();
    let mut replay = Replay::open(&link).unwrap();
    replay.advance(link.at, usize::MAX);
    replay
}

/// The tops that a page comes to rest at.
fn tops(replay: &Replay, right: Time) -> Vec<f64> {
    let window = replay.settings().window;
    replay.lanes().iter().map(|lane| top(lane, right, window)).collect()
}

/// The look of a page that was just opened on a run.
fn look<'a>(replay: &Replay, width: f64, tops: &'a [f64]) -> Look<'a> {
    let (right, window) = (replay.now(), replay.settings().window);
    Look {
        size: [width, height(replay.lanes().len())],
        right,
        live: true,
        window,
        tops,
        total: total(replay, right, window),
        crosshair: None,
        gaps: &[],
    }
}

#[track_caller]
fn picture(name: &str, link: &str, width: f64) {
    let replay = run(link);
    let tops = tops(&replay, replay.now());
    let look = look(&replay, width, &tops);
    in_both_themes(name, &draw(&replay, &look), look.size);
}

#[test]
fn eight_limiters_on_random_events() {
    picture("compare-eight", "at=75", 1200.0);
}

#[test]
fn the_start_of_a_run() {
    picture("compare-start", "at=20&lanes=exim leaky;token-bucket;fixed-window", 1000.0);
}

#[test]
fn a_phone() {
    picture("compare-phone", "at=50", 320.0);
}

#[test]
fn ten_thousand_a_second() {
    picture("compare-busy", "budget=100/10s&auto-rate=10000&window=10s&at=12", 1200.0);
}

#[test]
fn limits_that_move() {
    let lanes = "adaptive x2 decay 10s increase 1m floor 5 leaky;token-bucket & 30/1m per user;\
                 leaky-bucket queue 5";
    let script = "1/500ms from 5s to 40s,20 at 45s,1/2s from 50s";
    let link = format!("auto=off&at=70&lanes={}&script={script}", lanes.replace('&', "+"));
    picture("compare-adaptive", &link, 1000.0);
}

#[test]
fn the_crosshair_over_the_past_and_a_gap() {
    for (name, width) in [("compare-past", 1000.0), ("compare-past-phone", 320.0)] {
        let replay = run("at=100");
        let right = at(80.0);
        let tops = tops(&replay, right);
        let gaps = [Gap { from: at(24.0), to: at(36.0), skipped: Span::ZERO }];
        let look = look(&replay, width, &tops);
        let total = total(&replay, right, look.window);
        let crosshair = Some(0.62 * width);
        let look = Look { right, live: false, total, crosshair, gaps: &gaps, ..look };
        in_both_themes(name, &draw(&replay, &look), look.size);
    }
}
