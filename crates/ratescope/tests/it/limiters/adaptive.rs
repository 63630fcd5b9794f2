//! How much control over its limit the adaptive limiter gives to a sender.

use crate::limiters::bound::Bound;
use crate::limiters::table::rows;
use crate::limiters::{limiter, magnitude, micros_later, refused};
use proptest::prelude::*;
use ratescope::limit::adaptive::Adaptive;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::exim::Mode;
use ratescope::{Limiter, Retry, Span, Time};

fn adaptive(text: &str) -> Adaptive {
    let AnyLimiter::Adaptive(adaptive) = limiter(text) else { unreachable!() };
    adaptive
}

/// Sends whenever it would be allowed, for `spans` of a hundredth of the increase interval; gives
/// the habit and the highest that it could have been, at the end of each.
fn greedy(limit: &Adaptive, spans: i32) -> Vec<(f64, f64)> {
    let mut state = limit.initial();
    let (mut now, mut found) = (Time::ZERO, Vec::new());
    let step = limit.smoothing().increase.as_secs_f64() / 100.0;
    for i in 1..=spans {
        let end = Time::try_from_secs_f64(f64::from(i) * step).unwrap();
        while now < end {
            now = match refused(limit, &mut state, now, 1.0) {
                None => micros_later(now, 1),
                Some(Retry::After(wait)) => now.after(wait),
                Some(Retry::Never) => unreachable!(),
            };
        }
        let most = limit.highest_after(0.0, Span::try_from_secs_f64(now.as_secs_f64()).unwrap());
        found.push((limit.smoothed_at(&state, now), most));
    }
    found
}

/// The greedy sender stays below the bound, and does not stay far below: nearly nothing is to be
/// had that it does not take.
#[test]
fn a_greedy_sender_stays_below_the_bound() {
    for text in [
        "adaptive x2 decay 1m increase 1h floor 60",
        "adaptive x3 decay 1m increase 1h floor 20",
        "adaptive x1.5 decay 10s increase 20s floor 30",
        "adaptive x3 decay 1m increase 1h floor 20 strict",
    ] {
        let found = greedy(&adaptive(text), 120);
        for (i, (habit, most)) in found.iter().enumerate() {
            assert!(habit <= most, "{text}: {habit} of {most} after {i} hundredths");
        }
        let (habit, most) = found[119];
        assert!(habit > 0.8 * most, "{text}: {habit} of {most}");
    }
}

/// Events as fast as the clock can tell apart, all of them: refused events teach nothing more.
#[test]
fn an_attack_stays_below_the_bound() {
    for mode in ["leaky", "strict"] {
        let limit = adaptive(&format!("adaptive x3 decay 1s increase 1m floor 5 {mode}"));
        let mut state = limit.initial();
        let mut highest = 0.0f64;
        for i in 0..20_000 {
            let now = Time::from_micros(i * 5_000);
            let _ = limit.check(&mut state, now, 1.0);
            let habit = limit.smoothed_at(&state, now);
            let most = limit.highest_after(0.0, Time::ZERO.until(now));
            assert!(habit <= most * (1.0 + 1e-12), "{habit} of {most} at {now}");
            highest = highest.max(habit);
        }
        assert!(highest > 5.0);
    }
}

/// A sudden burst moves the habit by nothing, and the limit stays where it was.
#[test]
fn a_burst_in_an_instant_teaches_nothing() {
    let limit = adaptive("adaptive x3 decay 1m increase 1h floor 5");
    let mut state = limit.initial();
    let allowed = (0..100).filter(|_| limit.check(&mut state, Time::ZERO, 1.0).is_allowed());
    assert_eq!(allowed.count(), 5);
    assert_eq!(state.smoothed, 0.0);
    assert_eq!(limit.limit_at(&state, Time::ZERO), 5.0);
}

/// A steady habit is learned as the mean of the red line, which touches the rate at each event
/// and decays between: the rate times (1 - e^-x)/x.
#[test]
fn a_steady_habit_is_learned() {
    let limit = adaptive("adaptive x3 decay 1m increase 1h floor 5");
    let mut state = limit.initial();
    for i in 0..100_000 {
        // Four a minute, below the floor.
        assert!(limit.check(&mut state, Time::from_micros(i * 15_000_000), 1.0).is_allowed());
    }
    let (habit, mean) = (state.smoothed, 4.0 * (1.0 - (-0.25f64).exp()) / 0.25);
    assert!((habit - mean).abs() < 1e-3, "{habit}, should be {mean}");
    assert_eq!(limit.limit_at(&state, state.at), 3.0 * habit);
}

proptest! {
    /// Any events whatsoever, in either mode that counts: below the bound.
    #[test]
    fn no_events_rise_above_the_bound(
        factor in 1.01f64..10.0,
        floor in magnitude(0.0, 4.0),
        ratio in magnitude(0.31, 3.0),
        strict in any::<bool>(),
        events in prop::collection::vec((magnitude(-5.0, 1.0), magnitude(-3.0, 2.0)), 1..100),
    ) {
        let (decay, increase) = (Span::from_secs(100), Span::try_from_secs_f64(100.0 * ratio).unwrap());
        let mode = if strict { Mode::Strict } else { Mode::Leaky };
        let limit = Adaptive::new(factor, decay, increase, floor, mode).unwrap();
        let (mut state, mut now) = (limit.initial(), Time::ZERO);
        for (gap, cost) in events {
            now = now.after(Span::try_from_secs_f64(gap * 100.0).unwrap());
            let _ = limit.check(&mut state, now, cost * floor);
            let most = limit.highest_after(0.0, Time::ZERO.until(now));
            let habit = limit.smoothed_at(&state, now);
            prop_assert!(habit <= most * (1.0 + 1e-12), "{habit} of {most}");
        }
    }

    /// The bound is the solution of its own equation: in two steps it gets as far as in one, and
    /// its slope is (L - B)/q.
    #[test]
    fn the_bound_grows_as_it_says(
        factor in 1.01f64..10.0,
        from in 0.0f64..30.0,
        parts in (0.0f64..3.0, 0.0f64..3.0),
    ) {
        let limit = Adaptive::new(factor, Span::from_secs(1), Span::from_secs(10), 10.0, Mode::Leaky).unwrap();
        let span = |increases: f64| Span::try_from_secs_f64(increases * 10.0).unwrap();
        let near = |a: f64, b: f64, part: f64| (a - b).abs() <= part * a.abs().max(b.abs());
        let halfway = limit.highest_after(from, span(parts.0));
        let at_once = limit.highest_after(from, span(parts.0 + parts.1));
        prop_assert!(near(limit.highest_after(halfway, span(parts.1)), at_once, 1e-12));
        let slope = (limit.highest_after(halfway, span(1e-6)) - halfway) / 1e-6;
        let want = (factor * halfway).max(10.0) - halfway;
        prop_assert!(near(slope, want, 1e-4) || slope.abs() < 1e-3, "{slope}, not {want}");
        if factor * halfway >= 10.0 {
            let doubled = limit.highest_after(halfway, limit.doubling_time());
            prop_assert!(near(doubled, 2.0 * halfway, 1e-12));
        }
    }
}

/// With a floor of 6 and a factor of 3 a habit is freed at 2. Until then it lacks less and less of the
/// floor; from there it doubles every q ln 2/(k-1).
#[test]
fn the_bound_on_either_side_of_the_floor() {
    let limit =
        Adaptive::new(3.0, Span::from_secs(1), Span::from_secs(100), 6.0, Mode::Leaky).unwrap();
    let after = |increases: f64| {
        limit.highest_after(1.0, Span::try_from_secs_f64(100.0 * increases).unwrap())
    };
    let freed = f64::ln((6.0 - 1.0) / (6.0 - 2.0));
    let double = f64::ln(2.0) / 2.0;
    for (increases, want) in [
        (0.0, 1.0),
        (f64::ln(5.0 / 4.5), 1.5),
        (freed, 2.0),
        (freed + double, 4.0),
        (freed + 2.0 * double, 8.0),
    ] {
        assert!((after(increases) - want).abs() < 1e-6, "{} after {increases}", after(increases));
    }
}

#[test]
fn what_would_not_work_is_refused() {
    for [text, problem] in rows("
        adaptive x1 decay 1m floor 5 | the factor cannot be 1: it must be above 1, up to 1e12
        adaptive x1000000000001 decay 1m floor 5 | the factor cannot be 1000000000001: it must be above 1, up to 1e12
        adaptive x3 decay 1m floor 0.0009 | the floor cannot be 0.0009: it must be from 0.001 to 1e12
        adaptive x3 decay 1m floor 1000000000001 | the floor cannot be 1000000000001: it must be from 0.001 to 1e12
        adaptive x3 decay 1m increase 119s floor 5 | \
            the increase in seconds cannot be 119: it must be at least twice the decay
        adaptive x3 decay 1m floor 0 | the floor cannot be 0: it must be from 0.001 to 1e12
        adaptive x3 decay 0s floor 5 | the decay in seconds cannot be 0: it must be at least a microsecond
        ") {
        let error = text.parse::<AnyLimiter>().unwrap_err();
        assert_eq!(error.problem(), problem, "{text}");
    }
}
