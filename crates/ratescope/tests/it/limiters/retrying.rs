//! When to come back.

use crate::limiters::{KINDS, cases, limiter, micros_later, refused, steps};
use proptest::prelude::*;
use ratescope::estimate::exim::Measured;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Limiter, Retry, Span, Time};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The same event after exactly `retry_after` passes, and a microsecond sooner does not.
    #[test]
    fn retry_after_is_honest(case in cases(&KINDS), steps in steps(true)) {
        let mut state = case.limiter.initial();
        for (at, cost) in case.events(&steps) {
            let Some(retry) = refused(&case.limiter, &mut state, at, cost) else {
                prop_assert!(case.limiter.peek(&state, at, 0.0).level.is_finite());
                continue;
            };
            let passes = |at| case.limiter.peek(&state, at, cost).is_allowed();
            match retry {
                Retry::After(wait) => {
                    let then = at.after(wait);
                    prop_assert!(passes(then), "{} of {cost} at {at} after {wait}", case.limiter);
                    if then > at {
                        let sooner = micros_later(then, -1);
                        prop_assert!(!passes(sooner), "{} before {wait}", case.limiter);
                    }
                    prop_assert_eq!(case.limiter.retry_after(&state, then, cost), Retry::NOW);
                }
                Retry::Never => {
                    let period = (case.period.as_secs_f64() * 1e6) as i64;
                    for periods in [0, 1, 2, 10, 20, 40, 100, 1000] {
                        prop_assert!(!passes(micros_later(at, periods * period)));
                    }
                }
            }
        }
    }

    /// After `reset_after` an event is answered as a first one is.
    #[test]
    fn reset_after_is_honest(case in cases(&KINDS), steps in steps(true)) {
        let (_, state, now) = case.run(&steps);
        let then = now.after(case.limiter.reset_after(&state, now));
        for at in [then, micros_later(then, 1_000_000)] {
            let first = case.limiter.peek(&case.limiter.initial(), at, 1.0);
            let again = case.limiter.peek(&state, at, 1.0);
            // Envoy's clock is rounded, to up to a nanosecond, in which its tokens drip.
            let dripped = match &case.limiter {
                AnyLimiter::Envoy(envoy) => 2e-9 * envoy.fill().frequency(),
                _ => 0.0,
            };
            let close = |a: f64, b: f64| {
                (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0) + dripped
            };
            prop_assert!(close(again.level, first.level), "{again:?} and {first:?}");
            prop_assert!(close(again.limit, first.limit), "{again:?} and {first:?}");
            prop_assert_eq!(again.wait, first.wait);
        }
    }
}

#[test]
fn exim_is_reset_in_the_very_microsecond() {
    for per in ["1ms", "1m", "1h", "10h", "52w"] {
        let exim = Exim { limit: format!("100/{per}").parse().unwrap(), mode: Mode::Leaky };
        for i in 0..30_000 {
            let state = Measured { rate: 1e-3 * 1.001f64.powi(i), at: Time::from_micros(i.into()) };
            let reads = |at| exim.estimator().measure(Some(state), at, 1.0).rate;
            let first = state.at.after(exim.reset_after(&state, state.at));
            assert!(reads(first) <= 1.0, "{per}, {state:?}");
            let before = Time::from_micros(first.as_micros() - 1);
            assert!(reads(before) > 1.0, "{per}, {state:?}");
        }
    }
}

/// Refusals as a person would work them out.
#[test]
fn waits_by_hand() {
    for (text, at, count, cost, wait) in [
        // 20 tokens gone; one is back after 100 ms, three after 300 ms.
        ("token-bucket 10/1s burst 20", 0, 20, 1.0, "100ms"),
        ("gcra 10/1s burst 20", 0, 20, 3.0, "300ms"),
        ("leaky-bucket 10/1s queue 20", 0, 20, 1.0, "100ms"),
        // A third of a second is not a whole number of microseconds.
        ("gcra 3/1s", 0, 3, 1.0, "333334us"),
        // The window of the clock that began at 0 ends at 60 s.
        ("fixed-window 10/1m", 45, 10, 1.0, "15s"),
        ("sliding-log 10/1m", 45, 10, 1.0, "1m"),
        // The block from 45 to 50 s leaves with the beginning of the one from 105 s.
        ("sliding-window 10/1m precision 5s", 47, 10, 1.0, "58s"),
        // In the next minute, ten have faded to nine when a tenth of it has passed.
        ("sliding-counter 10/1m", 45, 10, 1.0, "21s"),
    ] {
        let limiter = limiter(text);
        let (mut state, now) = (limiter.initial(), Time::try_from_secs_f64(f64::from(at)).unwrap());
        for _ in 0..count {
            assert!(limiter.check(&mut state, now, 1.0).is_allowed(), "{text}");
        }
        let retry = refused(&limiter, &mut state, now, cost);
        assert_eq!(retry, Some(Retry::After(wait.parse().unwrap())), "{text}");
    }
}

/// The queue says how long each of a burst waits.
#[test]
fn a_burst_waits_its_turn() {
    let queue = limiter("leaky-bucket 10/1s queue 4");
    let mut state = queue.initial();
    let waits = [0, 1, 2, 3].map(|i| (i, queue.check(&mut state, Time::ZERO, 1.0).wait));
    for (i, decision) in waits {
        assert_eq!(decision, Some(Span::from_millis(i * 100)));
    }
    assert!(!queue.check(&mut state, Time::ZERO, 1.0).is_allowed());
}

/// An event that can never pass gets `Retry::Never`.
#[test]
fn more_than_the_limit_never_passes() {
    for text in [
        "exim 10/1m",
        "token-bucket 5/1s burst 10",
        "gcra 5/1s burst 10",
        "leaky-bucket 5/1s queue 10",
        "fixed-window 10/1m",
        "sliding-window 10/1m",
        "sliding-counter 10/1m",
        "sliding-log 10/1m",
        "adaptive x3 decay 1m floor 10",
    ] {
        let limiter = limiter(text);
        let retry = refused(&limiter, &mut limiter.initial(), Time::ZERO, 10.001);
        assert_eq!(retry, Some(Retry::Never), "{text}");
    }
    // But for the one that does not look at the cost.
    let earrrl = limiter("earrrl 10/1m");
    assert!(earrrl.check(&mut earrrl.initial(), Time::ZERO, 1e9).is_allowed());
}

/// Where the limit is learned, an event above the floor passes while a habit lets it, and waits for its
/// turn only until then.
#[test]
fn an_event_above_the_floor_waits_for_a_habit() {
    for mode in ["leaky", "strict"] {
        let limiter = limiter(&format!("adaptive x3 decay 1m increase 1h floor 5 {mode}"));
        let (mut state, mut now) = (limiter.initial(), Time::ZERO);
        // Ten a minute for an hour.
        for i in 0..600 {
            now = Time::from_micros(i * 6_000_000);
            limiter.record(&mut state, now, 1.0, true);
        }
        for cost in [1.0, 5.0, 12.0] {
            // A burst that makes it wait, however little it costs.
            let mut state = state.clone();
            limiter.record(&mut state, now, 10.0, true);
            let wait = limiter.retry_after(&state, now, cost).wait();
            let then = now.after(wait.unwrap_or_else(|| panic!("never: {cost}")));
            let passes = |at| limiter.peek(&state, at, cost).is_allowed();
            assert!(
                then > now && passes(then) && !passes(micros_later(then, -1)),
                "{cost}: {then}"
            );
        }
        assert_eq!(limiter.retry_after(&state, now, 50.0), Retry::Never);
        let year = now.after(Span::from_hours(24 * 365));
        assert_eq!(limiter.retry_after(&state, year, 5.0), Retry::Never);
    }
}

/// Waits of months are as exact as others.
#[test]
fn waits_of_months_by_the_microsecond() {
    for text in [
        "token-bucket 1/100d burst 3",
        "gcra 3/1000d",
        "leaky-bucket 3/1000d",
        "fixed-window 3/1000d",
        "sliding-window 3/1000d",
        "sliding-counter 3/1000d",
        "sliding-log 3/1000d",
        "exim 3/1000d",
        "adaptive x3 decay 100d increase 1000d floor 3",
        "earrrl 1/10000d half-life 1000d",
        "haproxy 3/24d",
        "envoy 1/100d burst 3",
        "fail2ban 3/1000d ban 2000d",
    ] {
        let (limiter, now) = (limiter(text), Time::from_micros(1_000_000_000));
        let mut state = limiter.initial();
        // The fourth is refused at the latest.
        let waits = (0..4).find_map(|_| refused(&limiter, &mut state, now, 1.0));
        let wait = waits.and_then(Retry::wait).unwrap();
        let passes = |at| limiter.peek(&state, at, 1.0).is_allowed();
        let then = now.after(wait);
        assert!(wait > Span::from_hours(24 * 20) && passes(then), "{text}: {wait}");
        assert!(!passes(micros_later(then, -1)), "{text} before {wait}");
    }
}

/// Envoy's host may have started so long before that the time since then is no time of its own.
#[test]
fn a_bucket_from_the_beginning_of_time_tells_its_wait() {
    let (limiter, now) = (limiter("envoy 1/52w burst 20"), Time::from_micros(2));
    let mut state = limiter.initial();
    limiter.record(&mut state, Time::from_micros(i64::MIN), 0.0, false);
    assert!(limiter.check(&mut state, now, 20.0).is_allowed());
    let wait = limiter.retry_after(&state, now, 1.0).wait().unwrap();
    let passes = |seconds: f64| {
        let at = now.after(wait).as_micros() + (seconds * 1e6) as i64;
        limiter.peek(&state, Time::from_micros(at), 1.0).is_allowed()
    };
    // Here a double of seconds is exact to 2 ms.
    assert!(passes(0.01) && !passes(-0.01), "{wait}");
}

/// A habit that took years is forgotten after years, when the limit is back at its floor.
#[test]
fn a_habit_of_years_is_forgotten_by_the_microsecond() {
    for text in [
        "adaptive x3 decay 30d increase 1000d floor 1",
        "adaptive x3 decay 1h increase 1000d floor 1 by hour",
    ] {
        let (limiter, mut state, mut now) = (limiter(text), limiter(text).initial(), Time::ZERO);
        for quarter in 0..4 * 24 * 500 {
            now = Time::from_micros(quarter * 900_000_000);
            limiter.record(&mut state, now, 1.0, true);
        }
        let then = now.after(limiter.reset_after(&state, now));
        let limit = |at| limiter.peek(&state, at, 1.0).limit;
        assert_eq!(limit(then), 1.0, "{text}");
        assert!(limit(micros_later(then, -1)) > 1.0, "{text} before {then}");
        assert!(now.until(then) > Span::from_hours(24 * 40), "{text}: {then}");
    }
}

/// While a habit still rises, a cost above the floor will pass, and one that is a little higher never will.
#[test]
fn an_event_above_the_floor_waits_for_a_habit_that_rises() {
    let limiter = limiter("adaptive x100 decay 1m increase 1h floor 5");
    let (mut state, now) = (limiter.initial(), Time::from_micros(1_000_000));
    assert!(limiter.check(&mut state, Time::ZERO, 4.0).is_allowed());
    // After t minutes the habit is 4/59 (e^(-t/60) - e^-t). It is highest after 4.2, and then 0.062; it is
    // 0.06 after 2.9 or so.
    let passes = |at| limiter.peek(&state, at, 6.0).is_allowed();
    let then = now.after(limiter.retry_after(&state, now, 6.0).wait().unwrap());
    assert!(passes(then) && !passes(micros_later(then, -1)), "{then}");
    assert!((120.0..250.0).contains(&then.as_secs_f64()), "{then}");
    assert_eq!(limiter.retry_after(&state, now, 7.0), Retry::Never);
}
