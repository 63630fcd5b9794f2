//! EARRRL: a limit on the estimated average recent request rate.
//!
#![doc = include_str!("pictures/earrrl.svg")]
//!
//! Source: as for the estimator, [`crate::estimate::recent_average`].
//!
//! The rate is estimated from the events *before* this one. An event is refused when the estimate is
//! more than the limit; equality passes. Then the event is counted, allowed or not. So a sender that
//! keeps to the limit is never refused, and one that stays above it is refused as long as it goes
//! on: no new window gives it a new start.
//!
//! # At a glance
//! * **For:** abuse that goes on and on. The half-life is how long an offence is remembered.
//! * **Against:** costs that differ. The estimate does not include the event's own cost, so the event that exceeds the
//!   limit passes, whatever it costs. And a steady rate r reads up to λ/2 less than r: the longer the half-life, the
//!   smaller the error.
//! * **Memory:** 16 bytes a key, whatever the limit.
//! * **Elsewhere:** CEWMA, the continuous exponentially weighted moving average.
//! * **Wrong in articles:** a time to live on the keys, which forgets offences; N and T in two keys, which a cluster of
//!   Redis may put on two nodes.
//!
//! The level is the estimate and the limit is the count of the rate, both in events per period of
//! the rate.
//!
//! # The most in a window
//! Before an allowed event the impulse N is at most limit/λ, so after one of cost w it is at most limit/λ + w. Within s
//! seconds at most (limit/λ + w) λ s of it decays. So the allowed events are at most the part that is left at the end
//! plus the part that decayed before. Refused events only make the sender wait longer.
//!
//! ```text
//! total <= (limit/λ + w) (1 + λ s)
//! ```

use super::algorithm::{Algorithm, NotRelaxed, Relax, fill, kept};
use super::any::AnyLimiter;
use super::in_f64::{InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter, SHORTEST, amount, is_cost};
use crate::estimate::recent_average::{Impulse, RecentAverage, remembered};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// An impulse of this size, in events, counts as forgotten.
const FORGOTTEN: f64 = 1e-6;

/// EARRRL: an event passes when the recent average *before* it is within the limit. Every event counts.
///
/// With d as the time since the last event:
///
/// ```text
/// estimate = λ N e^(-λ d),  then N = cost + N e^(-λ d)        λ = ln 2 / half-life; passes when estimate <= limit
/// ```
///
/// ```
/// use ratescope::limit::earrrl::Earrrl;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = Earrrl::new(Rate::per_minute(3), Span::from_mins(1))?;
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // 3/ln 2 = 4.3 events at once are an average of three a minute, and the fifth still finds less.
/// assert_eq!(String::from_iter(passed), "11111000000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earrrl {
    limit: Rate,
    estimator: RecentAverage,
    /// λ of the estimator, stored so that decisions need not divide.
    lambda: f64,
}

impl Earrrl {
    /// At most `limit`, estimated with the half-life `half_life`.
    ///
    /// # Errors
    /// When the count of the limit is not from 0.001 to 10^12, or the half-life is less than a
    /// microsecond.
    pub fn new(limit: Rate, half_life: Span) -> Result<Self, BadNumber> {
        amount::limit("the count of a rate", limit.count(), false)?;
        if half_life < SHORTEST {
            return Err(BadNumber {
                what: "the half-life in seconds",
                given: half_life.as_secs_f64(),
                want: "at least a microsecond",
            });
        }
        let estimator = RecentAverage { half_life };
        Ok(Earrrl { limit, estimator, lambda: estimator.lambda() })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The estimator of the rate.
    pub fn estimator(&self) -> RecentAverage {
        self.estimator
    }

    /// Events in a period of the limit, estimated from the events before `now`.
    pub fn level(&self, state: Impulse, now: Time) -> f64 {
        self.reading(remembered(self.lambda, state, now))
    }

    /// Events in a period of the limit, at the instant of the impulse.
    fn reading(&self, impulse: Impulse) -> f64 {
        self.lambda * impulse.size * self.limit.per().as_secs_f64()
    }

    fn outcome(&self, level: f64, cost: f64) -> Outcome {
        let limit = self.limit.count();
        Outcome::new(is_cost(cost) && level <= limit, level, limit)
    }

    fn is_within(&self, state: Impulse, now: Time) -> bool {
        self.level(state, now) <= self.limit.count()
    }

    /// The size of the impulse, in events, at which the estimate is the limit: limit/λ.
    fn brim(&self) -> f64 {
        self.limit.frequency() / self.lambda
    }

    /// The instant at which the impulse has decayed by a factor of `times`; the time of the impulse if `times` is at
    /// most 1.
    fn decayed(&self, state: Impulse, times: f64) -> Time {
        let seconds = libm::log(times).max(0.0) / self.lambda;
        state.at.after(Span::try_from_secs_f64(seconds).unwrap_or(Span::ZERO))
    }
}

impl Limiter for Earrrl {
    /// The impulse: 16 bytes.
    type State = Impulse;

    /// An impulse of 0, an infinite gap ago.
    fn initial(&self) -> Impulse {
        Impulse { size: 0.0, at: LONG_AGO }
    }

    fn peek(&self, state: &Impulse, now: Time, cost: f64) -> Outcome {
        self.outcome(self.level(*state, now), cost)
    }

    /// Computes one exponential instead of two.
    #[inline]
    fn check_last(&self, state: &mut Impulse, now: Time, cost: f64, _others: bool) -> Outcome {
        let left = remembered(self.lambda, *state, now);
        if is_cost(cost) {
            *state = left.plus(cost);
        }
        self.outcome(self.reading(left), cost)
    }

    /// Counts refused events, too.
    fn record(&self, state: &mut Impulse, now: Time, cost: f64, _allowed: bool) {
        if is_cost(cost) {
            *state = remembered(self.lambda, *state, now).plus(cost);
        }
    }

    /// When the estimate has decayed to the limit: ln(estimate/limit)/λ after the last event.
    /// Never if that is after [`Time::LAST`].
    fn retry_after(&self, state: &Impulse, now: Time, cost: f64) -> Retry {
        if !is_cost(cost) || !self.is_within(*state, Time::LAST) {
            return Retry::Never;
        }
        let guess = self.decayed(*state, state.size / self.brim());
        Retry::After(wait_until(guess, now, &|at| self.is_within(*state, at)))
    }

    /// The cost that brings the estimate up to the limit. An event that costs more still passes.
    fn remaining(&self, state: &Impulse, now: Time) -> f64 {
        let room = self.limit.count() - self.level(*state, now);
        (room / self.limit.per().as_secs_f64() / self.lambda).max(0.0)
    }

    /// Until a millionth of an event is left, or the impulse at the limit if that is smaller. The
    /// impulse never decays to 0.
    fn reset_after(&self, state: &Impulse, now: Time) -> Span {
        now.until(self.decayed(*state, state.size / FORGOTTEN.min(self.brim())))
    }

    /// The bound that is derived above.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        (self.brim() + cost) * (1.0 + self.lambda * window.as_secs_f64())
    }
}

impl Algorithm for Earrrl {
    const FORM: Form = Form {
        name: "earrrl",
        words: "RATE [half-life SPAN]",
        example: "earrrl 1/1s half-life 20s",
        about: "the recent average before the event is within the limit; the half-life is the period by default",
    };
    const UNIT: &'static str = "estimate";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        let half_life = given.span("half-life")?.unwrap_or(rate.per());
        Ok(Earrrl::new(rate, half_life)?.into())
    }

    /// The events that pass at once: all that come before the estimate is above the limit, and the one that brings it
    /// there.
    fn quota(&self) -> Option<Rate> {
        fill(libm::floor(self.brim()) + 1.0, self.limit).or(Some(self.limit))
    }

    fn left(&self, state: &Impulse, now: Time) -> f64 {
        let room = self.brim() - remembered(self.lambda, *state, now).size;
        if self.is_within(*state, now) { libm::floor(room).max(0.0) + 1.0 } else { 0.0 }
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(Earrrl::new(by.rate(self.limit)?, self.estimator.half_life)?)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [self.estimator.half_life])
    }

    kept! { "earrrl" ["half-life"] Impulse { size: rate "the impulse", at: time "the time", } }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        let numbers = [self.lambda, self.limit.per().as_secs_f64(), self.limit.count()];
        Ok(InF64::new(Lua { name: "earrrl", counts: false }, numbers))
    }
}

/// As in `earrrl 1/1s half-life 20s`.
impl fmt::Display for Earrrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "earrrl {} half-life {}", self.limit, self.estimator.half_life)
    }
}
