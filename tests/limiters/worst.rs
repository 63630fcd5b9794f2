//! The most that ever passes in a window, against the exact count.

use crate::{KINDS, cases, limiter, steps};
use proptest::prelude::*;
use ratescope::estimate::exact::ExactWindow;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Retry, Span, Time};

/// The most allowed within `window` from a sender that sends whenever it may, from `from` on.
fn greedy(limiter: &AnyLimiter, window: Span, from: i64) -> f64 {
    let mut state = limiter.fresh();
    let mut oracle = ExactWindow::new(window, 1_000_000);
    let (mut now, mut most) = (Time::from_micros(from), 0.0f64);
    let end = now.after(Span::from_secs(window.secs() * 4.0).unwrap());
    while now < end {
        let Retry::After(wait) = limiter.retry_after(&state, now, 1.0) else { break };
        now = now.after(wait);
        assert!(limiter.check(&mut state, now, 1.0).is_allowed());
        oracle.add(now, 1.0);
        most = most.max(oracle.count_at(now).unwrap());
    }
    most
}

proptest! {
    /// Whatever is sent, no window has more than was promised.
    #[test]
    fn no_window_has_more_than_was_promised(
        case in cases(&KINDS),
        steps in steps(false),
        part in prop_oneof![Just(1.0), 0.01f64..3.0],
    ) {
        let window = Span::from_secs(case.period.secs() * part).unwrap();
        let mut oracle = ExactWindow::new(window, 1000);
        // The promise is for events of one cost, so all have that of the first.
        let cost = case.cost(steps[0]);
        let (mut state, promise) = (case.limiter.fresh(), case.limiter.most_in(window, cost));
        for (at, _) in case.events(&steps) {
            for _ in 0..3 {
                if case.limiter.check(&mut state, at, cost).is_allowed() {
                    oracle.add(at, cost);
                    let count = oracle.count_at(at).unwrap();
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
        let promise = case.limiter.most_in(case.period, 1.0);
        let got = greedy(&case.limiter, case.period, from);
        prop_assert!(got <= promise, "{got} of {promise}: {}", case.limiter);
    }
}

/// What greed gets out of ten a minute in the worst minute, beginning just before an edge.
#[test]
fn the_worst_minute_of_ten_a_minute() {
    let from = 59_999_999;
    for (text, worst) in [
        ("exim 10/1m leaky", 19.0),
        ("exim 10/1m strict", 19.0),
        ("earrrl 10/1m", 25.0),
        ("token-bucket 10/1m", 19.0),
        ("gcra 10/1m", 19.0),
        ("leaky-bucket 10/1m", 19.0),
        ("fixed-window 10/1m", 20.0),
        ("sliding-window 10/1m", 20.0),
        ("sliding-counter 10/1m", 19.0),
        ("sliding-log 10/1m", 10.0),
    ] {
        let limiter = limiter(text);
        let got = greedy(&limiter, Span::minutes(1), from);
        assert_eq!(got, worst, "{text}");
        assert!(got <= limiter.most_in(Span::minutes(1), 1.0), "{text}");
    }
    // One precision shorter, and the sliding window keeps to its limit.
    let window = limiter("sliding-window 10/1m precision 1s");
    assert_eq!(greedy(&window, Span::seconds(59), from), 10.0);
    assert_eq!(window.most_in(Span::seconds(59), 1.0), 10.0);
}
