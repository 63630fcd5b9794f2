//! Which events a limiter counts.

use crate::limiters::{ALLOWED_ONLY, KINDS, cases, limiter, refused, steps};
use proptest::prelude::*;
use ratescope::{Limiter, Retry, Time};

proptest! {
    /// The last of several limits decides and counts in one step, as it would in two.
    #[test]
    fn one_step_is_two(
        case in cases(&KINDS),
        steps in steps(true),
        others in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let limiter = &case.limiter;
        let (mut one, mut two) = (limiter.initial(), limiter.initial());
        for ((at, cost), others) in case.events(&steps).into_iter().zip(others.into_iter().cycle()) {
            let outcome = limiter.peek(&two, at, cost);
            limiter.record(&mut two, at, cost, others && outcome.is_allowed());
            prop_assert_eq!(limiter.check_last(&mut one, at, cost, others), outcome);
            prop_assert_eq!(&one, &two);
        }
    }

    /// Take the refused events away, and the same are allowed, for the same reasons.
    #[test]
    fn a_refused_event_leaves_no_trace(case in cases(ALLOWED_ONLY), steps in steps(false)) {
        let (outcomes, ..) = case.run(&steps);
        let mut state = case.limiter.initial();
        for ((at, cost), outcome) in case.events(&steps).into_iter().zip(outcomes) {
            prop_assert_eq!(case.limiter.peek(&state, at, cost), outcome);
            if outcome.is_allowed() {
                let _ = case.limiter.check(&mut state, at, cost);
            }
        }
    }

    /// `peek` answers as `check` does and counts nothing; the time to retry is now exactly if the event would
    /// pass.
    #[test]
    fn to_peek_counts_nothing(case in cases(&KINDS), steps in steps(true)) {
        let mut state = case.limiter.initial();
        for (at, cost) in case.events(&steps) {
            let before = state.clone();
            let peeked = case.limiter.peek(&state, at, cost);
            let again = case.limiter.retry_after(&state, at, cost);
            prop_assert_eq!(&state, &before);
            prop_assert_eq!(again == Retry::NOW, peeked.is_allowed());
            prop_assert_eq!(case.limiter.check(&mut state, at, cost), peeked);
        }
    }

    /// Where a limiter compares the cost with the limit, a cost of `remaining` passes and a little more does not.
    #[test]
    fn remaining_is_honest(case in cases(&KINDS), steps in steps(true)) {
        let (_, state, now) = case.run(&steps);
        let left = case.limiter.remaining(&state, now);
        let passes = |cost: f64| case.limiter.peek(&state, now, cost).is_allowed();
        let hair = (case.count + left) * 1e-9 + 1e-6;
        prop_assert!(left >= 0.0);
        prop_assert!(left <= hair || passes(left - hair), "{left}");
        let text = case.limiter.to_string();
        let before_the_event = text.starts_with("earrrl") || text.ends_with("allowed");
        prop_assert!(before_the_event || !passes(left + hair), "{left}");
    }

    #[test]
    fn no_bad_cost_passes_or_counts(
        case in cases(&KINDS),
        steps in steps(true),
        cost in prop::sample::select(&[
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-9, -1.0, f64::MIN, f64::MAX, 1.1e12,
        ]),
    ) {
        let (_, state, now) = case.run(&steps);
        let mut after = state.clone();
        prop_assert_eq!(refused(&case.limiter, &mut after, now, cost), Some(Retry::Never));
        // A charge of too much counts as much as can be counted.
        let charged = case.limiter.charge(&mut after, now, cost);
        prop_assert_eq!(charged.is_ok(), cost > 0.0);
        if charged.is_err() {
            prop_assert_eq!(after, state);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// A sender that keeps exactly to the limit is never refused, however long it goes on: no
    /// rounding adds up. The gap is rounded up to whole microseconds, as a sender would.
    #[test]
    fn a_steady_sender_at_the_limit_always_passes(count in 1i64..5000, seconds in 1i64..4000) {
        let gap = (seconds * 1_000_000 + count - 1) / count;
        for kind in ["token-bucket", "gcra", "leaky-bucket", "sliding-log"] {
            let limiter = limiter(&format!("{kind} {count}/{seconds}s"));
            let mut state = limiter.initial();
            for i in 0..20_000 {
                let at = Time::from_micros(i * gap);
                prop_assert!(limiter.check(&mut state, at, 1.0).is_allowed(), "{limiter} at {i}");
            }
        }
    }
}

/// A bucket of one event takes exactly ten a second, and nothing that is a microsecond faster.
#[test]
fn a_bucket_is_exact_to_the_microsecond() {
    for text in ["token-bucket 10/1s burst 1", "gcra 10/1s burst 1", "leaky-bucket 10/1s queue 1"] {
        let limiter = limiter(text);
        let refused = |gap: i64| {
            let mut state = limiter.initial();
            let mut check = |i| limiter.check(&mut state, Time::from_micros(i * gap), 1.0);
            (0..100_000).filter(|&i| !check(i).is_allowed()).count()
        };
        assert_eq!(refused(100_000), 0, "{text}");
        assert_eq!(refused(99_999), 50_000, "{text}");
    }
}

/// Costs in tenths add up to the limit, as they would on paper.
#[test]
fn tenths_add_up() {
    for kind in ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "gcra"] {
        let limiter = limiter(&format!("{kind} 0.3/1s"));
        let mut state = limiter.initial();
        let allowed = [0.1; 4].map(|cost| limiter.check(&mut state, Time::ZERO, cost).is_allowed());
        assert_eq!(allowed, [true, true, true, false], "{kind}");
    }
}
