//! GCRA, the generic cell rate algorithm: the token bucket in one timestamp.
//!
//! Source: ATM Forum, Traffic Management Specification 4.0 (af-tm-0056.000); ITU-T I.371.
//!
//! The state is the *theoretical arrival time*: when the next event of a steady sender at the rate
//! of the limit would arrive. An event may come before that time, by as long as a burst takes at
//! that rate. If it passes, the time moves on by the event's share of the rate, starting from `now`
//! if it lies in the past.
//!
//! The tokens missing from a token bucket are exactly those that come back from now until that time.
//! So GCRA decides exactly as [`token_bucket`](super::token_bucket), with the same promise of
//! `burst + rate × window` and the same levels.

use super::Limiter;
use super::algorithm::{Algorithm, Stretch, Unstretched, fill};
use super::any::AnyLimiter;
use super::bucket::{Bucket, Filled, Parts};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unread};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// GCRA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gcra(Bucket);

/// The theoretical arrival time, in fractions of a microsecond: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    due: Parts,
}

impl Gcra {
    /// Events at `rate`, and up to `burst` of them at once.
    ///
    /// # Errors
    /// When the count of the rate or the burst is not from 0.001 to 10^12.
    pub fn new(rate: Rate, burst: f64) -> Result<Self, BadNumber> {
        Bucket::new(rate, "the burst", burst).map(Gcra)
    }

    /// The rate of a steady sender that is never refused.
    pub fn rate(&self) -> Rate {
        self.0.rate
    }

    /// How many events pass at once from rest.
    pub fn burst(&self) -> f64 {
        self.0.size
    }

    fn until_due(&self, state: &State, now: Time) -> i128 {
        state.due.get() - self.0.drained(Time::ZERO, now)
    }
}

impl Limiter for Gcra {
    type State = State;

    fn initial(&self) -> State {
        State { due: Parts::LONG_AGO }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.0.peek(self.until_due(state, now), cost)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        if let Some(due) = self.0.record(self.until_due(state, now), cost, allowed) {
            state.due = Parts::new(due + self.0.drained(Time::ZERO, now));
        }
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.0.retry_after(self.until_due(state, now), cost)
    }

    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.0.remaining(self.until_due(state, now))
    }

    /// Until the theoretical arrival time.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.0.reset_after(self.until_due(state, now))
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        self.0.max_admitted(window)
    }
}

impl Algorithm for Gcra {
    const FORM: Form = Form {
        name: "gcra",
        words: "RATE [burst N]",
        example: "gcra 10/1s burst 20",
        about: "as the token bucket, kept in one timestamp; the burst is the count by default",
    };
    const UNIT: &'static str = "tokens used";
    const KIND: &'static Kind = Filled::KIND;

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unread> {
        let rate = given.rate()?;
        let burst = given.number("burst")?.unwrap_or(rate.count());
        Ok(Gcra::new(rate, burst)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        fill(self.burst(), self.rate())
    }

    fn stretched(&self, by: Stretch) -> Result<Self, Unstretched> {
        Ok(Gcra::new(by.rate(self.rate())?, by.count(self.burst()))?)
    }

    fn shape(&self) -> Shape {
        Filled::shape()
    }

    fn keep(&self, state: &State, now: Time, out: &mut Content) {
        self.0.keep(self.until_due(state, now), now).write(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        Ok(State { due: self.0.restore_due(Filled::read(bytes)?) })
    }

    fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
        self.0.in_f64(false)
    }
}

/// As in `gcra 10/1s burst 20`.
impl fmt::Display for Gcra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gcra {} burst {}", self.rate(), self.burst())
    }
}
