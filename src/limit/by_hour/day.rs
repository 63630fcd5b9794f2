//! The hours of a day, by the clock of a place.

use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use core::fmt;

/// The hours of a day.
pub const HOURS: usize = 24;

/// The length of a day unless another is said.
pub const DAY: Span = Span::hours(24);

/// A day of 24 hours, all of the same length, and how far its clock is ahead of the origin of time.
///
/// The text form is what a rule says of it after `by hour`: nothing for the day of the origin, or
/// `offset +1h`, `offset -5h30m`, and `day 2m` for a day that is shorter than ours, to be looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Day {
    length: Span,
    /// Microseconds in an hour, rounded up: a day is 24 of them.
    hour: i64,
    /// Microseconds by which the clock is ahead.
    ahead: i64,
}

/// An hour in which an instant lies: which of the day's it is, and the first instant after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hour {
    pub(super) index: usize,
    pub(super) end: Time,
}

impl Day {
    /// A day of `length`, by a clock that is `ahead` seconds ahead of the origin's: 3600 in Central
    /// Europe in winter, negative west of Greenwich, where the origin is a midnight of UTC.
    ///
    /// # Errors
    /// When the day is less than a millisecond or more than a century, or its clock more than a day
    /// off.
    pub fn new(length: Span, ahead: f64) -> Result<Self, BadNumber> {
        if !(1e-3..=3.2e9).contains(&length.secs()) {
            let want = "from a millisecond to a century";
            return Err(BadNumber { what: "the day", given: length.secs(), want });
        }
        if ahead.is_nan() || ahead.abs() > length.secs() {
            return Err(BadNumber { what: "the offset", given: ahead, want: "at most a day" });
        }
        let hour = Span::from_secs(length.secs() / HOURS as f64)?.micros_up();
        Ok(Day { length, hour, ahead: libm::round(ahead * 1e6) as i64 })
    }

    /// How long it is.
    pub fn length(&self) -> Span {
        self.length
    }

    /// How many seconds its clock is ahead of the origin's.
    pub fn ahead(&self) -> f64 {
        self.ahead as f64 / 1e6
    }

    /// How long an hour is.
    pub fn hour(&self) -> Span {
        Span::micros(self.hour.unsigned_abs())
    }

    /// Which of the 24 hours `at` lies in, from 0.
    pub fn hour_of(&self, at: Time) -> usize {
        self.around(at).index
    }

    pub(super) fn around(&self, at: Time) -> Hour {
        let (hour, ahead) = (i128::from(self.hour), i128::from(self.ahead));
        let number = (i128::from(at.as_micros()) + ahead).div_euclid(hour);
        let end = ((number + 1) * hour - ahead).min(i128::from(i64::MAX));
        Hour {
            index: number.rem_euclid(HOURS as i128) as usize,
            end: Time::from_micros(end as i64),
        }
    }

    /// How many whole days there are from `from` to `to`, and the instant after them.
    pub(super) fn whole(&self, from: Time, to: Time) -> (f64, Time) {
        let day = i128::from(self.hour) * HOURS as i128;
        let (from, to) = (i128::from(from.as_micros()), i128::from(to.as_micros()));
        let days = ((to - from) / day).max(0);
        (days as f64, Time::from_micros((from + days * day) as i64))
    }

    /// The most that an interval of `elapsed` has of one hour of the day.
    pub(super) fn in_one_hour(&self, elapsed: Span) -> Span {
        let (day, hour) = (self.hour().secs() * HOURS as f64, self.hour().secs());
        let days = libm::floor(elapsed.secs() / day);
        let rest = (elapsed.secs() - days * day).clamp(0.0, hour);
        Span::from_secs(days * hour + rest).unwrap_or(elapsed)
    }
}

/// Seconds out of a span with a sign before it, as in `+1h` or `-5h30m`.
pub(crate) fn signed(text: &str) -> Result<f64, ParseError> {
    let read = |span: &str| {
        span.parse::<Span>().map_err(|e| e.inside(text, text.len() - span.len())).map(Span::secs)
    };
    match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(span), _) => read(span),
        (_, Some(span)) => read(span).map(|seconds| -seconds),
        _ => Err(ParseError::whole(text, "a sign is missing; write an offset as +1h or -5h30m")),
    }
}

/// Begins with a space, or is nothing.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ahead != 0 {
            let sign = if self.ahead < 0 { '-' } else { '+' };
            write!(f, " offset {sign}{}", Span::micros(self.ahead.unsigned_abs()))?;
        }
        if self.length != DAY {
            write!(f, " day {}", self.length)?;
        }
        Ok(())
    }
}
