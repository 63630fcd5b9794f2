//! GCRA for one thing that threads, cores and interrupts share: one atomic word of 64 bits, without a lock, a clock or std.
//!
//! ```
//! use ratescope::limit::atomic::AtomicGcra;
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::{Span, Time};
//! use core::time::Duration;
//!
//! static ALARMS: AtomicGcra = AtomicGcra::new(Gcra::per_minute(2));
//!
//! let ticks: u64 = 90_000; // of the machine's own timer, in milliseconds
//! let now = Time::from(Duration::from_millis(ticks));
//! assert!(ALARMS.check(now).is_ok() && ALARMS.check(now).is_ok());
//! let retry = ALARMS.check(now).unwrap_err();
//! assert_eq!(retry.wait(), Some(Span::from_secs(30)));
//! assert!(ALARMS.check(now.after(Span::from_secs(30))).is_ok());
//! ```
//!
//! The word is the *theoretical arrival time* of [`gcra`](super::gcra), in nanoseconds. The interval between two events is
//! rounded up to whole nanoseconds, so it never admits more than [`Gcra`] does: the same where the interval is whole, as of
//! `10/1s`, and of `3/1s` one event less in 16 years.
//!
//! Times before [`Time::ZERO`] count as zero, and the last is 584 years later.
//!
//! # When time runs backwards
//! An event from before the last one is decided as one at its own time, and finds no more room. If the word is further
//! ahead than twice a full burst, the clock was set back: the word then follows it, to a full burst ahead. So a clock that
//! is set back lengthens a wait by no more than the time of a full burst.

use super::gcra::Gcra;
use crate::outcome::Retry;
use crate::time::{Span, Time};
use core::sync::atomic::{AtomicU64, Ordering};

/// A [`Gcra`] with its state in one atomic word: see [the module](self). It is there on targets with atomics of 64 bits.
/// On others, such as `thumbv7em-none-eabihf`, a limiter and its state lie behind a lock of the platform, such as
/// `critical_section::Mutex`.
#[derive(Debug)]
pub struct AtomicGcra {
    limiter: Gcra,
    /// The time that an event takes, in nanoseconds.
    interval: u64,
    /// The time that a full burst takes.
    full: u64,
    /// When the next event of a steady sender would arrive.
    due: AtomicU64,
}

impl AtomicGcra {
    /// A limiter without events.
    pub const fn new(limiter: Gcra) -> Self {
        let [interval, full] = limiter.nanos();
        AtomicGcra { limiter, interval, full, due: AtomicU64::new(0) }
    }

    /// The numbers.
    pub const fn limiter(&self) -> &Gcra {
        &self.limiter
    }

    /// Decides about an event at `now`, and counts it if it passes.
    ///
    /// # Errors
    /// When the event is refused: how long after `now` it would pass, if it ever would.
    pub fn check(&self, now: Time) -> Result<(), Retry> {
        self.check_n(now, 1)
    }

    /// Decides about `count` events at once. They pass together or not at all.
    ///
    /// # Errors
    /// When they are refused: how long after `now` they would pass, or [`Never`](Retry::Never) for more than a burst.
    pub fn check_n(&self, now: Time, count: u32) -> Result<(), Retry> {
        let cost = self.interval.saturating_mul(count.into());
        if cost > self.full {
            return Err(Retry::Never);
        }
        let now = nanos(now);
        let most = now.saturating_add(self.full);
        let due = self.due.load(Ordering::Relaxed);
        let followed = self.followed(due, now);
        if followed != due {
            // If another event came first, it has moved the word.
            let _ = self.due.compare_exchange(due, followed, Ordering::Relaxed, Ordering::Relaxed);
        }
        let pass = |due: u64| {
            let next = due.max(now).saturating_add(cost);
            (next <= most).then_some(next)
        };
        match self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass) {
            Ok(_) => Ok(()),
            Err(due) => {
                let next = due.saturating_add(cost);
                let wait = next.saturating_sub(most).div_ceil(1000);
                Err(Retry::After(Span::from_micros(wait)))
            }
        }
    }

    /// How many events would pass at `now`.
    pub fn remaining(&self, now: Time) -> u64 {
        let now = nanos(now);
        let due = self.followed(self.due.load(Ordering::Relaxed), now);
        let room = self.full.saturating_sub(due.saturating_sub(now));
        room.checked_div(self.interval).unwrap_or(0)
    }

    /// Forgets all counted events.
    pub fn reset(&self) {
        self.due.store(0, Ordering::Relaxed);
    }

    /// The theoretical arrival time, moved back if the clock was set back.
    fn followed(&self, due: u64, now: u64) -> u64 {
        if due.saturating_sub(now) > self.full.saturating_mul(2) {
            now.saturating_add(self.full)
        } else {
            due
        }
    }
}

fn nanos(time: Time) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(0).saturating_mul(1000)
}
