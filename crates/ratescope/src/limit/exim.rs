//! Exim's `ratelimit`: a limit on the exponentially decaying rate.
//!
#![doc = include_str!("pictures/exim.svg")]
//!
//! Source: as for the estimator, [`crate::estimate::exim`]. An event is refused when the rate
//! including it is not below the limit; equality is refused. The limit is also the burst: from rest,
//! the m-th event of an instant burst reads just below m and passes, the next one does not. (An
//! isolated event reads 1, so a limit of 1 or less lets nothing pass. Two events at one instant
//! count as a nanosecond apart: with a limit of 100,000 a second that is long enough for five more
//! to pass.)
//!
//! The mode says which events are counted:
//!
//! * **strict** counts every event. A sender over the limit is allowed again after a silence of
//!   p ln(rate/limit); a sender that keeps trying never is.
//! * **leaky** counts allowed events. A sender over the limit gets the limit.
//! * **readonly** counts nothing: it compares the rate that was measured elsewhere.
//!
//! It promises the limit in an instant, and the limit per period for a steady sender.
//!
//! # At a glance
//! * **For:** abuse, in strict mode: a sender that stays over the limit gets nothing until it stops. And for a rate to
//!   look at, since the state is the measured rate.
//! * **Against:** a promise for a window. A sender that uses its burst and goes on at the limit gets up to twice the
//!   limit in its first period.
//! * **Memory:** 16 bytes a key, whatever the limit.
//! * **Elsewhere:** an *exponentially weighted moving average* (EWMA) of the rate, as the load average of Unix is.
//! * **Wrong in articles:** 1 in place of the first term, `(1 - e^-x)/x`, which measures steady events half an event
//!   too high; a fixed interval of samples where events are uneven.
//!
//! # A line of an ACL
//! `ratelimit = 100 / 1h / strict / per_rcpt / $sender_host_address` is `exim 100/1h strict per ip`, for events whose
//! cost is their number of recipients:
//!
//! | in Exim | here |
//! |---|---|
//! | `100 / 1h`, and no mode | `exim 100/1h leaky` |
//! | `readonly`, `noupdate` | `exim 100/1h readonly` |
//! | the key | `per` |
//! | `per_mail`, `per_conn`, `per_cmd` | an event for each, of cost 1 |
//! | `per_rcpt`, `per_byte`, `count=` | the cost of an event; in the ACL of RCPT, an event for each recipient |
//! | `unique=`, `per_addr` | not here: an event that was seen in the last period counts again |
//!
//! # When the clock is set back
//! Nothing decays until the clock has caught up with the last counted event. In leaky mode a refused event is not
//! counted, so Exim would refuse all that time. So does this limiter if the clock is at most a period behind; if it is
//! further behind, a refused event moves the rate to the time of the event.
//!
//! # The most in a window
//! An event of cost w after a gap of x periods turns the rate r into at least r e^-x + w·mean(x).
//! So at most r (1 - e^-x) + w (1 - mean(x)) <= r x + w x/2 of its cost is missing in the new rate.
//! Sum this over the events that are allowed in a window of s periods. No rate exceeds the limit m,
//! and the gaps add up to less than s:
//!
//! ```text
//! total <= m + (m + w/2) s
//! ```

use super::algorithm::{Algorithm, NotRelaxed, Relax, kept};
use super::any::AnyLimiter;
use super::in_f64::{InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter, is_cost};
use crate::estimate::exim::{DecayingRate, Measured};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use core::fmt;
use core::str::FromStr;

/// The events that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Every event, allowed or refused.
    Strict,
    /// Allowed events only: Exim's default.
    #[default]
    Leaky,
    /// None.
    Readonly,
}

impl Mode {
    /// True if an event that was `allowed` or refused is counted.
    pub(super) fn counts(self, allowed: bool) -> bool {
        match self {
            Mode::Strict => true,
            Mode::Leaky => allowed,
            Mode::Readonly => false,
        }
    }

    /// True if an event at `now` that is not counted sets a state of `at` back: a leaky limiter would otherwise refuse
    /// until the clock has caught up.
    pub(super) fn follows_back(self, at: Time, now: Time, period: Span) -> bool {
        self == Mode::Leaky && at.since(now) > period.as_secs_f64()
    }

    /// Reads the mode, or takes the default.
    pub(super) fn read(given: &mut Given<'_>) -> Self {
        let word = given.flag(&["strict", "leaky", "readonly"]);
        word.and_then(|word| word.text.parse().ok()).unwrap_or_default()
    }

    /// The number that stands for it in Lua.
    pub(super) fn number(self) -> f64 {
        match self {
            Mode::Strict => 0.0,
            Mode::Leaky => 1.0,
            Mode::Readonly => 2.0,
        }
    }

    /// The cost with which an event of cost `cost` is measured: 0 in readonly mode.
    pub(super) fn cost(self, cost: f64) -> f64 {
        if self == Mode::Readonly { 0.0 } else { cost }
    }

    /// The largest cost that passes when there is room for `room`. In readonly mode the cost does
    /// not matter: any cost passes, or none.
    pub(super) fn remaining(self, room: f64) -> f64 {
        if self == Mode::Readonly && room > 0.0 { f64::INFINITY } else { room }
    }
}

impl FromStr for Mode {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.to_ascii_lowercase().as_str() {
            "strict" => Ok(Mode::Strict),
            "leaky" => Ok(Mode::Leaky),
            "readonly" => Ok(Mode::Readonly),
            _ => Err(ParseError::whole(text, "not a mode; write leaky, strict or readonly")),
        }
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

/// Exim's `ratelimit`: an event passes when the decaying rate, including the event, is below the limit.
///
/// With x as the time since the last event, in periods:
///
/// ```text
/// rate = max(cost, cost (1 - e^-x)/x + rate e^-x)        an event passes when rate < limit
/// ```
///
/// ```
/// use ratescope::limit::exim::{Exim, Mode};
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = Exim { limit: Rate::per_minute(3), mode: Mode::Strict };
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // Refused events count, too, so this sender is refused as long as it goes on.
/// assert_eq!(String::from_iter(passed), "11100000000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exim {
    /// The limit m and the period p. A limit of 0 measures without limiting:
    /// [`check`](Limiter::check) allows everything. In Exim, a `warn` with a limit of 0 serves that
    /// purpose. (There it also needs the strict mode, since every event is over that limit: leaky would
    /// store nothing, and a `deny` would refuse everything.)
    pub limit: Rate,
    /// The events that are counted.
    pub mode: Mode,
}

impl Exim {
    /// The estimator that measures the rate.
    pub fn estimator(&self) -> DecayingRate {
        DecayingRate { period: self.limit.per() }
    }

    /// True if the limit is 0 and nothing is ever refused.
    pub fn measures_only(&self) -> bool {
        self.limit.count() == 0.0
    }

    /// The measurement with an event of cost `cost`, which must be a valid cost.
    #[inline(always)]
    fn measure(&self, state: &Measured, now: Time, cost: f64) -> Measured {
        self.estimator().measure(Some(*state), now, self.mode.cost(cost))
    }

    /// Stores the measurement if the mode counts the event; otherwise follows a clock set back.
    #[inline(always)]
    fn store(&self, state: &mut Measured, measured: Measured, allowed: bool) {
        if self.mode.counts(allowed) {
            *state = measured;
        } else if self.mode.follows_back(state.at, measured.at, self.limit.per()) {
            state.at = measured.at;
        }
    }

    #[inline(always)]
    fn outcome(&self, rate: f64) -> Outcome {
        // `|` instead of `||` saves a branch: a sender at its limit passes and is refused in turns, which no
        // branch predictor foresees.
        let passes = self.is_below(rate) | self.measures_only();
        Outcome::new(passes, rate, self.limit.count())
    }

    fn is_below(&self, rate: f64) -> bool {
        rate < self.limit.count()
    }

    fn periods(&self, n: f64) -> Span {
        Span::try_from_secs_f64((n * self.limit.per().as_secs_f64()).min(f64::MAX))
            .unwrap_or(Span::ZERO)
    }
}

impl Limiter for Exim {
    /// The last rate and its time: 16 bytes.
    type State = Measured;

    /// A rate of 0, an infinite gap ago: the first event then reads its own cost, as in Exim.
    fn initial(&self) -> Measured {
        Measured { rate: 0.0, at: LONG_AGO }
    }

    #[inline]
    fn peek(&self, state: &Measured, now: Time, cost: f64) -> Outcome {
        if !is_cost(cost) {
            return Outcome::new(false, cost, self.limit.count());
        }
        self.outcome(self.measure(state, now, cost).rate)
    }

    fn record(&self, state: &mut Measured, now: Time, cost: f64, allowed: bool) {
        if is_cost(cost) {
            self.store(state, self.measure(state, now, cost), allowed);
        }
    }

    /// Measures once instead of twice.
    #[inline(always)]
    fn check_last(&self, state: &mut Measured, now: Time, cost: f64, others: bool) -> Outcome {
        if !is_cost(cost) {
            return Outcome::new(false, cost, self.limit.count());
        }
        let measured = self.measure(state, now, cost);
        let outcome = self.outcome(measured.rate);
        self.store(state, measured, others && outcome.is_allowed());
        outcome
    }

    /// When the rate with the event will be below the limit.
    ///
    /// The rate is never measured as less than the event's own cost. So the answer is [`Retry::Never`] if
    /// the limit is not above the cost, or if the rate is below the limit only after [`Time::LAST`].
    /// Otherwise a closed form gives the instant, and the estimator itself corrects its rounding, so
    /// that the answer and the verdict agree.
    fn retry_after(&self, state: &Measured, now: Time, cost: f64) -> Retry {
        let counted = self.mode.cost(cost);
        let limit = self.limit.count();
        if self.measures_only() && is_cost(cost) {
            return Retry::NOW;
        }
        let passes = |at| self.is_below(self.measure(state, at, cost).rate);
        if !is_cost(cost) || !self.is_below(counted) || !passes(Time::LAST) {
            return Retry::Never;
        }
        let periods = DecayingRate::periods_until(state.rate, counted, limit);
        let guess = state.at.after(self.periods(periods));
        Retry::After(wait_until(guess, now, &passes))
    }

    /// Infinite for a limit of 0, which refuses nothing.
    fn remaining(&self, state: &Measured, now: Time) -> f64 {
        if self.measures_only() {
            return f64::INFINITY;
        }
        self.mode.remaining(self.estimator().room(Some(*state), now, self.limit.count()))
    }

    /// Until an event of cost 1 reads its own cost.
    fn reset_after(&self, state: &Measured, now: Time) -> Span {
        let periods = DecayingRate::periods_until(state.rate, 1.0, 1.0);
        let guess = state.at.after(self.periods(periods));
        wait_until(guess, now, &|at| self.estimator().measure(Some(*state), at, 1.0).rate <= 1.0)
    }

    /// The bound that is derived above, with one correction: events at one instant count as a small
    /// gap apart, so n of them lengthen s by n such gaps. The inequality is solved for n.
    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        let limit = self.limit.count();
        if self.measures_only() || self.mode == Mode::Readonly {
            return f64::INFINITY;
        }
        let unseen = limit + cost.min(limit) / 2.0;
        let periods = window.as_secs_f64() / self.limit.per().as_secs_f64();
        let seen = 1.0 - unseen * self.estimator().least_gap() / cost;
        if seen > 0.0 { (limit + unseen * periods) / seen } else { f64::INFINITY }
    }
}

impl Algorithm for Exim {
    const FORM: Form = Form {
        name: "exim",
        words: "RATE [leaky|strict|readonly]",
        example: "exim 10/1m strict",
        about: "the decaying rate, including the event, is below the limit; leaky by default",
    };
    const UNIT: &'static str = "rate";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        Ok(Exim { limit: given.rate()?, mode: Mode::read(given) }.into())
    }

    fn quota(&self) -> Option<Rate> {
        (!self.measures_only()).then_some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(Exim { limit: by.rate(self.limit)?, ..*self })
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [self.limit.per()])
    }

    kept! { "exim" ["period"] Measured { rate: rate "the rate", at: time "the time", } }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        let numbers = [
            self.limit.per().as_secs_f64(),
            self.limit.count(),
            self.mode.number(),
            self.estimator().least_gap(),
        ];
        Ok(InF64::new(Lua { name: "exim", counts: false }, numbers))
    }
}

/// As in `exim 10/1m strict`.
impl fmt::Display for Exim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exim {} {}", self.limit, self.mode)
    }
}
