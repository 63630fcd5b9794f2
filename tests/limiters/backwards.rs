//! Time running backwards: never mints allowance, never locks out for longer than a period.

use crate::{COUNTING, Case, KINDS, RATES, cases, magnitude, micros_later, refused, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Retry, Time};

/// The period that counts: of the window, rounded up to whole blocks, or of the full bucket.
fn longest_period(case: &Case) -> f64 {
    let buckets = match &case.limiter {
        AnyLimiter::TokenBucket(bucket) => bucket.burst(),
        AnyLimiter::Gcra(bucket) => bucket.burst(),
        AnyLimiter::LeakyBucket(bucket) => bucket.queue(),
        _ => case.count,
    };
    case.period.secs() * buckets / case.count + 1e-5
}

/// The longest that anyone waits when time only runs forwards.
fn longest_wait(case: &Case) -> f64 {
    match &case.limiter {
        // A burst at the beginning of a window fades only in the next.
        AnyLimiter::SlidingCounter(_) => 2.0 * longest_period(case),
        _ => longest_period(case),
    }
}

fn earlier(now: Time, period_micros: f64, periods: f64) -> Time {
    Time::from_micros(now.as_micros() - (periods * period_micros) as i64)
}

proptest! {
    /// An event that passes at an earlier time passes at the last time, too.
    #[test]
    fn an_earlier_time_has_no_more_room(
        case in cases(&KINDS),
        steps in steps(false),
        back in magnitude(-6.0, 3.0),
    ) {
        let (_, state, now) = case.run(&steps);
        let then = earlier(now, case.period.secs() * 1e6, back);
        // nginx lets a clock that was set back by more than a minute be a millisecond later.
        let nginx = matches!(case.limiter, AnyLimiter::Nginx(_));
        let now = if nginx { micros_later(now, 1000) } else { now };
        let room = |at| case.limiter.remaining(&state, at);
        prop_assert!(room(then) <= room(now) * (1.0 + 1e-12) + 1e-9, "{} and {}", room(then), room(now));
        for cost in [1.0, case.count / 2.0] {
            let passes = |at| case.limiter.peek(&state, at, cost).is_allowed();
            prop_assert!(passes(now) || !passes(then));
        }
    }

    /// Going to and fro within a period lets nothing through that the latest time alone does not.
    #[test]
    fn to_and_fro_mints_nothing(case in cases(COUNTING), steps in steps(false), back in 0.0..0.99) {
        let (_, state, now) = case.run(&steps);
        // Half of it for the buckets, whose burst may take less than the period to come back.
        let full = case.limiter.reset_after(&state, now).secs().min(case.period.secs());
        let then = earlier(now, full * 1e6, back);
        let (mut swinging, mut standing) = (state.clone(), state);
        let swung = [then, now].repeat(500).into_iter()
            .filter(|&at| case.limiter.check(&mut swinging, at, 1.0).is_allowed()).count();
        let stood = [now; 1000].into_iter()
            .filter(|&at| case.limiter.check(&mut standing, at, 1.0).is_allowed()).count();
        prop_assert!(swung <= stood, "{swung}, and {stood} without: {}", case.limiter);
    }

    /// However far the clock is set back, a wait grows by one period at most: that of the window,
    /// or the time in which a full bucket drains.
    #[test]
    fn no_wait_is_longer_by_more_than_a_period(
        case in cases(COUNTING),
        steps in steps(false),
        back in magnitude(-3.0, 6.0),
    ) {
        let (_, mut state, now) = case.run(&steps);
        let then = earlier(now, case.period.secs() * 1e6, back);
        if let Some(Retry::After(wait)) = refused(&case.limiter, &mut state, then, 1.0) {
            let most = longest_wait(&case) + longest_period(&case);
            prop_assert!(wait.secs() <= most, "{wait} of {most}: {}", case.limiter);
            prop_assert!(case.limiter.check(&mut state, then.after(wait), 1.0).is_allowed());
        }
    }

    /// The rates decay no further until time has caught up, and nobody waits for more than a
    /// period for that.
    #[test]
    fn a_rate_waits_for_a_period_at_most(
        case in cases(RATES),
        steps in steps(false),
        back in magnitude(-3.0, 6.0),
    ) {
        let (outcomes, mut state, now) = case.run(&steps);
        let mut there = state.clone();
        let then = earlier(now, case.period.secs() * 1e6, back);
        // A refused event that is not counted leaves what was counted before to decay.
        let counted = case.events(&steps).into_iter().zip(outcomes).rfind(|(_, o)| o.is_allowed());
        let decayed = counted.map_or(0.0, |((at, _), _)| now.since(at));
        let set_back = refused(&case.limiter, &mut state, then, 1.0);
        let in_place = refused(&case.limiter, &mut there, now, 1.0);
        if let Some(Retry::After(wait)) = set_back {
            let Some(Retry::After(usual)) = in_place else { return Ok(()) };
            prop_assert!(wait.secs() <= usual.secs() + decayed + case.period.secs() + 1e-5);
            prop_assert!(case.limiter.peek(&state, then.after(wait), 1.0).is_allowed());
        }
    }
}
