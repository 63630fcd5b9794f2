//! Charges: costs that are known only after the decision.

use crate::limiters::{KINDS, cases, limiter, micros_later, refused, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Retry, Span, Time};

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
        case.limiter.charge(&mut after, now, cost).unwrap();
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
        case.limiter.charge(&mut state, now, case.count.max(room) * times + 1.0).unwrap();
        let left = case.limiter.remaining(&state, now);
        prop_assert!(left <= 1e-9 * case.count, "{left} of {room}: {}", case.limiter);
        let Retry::After(wait) = case.limiter.retry_after(&state, now, 1.0) else {
            return Ok(());
        };
        // In HAProxy a count of 1 does not fade, where more does: with a limit of 1, more is sooner
        // below it.
        let unfaded = case.count == 1.0 && case.limiter.to_string().ends_with("allowed");
        prop_assert!(unfaded || before.wait().is_some_and(|before| before <= wait));
        prop_assert!(wait.as_secs_f64() > 0.0);
        prop_assert!(case.limiter.peek(&state, now.after(wait), 1.0).is_allowed());
    }
}

/// Bytes sent, against a megabyte a minute: the excess takes as long as it would have.
#[test]
fn bytes_are_paid_for_when_they_are_known() {
    let bucket = limiter("token-bucket 60000/1m burst 1000");
    let mut state = bucket.initial();
    assert!(bucket.check(&mut state, Time::ZERO, 0.0).is_allowed());
    bucket.charge(&mut state, Time::ZERO, 1500.0).unwrap();
    assert_eq!(bucket.peek(&state, Time::ZERO, 0.0).level, 1500.0);
    // Half a second until the bucket is no more than full, and then one for the next thousand.
    let wait = refused(&bucket, &mut state, Time::ZERO, 1000.0);
    assert_eq!(wait, Some(Retry::After("1500ms".parse().unwrap())));
}

/// A thousand answers of 100 MB, asked about at once and each charged afterwards: all of it is owed.
#[test]
fn a_debt_is_not_forgiven() {
    for text in [
        "gcra 1000/1s burst 100000",
        "token-bucket 1000/1s burst 100000",
        "leaky-bucket 1000/1s queue 100000",
    ] {
        let bucket = limiter(text);
        let (mut state, hour) = (bucket.initial(), 3_600_000_000);
        for _ in 0..1000 {
            bucket.charge(&mut state, Time::ZERO, 100_000.0).unwrap();
        }
        assert_eq!(bucket.peek(&state, Time::ZERO, 0.0).level, 1e8, "{text}");
        // 10^8 less the 10^5 that the bucket holds, at 10^3 a second.
        let wait = refused(&bucket, &mut state, Time::ZERO, 1.0);
        assert_eq!(wait, Some(Retry::After("99900001ms".parse().unwrap())), "{text}");
        let kept = Kept::from_bytes(&bucket.keep(&state, Time::ZERO).to_bytes()).unwrap();
        let restored = bucket.restore(&kept).unwrap();
        for state in [state, restored] {
            assert!(!bucket.peek(&state, Time::from_micros(27 * hour), 1.0).is_allowed());
            assert!(bucket.peek(&state, Time::from_micros(28 * hour), 1.0).is_allowed());
        }
    }
}

/// The limiters of two servers owe one full bucket at most: ten come until nothing is owed, and another for
/// the event.
#[test]
fn a_server_forgives_what_exceeds_a_bucket() {
    for text in ["envoy 1/1s burst 10", "nginx 1/1s burst 9 nodelay"] {
        let server = limiter(text);
        let mut state = server.initial();
        server.charge(&mut state, Time::ZERO, 1e6).unwrap();
        assert_eq!(server.peek(&state, Time::ZERO, 1.0).level, 21.0, "{text}");
        let retry = server.retry_after(&state, Time::ZERO, 1.0);
        assert_eq!(retry, Retry::After(Span::from_secs(11)), "{text}");
    }
}

/// A charge of nothing changes nothing, also not by rounding.
#[test]
fn nothing_is_not_charged() {
    for text in ["nginx 1/1s burst 9", "envoy 1/1s burst 10", "haproxy 10/1m", "fail2ban 10/1m"] {
        let server = limiter(text);
        let mut state = server.initial();
        server.charge(&mut state, Time::ZERO, 5.0).unwrap();
        let before = state.clone();
        server.charge(&mut state, Time::from_micros(12_345_678), 0.0).unwrap();
        assert_eq!(state, before, "{text}");
    }
}

/// A sender that owes for a day waits a day when the clock is set back, and not longer.
#[test]
fn a_clock_that_is_set_back_neither_forgives_nor_adds() {
    let (bucket, day) = (limiter("gcra 1/1s burst 10"), 86_400_000_000);
    let mut state = bucket.initial();
    bucket.charge(&mut state, Time::from_micros(9 * day), 86_400.0).unwrap();
    for back in [5_000_000, 9_000_000, 11_000_000, day, 8 * day] {
        let (mut state, now) = (state.clone(), Time::from_micros(9 * day - back));
        let Some(Retry::After(wait)) = refused(&bucket, &mut state, now, 1.0) else { panic!() };
        let ahead = if back <= 10_000_000 { back } else { 0 };
        assert_eq!(wait.as_secs_f64(), 86_391.0 + ahead as f64 / 1e6, "{back}");
    }
    // Not in many small steps either.
    for second in 1..=86_400 {
        bucket.charge(&mut state, Time::from_micros(9 * day - second * 1_000_000), 0.001).unwrap();
    }
    let wait = bucket.retry_after(&state, Time::from_micros(8 * day), 1.0);
    assert!(
        wait.wait().is_some_and(|wait| wait.as_secs_f64() <= 86_391.0 + 86.4 + 11.0),
        "{wait:?}"
    );
}

/// A cost above the most that can be counted counts as that, and a number that is no cost is an error.
#[test]
fn charges_are_clamped_or_refused() {
    for text in ["gcra 10/1s", "sliding-log 10/1s", "exim 10/1s", "nginx 10/1s", "haproxy 10/1s"] {
        let limiter = limiter(text);
        let charged = |cost| {
            let mut state = limiter.initial();
            limiter.charge(&mut state, Time::ZERO, cost).map(|()| state)
        };
        assert_eq!(charged(f64::INFINITY), charged(1e12), "{text}");
        assert_eq!(charged(1.000001e12), charged(1e12), "{text}");
        assert_ne!(charged(1e12).unwrap(), limiter.initial(), "{text}");
        assert_eq!(
            charged(-1.0).unwrap_err().to_string(),
            "a cost cannot be -1: it must be 0 or more"
        );
        assert!(charged(f64::NAN).is_err());
    }
}

/// A limiter that only asks counts no charges either, and follows no clock.
#[test]
fn a_limiter_that_counts_nothing_is_not_charged() {
    let (now, day) = (Time::from_micros(1_000_000), 86_400_000_000);
    for text in [
        "exim 10/1m leaky",
        "adaptive x3 decay 1m floor 10 leaky",
        "adaptive x3 decay 1m floor 10 by hour leaky",
    ] {
        let [counts, asks] = [text, &text.replace("leaky", "readonly")].map(limiter);
        let mut state = counts.initial();
        counts.charge(&mut state, now, 100.0).unwrap();
        let before = state.clone();
        for at in [now, micros_later(now, day), micros_later(now, -day)] {
            asks.charge(&mut state, at, 100.0).unwrap();
            asks.record(&mut state, at, 1.0, false);
            assert_eq!(state, before, "{asks} at {at}");
        }
    }
}
