//! The standing of a sender over any change, as properties.

use crate::kept::{START, Step, limiters, pairs, run, steps, times};
use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Span, Time};

/// Every number that a limiter says about a state.
fn all(limiter: &AnyLimiter, state: &AnyState, now: Time) -> String {
    let asked = [0.0, 1.0, 2.5, 100.0]
        .map(|cost| (limiter.peek(state, now, cost), limiter.retry_after(state, now, cost)));
    format!("{asked:?} {:?}", (limiter.remaining(state, now), limiter.reset_after(state, now)))
}

/// How long a full bucket takes to drain.
fn drains(limiter: &AnyLimiter) -> Option<Span> {
    let size = match limiter {
        AnyLimiter::TokenBucket(bucket) => bucket.burst(),
        AnyLimiter::Gcra(bucket) => bucket.burst(),
        AnyLimiter::LeakyBucket(bucket) => bucket.queue(),
        _ => return None,
    };
    let mut full = limiter.initial();
    limiter.charge(&mut full, Time::ZERO, size).unwrap();
    // Rounded up to a microsecond.
    Span::try_from_secs_f64(limiter.reset_after(&full, Time::ZERO).as_secs_f64() - 1e-6).ok()
}

/// The state after the steps, and the latest of their times: two buckets disagree about any time before,
/// which drains at either rate.
fn latest(limiter: &AnyLimiter, steps: &[Step], period: Span) -> (AnyState, Time) {
    let (state, last) = run(limiter, steps, period);
    (state, times(steps, period, START).iter().fold(last, |now, (at, _)| now.max(*at)))
}

proptest! {
    /// Under the same limit nothing is rounded: in every bit, at every instant, backwards too. Only a
    /// bucket has seen the time of keeping, and tells from there whether the clock was set back.
    #[test]
    fn the_same_limit_goes_on_exactly(
        (limiter, period) in limiters(),
        before in steps(),
        silence in 0.0..2.0f64,
        after in steps(),
    ) {
        let limiter = &limiter;
        let (mut state, last) = run(limiter, &before, period);
        let now = Time::from_micros(last.as_micros() + (silence * period.as_secs_f64() * 1e6) as i64);
        let bytes = limiter.keep(&state, now).to_bytes();
        let mut restored = limiter.restore(&Kept::from_bytes(&bytes).unwrap()).unwrap();
        let back = drains(limiter);
        let mut latest = now;
        for (at, step) in times(&after, period, last) {
            if back.is_some_and(|back| at.after(back) < latest) {
                continue;
            }
            latest = latest.max(at);
            prop_assert_eq!(all(limiter, &state, at), all(limiter, &restored, at));
            crate::kept::apply(limiter, &mut state, (at, step));
            crate::kept::apply(limiter, &mut restored, (at, step));
        }
    }

    /// Under another limit of the same shape the level is as it was, but for the rounding that is
    /// documented, which is a millionth of an event in a bucket and in favour of the sender.
    #[test]
    fn another_limit_sees_the_same_level(([old, new], period) in pairs(), steps in steps()) {
        let (state, now) = latest(&old, &steps, period);
        let restored = new.restore(&old.keep(&state, now)).unwrap();
        let (was, is) = (old.peek(&state, now, 0.0), new.peek(&restored, now, 0.0));
        let unit = |limiter: &AnyLimiter| match limiter {
            // EARRRL's level is in the period of its rate.
            AnyLimiter::Earrrl(earrrl) => earrrl.limit().per().as_secs_f64(),
            _ => 1.0,
        };
        let (was, level) = (was.level / unit(&old), is.level / unit(&new));
        match new {
            AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_) | AnyLimiter::LeakyBucket(_) => {
                // It empties within a microsecond, and is kept as of the last at which it was not empty.
                let instant = old.max_admitted(Span::from_micros(3), 1.0) - old.max_admitted(Span::from_micros(2), 1.0);
                prop_assert!(level <= was * (1.0 + 1e-12) + instant, "{level}, was {was}");
                prop_assert!(level >= was * (1.0 - 1e-12) - 3e-6, "{level}, was {was}");
            }
            _ => prop_assert!((level - was).abs() <= 1e-12 * was, "{level}, was {was}"),
        }
    }

    /// A higher limit lets nobody wait who did not, and a lower one lets nobody pass who did not.
    #[test]
    fn more_is_never_less(([old, new], period) in pairs(), steps in steps(), cost in 0.0..20.0f64) {
        let (state, now) = latest(&old, &steps, period);
        let restored = new.restore(&old.keep(&state, now)).unwrap();
        let (was, is) = (old.peek(&state, now, cost), new.peek(&restored, now, cost));
        let comparable = !matches!(old, AnyLimiter::Earrrl(_));
        // A limit of Exim lies above all levels that pass, the others may be reached.
        if comparable && was.level < was.limit && is.limit > was.limit {
            prop_assert!(is.is_allowed(), "{was} and then {is}");
        }
        if comparable && was.level > was.limit + 2e-6 && is.limit < was.limit {
            prop_assert!(!is.is_allowed(), "{was} and then {is}");
        }
    }

    /// A state that never saw an event is fresh under any limit.
    #[test]
    fn nothing_stays_nothing(([old, new], _) in pairs(), now in -1e15..1e15f64) {
        let now = Time::from_micros(now as i64);
        let restored = new.restore(&old.keep(&old.initial(), now)).unwrap();
        prop_assert_eq!(&restored, &new.initial());
        for at in [now, Time::ZERO, Time::LAST] {
            prop_assert_eq!(all(&new, &restored, at), all(&new, &new.initial(), at));
        }
    }
}

/// Costs of a thousandth: more entries than the shorter log has room for are merged, and none
/// leaves later than it would have.
#[test]
fn a_log_of_crumbs_is_merged_in_favour_of_the_sender() {
    let old: AnyLimiter = "sliding-log 50000/1h".parse().unwrap();
    let new: AnyLimiter = "sliding-log 5/1h".parse().unwrap();
    let mut state = old.initial();
    for i in 0..4000 {
        old.charge(&mut state, Time::from_micros(i * 100_000), 0.001).unwrap();
    }
    let kept = old.keep(&state, Time::from_micros(400_000_000));
    let merged = new.restore(&kept).unwrap();
    for seconds in (0..4200).step_by(7) {
        let at = Time::from_micros(seconds * 1_000_000);
        let (exact, level) = (old.peek(&state, at, 0.0).level, new.peek(&merged, at, 0.0).level);
        // Four neighbours leave together with the first of them.
        assert!(level <= exact && exact <= level + 0.003 + 1e-9, "{level} and {exact} at {at}");
    }
}
