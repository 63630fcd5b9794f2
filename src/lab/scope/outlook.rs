//! What a limit lets through, told beforehand.
//!
//! Source: the page of 2009, as for [`estimate::exim`](crate::estimate::exim), under "Properties of
//! this recurrence". Its sums are for the formula without the lower bound; here each number is
//! that of the limiter itself.
//!
//! # The formulas
//! A sender at rest begins with events of cost 1, evenly spaced, R in a period p. The first reads 1
//! and the n-th, where R > 1,
//!
//! ```text
//! r_n = R + (1 - R) e^(-(n-1)/R)
//! ```
//!
//! It passes a limit m when r_n < m. So where R > m > 1 as many pass as there are whole numbers
//! n - 1 >= 0 below R ln((R-1)/(R-m)), which is `events_between(1, m, R)`, rounded up.
//!
//! What follows depends on the mode. Strict goes on counting: nothing passes, and the rate tends
//! to R. In silence it is back at the limit after p ln(R/m); an event adds to it, so the next one
//! passes a little later. Leaky holds the rate below the limit. There (1-e^-x)/x + r e^-x < m
//! for r < m from x = 1/m on, so the next event passes after p/m at the latest; and events that
//! come evenly pass no faster than this in the long run.
//!
//! # The edges
//! * **Limit 0:** it only measures, and all pass.
//! * **A limit of 1 or less:** an event alone reads 1, so none ever passes.
//! * **R up to the limit, and up to 1:** r_n stays below R, or is 1: all pass. At R = m only the
//!   rounding of r_n can meet the limit, after some 36 R events.
//! * **At once:** the gap is a nanosecond, as the estimator has it, and R is very large; then as
//!   many pass as the limit says, rounded down.

use crate::estimate::exim::{Measured, events_between, recovery_time};
use crate::limit::Limiter;
use crate::limit::exim::Exim;
use crate::outcome::Retry;
use crate::time::Time;

/// What a limiter does to a sender that was at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// How many events of one instant pass; infinite where all do.
    pub at_once: f64,
    /// The rate R of even events, in events per decay interval.
    pub steady: f64,
    /// What becomes of them.
    pub fate: Fate,
}

/// What becomes of a sender of even events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Every event passes.
    Passes,
    /// No event passes, however long the silence before it.
    Barred,
    /// The rate comes over the limit.
    Over(Over),
}

/// How a sender fares that sends faster than its limit. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Over {
    /// How many events pass before the first is refused; a whole number, at least 1.
    pub events: f64,
    /// In leaky, how far apart events pass from then on, at best; after as long a silence the
    /// next event passes for sure.
    pub pace: f64,
    /// In strict, how long it takes in silence until the rate, once it has settled, is back at the
    /// limit.
    pub back: f64,
    /// In strict, how long it takes in silence until the next event passes.
    pub again: f64,
}

impl Outlook {
    /// What `limiter` does to events that come at once, and to `per_second` (finite and above 0)
    /// even events a second.
    pub fn new(limiter: &Exim, per_second: f64) -> Self {
        let (period, limit) = (limiter.limit.per(), limiter.limit.count());
        let steady = per_second * period.secs();
        let fate = match passing(limiter, steady) {
            f64::INFINITY => Fate::Passes,
            0.0 => Fate::Barred,
            events => Fate::Over(Over {
                events,
                pace: period.secs() / limit,
                back: recovery_time(period, steady, limit).map_or(f64::INFINITY, |t| t.secs()),
                again: again(limiter, steady),
            }),
        };
        let at_once = passing(limiter, limiter.estimator().least_gap().recip());
        Outlook { at_once, steady, fate }
    }
}

/// How many of the events of a sender at rest pass before the first is refused, at `steady` events
/// per period.
fn passing(limiter: &Exim, steady: f64) -> f64 {
    let limit = limiter.limit.count();
    match limiter.measures_only() {
        true => f64::INFINITY,
        false if limit <= 1.0 => 0.0,
        false => libm::ceil(events_between(1.0, limit, steady)),
    }
}

/// Seconds until an event would pass when the rate is `rate`.
fn again(limiter: &Exim, rate: f64) -> f64 {
    let state = Measured { rate, at: Time::ZERO };
    match limiter.retry_after(&state, Time::ZERO, 1.0) {
        Retry::After(wait) => wait.secs(),
        Retry::Never => f64::INFINITY,
    }
}
