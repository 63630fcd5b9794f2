//! Exim's `ratelimit`: a limit on the exponentially decaying rate.
//!
//! Source: as for the estimator, [`crate::estimate::exim`]. An event is refused when the rate
//! that includes it is not below the limit; equality is over. The limit is also the burst: from
//! rest, the m-th event of an instant burst reads just below m and passes, the next does not.
//!
//! What it counts is the mode's choice:
//!
//! * **strict** counts every attempt. A sender over the limit must fall silent, and comes back
//!   after p ln(rate/limit); one that keeps trying never does.
//! * **leaky** counts what was allowed. A sender over the limit gets the limit.
//! * **readonly** counts nothing: it asks whether the rate measured elsewhere is over, by now.
//!
//! It promises no more than the limit in an instant, and the limit per period for a steady
//! sender. It surprises in between: a sender that uses its burst and goes on at the limit gets up
//! to twice the limit into its first period.

use super::retry::wait_until;
use super::{Limiter, is_cost};
use crate::estimate::decay::Decay;
use crate::estimate::exim::{Exim as Estimator, Measured};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::time::{Span, Time};

/// Which events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every event, allowed or refused.
    Strict,
    /// Allowed events only.
    Leaky,
    /// None.
    Readonly,
}

/// Exim's limiter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exim {
    /// The limit m and the period p. With a limit of 0 everything is over: Exim is configured
    /// so to measure without limiting, and [`check`](Limiter::check) then allows and measures.
    /// (In Exim that takes the strict mode; leaky, where all is over, would store nothing.)
    pub limit: Rate,
    /// Which events are counted.
    pub mode: Mode,
}

/// A rate measured for one event, before a limiter has said when to come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The rate including the event, per period.
    pub rate: f64,
    /// Whether that is not below the limit, as Exim's condition would be true.
    pub over: bool,
}

impl Exim {
    /// The estimator that the limit is held against.
    pub fn estimator(&self) -> Estimator {
        Estimator { period: self.limit.per() }
    }

    /// Whether the limit is 0, so that nothing is ever refused.
    pub fn measures_only(&self) -> bool {
        self.limit.count() == 0.0
    }

    /// Measures one event and stores it if the mode says so: all of [`check`](Limiter::check)
    /// but for the time to come back, which takes longer to find than the verdict.
    #[inline]
    pub fn measure(&self, state: &mut Option<Measured>, now: Time, cost: f64) -> Verdict {
        if !is_cost(cost) {
            return Verdict { rate: cost, over: true };
        }
        let measured = self.estimator().measure(*state, now, self.counted(cost));
        let over = !self.is_below(measured.rate);
        let store = match self.mode {
            Mode::Strict => true,
            Mode::Leaky => !over || self.measures_only(),
            Mode::Readonly => false,
        };
        if store {
            *state = Some(measured);
        }
        Verdict { rate: measured.rate, over }
    }

    /// When an event of cost `cost` that is over the limit at `now` would be below it.
    ///
    /// The rate is never measured as less than the event's own cost, so a limit of that or less
    /// cannot be met, nor one that is met only after the last instant of [`Time`]. Otherwise the
    /// closed form gives the instant, and the estimator itself settles its rounding, so that the
    /// answer and the verdict agree.
    pub fn retry_after(&self, state: Option<Measured>, now: Time, cost: f64) -> Retry {
        let (counted, limit) = (self.counted(cost), self.limit.count());
        if !is_cost(cost) || !self.is_below(counted) {
            return Retry::Never;
        }
        let Some(last) = state else { return Retry::After(Span::ZERO) };
        let passes = |at| self.is_below(self.estimator().measure(state, at, counted).rate);
        if !passes(Time::LAST) {
            return Retry::Never;
        }
        let periods = Estimator::periods_until(last.rate, counted, limit);
        let guess = last.at.after(self.periods(periods));
        Retry::After(wait_until(guess, now, passes))
    }

    fn counted(&self, cost: f64) -> f64 {
        if self.mode == Mode::Readonly { 0.0 } else { cost }
    }

    fn is_below(&self, rate: f64) -> bool {
        rate < self.limit.count()
    }

    fn periods(&self, n: f64) -> Span {
        Span::from_secs((n * self.limit.per().secs()).min(f64::MAX)).unwrap_or(Span::ZERO)
    }
}

impl Limiter for Exim {
    /// The last rate and its time, once there was an event: 24 bytes.
    type State = Option<Measured>;

    fn fresh(&self) -> Self::State {
        None
    }

    fn check(&self, state: &mut Self::State, now: Time, cost: f64) -> Outcome {
        let limit = self.limit.count();
        let Verdict { rate, over } = self.measure(state, now, cost);
        if !over || (self.measures_only() && is_cost(cost)) {
            Outcome::allowed(rate, limit)
        } else {
            Outcome::denied(self.retry_after(*state, now, cost), rate, limit)
        }
    }

    /// The w for which w·mean + r·left is the limit, or the limit itself after a long silence.
    /// Where the cost does not matter, to a limit of 0 and in readonly, all or nothing may pass.
    fn remaining(&self, state: &Self::State, now: Time) -> f64 {
        if self.measures_only() {
            return f64::INFINITY;
        }
        let limit = self.limit.count();
        let most = if self.mode == Mode::Readonly { f64::INFINITY } else { limit };
        let Some(last) = *state else { return most };
        let Decay { left, mean } = self.estimator().decay_since(last.at, now);
        let room = limit - last.rate * left;
        match self.mode {
            _ if room <= 0.0 => 0.0,
            Mode::Readonly => most,
            Mode::Strict | Mode::Leaky => (room / mean).min(most),
        }
    }

    fn reset_after(&self, state: &Self::State, now: Time) -> Span {
        let Some(last) = *state else { return Span::ZERO };
        let periods = Estimator::periods_until(last.rate, 1.0, 1.0);
        let guess = last.at.after(self.periods(periods));
        wait_until(guess, now, |at| self.estimator().measure(*state, at, 1.0).rate <= 1.0)
    }
}
