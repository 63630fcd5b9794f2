//! Costs and limits as whole numbers, which add up and compare without rounding.

use super::{MAX_COST, is_cost};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::millionths_up;

/// The smallest limit on a count, so that rounding to millionths changes none by more than 0.1%.
const SMALLEST: f64 = 0.001;

/// A cost in whole millionths of an event, rounded up; `None` when it cannot be counted.
///
/// Rounded up, so that nothing but 0 is free. The largest is 10^18, and sums of a few stay far
/// below 2^64.
pub(super) fn amount(cost: f64) -> Option<u64> {
    // A whole number needs no rounding, and most costs are one.
    let whole = cost as u64;
    let exact = |cost| {
        if whole as f64 == cost { whole * 1_000_000 } else { millionths_up(cost).unsigned_abs() }
    };
    is_cost(cost).then(|| exact(cost))
}

/// An amount as a number of events.
pub(super) fn events(amount: u64) -> f64 {
    amount as f64 / 1e6
}

/// The amount that a limit of `count` admits.
///
/// # Errors
/// When it is less than [`SMALLEST`], and not 0 where `zero` is allowed, or above [`MAX_COST`].
pub(super) fn limit(what: &'static str, count: f64, zero: bool) -> Result<u64, BadNumber> {
    if (zero && count == 0.0) || (SMALLEST..=MAX_COST).contains(&count) {
        Ok(millionths_up(count).unsigned_abs())
    } else {
        let want = if zero { "0, or from 0.001 to 1e12" } else { "from 0.001 to 1e12" };
        Err(BadNumber { what, given: count, want })
    }
}

/// The amount and the whole microseconds of a limit on a count; a count of 0 refuses everything.
///
/// # Errors
/// When the count is neither 0 nor from 0.001 to 10^12.
pub(super) fn window(rate: Rate) -> Result<(u64, i64), BadNumber> {
    Ok((limit("the count of a rate", rate.count(), true)?, rate.per().micros_up()))
}

/// How many parts of `width` microseconds a window of `span` microseconds can touch, both at least
/// 1: it holds `span` instants, and may begin at the last of a part.
pub(super) fn touched(span: i64, width: i64) -> i64 {
    1 + span.saturating_sub(2).saturating_add(width) / width
}
