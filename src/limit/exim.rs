//! Exim's `ratelimit`: a limit on the exponentially decaying rate.
//!
//! Source: as for the estimator, [`crate::estimate::exim`]. An event is refused when the rate
//! that includes it is not below the limit; equality is over. The limit is also the burst: from
//! rest, the m-th event of an instant burst reads just below m and passes, the next does not. (An
//! isolated event reads 1, so a limit of 1 or less lets nothing pass. And an instant is taken as a
//! nanosecond: 100,000 in a second are fast enough that five more pass meanwhile.)
//!
//! What it counts is the mode's choice:
//!
//! * **strict** counts every attempt. A sender over the limit must fall silent, and comes back
//!   after p ln(rate/limit); one that keeps trying never does.
//! * **leaky** counts what was allowed. A sender over the limit gets the limit.
//! * **readonly** counts nothing: it asks whether the rate measured elsewhere is over, by now.
//!
//! It promises the limit in an instant, and the limit per period for a steady sender. It surprises in between: a sender that uses its burst and goes on at the limit gets up
//! to twice the limit into its first period.
//!
//! # When the clock is set back
//! Nothing decays until time has caught up with the last event that was counted. In leaky, where
//! a refused event is not counted, Exim would refuse for as long as the clock was set back. Here
//! that is so within a period; from further back, a refused event takes the rate along to its own
//! time.
//!
//! # The most in a window
//! An event of cost w after a gap of x periods turns the rate r into at least r e^-x + w·mean(x),
//! so of its cost at most r (1 - e^-x) + w (1 - mean(x)) <= r x + w x/2 is not seen in the rate
//! that follows. Summed over the events that are allowed in a window of s periods, where no rate
//! exceeds the limit m and the gaps add up to less than s,
//!
//! ```text
//! total <= m + (m + w/2) s
//! ```

use super::retry::wait_until;
use super::{Limiter, is_cost};
use crate::estimate::exim::{Exim as Estimator, Measured};
use crate::outcome::{Answer, Outcome, Retry};
use crate::rate::Rate;
use crate::time::{Span, Time};
use core::fmt;

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

impl Mode {
    /// Whether an event that was `allowed` or refused is counted.
    pub(super) fn counts(self, allowed: bool) -> bool {
        match self {
            Mode::Strict => true,
            Mode::Leaky => allowed,
            Mode::Readonly => false,
        }
    }

    /// What an event of cost `cost` is measured as.
    pub(super) fn cost(self, cost: f64) -> f64 {
        if self == Mode::Readonly { 0.0 } else { cost }
    }

    /// The largest cost that passes when there is room for `room`. In readonly, where the cost
    /// does not matter, all or nothing may pass.
    pub(super) fn remaining(self, room: f64) -> f64 {
        if self == Mode::Readonly && room > 0.0 { f64::INFINITY } else { room }
    }
}

/// As in `strict`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Strict => "strict",
            Mode::Leaky => "leaky",
            Mode::Readonly => "readonly",
        })
    }
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
    #[inline(always)]
    pub fn measure(&self, state: &mut Option<Measured>, now: Time, cost: f64) -> Verdict {
        if !is_cost(cost) {
            return Verdict { rate: cost, over: true };
        }
        let measured = self.estimator().measure(*state, now, self.mode.cost(cost));
        let over = !self.is_below(measured.rate);
        self.store(state, measured, !over || self.measures_only());
        Verdict { rate: measured.rate, over }
    }

    /// Stores what an event measured if the mode says so, and follows a clock that was set back.
    #[inline(always)]
    fn store(&self, state: &mut Option<Measured>, measured: Measured, allowed: bool) {
        if self.mode.counts(allowed) {
            *state = Some(measured);
        } else if self.mode == Mode::Leaky
            && let Some(last) = state
            && last.at.since(measured.at) > self.limit.per().secs()
        {
            last.at = measured.at;
        }
    }

    /// When an event of cost `cost` that is over the limit at `now` would be below it.
    ///
    /// The rate is never measured as less than the event's own cost, so a limit of that or less
    /// cannot be met, nor one that is met only after the last instant of [`Time`]. Otherwise the
    /// closed form gives the instant, and the estimator itself settles its rounding, so that the
    /// answer and the verdict agree.
    pub fn retry_after(&self, state: Option<Measured>, now: Time, cost: f64) -> Retry {
        let (counted, limit) = (self.mode.cost(cost), self.limit.count());
        if self.measures_only() && is_cost(cost) {
            return Retry::After(Span::ZERO);
        }
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
        Retry::After(wait_until(guess, now, &passes))
    }

    fn answer(&self, verdict: Verdict, cost: f64) -> Answer {
        let passes = !verdict.over || (self.measures_only() && is_cost(cost));
        Answer::new(passes, verdict.rate, self.limit.count())
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

    fn ask(&self, state: &Self::State, now: Time, cost: f64) -> Answer {
        let mut copy = *state;
        self.answer(self.measure(&mut copy, now, cost), cost)
    }

    fn count(&self, state: &mut Self::State, now: Time, cost: f64, allowed: bool) {
        if is_cost(cost) {
            self.store(state, self.estimator().measure(*state, now, cost), allowed);
        }
    }

    fn retry_after(&self, state: &Self::State, now: Time, cost: f64) -> Retry {
        Exim::retry_after(self, *state, now, cost)
    }

    /// In one measurement instead of two.
    fn check(&self, state: &mut Self::State, now: Time, cost: f64) -> Outcome {
        let answer = self.answer(self.measure(state, now, cost), cost);
        answer.outcome(|| Exim::retry_after(self, *state, now, cost))
    }

    /// Without end to a limit of 0, which refuses nothing.
    fn remaining(&self, state: &Self::State, now: Time) -> f64 {
        if self.measures_only() {
            return f64::INFINITY;
        }
        self.mode.remaining(self.estimator().room(*state, now, self.limit.count()))
    }

    fn reset_after(&self, state: &Self::State, now: Time) -> Span {
        let Some(last) = *state else { return Span::ZERO };
        let periods = Estimator::periods_until(last.rate, 1.0, 1.0);
        let guess = last.at.after(self.periods(periods));
        wait_until(guess, now, &|at| self.estimator().measure(*state, at, 1.0).rate <= 1.0)
    }

    /// As derived above, but for one thing: events of one instant count as a little apart, so n of
    /// them lengthen s by n such gaps, and the inequality is solved for n.
    fn most_in(&self, window: Span, cost: f64) -> f64 {
        let limit = self.limit.count();
        if self.measures_only() || self.mode == Mode::Readonly {
            return f64::INFINITY;
        }
        let unseen = limit + cost.min(limit) / 2.0;
        let periods = window.secs() / self.limit.per().secs();
        let seen = 1.0 - unseen * self.estimator().least_gap() / cost;
        if seen > 0.0 { (limit + unseen * periods) / seen } else { f64::INFINITY }
    }
}

/// As in `exim 10/1m strict`.
impl fmt::Display for Exim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exim {} {}", self.limit, self.mode)
    }
}
