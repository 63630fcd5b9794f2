//! The sliding window with a precision: the last hour, give or take a minute.
//!
#![doc = include_str!("pictures/sliding_window.svg")]
//!
//! Source: Josiah Carlson, "Introduction to rate limiting with Redis", part 2.
//!
//! Time is cut into blocks of `precision`, aligned to the origin of time. The window is the current
//! block and the blocks before it that make up the period, rounded up to whole blocks. With a
//! precision of the whole period it is the [fixed window](super::fixed_window). A finer precision
//! brings it closer to the [sliding log](super::sliding_log), which it equals at one microsecond.
//!
//! It promises at most the limit in any interval that is shorter than the period by one precision, since an event is
//! forgotten up to that much too early.
//!
//! # At a glance
//! * **For:** large limits over long windows, such as 5000 a day by the hour.
//! * **Against:** the promise of a whole period. The limit at the end of one block, and again at the beginning of the
//!   block that replaces it, is twice the limit, almost a period apart. With the fixed window it is a moment apart.
//! * **Memory:** 40 bytes a key, and 16 for each block in use, whatever the limit. `240/1h` by the quarter of an hour
//!   takes up to 104 bytes and forgets a quarter of the window at a time; by the minute, up to 1,000; by the second, up
//!   to 3,880, as each of the 240 events may have a block of its own.
//! * **Elsewhere:** *rolling window*; *sliding window counter* in lists that sum the counters of the last 60 seconds.
//!   In other lists that name is the [`sliding_counter`](super::sliding_counter).
//! * **Wrong in articles:** the number of a block compared with a time in seconds, so that blocks are never dropped, or
//!   all at once.
//!
//! The level is the count of the window including the event; the limit is the count of the rate.

use super::amount::window;
use super::by_window::{ByWindow, Precision};
use super::history::Window;
use super::kept::{Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::Span;
use core::fmt;

pub use super::history::Blocks;

/// The most blocks that a window may have, and so the most in a state: up to 262 kB, as its capacity
/// doubles.
pub const MAX_BLOCKS: i64 = 10_000;

/// The sliding window with a precision: at most the limit in the last blocks of the clock.
///
/// ```text
/// counted = the sum of the last period / precision blocks        an event passes when counted + cost <= limit
/// ```
///
/// ```
/// use ratescope::limit::sliding_window::SlidingWindow;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = SlidingWindow::new(Rate::per_minute(3), Span::from_secs(20))?;
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // The block from 40 to 60 counts until 100.
/// assert_eq!(String::from_iter(passed), "11100000011");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type SlidingWindow = ByWindow<Span>;

impl SlidingWindow {
    /// At most `limit` in its period, in blocks of `precision`. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the precision is zero, longer than the period, or so short that the period has more
    /// than [`MAX_BLOCKS`] blocks. When the count of the limit is neither 0 nor from 0.001 to 10^12.
    pub fn new(limit: Rate, precision: Span) -> Result<Self, BadNumber> {
        Self::of(limit, precision)
    }

    /// The length of a block.
    pub fn precision(&self) -> Span {
        self.precision
    }
}

impl Precision for Span {
    const FORM: Form = Form {
        name: "sliding-window",
        words: "RATE [precision SPAN]",
        example: "sliding-window 240/1h precision 10s",
        about: "at most the count in the last blocks of the clock; a block is a sixtieth of the period by default",
    };
    const KIND: &'static Kind = &Kind {
        name: "sliding-window",
        spans: &["period", "precision"],
        read: |[_, precision, _], bytes| Blocks::read(precision.micros_up(), bytes).map(drop),
    };

    fn read(rate: Rate, given: &mut Given<'_>) -> Result<Self, Unreadable> {
        Ok(given.span("precision")?.unwrap_or_else(|| sixtieth(rate.per())))
    }

    fn window(self, limit: Rate) -> Result<Window, BadNumber> {
        let (most, period) = window(limit)?;
        let given = self.as_secs_f64();
        let wrong = |want| BadNumber { what: "the precision in seconds", given, want };
        let width = self.micros_up();
        if width == 0 || width > period {
            return Err(wrong("longer than zero and no longer than the period"));
        }
        let blocks = (period - 1) / width + 1;
        if blocks > MAX_BLOCKS {
            return Err(wrong("at least a ten-thousandth of the period"));
        }
        Ok(Window { width, blocks, most, capacity: blocks.unsigned_abs() as usize })
    }

    fn shape(self, period: Span) -> Shape {
        Shape::new(Self::KIND, [period, self.whole_micros()])
    }

    /// The default is left out: it is rarely a round time.
    fn write(self, period: Span, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self == sixtieth(period) { Ok(()) } else { write!(f, " precision {self}") }
    }
}

/// The length of a block by default.
fn sixtieth(period: Span) -> Span {
    period.times(1.0 / 60.0).whole_micros()
}
