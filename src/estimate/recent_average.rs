//! The recent average: the continuous exponentially weighted moving average (CEWMA) of the
//! Estimated Average Recent Request Rate Limiter (EARRRL).
//!
//! Source: John Berryman, "EARRRL – the Estimated Average Recent Request Rate Limiter", and its
//! mathematical companion.
//!
//! # The formula
//! The past is weighted by λ e^(-λ age), whose integral is 1, so that a constant rate reads as
//! itself. All events so far are kept as if N of them had arrived at the time T of the last:
//!
//! ```text
//! estimate = λ N e^(-λ d)        λ = ln 2 / half-life,  d = now - T
//! N' = w + N e^(-λ d),  T' = now
//! ```
//!
//! The estimate *before* an event has had the whole gap to decay, so a steady rate r reads
//! λ/(e^(λ/r) - 1), which is short of r by about λ/2; after the event it is as much above.
//!
//! # Beside Exim's rate
//! With λ = 1/p, N is the rate of [`exim`](super::exim) with 1 for its first term, (1-e^-x)/x. The
//! page of 2009 has this as an aside: "the first term of this formula can be approximated as 1, which
//! is usually a slight overestimate which makes the average rate converge to a value about 0.5 above
//! the true rate." At a steady R in p, where x = 1/R, N settles after an event at what it adds to:
//!
//! ```text
//! N = 1 + N e^(-1/R)
//! N = 1/(1 - e^(-1/R)) = R + 1/2 + 1/(12 R) - …
//! ```
//!
//! which is [`settled`]: a half above where events are many, and 1 where they are rare.
//!
//! # The edges
//! * **First event:** N = w.
//! * **Time ran backwards:** d = 0, so nothing decays and nothing is minted.
//! * **A long silence:** N decays to nothing and the next event starts again.
//! * **More than f64 can hold:** N stays at the largest number, and decays from there.

use super::decay::{decay, left};
use crate::order::{larger, smaller};
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// Estimates events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecentAverage {
    /// How long it takes the estimate to halve in silence; longer than zero.
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
    /// With an event more at the same instant, of a cost up to [`MAX_COST`](crate::limit::MAX_COST).
    /// That is too little to bring the largest number of f64 to the next, so the sum stays finite.
    #[inline(always)]
    pub(crate) fn plus(self, cost: f64) -> Self {
        Impulse { size: cost + self.size, ..self }
    }
}

/// What N settles at, just after an event of cost 1, when they come evenly, `steady` (above 0) in the
/// time constant 1/λ: 1/(1 - e^(-1/R)).
pub fn settled(steady: f64) -> f64 {
    // 1 - e^-x is x times the mean of the decay over x.
    steady / decay(steady.recip()).mean
}

impl RecentAverage {
    /// The average that forgets as Exim's rate of this period does: by 1/e in it, so that λ = 1/p.
    ///
    /// # Errors
    /// When the period is more than a span can hold.
    pub fn over(period: Span) -> Result<Self, BadNumber> {
        let half_life = Span::from_secs(period.secs() * core::f64::consts::LN_2)?;
        Ok(RecentAverage { half_life })
    }

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
