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
//! # Beside Exim's rate
//! With λ = 1/p, N is the rate of [`exim`](super::exim) with 1 instead of its first term,
//! (1-e^-x)/x. The page of 2009 mentions this: "the first term of this formula can be approximated as
//! 1, which is usually a slight overestimate which makes the average rate converge to a value about
//! 0.5 above the true rate." At a steady R in p, x is 1/R, and after each event N converges to the
//! solution of
//!
//! ```text
//! N = 1 + N e^(-1/R)
//! N = 1/(1 - e^(-1/R)) = R + 1/2 + 1/(12 R) - …
//! ```
//!
//! which is [`settled`]: about R + 1/2 for frequent events, and 1 for rare ones.
//!
//! # The edges
//! * **First event:** N = w.
//! * **Time ran backwards:** d counts as 0, so N does not decay; the event adds its cost as always.
//! * **A long silence:** N decays to nothing, and the next event starts over.
//! * **More than f64 can hold:** N stays at the largest number, and decays from there.

use super::decay::{decay, left};
use crate::extremes::{larger, smaller};
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// Estimates events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecentAverage {
    /// The time in which the estimate halves without events; longer than zero.
    pub half_life: Span,
}

/// All events so far, as if they had arrived together: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct Impulse {
    /// The impulse N, in events.
    pub size: f64,
    /// T, the time of the last event.
    pub at: Time,
}

impl Impulse {
    /// The impulse with one more event at the same instant. Limiters pass a cost of at most
    /// [`MAX_COST`](crate::limit::MAX_COST), too small to change `f64::MAX`, so their sum stays finite.
    #[inline(always)]
    pub(crate) fn plus(self, cost: f64) -> Self {
        Impulse { size: cost + self.size, ..self }
    }
}

/// The value that N converges to, just after an event, for even events of cost 1, `steady` (above 0)
/// of them in the time constant 1/λ: 1/(1 - e^(-1/R)).
pub fn settled(steady: f64) -> f64 {
    // 1 - e^-x is x times the mean of the decay over x.
    steady / decay(steady.recip()).mean
}

impl RecentAverage {
    /// The average that forgets like Exim's rate over `period`: λ = 1/p.
    ///
    /// # Errors
    /// When the period is more than a span can hold.
    pub fn over(period: Span) -> Result<Self, BadNumber> {
        let half_life = Span::try_from_secs_f64(period.as_secs_f64() * core::f64::consts::LN_2)?;
        Ok(RecentAverage { half_life })
    }

    /// λ, the inverse of the time constant, per second.
    pub fn lambda(&self) -> f64 {
        core::f64::consts::LN_2 / self.half_life.as_secs_f64()
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

/// The impulse that is left at `now`, for an inverse time constant of `lambda` per second.
#[inline(always)]
pub(crate) fn remembered(lambda: f64, last: Impulse, now: Time) -> Impulse {
    let gap = larger(0.0, now.since(last.at));
    Impulse { size: last.size * left(lambda * gap), at: now }
}
