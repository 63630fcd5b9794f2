//! Costs and limits as whole numbers, which are added and compared without rounding.

use super::is_cost;
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::millionths_up;

/// The smallest limit on a count: rounding to millionths changes no limit by more than 0.1%.
const SMALLEST: f64 = 0.001;

/// A cost in whole millionths of an event; `None` when it cannot be counted.
///
/// It is rounded up, so that only 0 is free. The largest is 10^18: the sum of a few fits a u64.
pub fn amount(cost: f64) -> Option<u64> {
    if !is_cost(cost) {
        return None;
    }
    // Most costs are whole numbers, which need no rounding.
    let whole = cost as u64;
    Some(if whole as f64 == cost { whole * 1_000_000 } else { millionths_up(cost).unsigned_abs() })
}

pub(super) fn events(amount: u64) -> f64 {
    amount as f64 / 1e6
}

/// The nearest f64.
#[inline(always)]
pub(super) fn to_f64(whole: u128) -> f64 {
    i64::try_from(whole).map_or_else(|_| large_to_f64(whole), |whole| whole as f64)
}

/// Converting a u128 is a call into the compiler's runtime; converting an i64 is one instruction. In this cold function
/// the call is rare; inlined, the compiler makes it in every decision, and it takes half the time.
#[cold]
#[inline(never)]
fn large_to_f64(whole: u128) -> f64 {
    whole as f64
}

/// The amount that a limit of `count` admits.
///
/// # Errors
/// When `count` is not from [`SMALLEST`] to [`MAX_COST`](super::MAX_COST); with `zero`, a count of 0 is allowed, too.
pub(super) fn limit(what: &'static str, count: f64, zero: bool) -> Result<u64, BadNumber> {
    match amount(count) {
        Some(amount) if count >= SMALLEST || (zero && count == 0.0) => Ok(amount),
        _ => {
            let want = if zero { "0, or from 0.001 to 1e12" } else { "from 0.001 to 1e12" };
            Err(BadNumber { what, given: count, want })
        }
    }
}

/// The count of `rate` as an amount, which may be 0, and its period in whole microseconds.
///
/// # Errors
/// When the count is neither 0 nor from 0.001 to 10^12.
pub(super) fn window(rate: Rate) -> Result<(u64, i64), BadNumber> {
    Ok((limit("the count of a rate", rate.count(), true)?, rate.per().micros_up()))
}

/// How many blocks of `width` microseconds a window of `span` microseconds can touch; both are at least 1. The window
/// holds `span` instants, and the first of them may be the last of a block.
pub(super) fn touched(span: i64, width: i64) -> i64 {
    1 + span.saturating_sub(2).saturating_add(width) / width
}
