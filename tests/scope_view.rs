//! The scope's picture of typical runs, each written as the link that one would share, held by
//! golden pictures in tests/plots.

#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "lab", not(target_arch = "wasm32")))]

#[path = "common/picture.rs"]
mod picture;

use picture::in_both_themes;
use ratescope::lab::run::pace::Gap;
use ratescope::lab::scope::{Link, Scope};
use ratescope::view::scope::{Viewport, draw, top};
use ratescope::{Span, Time};

const DESK: [f64; 2] = [1000.0, 420.0];
const PHONE: [f64; 2] = [360.0, 320.0];

/// The run of a link, at the time that the link says.
fn run(link: &str) -> Scope {
    let link: Link = link.parse().unwrap();
    let mut scope = Scope::open(&link).unwrap();
    scope.advance(link.at, usize::MAX);
    scope
}

/// The view of a page that was just opened on a run.
fn view(scope: &Scope, size: [f64; 2]) -> Viewport<'static> {
    let (right, settings) = (scope.now(), scope.settings());
    Viewport {
        size,
        right,
        live: true,
        window: settings.run.window,
        top: top(scope, right),
        crosshair: None,
        on_limit: false,
        exact: settings.exact,
        gaps: &[],
    }
}

#[track_caller]
fn picture(name: &str, link: &str, size: [f64; 2]) {
    let scope = run(link);
    in_both_themes(name, &draw(&scope, &view(&scope, size)), size);
}

#[test]
fn a_burst_of_ten_rises_to_the_limit_and_decays() {
    picture("scope-burst", "auto=off&limit=10&at=45&do=15:events*10", DESK);
}

#[test]
fn strict_over_the_limit_refuses_until_the_sender_slows_down() {
    let link = "mode=strict&auto-rate=3&pattern=steady&at=55&do=30:auto-rate=0.5";
    picture("scope-strict", link, DESK);
}

#[test]
fn leaky_over_the_limit_lets_the_limit_through() {
    picture("scope-leaky", "mode=leaky&auto-rate=3&exact=on&at=55", DESK);
}

#[test]
fn a_million_events_a_second() {
    picture("scope-million", "auto-rate=1000000&decay=1s&limit=800000&window=10s&at=4", DESK);
}

#[test]
fn a_phone() {
    picture("scope-phone", "auto-rate=1.5&at=50&do=20:events*4", PHONE);
}

#[test]
fn the_crosshair_over_the_past_and_a_gap() {
    let scope = run("mode=leaky&auto-rate=2&at=80");
    let at = |seconds| Time::from_secs(seconds).unwrap();
    let gaps = [Gap { from: at(12.0), to: at(32.0), skipped: Span::seconds(90), hidden: true }];
    let (right, crosshair) = (at(70.0), Some(705.0));
    let view = Viewport { right, live: false, crosshair, gaps: &gaps, ..view(&scope, DESK) };
    in_both_themes("scope-past", &draw(&scope, &view), DESK);
}
