//! How much control over its limit the limiter that knows the hour gives to a sender, and its hours.

use crate::limiters::bound::{Bound, max_admitted_from};
use crate::limiters::table::rows;
use crate::limiters::{limiter, magnitude, micros_later, refused};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::by_hour::{ByHour, DAY, Day, HOURS, Habits};
use ratescope::limit::exim::Mode;
use ratescope::{Limiter, Retry, Span, Time};

const RULE: &str = "adaptive x3 decay 10m increase 7d floor 10 by hour";

fn by_hour(text: &str) -> ByHour {
    let AnyLimiter::ByHour(by_hour) = limiter(text) else { unreachable!() };
    by_hour
}

fn hours(hours: f64) -> Time {
    Time::try_from_secs_f64(hours * 3600.0).unwrap()
}

/// Sends whenever it would be allowed, from `from` until `to`; how many passed.
fn greedy(limit: &ByHour, state: &mut Habits, from: Time, to: Time) -> u32 {
    let (mut now, mut passed) = (from, 0);
    while now < to {
        now = match refused(limit, state, now, 1.0) {
            None => {
                passed += 1;
                micros_later(now, 1)
            }
            Some(Retry::After(wait)) => now.after(wait),
            Some(Retry::Never) => unreachable!(),
        };
    }
    passed
}

/// As steady as can be, `count` in an hour; how many are refused.
fn steady(limit: &ByHour, state: &mut Habits, from: f64, to: f64, count: f64) -> u32 {
    let events = ((to - from) * count) as u32;
    let refused = |i: &u32| {
        let at = hours(from + (f64::from(*i) + 0.5) / count);
        !limit.check(state, at, 1.0).is_allowed()
    };
    (0..events).filter(refused).count() as u32
}

/// Who sends 50 in an hour between these hours of each day for a month, and is never refused.
fn month(limit: &ByHour, from: f64, to: f64) -> Habits {
    let mut state = limit.initial();
    for day in 0..30 {
        let day = 24.0 * f64::from(day);
        assert_eq!(steady(limit, &mut state, day + from, day + to, 50.0), 0);
    }
    state
}

/// The habit of an hour as of `now`.
fn habit(limit: &ByHour, state: &Habits, now: Time, hour: usize) -> f64 {
    let habits = limit.at(state, now);
    let current = limit.day().hour_of(now) == hour;
    if current { habits.current.smoothed } else { f64::from(habits.hours[hour]) }
}

/// Night after night at the hour of its choice: below the bound, and not far below.
#[test]
fn a_greedy_sender_at_its_hour_stays_below_the_bound() {
    for text in [RULE, "adaptive x2 decay 5m increase 3d floor 20 by hour offset -2h strict"] {
        let limit = by_hour(text);
        let mut state = limit.initial();
        let ahead = limit.day().ahead() / 3600.0;
        let (mut end, mut got) = (0.0, 0.0);
        for night in 0..10u32 {
            let from = 24.0 * f64::from(night) + 3.0 - ahead;
            end = from + 1.0;
            greedy(&limit, &mut state, hours(from), hours(end));
            got = habit(&limit, &state, hours(end), 3);
            let most = limit.highest_after(0.0, Span::from_hours(24 * u64::from(night) + 1));
            assert!(got <= most, "{text}: {got} of {most} after night {night}");
        }
        let most = limit.highest_after(0.0, Span::try_from_secs_f64(end * 3600.0).unwrap());
        assert!(got > 0.7 * most, "{text}: {got} of {most}");
        // No other hour knows of it but those after it, which saw the decayed rate.
        for hour in (0..HOURS).filter(|hour| !(3..=6).contains(hour)) {
            assert!(habit(&limit, &state, hours(end), hour) < 1e-6, "{text}: hour {hour}");
        }
    }
}

/// Around the clock, so that each hour stands beside one that was just raised: still no faster.
#[test]
fn hours_do_not_climb_on_each_other() {
    let limit = by_hour("adaptive x3 decay 30m increase 2d floor 5 by hour");
    let mut state = limit.initial();
    for hour in 0..24 * 4 {
        greedy(&limit, &mut state, hours(f64::from(hour)), hours(f64::from(hour + 1)));
        let now = hours(f64::from(hour + 1));
        let most = limit.highest_after(0.0, Span::from_hours(hour as u64 + 1));
        for index in 0..HOURS {
            let habit = habit(&limit, &state, now, index);
            assert!(habit <= most, "hour {index}: {habit} of {most} after {hour}");
        }
    }
}

/// The bound in the closed forms, by a rule whose numbers stand here once more: in an hour a day, the
/// floor is left behind after q ln(k/(k-1)), and then the limit doubles each q ln 2/(k-1).
#[test]
fn the_bound_to_the_digit() {
    let limit = by_hour(RULE);
    let near =
        |found: f64, told: f64| assert!((found / told - 1.0).abs() < 1e-12, "{found}: {told}");
    let highest = |nights: f64| {
        // The whole nights, and the rest of the last hour.
        let (whole, rest) = (nights.floor(), nights.fract());
        let after = Span::try_from_secs_f64(86_400.0 * whole + 3600.0 * rest).unwrap();
        limit.highest_after(0.0, after)
    };
    let (k, floor, q) = (3.0, 10.0, 7.0_f64);
    let freed = q * (k / (k - 1.0_f64)).ln();
    assert!(freed > 2.8 && freed < 3.0);
    for nights in [0.25, 1.0, 2.0, 2.8] {
        near(highest(nights), floor * (1.0 - (-nights / q).exp()));
        assert!(k * highest(nights) < floor);
    }
    for nights in [2.9, 3.0, 10.5, 30.0] {
        near(k * highest(nights), floor * ((k - 1.0) * (nights - freed) / q).exp());
    }
    near(limit.doubling_time().as_secs_f64(), 86_400.0 * q * 2.0_f64.ln() / (k - 1.0));
    near(highest(20.0 + q * 2.0_f64.ln() / (k - 1.0)), 2.0 * highest(20.0));
    // The most in a night of eight hours: M + (M + 1/2) s.
    let most = max_admitted_from(&limit, 0.0, Span::from_hours(8), 1.0);
    assert!((most - (10.0 + 10.5 * 48.0)).abs() < 1e-6, "{most}");
}

/// The first night, of a newcomer and of one that had a busy day: the floor, and the events that Exim's limit
/// of the floor would let through.
#[test]
fn the_first_night_gets_the_floor() {
    let limit = by_hour(RULE);
    let most = max_admitted_from(&limit, 0.0, Span::from_hours(8), 1.0);
    assert_eq!(most.floor(), 514.0);
    let mut newcomer = limit.initial();
    assert_eq!(greedy(&limit, &mut newcomer, hours(22.0), hours(30.0)), 489);
    // After a month by day, as much as it gets from midnight on.
    let mut state = month(&limit, 8.0, 18.0);
    assert!(limit.limit_at(&state, hours(24.0 * 29.0 + 12.0)) > 20.0);
    let night = hours(24.0 * 30.0);
    assert_eq!(limit.limit_at(&state, night), 10.0);
    assert_eq!(greedy(&limit, &mut state, night, hours(24.0 * 30.0 + 6.0)), 369);
}

/// Nobody is on time: an hour early or late, as when the clocks change, is held to the same limit.
#[test]
fn an_hour_early_or_late_is_no_crime() {
    let limit = by_hour(RULE);
    let state = month(&limit, 9.0, 17.0);
    let at = |hour: f64| limit.limit_at(&state, hours(24.0 * 30.0 + hour));
    assert_eq!(at(7.99), 10.0);
    assert!(at(8.0) > 18.0 && at(12.0) > 20.0 && at(17.99) > 20.0);
    // And the hour after 17, which saw the rate decay, lets one into the next at most a little.
    assert!(at(18.5) < 10.1 && at(20.0) == 10.0);
}

/// Every hour the same: the limit of the adaptive limit, but for the uneven lessons of a day.
#[test]
fn who_never_sleeps_is_held_to_the_flat_limit() {
    let limit = by_hour("adaptive x3 decay 10m increase 7d floor 2 by hour");
    let AnyLimiter::Adaptive(flat) = limiter("adaptive x3 decay 10m increase 7d floor 2") else {
        unreachable!()
    };
    let (mut state, mut other) = (limit.initial(), flat.initial());
    for i in 0..24 * 60 * 6 {
        let at = hours((f64::from(i) + 0.5) / 6.0);
        assert!(limit.check(&mut state, at, 1.0).is_allowed());
        assert!(flat.check(&mut other, at, 1.0).is_allowed());
    }
    let now = hours(24.0 * 60.0);
    let (by_hour, flat) = (limit.limit_at(&state, now), flat.limit_at(&other, now));
    assert!((by_hour / flat - 1.0).abs() < 0.002, "{by_hour} and {flat}");
}

/// Two weeks away leave e^-2 of the habit; the state says the same whether it is asked on the way.
#[test]
fn a_holiday_is_forgotten_by_the_day() {
    let limit = by_hour(RULE);
    let state = month(&limit, 9.0, 17.0);
    let noon = |day: f64| habit(&limit, &state, hours(24.0 * day + 12.999), 12);
    let left = noon(29.0 + 14.0) / noon(29.0);
    assert!((left / (-2f64).exp() - 1.0).abs() < 2e-4, "{left}");
    let then = hours(24.0 * 45.3);
    let mut stepped = state;
    for hour in 24 * 30..=24 * 45 {
        stepped = limit.at(&stepped, hours(f64::from(hour)));
    }
    let [a, b] = [limit.at(&state, then), limit.at(&stepped, then)];
    for (a, b) in a.hours.iter().zip(b.hours) {
        assert!((a - b).abs() <= 1e-5 * a.max(b) + 1e-9, "{a} and {b}");
    }
}

#[test]
fn hours_are_of_the_offset() {
    for (text, at, hour) in [
        ("", 0.0, 0),
        ("", 23.999, 23),
        ("", -0.001, 23),
        (" offset +1h", 23.0, 0),
        (" offset -5h30m", 5.49, 23),
        (" offset -5h30m", 5.5, 0),
        (" day 12h", 13.0, 2),
    ] {
        let day = by_hour(&format!("{RULE}{text}")).day();
        assert_eq!(day.hour_of(hours(at)), hour, "{text} at {at}");
    }
    for at in [i64::MIN, i64::MAX] {
        let limit = by_hour(&format!("{RULE} offset +1h"));
        let mut state = limit.initial();
        let _ = limit.check(&mut state, Time::from_micros(at), 1.0);
        assert_eq!(limit.limit_at(&state, Time::LAST), 10.0);
    }
}

#[test]
fn what_would_not_work_is_refused() {
    for [words, problem] in rows("
        decay 61m increase 7d floor 5 by hour | \
            the decay in seconds cannot be 3660: it must be at most an hour of the day
        decay 1m increase 47h floor 5 by hour | \
            the increase in seconds cannot be 169200: it must be at least two days, by hour
        decay 1m floor 5 by day | unexpected word; write by hour
        decay 1m floor 5 by hour offset 1h | a sign is missing; write an offset as +1h or -5h30m
        decay 1m floor 5 by hour offset +25h | the offset cannot be 90000: it must be at most a day
        decay 1m floor 5 by hour day 0s | the day cannot be 0: it must be from a millisecond to a century
        ") {
        let text = format!("adaptive x3 {words}");
        let error = text.parse::<AnyLimiter>().unwrap_err();
        assert_eq!(error.problem(), problem, "{text}");
    }
    assert!("adaptive x3 decay 1m floor 5 offset +1h".parse::<AnyLimiter>().is_err());
}

proptest! {
    /// Any events whatsoever, in either mode that counts: no habit above the bound, and no window
    /// from rest with more than was promised.
    #[test]
    fn no_events_rise_above_the_bound(
        factor in 1.01f64..10.0,
        floor in magnitude(0.0, 4.0),
        days in 2.0f64..20.0,
        strict in any::<bool>(),
        ahead in -86400.0f64..86400.0,
        events in prop::collection::vec((magnitude(-5.0, 2.0), magnitude(-3.0, 2.0)), 1..100),
    ) {
        let increase = Span::try_from_secs_f64(86400.0 * days).unwrap();
        let mode = if strict { Mode::Strict } else { Mode::Leaky };
        let day = Day::new(DAY, ahead).unwrap();
        let limit = ByHour::new(factor, Span::from_mins(30), increase, floor, mode, day).unwrap();
        let (mut state, mut now) = (limit.initial(), Time::ZERO);
        for (gap, cost) in events {
            now = now.after(Span::try_from_secs_f64(gap * 1800.0).unwrap());
            let _ = limit.check(&mut state, now, cost * floor);
            let most = limit.highest_after(0.0, Time::ZERO.until(now));
            for hour in 0..HOURS {
                let habit = habit(&limit, &state, now, hour);
                prop_assert!(habit <= most * (1.0 + 1e-12), "{habit} of {most} at {hour}");
            }
        }
    }

    /// When an hour is over, its habit is kept in fewer digits, and never as more than it was.
    #[test]
    fn no_habit_grows_when_its_hour_is_over(
        gaps in prop::collection::vec(magnitude(-3.0, 1.0), 1..40),
        floor in magnitude(0.0, 3.0),
    ) {
        let limit = by_hour(&format!("adaptive x3 decay 1m increase 2d floor {floor} by hour"));
        let (mut state, mut now) = (limit.initial(), Time::ZERO);
        for gap in &gaps {
            now = now.after(Span::try_from_secs_f64(gap * 60.0).unwrap());
            let _ = limit.check(&mut state, now, 1.0);
        }
        let end = hours((now.as_secs_f64() / 3600.0).floor() + 1.0);
        let hour = limit.day().hour_of(now);
        let before = habit(&limit, &state, end.before(Span::from_micros(1)), hour);
        let after = habit(&limit, &state, end, hour);
        // In the last microsecond it follows a rate of at most one for each event, 24 times as fast as in two days.
        let followed = gaps.len() as f64 * 24.0 * 1e-6 / (2.0 * 86400.0);
        prop_assert!(after <= before * (1.0 + 1e-10) + followed, "{after}, and was {before}");
        prop_assert!(after >= before * (1.0 - 3e-7), "{after}, and was {before}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A greedy sender that begins anywhere gets no more than was promised from rest.
    #[test]
    fn no_window_from_rest_has_more_than_was_promised(
        from in 0.0f64..48.0,
        length in 0.1f64..30.0,
        floor in 2.0f64..20.0,
    ) {
        let limit = by_hour(&format!("adaptive x3 decay 30m increase 3d floor {floor} by hour"));
        let window = Span::try_from_secs_f64(length * 3600.0).unwrap();
        let end = hours(from).after(window);
        let got = greedy(&limit, &mut limit.initial(), hours(from), end);
        let most = max_admitted_from(&limit, 0.0, window, 1.0);
        prop_assert!(f64::from(got) <= most, "{got} of {most}");
    }
}
