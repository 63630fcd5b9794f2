//! The adaptive limit: each sender is held to a few times its own habit.
//!
#![doc = include_str!("pictures/adaptive.svg")]
//!
//! Source: the page "ratelimit demo" by Tony Finch proposes a smoothed average of the rate for
//! "automatically adaptive rate limiting", notes that a sender may have too direct a control over
//! it, and asks: "How much control does this give the sender?" The answer below is ours.
//!
//! # The rule
//! The rate R is measured as by [`exim`](super::exim), over the decay interval p. The smoothed
//! rate B, the sender's *habit*, follows R over the much longer increase interval q: see
//! [`crate::estimate::smoothed`]. The limit is k times the habit, and never less than a floor:
//!
//! ```text
//! L = max(floor, k B)        an event passes when R < L, with B as it was before the event
//! ```
//!
//! B follows min(R, L), never more, whatever R counts. `strict`, `leaky` and `readonly` say which
//! events R counts, as for Exim.
//!
//! # How much control it gives the sender
//! B follows a rate that is at most L, so
//!
//! ```text
//! dB/dt <= (L - B)/q = ((k-1) B)/q        while k B is above the floor
//! dB/dt <= (floor - B)/q                  below it
//! ```
//!
//! A sender that takes all it can get needs q ln(k/(k-1)) until its habit reaches floor/k, where its
//! limit leaves the floor. From there it doubles its limit every q ln 2/(k-1), no faster. A burst in one
//! instant changes nothing, since B moves only with time.
//!
//! # At a glance
//! * **For:** senders too different for one limit, such as the customers of a mail server.
//! * **Against:** a promise. The limiter promises the bound above, and no number of events in a window. It refuses a
//!   sender whose traffic grows faster than the bound, and one that comes back from a long holiday and starts at the
//!   floor again.
//! * **Memory:** 24 bytes a key.
//! * **Elsewhere:** *adaptive* limiters usually follow the load of the server; this one follows the sender. For the
//!   load there is a throttle in rules: `elastic up to 2x while load < 70%`.
//!
//! When nights differ from days, [`by_hour`](super::by_hour) learns a habit for each hour.
//!
//! The level is R with the event, in events per decay interval, and the limit is L.
//!
//! # The edges
//! * **First event:** B is 0 and the limit is the floor.
//! * **Equality, no time passed, time runs backwards:** as for Exim's limiter.
//! * **A cost of the floor or more:** passes only while the habit keeps the limit above it. A refused
//!   event may therefore pass a little later, but not once the habit has sunk.

use super::algorithm::{Algorithm, NotRelaxed, Relax};
use super::amount::limit;
use super::any::AnyLimiter;
use super::by_hour::{ByHour, Day};
use super::exim::Mode;
use super::in_f64::{InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::retry::wait_until;
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter, MAX_COST, SHORTEST, is_cost};
use crate::estimate::decay::decay;
use crate::estimate::exim::{DecayingRate, Measured, decayed};
use crate::estimate::smoothed::Smoothed;
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::{BadNumber, number};
use crate::time::{Span, Time};
use core::fmt;

/// Why an adaptive limiter cannot be relaxed.
pub(super) const FINDS_ITS_LIMIT: NotRelaxed =
    NotRelaxed::Fixed("an adaptive limiter finds its limit itself");

/// The adaptive limit: each sender is held to a multiple of its own habit.
///
/// ```text
/// L = max(floor, k B)        an event passes when R < L
/// ```
///
/// R is the rate over the decay interval, including the event, and B is min(R, L), smoothed over the increase interval.
///
/// ```
/// use ratescope::limit::adaptive::Adaptive;
/// use ratescope::limit::exim::Mode;
/// use ratescope::{Limiter, Span, Time};
///
/// let limiter = Adaptive::new(3.0, Span::from_mins(1), Span::from_hours(1), 10.0, Mode::Leaky)?;
/// let mut state = limiter.initial();
/// let mut day = (0..24 * 60 * 6).map(|i| Time::ZERO.after(Span::from_secs(10 * i)));
/// // For a day an event each 10 s: six a minute, which decay between the events to 5.5 on average.
/// assert!(day.all(|now| limiter.check(&mut state, now, 1.0).is_allowed()));
/// let limit = limiter.peek(&state, Time::ZERO.after(Span::from_hours(24)), 0.0).limit;
/// assert_eq!(limit.round(), 17.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    factor: f64,
    smoothed: Smoothed,
    floor: f64,
    mode: Mode,
}

/// The rate and the habit as of the last counted event: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Habit {
    /// R, in events per decay interval.
    pub rate: f64,
    /// B, in the same unit.
    pub smoothed: f64,
    /// The time of that event.
    pub at: Time,
}

impl Adaptive {
    /// A limit of `factor` times the rate over `decay`, smoothed over `increase`; at least `floor`
    /// events per decay interval.
    ///
    /// # Errors
    /// * When the factor is not above 1, up to 10^12: a limit no higher than the habit sinks to the floor.
    /// * When the decay is less than a microsecond, or the increase less than twice the decay: a
    ///   limit that follows the rate at once limits nothing.
    /// * When the floor is not from 0.001 to 10^12: without one, a new sender could never begin.
    pub fn new(
        factor: f64,
        decay: Span,
        increase: Span,
        floor: f64,
        mode: Mode,
    ) -> Result<Self, BadNumber> {
        let wrong = |what, given, want| Err(BadNumber { what, given, want });
        if !(factor > 1.0 && factor <= MAX_COST) {
            return wrong("the factor", factor, "above 1, up to 1e12");
        }
        if decay < SHORTEST {
            return wrong("the decay in seconds", decay.as_secs_f64(), "at least a microsecond");
        }
        if increase.as_secs_f64() < 2.0 * decay.as_secs_f64() {
            return wrong(
                "the increase in seconds",
                increase.as_secs_f64(),
                "at least twice the decay",
            );
        }
        limit("the floor", floor, false)?;
        Ok(Adaptive { factor, smoothed: Smoothed { decay, increase }, floor, mode })
    }

    /// k: the limit is that many times the habit.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// The smoothing of the habit, with both intervals.
    pub fn smoothing(&self) -> Smoothed {
        self.smoothed
    }

    /// The lowest limit, in events per decay interval.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The mode: which events the rate counts.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The estimator of the rate.
    pub fn estimator(&self) -> DecayingRate {
        DecayingRate { period: self.smoothed.decay }
    }

    /// The habit B at `now`, if nothing was counted since the state was stored.
    pub fn smoothed_at(&self, state: &Habit, now: Time) -> f64 {
        self.smoothed.after(state.smoothed, self.capped_rate(state), now.since(state.at))
    }

    /// The limit L at `now`, if nothing was counted since the state was stored.
    pub fn limit_at(&self, state: &Habit, now: Time) -> f64 {
        self.limit(self.smoothed_at(state, now))
    }

    pub(super) fn limit(&self, smoothed: f64) -> f64 {
        self.floor.max(self.factor * smoothed)
    }

    /// The rate that the habit follows: the rate as of the last event, capped by the limit then.
    fn capped_rate(&self, state: &Habit) -> f64 {
        state.rate.min(self.limit(state.smoothed))
    }

    /// Stores the state with the event if the mode counts it; otherwise follows a clock that was set back.
    fn store(&self, state: &mut Habit, counted: Habit, allowed: bool) {
        if self.mode.counts(allowed) {
            *state = counted;
        } else if self.mode.follows_back(state.at, counted.at, self.smoothed.decay) {
            state.at = counted.at;
        }
    }

    /// The state with an event of cost `cost` at `now`. The rate and the habit share an exponential.
    #[inline]
    fn counted(&self, state: &Habit, now: Time, cost: f64) -> Habit {
        let followed = self.capped_rate(state);
        let elapsed = now.since(state.at);
        let faded = decay(self.estimator().gap(state.at, now));
        let smoothed = self.smoothed.after_decay(state.smoothed, followed, elapsed, faded);
        Habit { rate: decayed(state.rate, faded, self.mode.cost(cost)), smoothed, at: now }
    }

    pub(super) fn measure(&self, state: &Habit, now: Time, cost: f64) -> f64 {
        self.estimator().measure(Some(self.measured(state)), now, self.mode.cost(cost)).rate
    }

    pub(super) fn measured(&self, state: &Habit) -> Measured {
        Measured { rate: state.rate, at: state.at }
    }

    /// The instant at which the rate has decayed so far that an event of cost `cost` reads `target`.
    pub(super) fn decayed(&self, state: &Habit, cost: f64, target: f64) -> Time {
        let periods = DecayingRate::periods_until(state.rate, cost, target);
        later(state.at, periods * self.smoothed.decay.as_secs_f64())
    }

    /// The instant at which the habit is highest, if nothing more is counted.
    pub(super) fn peak(&self, state: &Habit) -> Time {
        later(state.at, self.smoothed.peak_after(state.smoothed, self.capped_rate(state)))
    }
}

/// The instant `seconds` after `at`; `at` itself if they are negative or not finite.
pub(super) fn later(at: Time, seconds: f64) -> Time {
    at.after(Span::try_from_secs_f64(seconds).unwrap_or(Span::ZERO))
}

impl Limiter for Adaptive {
    type State = Habit;

    fn initial(&self) -> Habit {
        Habit { rate: 0.0, smoothed: 0.0, at: LONG_AGO }
    }

    fn peek(&self, state: &Habit, now: Time, cost: f64) -> Outcome {
        let mut state = *state;
        self.check(&mut state, now, cost)
    }

    fn record(&self, state: &mut Habit, now: Time, cost: f64, allowed: bool) {
        if is_cost(cost) {
            self.store(state, self.counted(state, now, cost), allowed);
        }
    }

    /// Measures once instead of twice.
    fn check_last(&self, state: &mut Habit, now: Time, cost: f64, others: bool) -> Outcome {
        if !is_cost(cost) {
            return Outcome::new(false, cost, self.limit_at(state, now));
        }
        let counted = self.counted(state, now, cost);
        let limit = self.limit(counted.smoothed);
        let outcome = Outcome::new(counted.rate < limit, counted.rate, limit);
        self.store(state, counted, others && outcome.is_allowed());
        outcome
    }

    /// The first instant at which R with the event is below L.
    ///
    /// R with the event falls until it equals the event's own cost w. Until then R falls at a relative rate of at least
    /// 1/(2p), and L at one of at most 1/q, where q >= 2p; while B still rises, L does not fall at all. So L/R grows
    /// until the later of two instants: R reaches w, and B its peak. Until then, once the event passes, it passes at
    /// every later instant. After that, an event with w below the floor always passes. For any other event, L only
    /// falls: if it does not pass at that instant, it never will.
    fn retry_after(&self, state: &Habit, now: Time, cost: f64) -> Retry {
        if !is_cost(cost) {
            return Retry::Never;
        }
        let passes = |at| {
            let counted = self.counted(state, at, cost);
            counted.rate < self.limit(counted.smoothed)
        };
        if passes(now) {
            return Retry::NOW;
        }
        let counted = self.mode.cost(cost);
        let reached = self.decayed(state, counted, counted.max(self.floor));
        let last = reached.max(self.peak(state)).max(now);
        let settled = if counted < self.floor { Time::LAST } else { last };
        if !passes(settled) {
            return Retry::Never;
        }
        Retry::After(wait_until(last, now, &passes))
    }

    fn remaining(&self, state: &Habit, now: Time) -> f64 {
        let limit = self.limit_at(state, now);
        self.mode.remaining(self.estimator().room(Some(self.measured(state)), now, limit))
    }

    /// Until an event reads its own cost and the limit stays at the floor.
    fn reset_after(&self, state: &Habit, now: Time) -> Span {
        let reads_itself = |at| self.measure(state, at, 1.0) <= 1.0;
        let at_floor = |at| self.limit_at(state, at) <= self.floor;
        let alone = now.after(wait_until(self.decayed(state, 1.0, 1.0), now, &reads_itself));
        let peak = self.peak(state);
        if at_floor(peak.max(now)) {
            return now.until(alone);
        }
        // By its formula, B is at most (B + a) e^(-t/q) after a time t, with a = p/(q - p) of the rate that it follows.
        let (p, q) = (self.smoothed.decay.as_secs_f64(), self.smoothed.increase.as_secs_f64());
        let most = state.smoothed + self.capped_rate(state) * p / (q - p);
        let sunk = later(state.at, q * libm::log(self.limit(most) / self.floor));
        let from = alone.max(peak);
        now.until(from.after(wait_until(sunk, from, &at_floor)))
    }

    /// Infinite, since the limit is learned.
    fn max_admitted(&self, _window: Span, _cost: f64) -> f64 {
        f64::INFINITY
    }
}

impl Algorithm for Adaptive {
    const FORM: Form = Form {
        name: "adaptive",
        words: "xFACTOR decay SPAN [increase SPAN] floor N [by hour [offset ±SPAN] [day SPAN]] [leaky|strict|readonly]",
        example: "adaptive x3 decay 1m increase 1h floor 5",
        about: "the rate is below a multiple of the sender's own habit, or of its habit at this hour of the day; by default the increase is 60 decays (by hour 7 days), the offset 0, the day 24h and the mode leaky",
    };
    const UNIT: &'static str = "rate";
    const KIND: &'static Kind = &Kind {
        name: "adaptive",
        spans: &["decay", "increase"],
        read: |_, bytes| Habit::read(bytes).map(drop),
    };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let word = given.next("factor")?;
        let Some(factor) = word.text.strip_prefix(['x', 'X']).and_then(number) else {
            return Err(given.wrong(word, &given.advised("not a factor")).into());
        };
        let decay = given.span("decay")?.ok_or_else(|| given.missing("the decay"))?;
        let increase = given.span("increase")?;
        let floor = given.number("floor")?.ok_or_else(|| given.missing("the floor"))?;
        let mode = Mode::read(given);
        Ok(match Day::read(given)? {
            None => {
                let increase = increase.unwrap_or(decay.times(60.0));
                Adaptive::new(factor, decay, increase, floor, mode)?.into()
            }
            Some(day) => {
                let increase = increase.unwrap_or(day.length().times(7.0));
                ByHour::new(factor, decay, increase, floor, mode, day)?.into()
            }
        })
    }

    fn quota(&self) -> Option<Rate> {
        Rate::new(self.floor, self.smoothed.decay).ok()
    }

    fn relaxed(&self, _by: Relax) -> Result<Self, NotRelaxed> {
        Err(FINDS_ITS_LIMIT)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [self.smoothed.decay, self.smoothed.increase])
    }

    fn keep(&self, state: &Habit, _now: Time, out: &mut Content) {
        state.keep(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<Habit, KeptError> {
        Habit::read(bytes)
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        let decay = self.smoothed.decay.as_secs_f64();
        let increase = self.smoothed.increase.as_secs_f64();
        let numbers = [self.factor, decay, increase, self.floor, self.mode.number()];
        Ok(InF64::new(Lua { name: "adaptive", counts: false }, numbers))
    }
}

impl Habit {
    pub(super) fn keep(&self, out: &mut Content) {
        out.rate(self.rate).rate(self.smoothed).time(self.at);
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Self, KeptError> {
        Ok(Habit {
            rate: bytes.rate("the rate")?,
            smoothed: bytes.rate("the habit")?,
            at: bytes.time("the time")?,
        })
    }
}

/// As in `adaptive x3 decay 1m increase 1h floor 5 leaky`.
impl fmt::Display for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Smoothed { decay, increase } = self.smoothed;
        write!(f, "adaptive x{} decay {decay} increase {increase} ", self.factor)?;
        write!(f, "floor {} ", self.floor)?;
        self.mode.fmt(f)
    }
}
