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
//! decides exactly as [`gcra`](super::gcra), which needs one word less. The source file `bucket.rs`
//! has the arithmetic and its edges.

use super::algorithm::{Algorithm, Stretch, Unstretched, fill};
use super::any::AnyLimiter;
use super::bucket::{Bucket, Filled, Parts};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unread};
use super::{LONG_AGO, Limiter};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket(Bucket);

/// How many tokens were missing after the last event that took any, and its time: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    missing: Parts,
    at: Time,
}

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

    fn missing(&self, state: &State, now: Time) -> i128 {
        state.missing.get() - self.0.drained(state.at, now)
    }
}

impl Limiter for TokenBucket {
    type State = State;

    fn initial(&self) -> State {
        State { missing: Parts::ZERO, at: LONG_AGO }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.0.peek(self.missing(state, now), cost)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        if let Some(missing) = self.0.record(self.missing(state, now), cost, allowed) {
            *state = State { missing: Parts::new(missing), at: now };
        }
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.0.retry_after(self.missing(state, now), cost)
    }

    /// The tokens in the bucket.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.0.remaining(self.missing(state, now))
    }

    /// Until the bucket is full.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.0.reset_after(self.missing(state, now))
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        self.0.max_admitted(window)
    }
}

impl Algorithm for TokenBucket {
    const FORM: Form = Form {
        name: "token-bucket",
        words: "RATE [burst N]",
        example: "token-bucket 10/1s burst 20",
        about: "there are enough tokens; the burst is the count by default",
    };
    const UNIT: &'static str = "tokens used";
    const KIND: &'static Kind = Filled::KIND;

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unread> {
        let rate = given.rate()?;
        let burst = given.number("burst")?.unwrap_or(rate.count());
        Ok(TokenBucket::new(rate, burst)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        fill(self.burst(), self.rate())
    }

    fn stretched(&self, by: Stretch) -> Result<Self, Unstretched> {
        Ok(TokenBucket::new(by.rate(self.rate())?, by.count(self.burst()))?)
    }

    fn shape(&self) -> Shape {
        Filled::shape()
    }

    fn keep(&self, state: &State, now: Time, out: &mut Content) {
        self.0.keep(self.missing(state, now), now).write(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        let (missing, at) = self.0.restore(Filled::read(bytes)?);
        Ok(State { missing: Parts::new(missing), at })
    }

    fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
        self.0.in_f64(false)
    }
}

/// As in `token-bucket 10/1s burst 20`.
impl fmt::Display for TokenBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token-bucket {} burst {}", self.rate(), self.burst())
    }
}
