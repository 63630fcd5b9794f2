//! Time running backwards: never mints allowance, never locks out for longer than a period.

use crate::limiters::{
    COUNTING, Case, KINDS, RATES, cases, limiter, magnitude, micros_later, refused, steps,
};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Retry, Span, Time};

/// The period that counts: of the window, rounded up to whole blocks, or of the full bucket.
fn longest_period(case: &Case) -> f64 {
    let buckets = match &case.limiter {
        AnyLimiter::TokenBucket(bucket) => bucket.burst(),
        AnyLimiter::Gcra(bucket) => bucket.burst(),
        AnyLimiter::LeakyBucket(bucket) => bucket.queue(),
        _ => case.count,
    };
    case.period.as_secs_f64() * buckets / case.count + 1e-5
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
        let then = earlier(now, case.period.as_secs_f64() * 1e6, back);
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
        let full = case.limiter.reset_after(&state, now).as_secs_f64().min(case.period.as_secs_f64());
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
        let then = earlier(now, case.period.as_secs_f64() * 1e6, back);
        if let Some(Retry::After(wait)) = refused(&case.limiter, &mut state, then, 1.0) {
            let most = longest_wait(&case) + longest_period(&case);
            prop_assert!(wait.as_secs_f64() <= most, "{wait} of {most}: {}", case.limiter);
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
        let then = earlier(now, case.period.as_secs_f64() * 1e6, back);
        // A refused event that is not counted leaves the earlier ones to decay.
        let counted = case.events(&steps).into_iter().zip(outcomes).rfind(|(_, o)| o.is_allowed());
        let decayed = counted.map_or(0.0, |((at, _), _)| now.since(at));
        let set_back = refused(&case.limiter, &mut state, then, 1.0);
        let in_place = refused(&case.limiter, &mut there, now, 1.0);
        if let Some(Retry::After(wait)) = set_back {
            let Some(Retry::After(usual)) = in_place else { return Ok(()) };
            prop_assert!(wait.as_secs_f64() <= usual.as_secs_f64() + decayed + case.period.as_secs_f64() + 1e-5);
            prop_assert!(case.limiter.peek(&state, then.after(wait), 1.0).is_allowed());
        }
    }
}

/// A clock that is back by a whole period is waited for; where it is back by more, it was set back, and the
/// state moves there. All of this after a minute's worth of events at 10 minutes.
#[test]
fn a_clock_is_set_back_when_it_is_back_by_more_than_a_period() {
    // How many events come, the milliseconds or less by which it is then back by more, and how long they
    // are remembered from 10 minutes on, from a minute before, and from just before that.
    for (text, events, more, reset) in [
        ("haproxy 10/1m", 10, 1000, ["120s", "180s", "120.001s"]),
        ("haproxy 10/1m allowed", 10, 1000, ["120s", "180s", "120.001s"]),
        ("fail2ban 5/1m", 4, 1, ["60s", "120s", "60s"]),
        ("gcra 10/1m", 10, 1, ["60s", "120s", "60s"]),
        ("sliding-counter 10/1m", 10, 1, ["120s", "180s", "60.000001s"]),
    ] {
        let (limiter, now) = (limiter(text), Time::from_micros(600_000_000));
        let mut state = limiter.initial();
        for _ in 0..events {
            assert!(limiter.check(&mut state, now, 1.0).is_allowed(), "{text}");
        }
        for (back, reset) in [0, 60_000_000, 60_000_000 + more].into_iter().zip(reset) {
            let found = limiter.reset_after(&state, micros_later(now, -back));
            assert_eq!(found, reset.parse::<Span>().unwrap(), "{text}, {back} us back");
        }
    }
}

/// So it is where a rate decays, once an event was refused that is not counted.
#[test]
fn a_rate_follows_a_clock_that_is_back_by_more_than_its_period() {
    for text in [
        "exim 10/1m",
        "adaptive x3 decay 1m increase 1h floor 10",
        "adaptive x3 decay 1m floor 10 by hour",
    ] {
        let (limiter, now) = (limiter(text), Time::from_micros(600_000_000));
        let mut state = limiter.initial();
        assert!(limiter.check(&mut state, now, 9.5).is_allowed(), "{text}");
        let usual = limiter.retry_after(&state, now, 1.0).wait().unwrap().as_secs_f64();
        for (back, more) in [(60_000_000, 60.0), (60_000_001, 0.0)] {
            let (mut state, then) = (state.clone(), micros_later(now, -back));
            let retry = refused(&limiter, &mut state, then, 1.0).unwrap();
            assert_eq!(retry.wait().unwrap().as_secs_f64(), usual + more, "{text}, {back} us back");
        }
    }
}

/// nginx takes a clock that is back by more than a minute for one that has moved by a millisecond.
#[test]
fn nginx_waits_for_a_clock_that_is_a_minute_back() {
    let (nginx, now) = (limiter("nginx 1/1s burst 10 nodelay"), Time::from_micros(600_000_000));
    let mut state = nginx.initial();
    for _ in 0..5 {
        assert!(nginx.check(&mut state, now, 1.0).is_allowed());
    }
    for (back, left) in [(0, 6.0), (60_000_000, 6.0), (60_001_000, 6.001)] {
        assert_eq!(nginx.remaining(&state, micros_later(now, -back)), left, "{back} us back");
    }
}

/// Events that are moved back with the clock still leave one after the other.
#[test]
fn a_log_that_is_moved_back_forgets_event_by_event() {
    for text in ["sliding-log 2/10s", "sliding-window 2/10s precision 1s"] {
        let (log, at) = (limiter(text), |seconds: f64| Time::try_from_secs_f64(seconds).unwrap());
        let mut state = log.initial();
        for second in [100.0, 105.0] {
            assert!(log.check(&mut state, at(second), 1.0).is_allowed());
        }
        // Now they are as of -5 s and 0 s.
        let retry = refused(&log, &mut state, at(0.0), 1.0);
        assert_eq!(retry, Some(Retry::After(Span::from_secs(5))), "{text}");
        assert_eq!([5.0, 10.0].map(|then| log.remaining(&state, at(then))), [1.0, 2.0], "{text}");
    }
}
