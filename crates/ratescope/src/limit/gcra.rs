//! GCRA, the generic cell rate algorithm: the token bucket seen as a schedule.
//!
#![doc = include_str!("pictures/gcra.svg")]
//!
//! Source: ATM Forum, Traffic Management Specification 4.0 (af-tm-0056.000); ITU-T I.371.
//!
//! It is usually kept as the *theoretical arrival time*: when the next event of a steady sender at the
//! rate of the limit would arrive. An event may come before that time, by as long as a burst takes at
//! that rate. If it passes, the time moves on by the event's share of the rate, starting from `now`
//! if it lies in the past.
//!
//! The tokens missing from a token bucket are exactly those that come back until the theoretical arrival time. So GCRA
//! decides exactly as [`token_bucket`](super::token_bucket), with the same promise of `burst + rate × window` and the
//! same levels.
//!
//! # At a glance
//! * **For:** any limit on a rate. It is the one to begin with.
//! * **Against:** a quota, as the token bucket.
//! * **Memory:** 24 bytes a key; 8 if the theoretical arrival time is all that is kept, as most libraries do.
//! * **Elsewhere:** *virtual scheduling* or the *leaky bucket as a meter* (ATM); redis-cell, throttled for Go, governor.
//! * **Wrong in articles:** a tolerance of `burst` intervals in place of `burst - 1` lets one event more pass at once.
//!   A theoretical arrival time that moves with refused events refuses a sender for as long as it keeps trying.
//!
//! The theoretical arrival time alone cannot tell a large debt from a clock that was set back. So the state here is
//! that of a token bucket, with the time of the latest event beside the missing tokens.

pub use super::bucket::State;
use super::by_bucket::{BucketKind, ByBucket};
use super::text::Form;
use crate::rate::Rate;
use crate::text::BadNumber;

/// GCRA, the generic cell rate algorithm: an event passes unless it is too far ahead of its schedule.
///
/// With the interval `1 / rate` of a steady sender, and `due` as the theoretical arrival time:
///
/// ```text
/// due = max(due, now) + cost × interval        an event passes when due - now <= burst × interval
/// ```
///
/// ```
/// use ratescope::limit::gcra::Gcra;
/// use ratescope::{Limiter, Span, Time};
///
/// let limiter = Gcra::per_minute(3);
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // A burst of three, and then one each 20 s.
/// assert_eq!(String::from_iter(passed), "11100010101");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Gcra = ByBucket<Schedule>;

#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Schedule;

impl BucketKind for Schedule {
    const FORM: Form = Form {
        name: "gcra",
        words: "RATE [burst N]",
        example: "gcra 10/1s burst 20",
        about: "as the token bucket: the same decisions, in terms of due times; the burst is the count by default",
    };
    const UNIT: &'static str = "tokens used";
    const SIZE: [&'static str; 2] = ["burst", "the burst"];
    const WAITS: bool = false;
}

impl Gcra {
    /// Events at `rate`, and up to `burst` of them at once.
    ///
    /// # Errors
    /// When the count of the rate or the burst is not from 0.001 to 10^12; both may be 0, which admits
    /// [nothing](Self::none).
    pub fn new(rate: Rate, burst: f64) -> Result<Self, BadNumber> {
        Self::of_size(rate, burst)
    }

    /// The same rate with a burst of as many events. With 0 it admits [nothing](Self::none).
    #[doc(alias = "allow_burst")]
    pub const fn with_burst(self, burst: u32) -> Self {
        Self::of(self.bucket.of_size(burst))
    }

    /// How many events pass at once from rest.
    pub fn burst(&self) -> f64 {
        self.bucket.size
    }

    /// The time of an event, rounded up, and of a full burst, in nanoseconds.
    #[cfg(target_has_atomic = "64")]
    pub(super) const fn nanos(&self) -> [u64; 2] {
        self.bucket.nanos()
    }
}
