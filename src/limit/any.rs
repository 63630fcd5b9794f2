//! Any of the limiters, chosen by a text at run time.
//!
//! ```
//! use ratescope::limit::any::AnyLimiter;
//! use ratescope::{Limiter, Time};
//!
//! let limiter: AnyLimiter = "sliding-log 3/1s".parse()?;
//! let mut state = limiter.initial();
//! let outcomes = [0; 4].map(|_| limiter.check(&mut state, Time::ZERO, 1.0));
//! assert_eq!(outcomes[3].to_string(), "refused: level 4, limit 3");
//! assert_eq!(limiter.retry_after(&state, Time::ZERO, 1.0).to_string(), "in 1s");
//!
//! // An error knows where the mistake is.
//! let error = "gcra 10/1m brust 3".parse::<AnyLimiter>().unwrap_err();
//! assert_eq!(error.at(), 11..16);
//! # Ok::<(), ratescope::ParseError>(())
//! ```

use super::adaptive::{Adaptive, Habit};
use super::by_hour::{ByHour, Habits};
use super::earrrl::Earrrl;
use super::envoy::{self, Envoy};
use super::exim::Exim;
use super::fixed_window::{self, FixedWindow};
use super::gcra::{self, Gcra};
use super::haproxy::{self, Haproxy};
use super::in_f64::InF64;
use super::kept::{Content, Keep, Shape};
use super::leaky_bucket::{self, LeakyBucket};
use super::nginx::{self, Nginx};
use super::sliding_counter::{self, SlidingCounter};
use super::sliding_log::SlidingLog;
use super::sliding_window::{History, SlidingWindow};
use super::token_bucket::{self, TokenBucket};
use super::{Limiter, text};
use crate::estimate::exim::Measured;
use crate::estimate::recent_average::Impulse;
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use core::fmt;
use core::str::FromStr;

/// A limiter of any kind. Its text form is what [`FORMS`](super::FORMS) lists.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnyLimiter {
    /// See [`super::exim`].
    Exim(Exim),
    /// See [`super::earrrl`].
    Earrrl(Earrrl),
    /// See [`super::token_bucket`].
    TokenBucket(TokenBucket),
    /// See [`super::gcra`].
    Gcra(Gcra),
    /// See [`super::leaky_bucket`].
    LeakyBucket(LeakyBucket),
    /// See [`super::fixed_window`].
    FixedWindow(FixedWindow),
    /// See [`super::sliding_window`].
    SlidingWindow(SlidingWindow),
    /// See [`super::sliding_counter`].
    SlidingCounter(SlidingCounter),
    /// See [`super::sliding_log`].
    SlidingLog(SlidingLog),
    /// See [`super::adaptive`].
    Adaptive(Adaptive),
    /// See [`super::by_hour`].
    ByHour(ByHour),
    /// See [`super::nginx`].
    Nginx(Nginx),
    /// See [`super::haproxy`].
    Haproxy(Haproxy),
    /// See [`super::envoy`].
    Envoy(Envoy),
}

/// The state of the limiter of the same name: 32 bytes, and on the heap the entries of a log or of a
/// window, or the habits of 24 hours.
///
/// A limiter of another kind treats it as its own initial state, and replaces it when an event is
/// recorded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "named as the limiters")]
pub enum AnyState {
    Exim(Measured),
    Earrrl(Impulse),
    TokenBucket(token_bucket::State),
    Gcra(gcra::State),
    LeakyBucket(leaky_bucket::State),
    FixedWindow(fixed_window::State),
    SlidingWindow(Box<History>),
    SlidingCounter(sliding_counter::State),
    SlidingLog(Box<History>),
    Adaptive(Habit),
    ByHour(Box<Habits>),
    Nginx(nginx::State),
    Haproxy(haproxy::State),
    Envoy(envoy::State),
}

/// `$body` with the limiter and its state; `$other` when the state is of another kind of limiter.
macro_rules! matched {
    ($limiter:expr, $state:expr, |$l:ident, $s:ident| $body:expr, $other:expr) => {
        match ($limiter, $state) {
            (AnyLimiter::Exim($l), AnyState::Exim($s)) => $body,
            (AnyLimiter::Earrrl($l), AnyState::Earrrl($s)) => $body,
            (AnyLimiter::TokenBucket($l), AnyState::TokenBucket($s)) => $body,
            (AnyLimiter::Gcra($l), AnyState::Gcra($s)) => $body,
            (AnyLimiter::LeakyBucket($l), AnyState::LeakyBucket($s)) => $body,
            (AnyLimiter::FixedWindow($l), AnyState::FixedWindow($s)) => $body,
            (AnyLimiter::SlidingWindow($l), AnyState::SlidingWindow($s)) => $body,
            (AnyLimiter::SlidingCounter($l), AnyState::SlidingCounter($s)) => $body,
            (AnyLimiter::SlidingLog($l), AnyState::SlidingLog($s)) => $body,
            (AnyLimiter::Adaptive($l), AnyState::Adaptive($s)) => $body,
            (AnyLimiter::ByHour($l), AnyState::ByHour($s)) => $body,
            (AnyLimiter::Nginx($l), AnyState::Nginx($s)) => $body,
            (AnyLimiter::Haproxy($l), AnyState::Haproxy($s)) => $body,
            (AnyLimiter::Envoy($l), AnyState::Envoy($s)) => $body,
            _ => $other,
        }
    };
}

/// `$body` with the limiter, whichever it is.
macro_rules! each {
    ($limiter:expr, |$l:ident| $body:expr) => {
        match $limiter {
            AnyLimiter::Exim($l) => $body,
            AnyLimiter::Earrrl($l) => $body,
            AnyLimiter::TokenBucket($l) => $body,
            AnyLimiter::Gcra($l) => $body,
            AnyLimiter::LeakyBucket($l) => $body,
            AnyLimiter::FixedWindow($l) => $body,
            AnyLimiter::SlidingWindow($l) => $body,
            AnyLimiter::SlidingCounter($l) => $body,
            AnyLimiter::SlidingLog($l) => $body,
            AnyLimiter::Adaptive($l) => $body,
            AnyLimiter::ByHour($l) => $body,
            AnyLimiter::Nginx($l) => $body,
            AnyLimiter::Haproxy($l) => $body,
            AnyLimiter::Envoy($l) => $body,
        }
    };
}

/// `$body`, wrapped as the state of the limiter, whichever it is.
macro_rules! stated {
    ($limiter:expr, |$l:ident| $body:expr) => {
        match $limiter {
            AnyLimiter::Exim($l) => AnyState::Exim($body),
            AnyLimiter::Earrrl($l) => AnyState::Earrrl($body),
            AnyLimiter::TokenBucket($l) => AnyState::TokenBucket($body),
            AnyLimiter::Gcra($l) => AnyState::Gcra($body),
            AnyLimiter::LeakyBucket($l) => AnyState::LeakyBucket($body),
            AnyLimiter::FixedWindow($l) => AnyState::FixedWindow($body),
            AnyLimiter::SlidingWindow($l) => AnyState::SlidingWindow(Box::new($body)),
            AnyLimiter::SlidingCounter($l) => AnyState::SlidingCounter($body),
            AnyLimiter::SlidingLog($l) => AnyState::SlidingLog(Box::new($body)),
            AnyLimiter::Adaptive($l) => AnyState::Adaptive($body),
            AnyLimiter::ByHour($l) => AnyState::ByHour(Box::new($body)),
            AnyLimiter::Nginx($l) => AnyState::Nginx($body),
            AnyLimiter::Haproxy($l) => AnyState::Haproxy($body),
            AnyLimiter::Envoy($l) => AnyState::Envoy($body),
        }
    };
}

impl AnyLimiter {
    /// Reads a text form. A limiter without a rate gets the rate `default`, if there is one.
    ///
    /// # Errors
    /// When the text has none of the [`FORMS`](super::FORMS), or a number is out of range. The error
    /// points at the word.
    pub fn read(text: &str, default: Option<Rate>) -> Result<Self, ParseError> {
        text::read(text, default)
    }

    /// Frees the entries that a log or a window no longer counts at `now`. Decisions stay the same.
    pub fn forget(&self, state: &mut AnyState, now: Time) {
        match (self, state) {
            (AnyLimiter::SlidingWindow(l), AnyState::SlidingWindow(s)) => l.forget(s, now),
            (AnyLimiter::SlidingLog(l), AnyState::SlidingLog(s)) => l.forget(s, now),
            _ => {}
        }
    }

    /// Checks events, each its time and cost, one after the other from a new state, and hands out the
    /// time and the outcome of each. It asks only once which limiter it is.
    pub fn outcomes(
        &self,
        events: impl Iterator<Item = (Time, f64)>,
        mut each: impl FnMut(Time, Outcome),
    ) {
        each!(self, |l| {
            let mut state = l.initial();
            for (time, cost) in events {
                each(time, l.check(&mut state, time, cost));
            }
        });
    }

    /// The shape of its states: two limiters of one shape can share states. See
    /// [`kept`](super::kept).
    pub fn shape(&self) -> Shape {
        each!(self, |l| l.shape())
    }

    /// Checks that the same decisions can be computed with f64 alone: that all numbers are in the
    /// domain of [`in_f64`](super::in_f64).
    ///
    /// # Errors
    /// When a number is outside of that domain.
    pub fn exact_in_f64(&self) -> Result<(), BadNumber> {
        each!(self, |l| l.exact_in_f64())
    }

    /// The limiter as f64 alone can compute it, within that domain; `None` for those by hour.
    pub fn in_f64(&self) -> Option<InF64> {
        each!(self, |l| l.in_f64())
    }

    pub(super) fn content(&self, state: &AnyState, now: Time) -> Content {
        let initial = || self.content(&self.initial(), now);
        matched!(self, state, |l, s| l.keep(s, now), initial())
    }

    pub(super) fn state(&self, content: &Content) -> Option<AnyState> {
        Some(stated!(self, |l| l.restore(content)?))
    }

    /// Replaces `state` by an initial one if it is of another kind.
    fn own(&self, state: &mut AnyState) {
        if !matched!(self, &*state, |_l, _s| true, false) {
            *state = self.initial();
        }
    }
}

impl Limiter for AnyLimiter {
    type State = AnyState;

    fn initial(&self) -> AnyState {
        stated!(self, |l| l.initial())
    }

    fn peek(&self, state: &AnyState, now: Time, cost: f64) -> Outcome {
        let initial = || self.peek(&self.initial(), now, cost);
        matched!(self, state, |l, s| l.peek(s, now, cost), initial())
    }

    fn record(&self, state: &mut AnyState, now: Time, cost: f64, allowed: bool) {
        self.own(state);
        matched!(self, state, |l, s| l.record(s, now, cost, allowed), ());
    }

    fn check(&self, state: &mut AnyState, now: Time, cost: f64) -> Outcome {
        self.own(state);
        let initial = || self.peek(&self.initial(), now, cost);
        matched!(self, state, |l, s| l.check(s, now, cost), initial())
    }

    fn retry_after(&self, state: &AnyState, now: Time, cost: f64) -> Retry {
        let initial = || self.retry_after(&self.initial(), now, cost);
        matched!(self, state, |l, s| l.retry_after(s, now, cost), initial())
    }

    fn remaining(&self, state: &AnyState, now: Time) -> f64 {
        let initial = || self.remaining(&self.initial(), now);
        matched!(self, state, |l, s| l.remaining(s, now), initial())
    }

    fn reset_after(&self, state: &AnyState, now: Time) -> Span {
        matched!(self, state, |l, s| l.reset_after(s, now), Span::ZERO)
    }

    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        each!(self, |l| l.max_admitted(window, cost))
    }
}

/// The text form with every word, including optional ones.
impl fmt::Display for AnyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, |l| l.fmt(f))
    }
}

impl FromStr for AnyLimiter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text, None)
    }
}
