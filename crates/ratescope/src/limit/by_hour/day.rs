//! The hours of a day, by the clock of a place.

use crate::limit::text::{Given, Unreadable};
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use core::fmt;

/// The hours of a day.
pub const HOURS: usize = 24;

/// The default length of a day.
pub const DAY: Span = Span::from_hours(24);

/// A day of 24 hours, all of the same length, and how far its clock is ahead of the origin of time.
///
/// The text form stands in a limiter after `by hour`: nothing for 24 hours from the origin,
/// `offset +1h` or `offset -5h30m` for another clock, and `day 2m` for a short day to experiment
/// with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Day {
    length: Span,
    /// Microseconds in an hour, rounded up: a day is 24 of them.
    pub(super) hour: i64,
    /// Microseconds by which the clock is ahead.
    pub(super) ahead: i64,
}

/// The hour that contains an instant: its index in the day, and the first instant after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hour {
    pub(super) index: usize,
    pub(super) end: Time,
}

impl Day {
    /// A day of `length` by a clock that is `ahead` seconds ahead of the origin's. With an origin at
    /// midnight UTC, `ahead` is 3600 in Central Europe in winter, and negative west of Greenwich.
    ///
    /// # Errors
    /// When the day is less than a millisecond or more than a century, or the clock is more than a
    /// day off.
    pub fn new(length: Span, ahead: f64) -> Result<Self, BadNumber> {
        if !(1e-3..=3.2e9).contains(&length.as_secs_f64()) {
            let want = "from a millisecond to a century";
            return Err(BadNumber { what: "the day", given: length.as_secs_f64(), want });
        }
        if ahead.is_nan() || ahead.abs() > length.as_secs_f64() {
            return Err(BadNumber { what: "the offset", given: ahead, want: "at most a day" });
        }
        let hour = Span::try_from_secs_f64(length.as_secs_f64() / HOURS as f64)?.micros_up();
        Ok(Day { length, hour, ahead: libm::round(ahead * 1e6) as i64 })
    }

    /// Reads `by hour` and the words of the day after it; `None` if `by` is not there.
    pub(in crate::limit) fn read(given: &mut Given<'_>) -> Result<Option<Day>, Unreadable> {
        let Some(what) = given.value("by")? else { return Ok(None) };
        if !what.is("hour") {
            return Err(given.wrong(what, "unexpected word; write by hour").into());
        }
        let ahead = match given.value("offset")? {
            None => 0.0,
            Some(word) => signed(word.text).map_err(|e| given.wrong(word, e.problem()))?,
        };
        let length = given.span("day")?.unwrap_or(DAY);
        Ok(Some(Day::new(length, ahead)?))
    }

    /// The length of the day.
    pub fn length(&self) -> Span {
        self.length
    }

    /// How many seconds the clock is ahead of the origin's.
    pub fn ahead(&self) -> f64 {
        self.ahead as f64 / 1e6
    }

    /// The length of an hour.
    pub fn hour(&self) -> Span {
        Span::from_micros(self.hour.unsigned_abs())
    }

    /// The index of the hour that contains `at`, from 0 to 23.
    pub fn hour_of(&self, at: Time) -> usize {
        self.around(at).index
    }

    pub(super) fn around(&self, at: Time) -> Hour {
        let hour = i128::from(self.hour);
        let ahead = i128::from(self.ahead);
        let number = (i128::from(at.as_micros()) + ahead).div_euclid(hour);
        let end = ((number + 1) * hour - ahead).min(i128::from(i64::MAX));
        Hour {
            index: number.rem_euclid(HOURS as i128) as usize,
            end: Time::from_micros(end as i64),
        }
    }

    /// The number of whole days from `from` to `to`, and the instant after them.
    pub(super) fn whole(&self, from: Time, to: Time) -> (f64, Time) {
        let day = i128::from(self.hour) * HOURS as i128;
        let (from, to) = (i128::from(from.as_micros()), i128::from(to.as_micros()));
        let days = ((to - from) / day).max(0);
        (days as f64, Time::from_micros((from + days * day) as i64))
    }
}

/// Reads a span with a sign, as in `+1h` or `-5h30m`, in seconds.
fn signed(text: &str) -> Result<f64, ParseError> {
    let read = |span: &str| span.parse::<Span>().map(Span::as_secs_f64);
    match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(span), _) => read(span),
        (_, Some(span)) => read(span).map(|seconds| -seconds),
        _ => Err(ParseError::whole(text, "a sign is missing; write an offset as +1h or -5h30m")),
    }
}

/// The words with a space before each; empty for the default day.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ahead != 0 {
            let sign = if self.ahead < 0 { '-' } else { '+' };
            write!(f, " offset {sign}{}", Span::from_micros(self.ahead.unsigned_abs()))?;
        }
        if self.length != DAY {
            write!(f, " day {}", self.length)?;
        }
        Ok(())
    }
}
