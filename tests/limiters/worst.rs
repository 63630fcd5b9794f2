//! The most that ever passes in a window, against the exact count.

use crate::common::worst::exact::ExactWindow;
use crate::common::worst::{greediest, greedy};
use crate::{KINDS, cases, limiter, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::*;
use ratescope::{Limiter, Span, Time};

proptest! {
    /// Whatever is sent, no window has more than was promised.
    #[test]
    fn no_window_has_more_than_was_promised(
        case in cases(&KINDS),
        steps in steps(false),
        part in prop_oneof![Just(1.0), 0.01f64..3.0],
    ) {
        let window = Span::from_secs(case.period.secs() * part).unwrap();
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
    let (window, shorter) = (limiter("sliding-window 10/1m precision 1s"), Span::seconds(59));
    assert_eq!((greediest(&window, shorter), window.max_admitted(shorter, 1.0)), (10.0, 10.0));
}

/// Envoy's clock is a double, so each event may gain half of its last bit, 2^-30 s, and as much again.
/// Once that is a token, nothing bounds what passes.
#[test]
fn rounding_gives_envoy_less_than_a_token_an_event() {
    let most = |text, cost| limiter(text).max_admitted(Span::seconds(1), cost);
    // In a second without its last microsecond come 399,999,600 tokens, and 0.745 of each event again.
    let promise = 399_999_601.0 / (1.0 - 4e8 / f64::from(1 << 29));
    let got = most("envoy 400000000/1s burst 1", 1.0);
    assert!((got / promise - 1.0).abs() < 1e-12, "{got} for {promise}");
    assert_eq!(most("envoy 600000000/1s burst 1", 1.0), f64::INFINITY);
    assert!(most("envoy 600000000/1s burst 1", 2.0) < 2e9);
}

#[test]
fn an_envoy_has_the_numbers_it_was_made_of() {
    let fill = "5/1s".parse().unwrap();
    let envoy = envoy::Envoy::new(fill, 10).unwrap();
    assert_eq!((envoy.fill(), envoy.burst()), (fill, 10));
}

/// A dear event is half of the limit at most before the rate shows it, however dear it is.
#[test]
fn a_dear_event_does_not_raise_the_bound_of_exim() {
    let exim = limiter("exim 10/1m");
    assert_eq!(exim.max_admitted(Span::minutes(1), 100.0).floor(), 25.0);
}

/// The state of any limiter; `src/limit/measured.md` has those of each.
#[test]
fn a_state_is_a_few_words() {
    assert_eq!(size_of::<<AnyLimiter as Limiter>::State>(), 32);
}
