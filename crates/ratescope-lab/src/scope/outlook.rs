//! Predicts how much a limit lets through.
//!
//! Source: the page of 2009, as for [`estimate::exim`](ratescope::estimate::exim), under "Properties of
//! this recurrence". Its sums are for the formula without the lower bound; here each number is exact
//! for the limiter itself.
//!
//! # The formulas
//! A sender at rest begins to send events of cost 1, evenly spaced, R in a period p. The first reads
//! 1, and for R > 1 the n-th reads
//!
//! ```text
//! r_n = R + (1 - R) e^(-(n-1)/R)
//! ```
//!
//! An event passes a limit m when r_n < m. So for R > m > 1, as many events pass as there are whole numbers n - 1 >= 0
//! below R ln((R-1)/(R-m)). That is `events_between(1, m, R)`, rounded up.
//!
//! After that the mode decides. Strict mode goes on counting attempts: nothing passes, and the rate tends to R. In
//! silence the rate is back at the limit after p ln(R/m). The next event adds to the rate, so it passes slightly later.
//! Leaky mode holds the rate r below the limit m. Then (1-e^-x)/x + r e^-x < m from x = 1/m on, so the next event
//! passes within p/m, and evenly spaced events pass no faster in the long run.
//!
//! # The edges
//! * **Limit 0:** the limiter only measures, and all events pass.
//! * **A limit of 1 or less:** a single event reads 1, so none ever passes.
//! * **R up to the limit, or up to 1:** r_n stays below R, or is 1, so all pass. At R = m, only the
//!   rounding of r_n can reach the limit, after some 36 R events.
//! * **At once:** the estimator takes the gap as a nanosecond, so R is very large. Then the limit,
//!   rounded down, is the number of events that pass.

use ratescope::estimate::decay::decay;
use ratescope::estimate::exim::{Measured, events_between, recovery_time};
use ratescope::limit::Limiter;
use ratescope::limit::exim::Exim;
use ratescope::outcome::Retry;
use ratescope::time::Time;

/// The effect of a limiter on a sender that was at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// How many events of one instant pass; infinite if all do.
    pub at_once: f64,
    /// The decay interval, in seconds.
    pub decay: f64,
    /// The rate R of even events, in events per decay interval.
    pub steady: f64,
    /// The fate of these events.
    pub fate: Fate,
}

/// The fate of a sender of even events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Every event passes.
    Passes,
    /// No event passes, however long the silence before it.
    Barred,
    /// The rate reaches the limit.
    Over(FastSender),
}

/// The numbers of a sender that sends faster than its limit. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastSender {
    /// How many events pass before the first is refused; a whole number, at least 1.
    pub events: f64,
    /// In leaky mode: the shortest time between events that pass from then on. After a silence of
    /// that length the next event certainly passes.
    pub pace: f64,
    /// In strict mode: the silence after which the rate, once it has settled, is back at the limit.
    pub back: f64,
    /// In strict mode: the silence after which the next event passes.
    pub again: f64,
}

impl Outlook {
    /// The effect of `limiter` on events that come at once, and on `per_second` (finite and above 0)
    /// even events a second.
    pub fn new(limiter: &Exim, per_second: f64) -> Self {
        let period = limiter.limit.per();
        let limit = limiter.limit.count();
        let steady = per_second * period.as_secs_f64();
        let fate = match passing(limiter, steady) {
            f64::INFINITY => Fate::Passes,
            0.0 => Fate::Barred,
            events => Fate::Over(FastSender {
                events,
                pace: period.as_secs_f64() / limit,
                back: recovery_time(period, steady, limit)
                    .map_or(f64::INFINITY, |t| t.as_secs_f64()),
                again: again(limiter, steady),
            }),
        };
        let at_once = passing(limiter, limiter.estimator().least_gap().recip());
        Outlook { at_once, decay: period.as_secs_f64(), steady, fate }
    }

    /// The rate `after` seconds (at least 0) after the largest burst that passes at one instant; `None` if none or all
    /// pass.
    pub fn burst_at(&self, after: f64) -> Option<f64> {
        let some = self.at_once > 0.0 && self.at_once.is_finite();
        some.then(|| self.at_once * decay(after / self.decay).left)
    }

    /// The seconds from the first of even events to the last that passes before a refusal; infinite if all pass, 0 if
    /// none passes.
    pub fn last_passes(&self) -> f64 {
        match self.fate {
            Fate::Over(over) => (over.events - 1.0) * self.decay / self.steady,
            Fate::Passes => f64::INFINITY,
            Fate::Barred => 0.0,
        }
    }

    /// The rate `after` seconds (at least 0) after the first of even events, on the curve through
    /// their readings. The sender is silent after the last event that passes before a refusal. `None`
    /// if no event passes.
    pub fn even_at(&self, after: f64) -> Option<f64> {
        let last = self.last_passes();
        let left = |seconds: f64| decay(seconds / self.decay).left;
        // A single event reads 1, however rare events are.
        let settles = self.steady.max(1.0);
        let read = settles + (1.0 - settles) * left(after.min(last));
        (self.fate != Fate::Barred).then(|| read * left((after - last).max(0.0)))
    }
}

/// How many events of a sender at rest pass before the first is refused, at `steady` events per
/// period.
fn passing(limiter: &Exim, steady: f64) -> f64 {
    let limit = limiter.limit.count();
    if limiter.measures_only() {
        f64::INFINITY
    } else if limit <= 1.0 {
        0.0
    } else {
        libm::ceil(events_between(1.0, limit, steady))
    }
}

/// Seconds until an event would pass if the rate is `rate`.
fn again(limiter: &Exim, rate: f64) -> f64 {
    let state = Measured { rate, at: Time::ZERO };
    match limiter.retry_after(&state, Time::ZERO, 1.0) {
        Retry::After(wait) => wait.as_secs_f64(),
        Retry::Never => f64::INFINITY,
    }
}
