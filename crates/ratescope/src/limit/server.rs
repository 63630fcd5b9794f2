//! Checks of whole numbers and milliseconds, shared by the limiters of real servers.

use super::amount::amount;
use super::any::NotRelaxed;
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::ops::RangeInclusive;

/// The reason why the limiter of a server is never relaxed.
pub(super) const FIXED: NotRelaxed =
    NotRelaxed::Fixed("a server's limiter is as that server has it");

/// The highest count of a limit. A counter of 32 bits holds it.
const HIGHEST: u64 = 1_000_000_000;

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
    if is_whole && range.contains(&number) {
        Ok(number)
    } else {
        Err(BadNumber { what, given, want })
    }
}

/// The count of a limit, as a server keeps it in 32 bits.
///
/// # Errors
/// When it is not a whole number up to 10^9.
pub(super) fn count(limit: Rate) -> Result<u32, BadNumber> {
    let most =
        whole("the count of a rate", limit.count(), 0..=HIGHEST, "a whole number up to 1e9")?;
    Ok(most as u32)
}

/// A cost in events, rounded up; `None` when it is not a cost.
pub(super) fn whole_cost(cost: f64) -> Option<u32> {
    amount(cost).map(|millionths| u32::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u32::MAX))
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
    let millis = micros / 1000;
    if micros % 1000 == 0 && range.contains(&millis) {
        Ok(millis)
    } else {
        Err(BadNumber {
            what: "the period of a rate in seconds",
            given: period.as_secs_f64(),
            want,
        })
    }
}

/// The instant in whole milliseconds, rounded down.
pub(super) const fn millis(at: Time) -> i64 {
    at.as_micros().div_euclid(1000)
}

/// The instant at which the millisecond begins.
pub(super) const fn instant(millis: i64) -> Time {
    Time::from_micros(millis.saturating_mul(1000))
}
