//! The sliding log: the exact count of the last period.
//!
#![doc = include_str!("pictures/sliding_log.svg")]
//!
//! Source: the "sliding window log" of the usual lists of algorithms. Here the log contains
//! *allowed* events only, so the limit bounds its length.
//!
//! An event counts until exactly one period after it came. The limiter promises at most the limit
//! in any period, and is the only one here to do so.
//!
//! # At a glance
//! * **For:** few, costly events, such as five messages a day.
//! * **Against:** large limits, for which the [`sliding_window`](super::sliding_window) needs less memory.
//! * **Memory:** 40 bytes a key, and 16 for each event that counts: 8 kB at 500 a minute.
//! * **Elsewhere:** *sliding window log*; on Redis a sorted set, with `ZADD`, `ZREMRANGEBYSCORE` and `ZCARD`.
//! * **Wrong in articles:** an event that is added before it is asked about, so that refused events fill the log and
//!   its memory has no bound; the time as the member of a sorted set, so that two events at one time count once.
//!
//! The level is the count of the last period including the event; the limit is the count of the
//! rate.
//!
//! With costs of 1 or more there are never more entries than the limit admits. Smaller costs could make any number of
//! entries. A log has room for at least [`SPARE`]; when it is full, a new event is merged with the latest entry at the
//! later time. This may refuse for longer, and never lets more through.

use super::amount::window;
use super::by_window::{ByWindow, Precision};
use super::history::{Blocks, Window};
use super::kept::{Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::Span;
use core::fmt;

/// The least number of entries that a log has room for.
pub const SPARE: usize = 1000;

/// The largest limit, and so the most entries of a state: up to 3.2 MB, as its capacity doubles.
/// For larger limits a [sliding window](super::sliding_window) needs less memory.
pub const MAX_ENTRIES: usize = 100_000;

/// The sliding log: at most the limit in any period, exactly.
///
/// ```text
/// counted = the allowed events of (now - period, now]        an event passes when counted + cost <= limit
/// ```
///
/// ```
/// use ratescope::limit::sliding_log::SlidingLog;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = SlidingLog::new(Rate::per_minute(3))?;
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // The three of 50 count until 110.
/// assert_eq!(String::from_iter(passed), "11100000001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type SlidingLog = ByWindow<Exact>;

/// Blocks of a microsecond, so that events of different times are in different blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Exact;

impl SlidingLog {
    /// At most `limit` in any period. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to [`MAX_ENTRIES`].
    pub fn new(limit: Rate) -> Result<Self, BadNumber> {
        Self::of(limit, Exact)
    }

    /// The most entries that a state can hold, of 16 bytes each.
    pub fn capacity(&self) -> usize {
        self.window.capacity
    }
}

impl Precision for Exact {
    const FORM: Form = Form {
        name: "sliding-log",
        words: "RATE",
        example: "sliding-log 10/1s",
        about: "at most the count in any period, exactly",
    };
    const KIND: &'static Kind = &Kind {
        name: "sliding-log",
        spans: &["period"],
        read: |_, bytes| Blocks::read(1, bytes).map(drop),
    };

    fn read(_: Rate, _: &mut Given<'_>) -> Result<Self, Unreadable> {
        Ok(Exact)
    }

    fn window(self, limit: Rate) -> Result<Window, BadNumber> {
        let (most, blocks) = window(limit)?;
        if limit.count() > MAX_ENTRIES as f64 {
            let want = "at most 100000; a sliding-window takes more";
            return Err(BadNumber { what: "the count of a rate", given: limit.count(), want });
        }
        let capacity = (limit.count() as usize).max(SPARE);
        Ok(Window { width: 1, blocks, most, capacity })
    }

    fn shape(self, period: Span) -> Shape {
        Shape::new(Self::KIND, [period])
    }

    fn write(self, _: Span, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
