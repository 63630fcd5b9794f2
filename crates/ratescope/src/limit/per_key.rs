//! A limiter with numbers of its own for each key, such as those of a customer, from a database or a header.
//!
//! ```
//! use ratescope::RateLimiter;
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::limit::per_key::PerKey;
//!
//! let users = RateLimiter::<String, _>::keyed(PerKey::new(Gcra::per_minute(5)), 100_000);
//! // The limit comes with the event. A state goes on when its limit changes.
//! let large = Gcra::per_minute(100);
//! assert!((0..5).all(|_| users.check_key("ann").is_allowed()));
//! assert!(!users.check_key("ann").is_allowed());
//! assert_eq!(users.check_key_with(large, "ann").remaining().floor(), 94.0);
//! ```
//!
//! # A state drains by the numbers under which it was counted
//! A state keeps the limiter that counted it, if that is not the usual one. An event with other numbers is decided by
//! the content at its time, in its own units: see [`kept`](super::kept). Only an event that is *counted* stores the
//! state with its numbers. An event that is refused, or a look, changes nothing and makes no room. If the shapes of both
//! limiters differ, the event meets a new state.
//!
//! So numbers belong to the key. Let the events of one key come with numbers in turn, as if they belonged to the
//! request: what is admitted in any window is then bounded by the largest size and the fastest rate of all of them, and
//! for windows and rates by the largest limit, never by their sum. After a change of numbers nobody waits for longer
//! than the longer of both windows.
//!
//! A key takes 8 bytes more than with [`Keyed`](crate::store::Keyed) alone. Keys share the limiter that they were given.

use super::Limiter;
use super::kept::{Keeps, KeptError, Shape, converted};
use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};
use core::fmt;
use std::sync::Arc;

/// The usual limiter of keys, which may have limiters of their own: see [the module](self).
#[derive(Clone, Debug)]
pub struct PerKey<L> {
    usual: L,
    /// The limiter that decides about an event, if it is not the usual one.
    own: Option<Arc<L>>,
}

/// The state of a key, and the limiter that counted it.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct State<L: Limiter> {
    /// `None` for the usual one.
    by: Option<Arc<L>>,
    state: L::State,
}

impl<L: Limiter<State: PartialEq> + PartialEq> PartialEq for State<L> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.by == other.by
    }
}

impl<L: Limiter> State<L> {
    /// A state that was counted by `by`, or by the usual limiter.
    #[doc(hidden)]
    pub fn new(by: Option<Arc<L>>, state: L::State) -> Self {
        State { by, state }
    }

    /// The same state, where another limiter is the usual one now than `usual`, by which it was counted.
    #[doc(hidden)]
    pub fn counted_by(self, usual: &L) -> Self
    where
        L: Clone,
    {
        State { by: Some(self.by.unwrap_or_else(|| Arc::new(usual.clone()))), ..self }
    }
}

impl<L> PerKey<L> {
    /// `usual` is for keys without a limiter of their own.
    pub fn new(usual: L) -> Self {
        PerKey { usual, own: None }
    }

    /// The limiter that decides.
    #[doc(hidden)]
    pub fn decides(&self) -> &L {
        self.own.as_deref().unwrap_or(&self.usual)
    }
}

impl<L: Clone + PartialEq> PerKey<L> {
    /// This, for an event with a limiter of its own.
    pub(crate) fn with(&self, own: Arc<L>) -> Self {
        let own = Some(own).filter(|own| self.usual != **own);
        PerKey { usual: self.usual.clone(), own }
    }
}

impl<L> PerKey<L>
where
    L: Keeps<State: PartialEq> + Clone + PartialEq + fmt::Debug,
{
    /// The limiter that counted a state, and the state.
    fn counted<'a>(&'a self, state: &'a State<L>) -> (&'a L, &'a L::State) {
        (state.by.as_deref().unwrap_or(&self.usual), &state.state)
    }

    fn counted_mut<'a>(&'a self, state: &'a mut State<L>) -> (&'a L, &'a mut L::State) {
        (state.by.as_deref().unwrap_or(&self.usual), &mut state.state)
    }

    /// True if the limiter that decides has counted this state. In both, `None` is the usual limiter.
    #[inline(always)]
    fn is_own(&self, state: &State<L>) -> bool {
        match (&self.own, &state.by) {
            (None, None) => true,
            (Some(own), Some(by)) => Arc::ptr_eq(own, by) || own == by,
            _ => false,
        }
    }

    /// The state at `now` in the units of the limiter that decides.
    #[cold]
    fn converted(&self, state: &State<L>, now: Time) -> L::State {
        let (by, counted) = self.counted(state);
        let decides = self.decides();
        converted(by, counted, now, decides).unwrap_or_else(|| decides.initial())
    }

    /// How long after `now` an event passes. Until it is counted, the state drains by the numbers under which it was
    /// counted, so the first instant is searched for: from it on the event passes, since nothing is counted meanwhile.
    #[cold]
    fn search(&self, state: &State<L>, now: Time, cost: f64) -> Retry {
        let passes = |micros: i64| {
            let at = now.after(Span::from_micros(micros.unsigned_abs()));
            self.decides().peek(&self.converted(state, at), at, cost).is_allowed()
        };
        if passes(0) {
            return Retry::NOW;
        }
        // By then it has drained, unless the state is later than `now`.
        let (mut refused, mut passed) = (0, self.reset_after(state, now).micros_up().max(1));
        if !passes(passed) {
            let retry = self.decides().retry_after(&self.converted(state, now), now, cost);
            let Some(wait) = retry.wait() else { return retry };
            (refused, passed) = (passed, wait.micros_up());
            if refused >= passed || !passes(passed) {
                return retry;
            }
        }
        while passed - refused > 1 {
            let middle = refused + (passed - refused) / 2;
            if passes(middle) {
                passed = middle;
            } else {
                refused = middle;
            }
        }
        Retry::After(Span::from_micros(passed.unsigned_abs()))
    }

    /// Counts an event by other numbers than those of the state, which has these numbers from now on. An event that is
    /// not counted changes nothing, unless the clock was set back.
    #[cold]
    fn record_converted(&self, state: &mut State<L>, now: Time, cost: f64, allowed: bool) {
        let before = self.converted(state, now);
        let mut after = before.clone();
        self.decides().record(&mut after, now, cost, allowed);
        if after != before {
            *state = State { by: self.own.clone(), state: after };
        }
    }
}

impl<L> Limiter for PerKey<L>
where
    L: Keeps<State: PartialEq> + Clone + PartialEq + fmt::Debug,
{
    type State = State<L>;

    fn initial(&self) -> State<L> {
        State { by: None, state: self.usual.initial() }
    }

    #[inline]
    fn peek(&self, state: &State<L>, now: Time, cost: f64) -> Outcome {
        if self.is_own(state) {
            return self.decides().peek(&state.state, now, cost);
        }
        self.decides().peek(&self.converted(state, now), now, cost)
    }

    #[inline]
    fn record(&self, state: &mut State<L>, now: Time, cost: f64, allowed: bool) {
        if self.is_own(state) {
            self.decides().record(&mut state.state, now, cost, allowed);
        } else {
            self.record_converted(state, now, cost, allowed);
        }
    }

    #[inline]
    fn check_last(&self, state: &mut State<L>, now: Time, cost: f64, others: bool) -> Outcome {
        if self.is_own(state) {
            return self.decides().check_last(&mut state.state, now, cost, others);
        }
        let outcome = self.peek(state, now, cost);
        self.record_converted(state, now, cost, others && outcome.is_allowed());
        outcome
    }

    fn undo(&self, state: &mut State<L>, at: Time, now: Time, cost: f64) -> bool {
        let (by, state) = self.counted_mut(state);
        by.undo(state, at, now, cost)
    }

    fn grows(&self) -> bool {
        self.usual.grows()
    }

    fn forget(&self, state: &mut State<L>, now: Time) {
        let (by, state) = self.counted_mut(state);
        by.forget(state, now);
    }

    fn is_refused(&self, state: &mut State<L>, now: Time, latest: Time, cost: f64) -> bool {
        let (by, state) = self.counted_mut(state);
        by.is_refused(state, now, latest, cost)
    }

    fn retry_after(&self, state: &State<L>, now: Time, cost: f64) -> Retry {
        if self.is_own(state) {
            return self.decides().retry_after(&state.state, now, cost);
        }
        // Logs and windows forget alike under all numbers, and a search would copy them many times.
        if self.grows() {
            return self.decides().retry_after(&self.converted(state, now), now, cost);
        }
        self.search(state, now, cost)
    }

    fn remaining(&self, state: &State<L>, now: Time) -> f64 {
        if self.is_own(state) {
            return self.decides().remaining(&state.state, now);
        }
        self.decides().remaining(&self.converted(state, now), now)
    }

    fn reset_after(&self, state: &State<L>, now: Time) -> Span {
        let (by, state) = self.counted(state);
        by.reset_after(state, now)
    }

    /// The bound of the limiter that decides.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        self.decides().max_admitted(window, cost)
    }
}

/// States are kept in plain units, whichever limiter counted them, and are those of the usual limiter when they are read
/// again.
impl<L> Keeps for PerKey<L>
where
    L: Keeps<State: PartialEq> + Clone + PartialEq + fmt::Debug,
{
    fn kept_shape(&self) -> Shape {
        self.usual.kept_shape()
    }

    fn write_state(&self, state: &State<L>, now: Time, out: &mut Vec<u8>) {
        let (by, state) = self.counted(state);
        by.write_state(state, now, out);
    }

    fn numbers(&self) -> String {
        self.usual.numbers()
    }

    /// Only a state of the usual limiter: others keep their numbers.
    fn cut(&self, state: &mut State<L>) {
        if state.by.is_none() {
            self.usual.cut(&mut state.state);
        }
    }

    fn read_state(&self, bytes: &mut &[u8]) -> Result<State<L>, KeptError> {
        Ok(State { by: None, state: self.usual.read_state(bytes)? })
    }
}

impl PerKey<super::any::AnyLimiter> {
    /// The state of a key for another usual limiter of the same shape, as of `now`. A bucket is then never fuller than
    /// full. A state that was counted by numbers of its own keeps these.
    pub(crate) fn carry(
        &self,
        state: &mut State<super::any::AnyLimiter>,
        now: Time,
        to: &super::any::AnyLimiter,
    ) {
        if state.by.is_none() {
            self.usual.forget(&mut state.state, now);
            state.state =
                converted(&self.usual, &state.state, now, to).unwrap_or_else(|| to.initial());
            to.cut(&mut state.state);
        }
    }

    /// How much of the quota is left, never more than it.
    pub(crate) fn left(&self, state: &State<super::any::AnyLimiter>, now: Time) -> f64 {
        if self.is_own(state) {
            return self.decides().left(&state.state, now);
        }
        self.decides().left(&self.converted(state, now), now)
    }

    pub(crate) fn usual(&self) -> &super::any::AnyLimiter {
        &self.usual
    }
}
