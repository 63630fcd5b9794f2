//! The recent average: the continuous exponentially weighted moving average (CEWMA) of the
//! Estimated Average Recent Request Rate Limiter (EARRRL).
//!
//! Source: John Berryman, "EARRRL – the Estimated Average Recent Request Rate Limiter", and its
//! mathematical companion.
//!
//! # The formula
//! Past events are weighted by λ e^(-λ age). The integral of that is 1, so a constant rate reads as
//! itself. All events so far are stored as if N of them had arrived at T, the time of the last one:
//!
//! ```text
//! estimate = λ N e^(-λ d)        λ = ln 2 / half-life,  d = now - T
//! N' = w + N e^(-λ d),  T' = now
//! ```
//!
//! The estimate *before* an event has decayed over the whole gap, so for a steady rate r it reads
//! λ/(e^(λ/r) - 1), about λ/2 less than r. *After* the event it reads about λ/2 more than r.
//!
//! # The edges
//! * **First event:** N = w.
//! * **Time ran backwards:** d = 0: N does not decay, and it does not grow.
//! * **A long silence:** N decays to nothing, and the next event starts anew.
//! * **More than f64 can hold:** N stays at the largest number, and decays from there.

use super::decay::left;
use crate::order::{larger, smaller};
use crate::time::{Span, Time};

/// Estimates events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecentAverage {
    /// The time in which the estimate halves without events; longer than zero.
    pub half_life: Span,
}

/// All events so far, as if they had arrived together: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impulse {
    /// How many events, the impulse N.
    pub size: f64,
    /// When, the time T of the last event.
    pub at: Time,
}

impl Impulse {
    /// The impulse with one more event at the same instant. Its cost is at most
    /// [`MAX_COST`](crate::limit::MAX_COST), too small to change `f64::MAX`, so the sum stays finite.
    #[inline(always)]
    pub(crate) fn plus(self, cost: f64) -> Self {
        Impulse { size: cost + self.size, ..self }
    }
}

impl RecentAverage {
    /// λ, the inverse of the time constant, per second.
    pub fn lambda(&self) -> f64 {
        core::f64::consts::LN_2 / self.half_life.secs()
    }

    /// Events per second at `now`, as estimated from the events before.
    pub fn estimate(&self, last: Impulse, now: Time) -> f64 {
        let lambda = self.lambda();
        lambda * remembered(lambda, last, now).size
    }

    /// The impulse after an event of cost `cost` (finite, at least 0) at `now`.
    pub fn add(&self, last: Impulse, now: Time, cost: f64) -> Impulse {
        let impulse = remembered(self.lambda(), last, now).plus(cost);
        Impulse { size: smaller(f64::MAX, impulse.size), ..impulse }
    }
}

/// What is left of the impulse at `now`.
#[inline(always)]
pub(crate) fn remembered(lambda: f64, last: Impulse, now: Time) -> Impulse {
    let gap = larger(0.0, now.since(last.at));
    Impulse { size: last.size * left(lambda * gap), at: now }
}
