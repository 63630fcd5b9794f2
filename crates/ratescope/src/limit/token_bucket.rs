//! The token bucket: a burst, then a steady rate.
//!
#![doc = include_str!("pictures/token_bucket.svg")]
//!
//! Source: J. Turner, "New directions in communications (or which way to the information age?)",
//! IEEE Communications Magazine 24 (10), 1986. Turner's counter runs the other way; traffic shapers
//! and web services describe the same algorithm as a bucket of tokens.
//!
//! A bucket holds `burst` tokens and starts full. Tokens come back at the rate of the limit. An
//! event takes as many tokens as it costs. When there are not enough, it is refused and takes none:
//! a fraction of a token is not a token.
//!
//! It promises at most `burst + rate × window` in any window.
//!
//! # At a glance
//! * **For:** APIs. A client that was idle may send a burst, and then goes on at the rate.
//! * **Against:** a quota. When the burst is the count of the rate, twice the limit can pass in a period.
//! * **Memory:** 24 bytes a key, whatever the limit.
//! * **Elsewhere:** the throttling of AWS and Stripe, Linux's `tc tbf`, Guava's `RateLimiter`, Envoy's
//!   [local rate limit](super::envoy); [`gcra`](super::gcra) and the *leaky bucket as a meter* decide the same.
//! * **Wrong in articles:** `if tokens > 0` lets an event pass on a fraction of a token. A refill in whole tokens that
//!   sets the time to now drops the fraction, and who asks often never gets a token. A timer that adds all tokens of a
//!   period at once is a fixed window.
//!
//! The level is the tokens that would be missing after the event; the limit is the burst. It
//! decides exactly as [`gcra`](super::gcra). The source file `bucket.rs` has the arithmetic and its
//! edges.

pub use super::bucket::State;
use super::by_bucket::{BucketKind, ByBucket};
use super::text::Form;
use crate::rate::Rate;
use crate::text::BadNumber;

/// The token bucket: an event takes as many tokens as it costs, if there are enough.
///
/// ```text
/// tokens = min(burst, tokens + rate × elapsed)        an event passes when tokens >= cost
/// ```
///
/// ```
/// use ratescope::limit::token_bucket::TokenBucket;
/// use ratescope::{Limiter, Span, Time};
///
/// let limiter = TokenBucket::per_minute(3);
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // A token comes back every 20 s.
/// assert_eq!(String::from_iter(passed), "11100010101");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TokenBucket = ByBucket<Tokens>;

#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Tokens;

impl BucketKind for Tokens {
    const FORM: Form = Form {
        name: "token-bucket",
        words: "RATE [burst N]",
        example: "token-bucket 10/1s burst 20",
        about: "there are enough tokens; the burst is the count by default",
    };
    const UNIT: &'static str = "tokens used";
    const SIZE: [&'static str; 2] = ["burst", "the burst"];
    const WAITS: bool = false;
}

impl TokenBucket {
    /// Tokens come back at `rate`, and at most `burst` of them are kept.
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

    /// How many tokens the bucket holds.
    pub fn burst(&self) -> f64 {
        self.bucket.size
    }
}
