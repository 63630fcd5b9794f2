//! A limiter with numbers of its own for each key, such as those of a customer, from a database or a header.
//!
//! ```
//! use ratescope::RateLimiter;
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::limit::per_key::PerKey;
//!
//! let users = RateLimiter::keyed(PerKey::new(Gcra::per_minute(5)), 100_000);
//! // The limit comes with the event. A state goes on when its limit changes.
//! let (small, large) = (Gcra::per_minute(5), Gcra::per_minute(100));
//! assert!((0..5).all(|_| users.check_key_with(&small, "ann").is_allowed()));
//! assert!(!users.check_key_with(&small, "ann").is_allowed());
//! assert_eq!(users.check_key_with(&large, "ann").remaining().floor(), 94.0);
//! ```
//!
//! # What is kept
//! A state keeps the limiter that counted it, since in memory it has the units of that limiter. When an event comes
//! with another limiter, the state of the latest event is converted: see [`kept`](super::kept). So since that event a
//! bucket has drained at the new rate, as with [`with_limits`](crate::MemoryStore::with_limits) and on Redis. If the
//! shape differs, the key starts with a new state.
//!
//! Keys with equal limiters share one, so a key takes 8 bytes more. A cache has the last 256 different limiters; if
//! more are used in turn, a key may have a copy of its own. The capacity bounds memory either way.

use super::Limiter;
use super::kept::{Keeps, converted};
use super::sealed::Sealed;
use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};
use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The size of the cache of limiters.
const RECENT: usize = 256;

/// A default limiter, and the limiters of keys with their own: see [the module](self).
#[derive(Clone, Debug)]
pub struct PerKey<L> {
    default: L,
    recent: Arc<Mutex<Recent<L>>>,
}

/// The cache of limiters.
#[derive(Debug)]
struct Recent<L> {
    limiters: Vec<Arc<L>>,
    /// The index of the next one to replace, once the cache is full.
    next: usize,
}

/// The state of a key, and the limiter that counted it.
#[derive(Clone, Debug)]
pub struct State<L: Limiter> {
    /// `None` for the default.
    own: Option<Arc<L>>,
    state: L::State,
}

impl<L: Limiter<State: PartialEq> + PartialEq> PartialEq for State<L> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.own == other.own
    }
}

impl<L> PerKey<L> {
    /// `default` is for keys without a limiter of their own.
    pub fn new(default: L) -> Self {
        let recent = Recent { limiters: Vec::new(), next: 0 };
        PerKey { default, recent: Arc::new(Mutex::new(recent)) }
    }
}

impl<L: Keeps + Clone + PartialEq> PerKey<L> {
    /// Converts a state to `limiter`.
    pub(crate) fn adopt(&self, state: &mut State<L>, limiter: &L) {
        let old = self.of(state);
        if old == limiter {
            return;
        }
        state.state = converted(old, &state.state, limiter).unwrap_or_else(|| limiter.initial());
        state.own = (self.default != *limiter).then(|| self.shared(limiter));
    }

    /// The cached limiter that equals this one; adds it if there is none.
    fn shared(&self, limiter: &L) -> Arc<L> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent.limiters.iter().find(|known| ***known == *limiter) {
            return Arc::clone(known);
        }
        let new = Arc::new(limiter.clone());
        if recent.limiters.len() < RECENT {
            recent.limiters.push(Arc::clone(&new));
        } else {
            let next = recent.next % RECENT;
            recent.limiters[next] = Arc::clone(&new);
            recent.next = next + 1;
        }
        new
    }
}

impl<L: Limiter> PerKey<L> {
    fn of<'a>(&'a self, state: &'a State<L>) -> &'a L {
        state.own.as_deref().unwrap_or(&self.default)
    }

    /// The limiter of a state, and what to change.
    fn of_mut<'a>(&'a self, state: &'a mut State<L>) -> (&'a L, &'a mut L::State) {
        (state.own.as_deref().unwrap_or(&self.default), &mut state.state)
    }
}

impl<L> Sealed for PerKey<L> {}

/// Each method asks the limiter of the state.
impl<L: Limiter + Clone + fmt::Debug> Limiter for PerKey<L> {
    type State = State<L>;

    fn initial(&self) -> State<L> {
        State { own: None, state: self.default.initial() }
    }

    fn initial_like(&self, state: &State<L>) -> State<L> {
        State { own: state.own.clone(), state: self.of(state).initial() }
    }

    fn peek(&self, state: &State<L>, now: Time, cost: f64) -> Outcome {
        self.of(state).peek(&state.state, now, cost)
    }

    fn record(&self, state: &mut State<L>, now: Time, cost: f64, allowed: bool) {
        let (limiter, state) = self.of_mut(state);
        limiter.record(state, now, cost, allowed);
    }

    #[inline]
    fn check_last(&self, state: &mut State<L>, now: Time, cost: f64, others: bool) -> Outcome {
        let (limiter, state) = self.of_mut(state);
        limiter.check_last(state, now, cost, others)
    }

    fn undo(&self, state: &mut State<L>, at: Time, now: Time, cost: f64) -> bool {
        let (limiter, state) = self.of_mut(state);
        limiter.undo(state, at, now, cost)
    }

    fn give_back(&self, state: &mut State<L>, now: Time, cost: f64) -> bool {
        let (limiter, state) = self.of_mut(state);
        limiter.give_back(state, now, cost)
    }

    fn grows(&self) -> bool {
        self.default.grows()
    }

    fn forget(&self, state: &mut State<L>, now: Time) {
        let (limiter, state) = self.of_mut(state);
        limiter.forget(state, now);
    }

    fn retry_after(&self, state: &State<L>, now: Time, cost: f64) -> Retry {
        self.of(state).retry_after(&state.state, now, cost)
    }

    fn remaining(&self, state: &State<L>, now: Time) -> f64 {
        self.of(state).remaining(&state.state, now)
    }

    fn reset_after(&self, state: &State<L>, now: Time) -> Span {
        self.of(state).reset_after(&state.state, now)
    }

    /// The bound of the default limiter.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        self.default.max_admitted(window, cost)
    }
}
