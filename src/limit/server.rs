//! The limiters of real servers share these checks of whole numbers and milliseconds.

use super::any::Unstretched;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::ops::RangeInclusive;

/// Why such a limiter is never stretched.
pub(super) const FIXED: Unstretched =
    Unstretched::Fixed("a server's limiter is as that server has it");

/// `given` as a whole number within `range`.
///
/// # Errors
/// When it is not such a number; `want` says what would be right.
pub(super) fn whole(
    what: &'static str,
    given: f64,
    range: RangeInclusive<u64>,
    want: &'static str,
) -> Result<u64, BadNumber> {
    // Casts saturate, so only a whole number that is not negative converts back to itself.
    let number = given as u64;
    let is_whole = number as f64 == given;
    let right = is_whole && range.contains(&number);
    right.then_some(number).ok_or(BadNumber { what, given, want })
}

/// The period of a rate in whole milliseconds within `range`.
///
/// # Errors
/// When it is not such a number; `want` says what would be right.
pub(super) fn period(
    period: Span,
    range: RangeInclusive<i64>,
    want: &'static str,
) -> Result<i64, BadNumber> {
    let micros = period.micros_up();
    let right = micros % 1000 == 0 && range.contains(&(micros / 1000));
    let wrong = BadNumber { what: "the period of a rate", given: period.secs(), want };
    right.then_some(micros / 1000).ok_or(wrong)
}

/// The instant in whole milliseconds, rounded down.
pub(super) const fn millis(at: Time) -> i64 {
    at.as_micros().div_euclid(1000)
}

/// The instant at which the millisecond begins.
pub(super) const fn instant(millis: i64) -> Time {
    Time::from_micros(millis.saturating_mul(1000))
}
