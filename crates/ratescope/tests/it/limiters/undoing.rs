//! Taking back an event that was allowed.

use crate::limiters::random::COUNTING;
use crate::limiters::{KINDS, cases, limiter, steps};
use proptest::prelude::*;
use ratescope::{Limiter, Span, Time};

proptest! {
    /// At once, it is as if it had not been.
    #[test]
    fn what_is_undone_at_once_never_was(case in cases(COUNTING), steps in steps(false)) {
        let (_, before, now) = case.run(&steps);
        let cost = (case.limiter.remaining(&before, now) / 2.0).min(case.count);
        let mut after = before.clone();
        prop_assume!(case.limiter.check(&mut after, now, cost).is_allowed());
        prop_assert!(case.limiter.undo(&mut after, now, now, cost));
        prop_assert_eq!(case.limiter.remaining(&after, now), case.limiter.remaining(&before, now));
    }

    /// Later, no more is left than if it had not been, now and for ever; and never less than before. If windows begin with
    /// an event, that of an undone one stays for the others: no more is left than if it had cost next to nothing.
    #[test]
    fn what_is_undone_later_gives_no_more_than_it_took(
        case in cases(COUNTING),
        (steps, which, later) in (steps(false), 0..60usize, 0.0f64..2.0),
    ) {
        let (mut with, mut without) = (case.limiter.initial(), case.limiter.initial());
        let least = if case.limiter.to_string().ends_with("from first") { 1e-6 } else { 0.0 };
        let (mut undone, mut last) = (None, Time::ZERO);
        for (i, (at, cost)) in case.events(&steps).into_iter().enumerate() {
            let allowed = case.limiter.check(&mut with, at, cost).is_allowed();
            if allowed && i >= which && undone.is_none() {
                undone = Some((at, cost));
                if least > 0.0 {
                    case.limiter.record(&mut without, at, least, true);
                }
            } else {
                case.limiter.record(&mut without, at, cost, allowed);
            }
            last = at;
        }
        let Some((at, cost)) = undone else { return Ok(()) };
        let now = last.after(Span::try_from_secs_f64(later * case.period.as_secs_f64()).unwrap());
        let left = case.limiter.remaining(&with, now);
        prop_assert!(case.limiter.undo(&mut with, at, now, cost));
        prop_assert!(case.limiter.remaining(&with, now) >= left);
        for part in 0..8 {
            let then = now.after(Span::try_from_secs_f64(f64::from(part) / 4.0 * case.period.as_secs_f64()).unwrap());
            let [left, most] = [&with, &without].map(|state| case.limiter.remaining(state, then));
            let most = most + 1.5 * least;
            prop_assert!(left <= most, "{} at {then}: {left}, without it {most}", case.limiter);
        }
    }

    /// A sender that holds many open, however long, and gives them back whenever it likes keeps, in any interval, no
    /// more admitted events than one that gives none back.
    #[test]
    fn what_is_held_open_is_no_credit(
        case in cases(COUNTING),
        steps in steps(false),
        held in prop::collection::vec(prop::option::of(0..60usize), 60),
    ) {
        let events = case.events(&steps);
        let mut state = case.limiter.initial();
        let (mut kept, mut open) = (Vec::new(), Vec::new());
        for (i, (now, cost)) in events.into_iter().enumerate() {
            open.retain(|(until, at, cost)| {
                if i >= *until {
                    assert!(case.limiter.undo(&mut state, *at, now, *cost));
                }
                i < *until
            });
            match (case.limiter.check(&mut state, now, cost).is_allowed(), held[i]) {
                (true, Some(steps)) => open.push((i + steps, now, cost)),
                (true, None) => kept.push((now, cost)),
                (false, _) => {}
            }
        }
        let most = kept.iter().map(|(_, cost)| *cost).fold(0.0, f64::max);
        for (i, (from, _)) in kept.iter().enumerate() {
            let mut sum = 0.0;
            for (to, cost) in &kept[i..] {
                sum += cost;
                let interval = Span::from_micros((to.as_micros() - from.as_micros()) as u64 + 1);
                let bound = case.limiter.max_admitted(interval, most);
                prop_assert!(sum <= bound * (1.0 + 1e-9), "{}: {sum} of {bound}", case.limiter);
            }
        }
    }

    /// A limiter that can't changes nothing.
    #[test]
    fn a_measured_event_cannot_be_undone(
        case in cases(KINDS.split_at(COUNTING.len()).1),
        steps in steps(false),
    ) {
        let (_, mut state, now) = case.run(&steps);
        let before = state.clone();
        prop_assert!(!case.limiter.undo(&mut state, now, now, 1.0));
        prop_assert_eq!(state, before);
    }
}

/// A bucket gives back the part that has certainly not drained, and a window the events that it still counts.
#[test]
fn what_is_given_back_is_what_still_counts() {
    let at = |seconds: i64| Time::from_micros(seconds * 1_000_000);
    for (text, now, back) in [
        ("gcra 1/1s burst 10", 0, 4.0),
        ("gcra 1/1s burst 10", 3, 1.0),
        ("leaky-bucket 1/1s queue 10", 3, 1.0),
        ("fixed-window 10/10s", 9, 4.0),
        ("fixed-window 10/10s", 10, 0.0),
        ("sliding-log 10/10s", 9, 4.0),
        ("sliding-log 10/10s", 10, 0.0),
        ("sliding-counter 10/10s", 15, 2.0),
    ] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        for cost in [4.0, 5.0] {
            assert!(limiter.check(&mut state, at(0), cost).is_allowed());
        }
        let before = limiter.remaining(&state, at(now));
        assert!(limiter.undo(&mut state, at(0), at(now), 4.0), "{text}");
        assert_eq!(limiter.remaining(&state, at(now)) - before, back, "{text} after {now} s");
    }
}

/// Events that were taken back take no room of a log: a full one blurs the times of others.
#[test]
fn what_is_undone_leaves_nothing_in_a_window() {
    for text in ["sliding-log 10/1h", "sliding-window 10/1h"] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        for micros in 0..1000 {
            let at = Time::from_micros(micros * 50_000);
            assert!(limiter.check(&mut state, at, 1.0).is_allowed());
            assert!(limiter.undo(&mut state, at, at, 1.0));
        }
        assert_eq!(state, limiter.initial());
        let minute = |minute: i64| Time::from_micros(minute * 60_000_000);
        for event in 1..=10 {
            assert!(limiter.check(&mut state, minute(6 * event), 1.0).is_allowed(), "{event}");
        }
        assert!(limiter.check(&mut state, minute(66), 1.0).is_allowed(), "{text}");
    }
}

/// A bucket's time goes back with the clock, and then the drained amount is not fully known.
#[test]
fn what_is_undone_after_the_clock_was_set_back() {
    let limiter = limiter("gcra 1/1s burst 10");
    let mut state = limiter.initial();
    let at = |seconds: f64| Time::try_from_secs_f64(seconds).unwrap();
    for (time, cost, passes) in [(1000.0, 10.0, true), (1009.5, 9.0, true), (0.0, 10.0, false)] {
        assert_eq!(limiter.check(&mut state, at(time), cost).is_allowed(), passes);
    }
    assert_eq!(limiter.remaining(&state, at(1.0)), 1.5);
    assert!(limiter.undo(&mut state, at(1000.0), at(1.0), 10.0));
    assert_eq!(limiter.remaining(&state, at(1.0)), 1.5);
}

/// An event that came out of order counts in the window of the latest one, and stays there.
#[test]
fn what_was_counted_in_a_later_window_is_not_given_back() {
    let limiter = limiter("fixed-window 10/10s");
    let mut state = limiter.initial();
    let at = |seconds: i64| Time::from_micros(seconds * 1_000_000);
    for (time, cost) in [(10, 1.0), (9, 4.0)] {
        assert!(limiter.check(&mut state, at(time), cost).is_allowed());
    }
    assert!(limiter.undo(&mut state, at(9), at(10), 4.0));
    assert_eq!(limiter.remaining(&state, at(10)), 5.0);
}

/// The window before still counts in part, and so do its events.
#[test]
fn what_came_in_the_window_before_is_given_back_in_part() {
    let limiter = limiter("sliding-counter 10/10s");
    let at = |seconds: i64| Time::from_micros(seconds * 1_000_000);
    for (came, left) in [(0, 6.0), (15, 8.0), (-10, 4.0)] {
        let mut state = limiter.initial();
        for (time, cost) in [(0, 4.0), (15, 4.0)] {
            assert!(limiter.check(&mut state, at(time), cost).is_allowed());
        }
        // Half of the four before are left, and the four.
        assert_eq!(limiter.remaining(&state, at(15)), 4.0);
        assert!(limiter.undo(&mut state, at(came), at(15), 4.0));
        assert_eq!(limiter.remaining(&state, at(15)), left, "{came}");
    }
}
