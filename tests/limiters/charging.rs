//! What is charged when its cost is known only afterwards.

use crate::{KINDS, cases, limiter, refused, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Retry, Time};

proptest! {
    /// A question of cost 0 and then the charge come to the same as an event that was known
    /// beforehand and passed.
    #[test]
    fn known_afterwards_counts_as_known_before(case in cases(&KINDS), steps in steps(false)) {
        let (_, state, now) = case.run(&steps);
        let cost = (case.limiter.remaining(&state, now) / 2.0).min(case.count);
        let (mut before, mut after) = (state.clone(), state);
        prop_assume!(case.limiter.check(&mut before, now, cost).is_allowed());
        // Envoy takes a question for nothing, and nothing for not enough.
        let envoy = matches!(case.limiter, AnyLimiter::Envoy(_));
        prop_assert_eq!(case.limiter.peek(&after, now, 0.0).is_allowed(), !envoy);
        case.limiter.charge(&mut after, now, cost);
        prop_assert_eq!(before, after);
    }

    /// It is never refused: however much it is, it leaves no more room than there was, none where
    /// it was all, and what comes next waits for it, honestly.
    #[test]
    fn too_much_is_missing_later(
        case in cases(&KINDS),
        steps in steps(false),
        times in 1.0f64..3.0,
    ) {
        let (_, mut state, now) = case.run(&steps);
        let room = case.limiter.remaining(&state, now);
        let before = case.limiter.retry_after(&state, now, 1.0);
        case.limiter.charge(&mut state, now, case.count.max(room) * times + 1.0);
        let left = case.limiter.remaining(&state, now);
        prop_assert!(left <= 1e-9 * case.count, "{left} of {room}: {}", case.limiter);
        let Retry::After(wait) = case.limiter.retry_after(&state, now, 1.0) else {
            return Ok(());
        };
        // In HAProxy a count of 1 does not fade, where more does: with a limit of 1, more is sooner
        // below it.
        let unfaded = case.count == 1.0 && case.limiter.to_string().ends_with("allowed");
        prop_assert!(unfaded || before.wait().is_some_and(|before| before <= wait));
        prop_assert!(wait.secs() > 0.0);
        prop_assert!(case.limiter.peek(&state, now.after(wait), 1.0).is_allowed());
    }
}

/// Bytes sent, against a megabyte a minute: what was too much takes as long as it would have.
#[test]
fn bytes_are_paid_for_when_they_are_known() {
    let bucket = limiter("token-bucket 60000/1m burst 1000");
    let mut state = bucket.initial();
    assert!(bucket.check(&mut state, Time::ZERO, 0.0).is_allowed());
    bucket.charge(&mut state, Time::ZERO, 1500.0);
    assert_eq!(bucket.peek(&state, Time::ZERO, 0.0).level, 1500.0);
    // Half a second until the bucket is no more than full, and then one for the next thousand.
    let wait = refused(&bucket, &mut state, Time::ZERO, 1000.0);
    assert_eq!(wait, Some(Retry::After("1500ms".parse().unwrap())));
    // A bucket is never believed to be more than twice full.
    bucket.charge(&mut state, Time::ZERO, 1e9);
    assert_eq!(bucket.peek(&state, Time::ZERO, 0.0).level, 2000.0);
}

/// An Exim that only asks counts no charges either.
#[test]
fn a_limiter_that_counts_nothing_is_not_charged() {
    let readonly = limiter("exim 10/1m readonly");
    let mut state = readonly.initial();
    readonly.charge(&mut state, Time::ZERO, 100.0);
    assert_eq!(state, readonly.initial());
    assert!(matches!(readonly, AnyLimiter::Exim(_)));
}
