//! The sliding log: the exact count of the last period.
//!
//! Source: the "sliding window log" of the usual lists of algorithms. What is remembered here is
//! each *allowed* event, so that the log is bounded by the limit itself.
//!
//! An event counts until exactly one period after it came. It promises at most the limit in any
//! period whatsoever, and is the only one here to do so. It surprises by what that costs: 16 bytes
//! for each event that the limit admits, for every key.
//!
//! The level is the count of the last period with the event; the limit is the count of the rate.
//!
//! With costs of 1 or more there are never more entries than the limit admits. Smaller costs could
//! make any number of them, so there is room for [`SPARE`] at least; beyond that, the latest two
//! are merged at the later time, which may refuse longer and never lets more through.

use super::Limiter;
use super::amount::window;
use super::history::{Frame, History, limit_by_frame};
use crate::outcome::{Answer, Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// How many entries there is room for even when the limit is smaller.
pub const SPARE: usize = 1000;

/// A sliding log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlidingLog {
    limit: Rate,
    frame: Frame,
}

impl SlidingLog {
    /// At most `limit` in any period. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to 10^12.
    pub fn new(limit: Rate) -> Result<Self, BadNumber> {
        let (most, blocks) = window(limit)?;
        let capacity = (limit.count() as usize).max(SPARE);
        Ok(SlidingLog { limit, frame: Frame { width: 1, blocks, most, capacity } })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The most entries that a state can hold, of 16 bytes each.
    pub fn capacity(&self) -> usize {
        self.frame.capacity
    }
}

limit_by_frame!(SlidingLog);

/// As in `sliding-log 10/1s`.
impl fmt::Display for SlidingLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sliding-log {}", self.limit)
    }
}
