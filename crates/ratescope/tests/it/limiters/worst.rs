//! The most that ever passes in a window, against the exact count.

use crate::limiters::common::worst::exact::ExactWindow;
use crate::limiters::common::worst::{greediest, greedy};
use crate::limiters::{KINDS, cases, limiter, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Span, Time};

proptest! {
    /// No window has more than was promised, for any events.
    #[test]
    fn no_window_has_more_than_was_promised(
        case in cases(&KINDS),
        steps in steps(false),
        part in prop_oneof![Just(1.0), 0.01f64..3.0],
    ) {
        let window = Span::try_from_secs_f64(case.period.as_secs_f64() * part).unwrap();
        let mut oracle = ExactWindow::new(window);
        // The promise is for events of one cost, so all have that of the first.
        let cost = case.cost(steps[0]);
        let (mut state, promise) = (case.limiter.initial(), case.limiter.max_admitted(window, cost));
        for (at, _) in case.events(&steps) {
            for _ in 0..3 {
                if case.limiter.check(&mut state, at, cost).is_allowed() {
                    let count = oracle.add(at, cost);
                    prop_assert!(count <= promise * (1.0 + 1e-12), "{count} of {promise}");
                }
            }
        }
    }

    /// Nor when it is sent as fast as it may be, beginning anywhere.
    #[test]
    fn greed_gets_no_more_than_was_promised(
        case in cases(&KINDS).prop_filter("few enough to send", |case| case.count < 100.0),
        from in 0i64..100_000_000,
    ) {
        let promise = case.limiter.max_admitted(case.period, 1.0);
        let got = greedy(&case.limiter, case.period, Time::from_micros(from));
        prop_assert!(got <= promise, "{got} of {promise}: {}", case.limiter);
    }
}

/// One precision shorter than its period, a sliding window keeps to its limit.
#[test]
fn the_last_block_of_a_sliding_window_is_whole() {
    let (window, shorter) = (limiter("sliding-window 10/1m precision 1s"), Span::from_secs(59));
    assert_eq!((greediest(&window, shorter), window.max_admitted(shorter, 1.0)), (10.0, 10.0));
}

/// Envoy's clock is a double, so each event may gain half of its last bit, 2^-30 s, and as much again.
/// Once that is a token, nothing bounds the events that pass.
#[test]
fn rounding_gives_envoy_less_than_a_token_an_event() {
    let most = |text, cost| limiter(text).max_admitted(Span::from_secs(1), cost);
    // In a second without its last microsecond come 399,999,600 tokens, and 0.745 of each event again.
    let promise = 399_999_601.0 / (1.0 - 4e8 / f64::from(1 << 29));
    let got = most("envoy 400000000/1s burst 1", 1.0);
    assert!((got / promise - 1.0).abs() < 1e-12, "{got} for {promise}");
    // The tokens of a full bucket are rounded as well, by up to four of their last bits.
    let tokens = 4e9 * f64::from(1 << 25).recip().powi(2);
    let promise = 4_000_000_000.999_999 / (1.0 - (f64::from(1 << 29).recip() + tokens));
    let got = most("envoy 1/1s burst 4000000000", 1.0);
    assert!((got / promise - 1.0).abs() < 1e-12, "{got} for {promise}");
    assert_eq!(most("envoy 600000000/1s burst 1", 1.0), f64::INFINITY);
    assert!(most("envoy 600000000/1s burst 1", 2.0) < 2e9);
}

/// For Exim, events in one instant count as a small gap apart, by which each lengthens the window.
#[test]
fn a_gap_between_exims_events_raises_the_bound() {
    // A gap is a nanosecond, a millionth of the period. The part that the rate does not show is the limit and half
    // an event.
    let limit = 5000.0;
    for cost in [1.0, 2.0, 4.0] {
        let unseen = limit + cost / 2.0;
        let promise = (limit + unseen * 3.0) / (1.0 - unseen * 1e-6 / cost);
        let got = limiter("exim 5000/1ms").max_admitted("3ms".parse().unwrap(), cost);
        assert!((got / promise - 1.0).abs() < 1e-9, "{got} for {promise}, cost {cost}");
    }
}

/// A costly event is half of the limit at most before the rate shows it, however much it costs.
#[test]
fn a_costly_event_does_not_raise_the_bound_of_exim() {
    let exim = limiter("exim 10/1m");
    assert_eq!(exim.max_admitted(Span::from_mins(1), 100.0).floor(), 25.0);
    for text in ["exim 0/1m", "exim 10/1m readonly"] {
        assert_eq!(limiter(text).max_admitted(Span::from_mins(1), 1.0), f64::INFINITY, "{text}");
    }
}

/// The state of any limiter; `src/limit/measured.md` has those of each.
#[test]
fn a_state_is_a_few_words() {
    assert_eq!(size_of::<<AnyLimiter as Limiter>::State>(), 32);
}
