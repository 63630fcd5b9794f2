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
//!
//! # The grammar
//! Words in brackets are optional; words after the rate may come in any order. A `RATE` is a count per span, as in
//! `10/1m` or `100 per minute`. A rate alone is a fixed window, and with a `precision` a sliding one:
//! up to twice its count passes within a period, across the edge of two windows. For a steady rate write `gcra 10/1m`.
//!
#![doc = include_str!("forms.md")]

pub use super::algorithm::NotRelaxed;
use alloc::boxed::Box;

use super::Limiter;
use super::algorithm::{Algorithm, Relax};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{self, Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use core::fmt;
use core::str::FromStr;

macro_rules! define {
    ($with:tt $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        /// A limiter of any kind. [`FORMS`](super::FORMS) lists the text forms.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyLimiter {
            $(
                #[doc = concat!("See [`super::", stringify!($module), "`].")]
                $limiter(super::$module::$limiter),
            )*
        }

        /// The state of the limiter of the same name: 32 bytes, and on the heap the entries of a
        /// log or of a window, or the habits of 24 hours.
        ///
        /// A limiter of another kind treats it as its own initial state, and replaces it when an
        /// event is recorded.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[doc(hidden)]
        pub enum AnyState {
            $($limiter(state!($module::$limiter $($boxed)?)),)*
        }

        $(
            impl From<super::$module::$limiter> for AnyLimiter {
                fn from(limiter: super::$module::$limiter) -> Self {
                    AnyLimiter::$limiter(limiter)
                }
            }

            impl OneOf for super::$module::$limiter {
                #[inline(always)]
                fn any(state: Self::State) -> AnyState {
                    AnyState::$limiter(state.into())
                }

                #[inline(always)]
                fn of(state: &AnyState) -> Option<&Self::State> {
                    let AnyState::$limiter(own) = state else { return None };
                    Some(own)
                }

                #[inline(always)]
                fn of_mut(state: &mut AnyState) -> Option<&mut Self::State> {
                    let AnyState::$limiter(own) = state else { return None };
                    Some(own)
                }
            }
        )*

        /// Reads the words after the name of the limiter whose form is `form`.
        pub(super) fn read(form: &Form, given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
            $(
                if form.name == <super::$module::$limiter as Algorithm>::FORM.name {
                    return <super::$module::$limiter as Algorithm>::read(given);
                }
            )*
            Err(given.missing("a limiter").into())
        }
    };
}

macro_rules! state {
    ($module:ident::$limiter:ident) => { <super::$module::$limiter as Limiter>::State };
    ($module:ident::$limiter:ident boxed) => { Box<<super::$module::$limiter as Limiter>::State> };
}

limiters!(define! {});

macro_rules! from_text {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        /// The kinds of kept states, in the order of the limiters. A kind that several limiters share is repeated.
        pub(super) const KINDS: &[&Kind] = &[$(<super::$module::$limiter as Algorithm>::KIND,)*];

        $(impl FromStr for super::$module::$limiter {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                match AnyLimiter::read(text, None)? {
                    AnyLimiter::$limiter(limiter) => Ok(limiter),
                    _ => Err(another::<Self>(text)),
                }
            }
        })*
    };
}

limiters_with_forms!(from_text! {} by_hour::ByHour boxed,);

macro_rules! forms {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        &[$(<super::$module::$limiter as Algorithm>::FORM,)*]
    };
}

/// Every text form. The words after the rate may come in any order. The limiter by hour has the form of the adaptive one.
pub const FORMS: &[Form] = limiters_with_forms!(forms! {});

/// Evaluates `$body` with the limiter in `$of`, whichever kind it is.
macro_rules! each {
    ({ $of:expr, $l:ident, $body:expr } $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        match $of { $(AnyLimiter::$limiter($l) => $body,)* }
    };
    ($of:expr, |$l:ident| $body:expr) => { limiters!(each! { $of, $l, $body }) };
}

/// A limiter that is one of [`AnyLimiter`], and its states among those of [`AnyState`].
trait OneOf: Algorithm {
    /// A state of this limiter as one of any.
    fn any(state: Self::State) -> AnyState;

    /// The state of this limiter, unless it is one of another kind.
    fn of(state: &AnyState) -> Option<&Self::State>;

    /// As [`of`](Self::of), to change it.
    fn of_mut(state: &mut AnyState) -> Option<&mut Self::State>;

    /// Reads a state, if it is one of this limiter.
    #[inline(always)]
    fn read_own<R>(&self, state: &AnyState, read: impl FnOnce(&Self::State) -> R) -> Option<R> {
        Self::of(state).map(read)
    }

    /// Changes a state, if it is one of this limiter.
    #[inline(always)]
    fn change_own<R>(
        &self,
        state: &mut AnyState,
        change: impl FnOnce(&mut Self::State) -> R,
    ) -> Option<R> {
        Self::of_mut(state).map(change)
    }
}

/// The error about the text of another limiter than `L`.
fn another<L: Algorithm>(text: &str) -> ParseError {
    let Form { name, words, .. } = L::FORM;
    ParseError::whole(text, format!("another limiter; this one is {name} {words}"))
}

impl AnyLimiter {
    /// Reads a text form. A limiter without a rate gets the rate `default`, if there is one.
    ///
    /// # Errors
    /// When the text has none of the [`FORMS`], or a number is out of range. The error
    /// points at the word.
    pub fn read(text: &str, default: Option<Rate>) -> Result<Self, ParseError> {
        text::read(text, default)
    }

    /// True if it can take back events that it counted: see [`undo`](Limiter::undo).
    pub fn can_undo(&self) -> bool {
        self.undo(&mut self.initial(), Time::ZERO, Time::ZERO, 0.0)
    }

    /// Checks events, given as their times and costs, one after the other from a new state, and calls
    /// `each` with the time and the outcome of each event. The kind of the limiter is matched only once.
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

    /// A word for its level, such as `rate` or `queue`.
    pub fn unit(&self) -> &'static str {
        fn unit<L: Algorithm>(_: &L) -> &'static str {
            L::UNIT
        }
        each!(self, |l| unit(l))
    }

    /// The word for the number that bounds how much passes at once: `burst`, `queue`, `floor` or `count`.
    pub(crate) fn size_word(&self) -> &'static str {
        fn words<L: Algorithm>(_: &L) -> &'static str {
            L::FORM.words
        }
        let words = each!(self, |l| words(l));
        let named = ["burst", "queue", "floor"].into_iter().find(|name| words.contains(name));
        named.unwrap_or("count")
    }

    /// The most that passes at once, per the time until the same amount can pass again; `None` if the limiter never
    /// refuses.
    ///
    /// For a rate or a window it is the limit as written. For a bucket it is the size of the bucket per
    /// the time to fill it: `gcra 1/1s burst 100` is 100 per 100 s. For EARRRL it is the number of events that bring the
    /// estimate above the limit, per the time in which they come at the limit. For an adaptive limiter it is what an
    /// unknown sender gets.
    pub fn quota(&self) -> Option<Rate> {
        each!(self, |l| l.quota())
    }

    /// How much of the [quota](Self::quota) is left, never more than it.
    #[cfg(feature = "std")]
    pub(crate) fn left(&self, state: &AnyState, now: Time) -> f64 {
        each!(self, |l| l.read_own(state, |s| l.left(s, now)))
            .unwrap_or_else(|| self.left(&self.initial(), now))
    }

    /// A limiter that admits `percent` of the events that this one admits: the periods stay, and counts, bursts and
    /// queues are multiplied.
    ///
    /// # Errors
    /// When a number gets out of range, or the limiter has no number to multiply.
    pub fn relaxed(&self, percent: f64) -> Result<Self, NotRelaxed> {
        Ok(each!(self, |l| l.relaxed(Relax(percent))?.into()))
    }

    /// True if it may let an event pass after a wait, instead of at once.
    pub fn delays(&self) -> bool {
        each!(self, |l| l.delays())
    }

    /// The shape of its states: two limiters of one shape can share states. See
    /// [`kept`](super::kept).
    pub fn shape(&self) -> Shape {
        each!(self, |l| l.shape())
    }

    /// The limiter as f64 alone can compute it, with the same decisions.
    ///
    /// # Errors
    /// When a number is outside of the domain of [`in_f64`](super::in_f64).
    #[doc(hidden)]
    pub fn in_f64(&self) -> Result<InF64, BadNumber> {
        each!(self, |l| l.in_f64())
    }

    pub(super) fn write(&self, state: &AnyState, now: Time, out: &mut Content) {
        if each!(self, |l| l.read_own(state, |s| l.keep(s, now, out))).is_none() {
            self.write(&self.initial(), now, out);
        }
    }

    pub(super) fn state(&self, bytes: &mut Bytes<'_>) -> Result<AnyState, KeptError> {
        fn state<L: OneOf>(limiter: &L, bytes: &mut Bytes<'_>) -> Result<AnyState, KeptError> {
            limiter.restore(bytes).map(L::any)
        }
        each!(self, |l| state(l, bytes))
    }

    pub(super) fn drained(&self, state: &AnyState, now: Time) -> AnyState {
        fn drained<L: OneOf>(limiter: &L, state: &AnyState, now: Time) -> Option<AnyState> {
            limiter.read_own(state, |own| L::any(limiter.as_of(own, now)))
        }
        each!(self, |l| drained(l, state, now)).unwrap_or_else(|| self.initial())
    }

    /// This limiter, draining at the rate by which a state was counted elsewhere: `a` and `b` of a bucket, or nginx's
    /// thousandths a second. `None` for other limiters, whose states drain alike whatever the numbers.
    #[doc(hidden)]
    pub fn draining_at(&self, rate: &[f64]) -> Option<Self> {
        let first = *rate.first()? as u64;
        let second = || rate.get(1).map(|second| *second as u64);
        Some(match self {
            AnyLimiter::TokenBucket(one) => one.draining(first, second()?).ok()?.into(),
            AnyLimiter::Gcra(one) => one.draining(first, second()?).ok()?.into(),
            AnyLimiter::LeakyBucket(one) => one.draining(first, second()?).ok()?.into(),
            AnyLimiter::Nginx(one) => one.at_rate(first).into(),
            _ => return None,
        })
    }

    pub(super) fn cut_any(&self, state: &mut AnyState) {
        each!(self, |l| _ = l.change_own(state, |s| Algorithm::cut(l, s)));
    }
}

impl Limiter for AnyLimiter {
    type State = AnyState;

    fn initial(&self) -> AnyState {
        fn initial<L: OneOf>(limiter: &L) -> AnyState {
            L::any(limiter.initial())
        }
        each!(self, |l| initial(l))
    }

    fn peek(&self, state: &AnyState, now: Time, cost: f64) -> Outcome {
        each!(self, |l| l.read_own(state, |s| l.peek(s, now, cost)))
            .unwrap_or_else(|| self.peek(&self.initial(), now, cost))
    }

    fn record(&self, state: &mut AnyState, now: Time, cost: f64, allowed: bool) {
        if each!(self, |l| l.change_own(state, |s| l.record(s, now, cost, allowed))).is_none() {
            *state = self.initial();
            self.record(state, now, cost, allowed);
        }
    }

    fn check_last(&self, state: &mut AnyState, now: Time, cost: f64, others: bool) -> Outcome {
        each!(self, |l| l.change_own(state, |s| l.check_last(s, now, cost, others))).unwrap_or_else(
            || {
                *state = self.initial();
                self.check_last(state, now, cost, others)
            },
        )
    }

    fn undo(&self, state: &mut AnyState, at: Time, now: Time, cost: f64) -> bool {
        each!(self, |l| l.change_own(state, |s| l.undo(s, at, now, cost)).unwrap_or(false))
    }

    fn grows(&self) -> bool {
        each!(self, |l| l.grows())
    }

    fn forget(&self, state: &mut AnyState, now: Time) {
        each!(self, |l| _ = l.change_own(state, |s| l.forget(s, now)));
    }

    fn retry_after(&self, state: &AnyState, now: Time, cost: f64) -> Retry {
        each!(self, |l| l.read_own(state, |s| l.retry_after(s, now, cost)))
            .unwrap_or_else(|| self.retry_after(&self.initial(), now, cost))
    }

    fn remaining(&self, state: &AnyState, now: Time) -> f64 {
        each!(self, |l| l.read_own(state, |s| l.remaining(s, now)))
            .unwrap_or_else(|| self.remaining(&self.initial(), now))
    }

    fn reset_after(&self, state: &AnyState, now: Time) -> Span {
        each!(self, |l| l.read_own(state, |s| l.reset_after(s, now))).unwrap_or(Span::ZERO)
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
