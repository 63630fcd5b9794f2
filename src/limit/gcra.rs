//! GCRA, the generic cell rate algorithm: the token bucket seen as a schedule.
//!
//! Source: ATM Forum, Traffic Management Specification 4.0 (af-tm-0056.000); ITU-T I.371.
//!
//! It is usually kept as the *theoretical arrival time*: when the next event of a steady sender at the
//! rate of the limit would arrive. An event may come before that time, by as long as a burst takes at
//! that rate. If it passes, the time moves on by the event's share of the rate, starting from `now`
//! if it lies in the past.
//!
//! The tokens missing from a token bucket are exactly those that come back from now until that time.
//! So GCRA decides exactly as [`token_bucket`](super::token_bucket), with the same promise of
//! `burst + rate × window` and the same levels.
//!
//! That one time cannot tell a sender that owes much from a clock that was set back. So the state here
//! is the same as a token bucket's, which has the time of the latest event beside what is missing.

use super::Limiter;
use super::algorithm::{Algorithm, Stretch, Unstretched, fill};
use super::any::AnyLimiter;
pub use super::bucket::State;
use super::bucket::{Bucket, Filled};
use super::by_bucket::limit_by_bucket;
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unread};
use crate::outcome::{Decision, Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;
use core::num::NonZeroU32;

/// GCRA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gcra(Bucket);

impl Gcra {
    /// Events at `rate`, and up to `burst` of them at once.
    ///
    /// # Errors
    /// When the count of the rate or the burst is not from 0.001 to 10^12.
    pub fn new(rate: Rate, burst: f64) -> Result<Self, BadNumber> {
        Bucket::new(rate, "the burst", burst).map(Gcra)
    }

    /// `count` events in a second, all of which may come at once. With whole numbers nothing can be out of
    /// range, so this is a constant:
    ///
    /// ```
    /// use core::num::NonZeroU32;
    /// use ratescope::limit::gcra::Gcra;
    ///
    /// const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();
    /// const TWENTY: NonZeroU32 = NonZeroU32::new(20).unwrap();
    /// const OFTEN: Gcra = Gcra::each_second(TEN).with_burst(TWENTY);
    /// assert_eq!(OFTEN.to_string(), "gcra 10/1s burst 20");
    /// ```
    #[doc(alias = "per_second")]
    pub const fn each_second(count: NonZeroU32) -> Self {
        Gcra(Bucket::of_whole(Rate::each_second(count.get()), 1, count))
    }

    /// `count` events in a minute, all of which may come at once; also a constant.
    #[doc(alias = "per_minute")]
    pub const fn each_minute(count: NonZeroU32) -> Self {
        Gcra(Bucket::of_whole(Rate::each_minute(count.get()), 60, count))
    }

    /// `count` events in an hour, all of which may come at once; also a constant.
    #[doc(alias = "per_hour")]
    pub const fn each_hour(count: NonZeroU32) -> Self {
        Gcra(Bucket::of_whole(Rate::each_hour(count.get()), 3600, count))
    }

    /// `count` events in a day, all of which may come at once; also a constant.
    #[doc(alias = "per_day")]
    pub const fn each_day(count: NonZeroU32) -> Self {
        Gcra(Bucket::of_whole(Rate::each_day(count.get()), 86_400, count))
    }

    /// The same rate with up to `burst` events at once.
    #[doc(alias = "allow_burst")]
    pub const fn with_burst(self, burst: NonZeroU32) -> Self {
        Gcra(self.0.of_size(burst))
    }

    /// The rate of a steady sender that is never refused.
    pub fn rate(&self) -> Rate {
        self.0.rate
    }

    /// How many events pass at once from rest.
    pub fn burst(&self) -> f64 {
        self.0.size
    }
}

limit_by_bucket!(
    Gcra, "gcra", burst, "tokens used", waits: false,
    "as the token bucket, kept in one timestamp",
);
