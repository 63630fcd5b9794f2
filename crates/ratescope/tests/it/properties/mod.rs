//! The promises, over many orders of magnitude of rate, period and cost, with time standing
//! still and running backwards.

mod decay;
mod estimators;
mod limiter;
mod normal;
mod share;
mod smoothed;
mod synced;

use proptest::prelude::*;
use ratescope::{Span, Time};

/// A number anywhere between 10^`from` and 10^`to`, each order of magnitude as likely.
fn magnitude(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(|exponent| 10f64.powf(exponent))
}

/// A span of 10^`from` to 10^`to` seconds.
fn span(from: f64, to: f64) -> impl Strategy<Value = Span> {
    magnitude(from, to).prop_map(|seconds| Span::try_from_secs_f64(seconds).unwrap())
}

/// Microseconds from one event to the next: often none, now and then backwards.
fn gap() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => Just(0),
        6 => magnitude(0.0, 13.0).prop_map(|us| us as i64),
        1 => magnitude(0.0, 13.0).prop_map(|us| -(us as i64)),
    ]
}

/// Events with a gap before each and a cost, as times.
fn events(cost: impl Strategy<Value = f64>) -> impl Strategy<Value = Vec<(Time, f64)>> {
    prop::collection::vec((gap(), cost), 1..40).prop_map(|events| {
        let mut now = 0;
        let at = |(gap, cost)| {
            now += gap;
            (Time::from_micros(now), cost)
        };
        events.into_iter().map(at).collect()
    })
}

/// Fails unless `got` is within `part` of `want`, relative to `scale`.
#[track_caller]
fn assert_near(got: f64, want: f64, part: f64, scale: f64) {
    let off = (got - want).abs();
    assert!(off <= part * scale.abs(), "{got}, should be {want}; off by {off:e} of {scale:e}");
}
