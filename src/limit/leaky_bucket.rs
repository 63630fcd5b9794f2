//! The leaky bucket: a queue that lets events out at a steady rate.
//!
//! Source: as for the [token bucket](super::token_bucket); here the bucket is the queue itself.
//!
//! An event that finds the queue empty goes at once and occupies the outlet for its share of the
//! rate. Later events wait for those before them. An event that no longer fits is refused. So an
//! event is allowed exactly when a token bucket with a burst of the queue's size would allow it, and
//! events never come out faster than the rate.
//!
//! It promises a steady output, and at most `queue + rate × window` admitted in any window. It
//! surprises by the wait: a sender slightly above the rate always has a full queue, and each of its
//! events waits `queue / rate`.
//!
//! # Its level is no measure of the rate
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
use super::algorithm::{Algorithm, Stretch, Unstretched, fill};
use super::any::AnyLimiter;
use super::bucket::{Bucket, Filled, Parts};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unread};
use crate::order::larger;
use crate::outcome::{Decision, Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// A leaky bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeakyBucket(Bucket);

/// When the queue will be empty, in fractions of a microsecond: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    empty: Parts,
}

impl LeakyBucket {
    /// Events come out at `rate`, and at most `queue` of them are held.
    ///
    /// # Errors
    /// When the count of the rate or the queue is not from 0.001 to 10^12.
    pub fn new(rate: Rate, queue: f64) -> Result<Self, BadNumber> {
        Bucket::new(rate, "the queue", queue).map(LeakyBucket)
    }

    /// How fast events come out.
    pub fn rate(&self) -> Rate {
        self.0.rate
    }

    /// How many events the queue holds.
    pub fn queue(&self) -> f64 {
        self.0.size
    }

    /// The queue at `now`, in events.
    pub fn level(&self, state: &State, now: Time) -> f64 {
        self.peek(state, now, 0.0).level
    }

    /// The level of a queue, `elapsed` seconds (at least 0) after it was `level`, if events come out
    /// at `rate` and nothing arrives.
    pub fn level_after(level: f64, rate: Rate, elapsed: f64) -> f64 {
        larger(0.0, level - rate.per_second() * elapsed)
    }

    /// How many even events, `steady` (above 0) in the period of the rate, pass from an empty queue
    /// before the first is refused: a whole number, 0 if none fits, infinite if none is refused.
    pub fn passing(&self, steady: f64) -> f64 {
        let (out, room) = (self.rate().count(), self.queue() - 1.0);
        match room {
            ..0.0 => 0.0,
            _ if steady <= out => f64::INFINITY,
            _ => 1.0 + libm::floor(room * (steady / (steady - out))),
        }
    }

    fn queued(&self, state: &State, now: Time) -> i128 {
        state.empty.get() - self.0.drained(Time::ZERO, now)
    }
}

impl Limiter for LeakyBucket {
    type State = State;

    fn initial(&self) -> State {
        State { empty: Parts::LONG_AGO }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let queued = self.queued(state, now);
        let outcome = self.0.peek(queued, cost);
        match outcome.decision {
            Decision::Allowed { .. } => {
                let decision = Decision::Allowed { wait: self.0.reset_after(queued) };
                Outcome { decision, ..outcome }
            }
            Decision::Refused => outcome,
        }
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        if let Some(queued) = self.0.record(self.queued(state, now), cost, allowed) {
            state.empty = Parts::new(queued + self.0.drained(Time::ZERO, now));
        }
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.0.retry_after(self.queued(state, now), cost)
    }

    /// The room in the queue.
    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.0.remaining(self.queued(state, now))
    }

    /// Until the queue is empty.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.0.reset_after(self.queued(state, now))
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        self.0.max_admitted(window)
    }
}

impl Algorithm for LeakyBucket {
    const FORM: Form = Form {
        name: "leaky-bucket",
        words: "RATE [queue N]",
        example: "leaky-bucket 10/1s queue 20",
        about: "there is room in the queue, which drains at the rate; the queue is the count by default",
    };
    const UNIT: &'static str = "queue";
    const KIND: &'static Kind = Filled::KIND;

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unread> {
        let rate = given.rate()?;
        let queue = given.number("queue")?.unwrap_or(rate.count());
        Ok(LeakyBucket::new(rate, queue)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        fill(self.queue(), self.rate())
    }

    fn stretched(&self, by: Stretch) -> Result<Self, Unstretched> {
        Ok(LeakyBucket::new(by.rate(self.rate())?, by.count(self.queue()))?)
    }

    fn shape(&self) -> Shape {
        Filled::shape()
    }

    fn keep(&self, state: &State, now: Time, out: &mut Content) {
        self.0.keep(self.queued(state, now), now).write(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        Ok(State { empty: self.0.restore_due(Filled::read(bytes)?) })
    }

    fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
        self.0.in_f64(true)
    }
}

/// As in `leaky-bucket 10/1s queue 20`.
impl fmt::Display for LeakyBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leaky-bucket {} queue {}", self.rate(), self.queue())
    }
}
