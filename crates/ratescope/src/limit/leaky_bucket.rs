//! The leaky bucket: a queue that lets events out at a steady rate.
//!
#![doc = include_str!("pictures/leaky_bucket.svg")]
//!
//! Source: as for the [token bucket](super::token_bucket); here the bucket is the queue itself.
//!
//! An event that finds the queue empty goes at once and occupies the outlet for its share of the
//! rate. Later events wait for those before them. An event that no longer fits is refused. So an
//! event is allowed exactly when a token bucket with a burst of the queue's size would allow it, and
//! events never come out faster than the rate.
//!
//! It promises a steady output, and at most `queue + rate × window` admitted in any window.
//!
//! # At a glance
//! * **For:** work that must reach a backend at a steady pace, where waiting is better than being refused.
//! * **Against:** requests of people. A sender slightly above the rate always has a full queue, and each of its events
//!   waits `queue / rate`.
//! * **Memory:** 24 bytes a key. The events themselves wait wherever the caller keeps them.
//! * **Elsewhere:** the name means two things. This is the *leaky bucket as a queue*, a traffic shaper: nginx's
//!   [`limit_req`](super::nginx) without `nodelay`. The *leaky bucket as a meter* delays nothing, and is
//!   [`gcra`](super::gcra).
//! * **Wrong in articles:** code that puts a token in before each event takes one, and so never refuses anything; a
//!   counter that is reset at intervals, which is a fixed window.
//!
//! # Its level does not measure the rate
//! The page "ratelimit demo" by Tony Finch rejects it as a model of a rate: "The computed value
//! tends to zero or a maximum if the input rate is less than or greater than the maximum." With even
//! events at R in a period and a limit of m, the queue grows by 1 with each event and drains m/R
//! between two. If R <= m, each event finds it empty. If R > m, the n-th event finds (n-1)(1 - m/R),
//! and fits in a queue of Q while that is at most Q - 1. So
//!
//! ```text
//! 1 + ⌊(Q - 1) R/(R - m)⌋
//! ```
//!
//! events pass before the first refusal: see [`passing`](LeakyBucket::passing). Then the queue stays
//! full, whether R is slightly or far above m.
//!
//! The level is the queue including the event, and including the event that is leaving; the limit is
//! the size of the queue. Waits are in whole microseconds, rounded up.

use super::Limiter;
pub use super::bucket::State;
use super::by_bucket::{BucketKind, ByBucket};
use super::text::Form;
use crate::extremes::larger;
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::Time;

/// The leaky bucket as a queue: an event that fits waits until those before it have left.
///
/// ```text
/// queue = max(0, queue - rate × elapsed)        an event passes when queue + cost <= size, after queue / rate
/// ```
///
/// ```
/// use ratescope::limit::leaky_bucket::LeakyBucket;
/// use ratescope::{Limiter, Span, Time};
///
/// let limiter = LeakyBucket::per_minute(3);
/// let mut state = limiter.initial();
/// let waits = [0; 4].map(|_| limiter.check(&mut state, Time::ZERO, 1.0).wait);
/// // Out goes one each 20 s. The fourth is refused, since three are in the queue.
/// assert_eq!(waits, [Some(Span::ZERO), Some(Span::from_secs(20)), Some(Span::from_secs(40)), None]);
/// ```
pub type LeakyBucket = ByBucket<Queue>;

#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Queue;

impl BucketKind for Queue {
    const FORM: Form = Form {
        name: "leaky-bucket",
        words: "RATE [queue N]",
        example: "leaky-bucket 10/1s queue 20",
        about: "there is room in the queue, which drains at the rate; the queue is the count by default",
    };
    const UNIT: &'static str = "queue";
    const SIZE: [&'static str; 2] = ["queue", "the queue"];
    const WAITS: bool = true;
}

impl LeakyBucket {
    /// Events come out at `rate`, and at most `queue` of them are held.
    ///
    /// # Errors
    /// When the count of the rate or the queue is not from 0.001 to 10^12; both may be 0, which admits
    /// [nothing](Self::none).
    pub fn new(rate: Rate, queue: f64) -> Result<Self, BadNumber> {
        Self::of_size(rate, queue)
    }

    /// The same rate with a queue of as many events. With 0 it admits [nothing](Self::none).
    #[doc(alias = "allow_burst")]
    pub const fn with_queue(self, queue: u32) -> Self {
        Self::of(self.bucket.of_size(queue))
    }

    /// How many events the queue holds.
    pub fn queue(&self) -> f64 {
        self.bucket.size
    }

    /// The queue at `now`, in events.
    pub fn level(&self, state: &State, now: Time) -> f64 {
        self.peek(state, now, 0.0).level
    }

    /// The level of a queue, `elapsed` seconds (at least 0) after it was `level`, if events come out
    /// at `rate` and nothing arrives.
    pub fn level_after(level: f64, rate: Rate, elapsed: f64) -> f64 {
        larger(0.0, level - rate.frequency() * elapsed)
    }

    /// How many even events, `steady` (above 0) in the period of the rate, pass from an empty queue
    /// before the first is refused: a whole number, 0 if none fits, infinite if none is refused.
    pub fn passing(&self, steady: f64) -> f64 {
        let out = self.rate().count();
        let room = self.queue() - 1.0;
        match room {
            ..0.0 => 0.0,
            _ if steady <= out => f64::INFINITY,
            _ => 1.0 + libm::floor(room * (steady / (steady - out))),
        }
    }
}
