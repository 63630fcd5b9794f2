//! Limiters: may this event pass?
//!
//! A limiter is a rule without memory; what it remembers of one sender is a separate state, so
//! one rule serves any number of keys and a state can live in a map, a file or a database.
//! Everything is `(limit, state, now, cost) -> (state, outcome)`: no clock is read.
//!
//! | limiter | counts | state |
//! |---|---|---|
//! | [`exim`] | what it measured, or what it allowed | 24 bytes |

pub mod exim;
mod retry;

use crate::outcome::Outcome;
use crate::time::{Span, Time};

/// A rate limiter.
///
/// Costs are numbers of events, or whatever is limited: 1 for most uses, at least 0 and finite.
/// A cost that is negative, infinite or not a number is denied forever and counted nowhere.
pub trait Limiter {
    /// What is remembered for one key.
    type State: Clone;

    /// The state of a key that was never seen.
    fn fresh(&self) -> Self::State;

    /// Decides about an event of cost `cost` at `now`, and counts it.
    fn check(&self, state: &mut Self::State, now: Time, cost: f64) -> Outcome;

    /// Decides as [`check`](Self::check) would, and counts nothing.
    fn peek(&self, state: &Self::State, now: Time, cost: f64) -> Outcome {
        self.check(&mut state.clone(), now, cost)
    }

    /// The largest cost that would be allowed at `now`. Where the limiter's bound is strict this
    /// is the bound itself: anything below it passes.
    fn remaining(&self, state: &Self::State, now: Time) -> f64;

    /// How long until an event of cost 1 is treated as if the key had never been seen, when
    /// nothing arrives before.
    fn reset_after(&self, state: &Self::State, now: Time) -> Span;
}

/// Whether `cost` is one that a limiter can count.
pub(crate) fn is_cost(cost: f64) -> bool {
    cost >= 0.0 && cost.is_finite()
}
