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
use super::history::{Frame, History};
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

impl Limiter for SlidingLog {
    /// 40 bytes, and 16 for each allowed event of the last period.
    type State = History;

    fn fresh(&self) -> History {
        History::default()
    }

    fn ask(&self, state: &History, now: Time, cost: f64) -> Answer {
        self.frame.ask(state, now, cost, self.limit.count())
    }

    fn count(&self, state: &mut History, now: Time, cost: f64, allowed: bool) {
        self.frame.count(state, now, cost, allowed);
    }

    fn retry_after(&self, state: &History, now: Time, cost: f64) -> Retry {
        self.frame.retry_after(state, now, cost)
    }

    /// Without a copy of the log: a refusal counts nothing, so it needs none.
    fn peek(&self, state: &History, now: Time, cost: f64) -> Outcome {
        self.ask(state, now, cost).outcome(|| self.retry_after(state, now, cost))
    }

    fn remaining(&self, state: &History, now: Time) -> f64 {
        self.frame.remaining(state, now)
    }

    /// Until the latest allowed event is a period old.
    fn reset_after(&self, state: &History, now: Time) -> Span {
        self.frame.reset_after(state, now)
    }

    fn most_in(&self, window: Span, _cost: f64) -> f64 {
        self.frame.most_in(window)
    }
}

/// As in `sliding-log 10/1s`.
impl fmt::Display for SlidingLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sliding-log {}", self.limit)
    }
}
