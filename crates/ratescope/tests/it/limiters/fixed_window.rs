//! Where fixed windows begin and end.

use super::limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Retry, Span, Time};

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// The hours after which each event passed.
fn passed(limiter: &AnyLimiter, hours: &[i64]) -> Vec<i64> {
    let mut state = limiter.initial();
    let passes = |hour: &i64| {
        let now = Time::from_micros(1000 * DAY + hour * HOUR);
        limiter.check(&mut state, now, 1.0).is_allowed()
    };
    hours.iter().copied().filter(passes).collect()
}

#[test]
fn a_day_begins_when_it_is_said_to() {
    let hours: Vec<i64> = (0..72).collect();
    let first_of = |text: &str| passed(&limiter(text), &hours);
    assert_eq!(first_of("fixed-window 1/1d"), [0, 24, 48]);
    assert_eq!(first_of("fixed-window 1/1d from 06:00"), [0, 6, 30, 54]);
    assert_eq!(first_of("fixed-window 1/1d from 00:00+02:00"), [0, 22, 46, 70]);
    assert_eq!(
        first_of("fixed-window 2/12h from 09:00"),
        [0, 1, 9, 10, 21, 22, 33, 34, 45, 46, 57, 58, 69, 70]
    );
    // The thousandth day was a Wednesday: 27 September 1972.
    let week: Vec<i64> = (0..14 * 24).collect();
    let mondays = passed(&limiter("fixed-window 1/1w from 4d"), &week);
    assert_eq!(mondays, [0, 5 * 24, 12 * 24]);
}

/// As INCR and EXPIRE do, but refused events do not begin one.
#[test]
fn a_window_begins_with_the_first_event() {
    let hourly = limiter("fixed-window 2/10h from first");
    assert_eq!(passed(&hourly, &[3, 5, 7, 12, 13, 14, 22, 23, 24]), [3, 5, 13, 14, 23, 24]);
    assert_eq!(passed(&hourly, &[3, 4, 50, 51, 52]), [3, 4, 50, 51]);
    // A refused event of a new key begins none.
    let mut state = hourly.initial();
    let at = |hour: i64| Time::from_micros(hour * HOUR);
    assert!(!hourly.check(&mut state, at(0), 3.0).is_allowed());
    assert_eq!(state, hourly.initial());
    assert!(hourly.check(&mut state, at(5), 2.0).is_allowed());
    assert_eq!(hourly.retry_after(&state, at(6), 1.0), Retry::After(Span::from_hours(9)));
    assert_eq!(hourly.reset_after(&state, at(6)), Span::from_hours(9));
    assert_eq!((hourly.remaining(&state, at(6)), hourly.remaining(&state, at(15))), (0.0, 2.0));
    // An event of a window that is over gives nothing back to the next.
    assert!(hourly.check(&mut state, at(15), 2.0).is_allowed());
    assert!(hourly.undo(&mut state, at(14), at(15), 2.0));
    assert_eq!(hourly.remaining(&state, at(15)), 0.0);
    assert!(hourly.undo(&mut state, at(15), at(16), 1.0));
    assert_eq!(hourly.remaining(&state, at(16)), 1.0);
}

/// An event that began a window and is undone leaves the window to the others in it; if there are none, no window is
/// left.
#[test]
fn the_event_that_began_a_window_is_undone() {
    let limiter = limiter("fixed-window 2/10h from first");
    let at = |hour: i64| Time::from_micros(hour * HOUR);
    let mut state = limiter.initial();
    assert!(limiter.check(&mut state, at(0), 1.0).is_allowed());
    assert!(limiter.undo(&mut state, at(0), at(9), 1.0));
    assert_eq!(limiter.reset_after(&state, at(9)), Span::ZERO);
    assert!(limiter.check(&mut state, at(9), 1.0).is_allowed());
    assert_eq!(limiter.reset_after(&state, at(9)), Span::from_hours(10));
    assert!(limiter.check(&mut state, at(18), 1.0).is_allowed());
    assert!(limiter.undo(&mut state, at(9), at(18), 1.0));
    assert_eq!((limiter.remaining(&state, at(18)), limiter.remaining(&state, at(19))), (1.0, 2.0));
}

/// A window in progress ends when it would have ended, and the count goes on.
#[test]
fn another_beginning_gives_no_second_window() {
    let at = |hour: i64| Time::from_micros(1000 * DAY + hour * HOUR);
    let [midnight, six, first] =
        ["", " from 06:00", " from first"].map(|from| limiter(&format!("fixed-window 2/1d{from}")));
    for (old, new, ends) in [(&midnight, &six, 24), (&six, &first, 30), (&first, &midnight, 32)] {
        let mut state = old.initial();
        assert!(old.check(&mut state, at(8), 2.0).is_allowed());
        let mut state = new.restore(&old.keep(&state, at(9))).unwrap();
        assert_eq!(new.retry_after(&state, at(9), 1.0), Retry::After(Span::from_hours(ends - 9)));
        assert!(!new.check(&mut state, at(9), 1.0).is_allowed());
        assert!(new.check(&mut state, at(ends as i64), 2.0).is_allowed());
    }
}

/// As INCR and EXPIRE do: a refused event counts, and begins a window.
#[test]
fn attempts_are_counted() {
    let hourly = limiter("fixed-window 2/10h from first attempts");
    let mut state = hourly.initial();
    let at = |hour: i64| Time::from_micros(hour * HOUR);
    assert!(!hourly.check(&mut state, at(1), 3.0).is_allowed());
    assert_eq!(hourly.remaining(&state, at(1)), 0.0);
    for hour in 2..11 {
        let outcome = hourly.check(&mut state, at(hour), 1.0);
        assert_eq!((outcome.is_allowed(), outcome.level), (false, (hour + 2) as f64), "{hour}");
    }
    assert_eq!(hourly.retry_after(&state, at(10), 1.0), Retry::After(Span::from_hours(1)));
    // It has counted refused events, so nothing can be given back.
    assert!(hourly.check(&mut state, at(11), 1.0).is_allowed());
    assert!(!hourly.undo(&mut state, at(11), at(12), 1.0));
    assert_eq!(hourly.remaining(&state, at(12)), 1.0);
    // A cost that is no number, and one of nothing, count nothing.
    for cost in [f64::NAN, -1.0, 0.0, 1e13] {
        let _ = hourly.check(&mut state, at(12), cost);
        assert_eq!(hourly.remaining(&state, at(12)), 1.0, "{cost}");
    }
    // By the clock, a window begins and ends as without.
    let hours: Vec<i64> = (0..30).collect();
    let of_clock = passed(&limiter("fixed-window 2/10h attempts"), &hours);
    assert_eq!(of_clock, passed(&limiter("fixed-window 2/10h"), &hours));
}

/// Nobody waits for longer than a period, and nobody gets another limit.
#[test]
fn a_clock_that_is_set_back() {
    for text in ["fixed-window 1/10h from first", "fixed-window 1/10h from 06:00"] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        let at = |hour: i64| Time::from_micros(1000 * DAY + hour * HOUR);
        assert!(limiter.check(&mut state, at(100), 1.0).is_allowed());
        for hour in [99, 95, 50, -500] {
            assert!(!limiter.check(&mut state, at(hour), 1.0).is_allowed(), "{text}");
            let wait = limiter.retry_after(&state, at(hour), 1.0).wait().unwrap();
            assert!(wait <= Span::from_hours(20), "{text} at {hour}: {wait}");
        }
        let wait = limiter.retry_after(&state, at(-500), 1.0).wait().unwrap();
        assert!(wait <= Span::from_hours(10), "{text}: {wait}");
        assert!(limiter.check(&mut state, at(-500).after(wait), 1.0).is_allowed(), "{text}");
    }
}

/// Nor may a sender at the edge of a clock that jumps make room.
#[test]
fn an_event_that_is_not_counted_forgets_nothing() {
    let at = |minute: i64| Time::from_micros(1000 * DAY + minute * HOUR / 60);
    for text in ["fixed-window 2/1h", "fixed-window 2/1h from 20m", "fixed-window 2/1h from first"]
    {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        assert!(limiter.check(&mut state, at(25), 2.0).is_allowed(), "{text}");
        assert!(limiter.check(&mut state, at(130), 0.0).is_allowed(), "{text}");
        assert!(!limiter.check(&mut state, at(130), 3.0).is_allowed(), "{text}");
        assert!(!limiter.check(&mut state, at(30), 1.0).is_allowed(), "{text}");
        assert!(limiter.check(&mut state, at(130), 1.0).is_allowed(), "{text}");
    }
}
