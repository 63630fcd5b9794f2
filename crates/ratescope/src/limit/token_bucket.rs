//! The token bucket: a burst, then a steady rate.
//!
//! Source: J. Turner, "New directions in communications (or which way to the information age?)",
//! IEEE Communications Magazine 24 (10), 1986. Turner's counter runs the other way; traffic shapers
//! and web services describe the same algorithm as a bucket of tokens.
//!
//! A bucket holds `burst` tokens and starts full. Tokens come back at the rate of the limit. An
//! event takes as many tokens as it costs. When there are not enough, it is refused and takes none:
//! a fraction of a token is not a token.
//!
//! It promises at most `burst + rate × window` in any window. It surprises by that sum: when the
//! burst is the count of the rate, twice the limit can pass in a period.
//!
//! The level is the tokens that would be missing after the event; the limit is the burst. It
//! decides exactly as [`gcra`](super::gcra). The source file `bucket.rs` has the arithmetic and its
//! edges.

use super::bucket::Bucket;
pub use super::bucket::State;
use super::by_bucket::*;
use crate::rate::Rate;
use crate::text::BadNumber;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket(Bucket);

impl TokenBucket {
    /// Tokens come back at `rate`, and at most `burst` of them are kept.
    ///
    /// # Errors
    /// When the count of the rate or the burst is not from 0.001 to 10^12.
    pub fn new(rate: Rate, burst: f64) -> Result<Self, BadNumber> {
        Bucket::new(rate, "the burst", burst).map(TokenBucket)
    }

    /// How fast tokens come back.
    pub fn rate(&self) -> Rate {
        self.0.rate
    }

    /// How many tokens the bucket holds.
    pub fn burst(&self) -> f64 {
        self.0.size
    }
}

limit_by_bucket!(
    token_bucket::TokenBucket, "token-bucket", burst by with_burst, "tokens used", waits: false,
    "there are enough tokens",
);
