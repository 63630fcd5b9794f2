//! The adaptive limit by hour: each sender is held to a few times its own habit at this time of day.
//!
#![doc = include_str!("pictures/by_hour.svg")]
//!
//! Source: the page "ratelimit demo" by Tony Finch asks: "How do I avoid overnight spam runs?
//! Internet services have a strong diurnal load variation. A rate limit that makes sense for working
//! hours is several times too large for the small hours." The answer below is ours.
//!
//! # The rule
//! The rate R is measured and habits are learned as in [`adaptive`](super::adaptive), but there is a
//! habit B_h for each hour h of the day, and it changes in its own hour only. Since an hour is a 24th
//! of the day, its habit follows R 24 times as fast during that hour. So the increase interval q,
//! counted in days, keeps its meaning:
//!
//! ```text
//! dB_h/dt = (min(R, L_h) - B_h) 24/q     in hour h;  0 in any other
//! L_h = max(floor, k B_h)                the limit by the hour's own habit
//! L   = max(floor, k max(B_h-1, B_h, B_h+1))      an event passes when R < L
//! ```
//!
//! Within an hour this is the adaptive limit with an increase interval of q/24, exact between events.
//! When the hour ends, R goes on decaying, and the habit of the next hour follows it, capped by that
//! hour's own limit.
//!
//! The neighbouring hours count because people are not on time: without them, 50 % more honest events are refused. They
//! raise the limit, but a habit learns only up to the limit of its own hour. If it also learned from the limits of its
//! neighbours, a sender could climb from hour to hour and double its limit 24 times as often.
//!
//! # How much control it gives the sender
//! The habit of an hour moves only during that hour, a 24th of each day, and then 24 times as fast.
//! So the bound is that of the adaptive limit, counted in days. At the hour of its choice, a sender
//! that takes all it can get leaves the floor after q ln(k/(k-1)), and from there doubles its limit
//! every q ln 2/(k-1), no faster. With `x3` and `increase 7d` that is three nights at the floor, and then a
//! doubling each 2.4 nights.
//!
//! In a window in which no limit rises above M, no more passes than with Exim's limit of M:
//!
//! ```text
//! total <= M + (M + w/2) s      in s decay intervals, for events of cost w
//! ```
//!
//! If these hours have no habit yet, M is the floor as long as q ln(k/(k-1)) is more than a day. So
//! with `decay 10m` and `floor 10`, a sender gets at most 10 + 10.5 · 48 = 514 events through in the
//! eight hours of its first night, whatever it sends by day.
//!
//! # At a glance
//! * **For:** senders whose nights differ from their days, such as the customers of a mail server, and spam that comes at
//!   night from their accounts.
//! * **Against:** senders without habits, such as the visitors of a web site or attackers with new addresses: see
//!   [below](#whether-it-helps). And a promise: the limiter promises the bound above, and no number of events in a
//!   window. It refuses a sender that comes at an hour that is new to it.
//! * **Memory:** 120 bytes a key, five times the [`adaptive`](super::adaptive) limit's 24.
//! * **Elsewhere:** a habit that depends on the time of day is a *seasonal baseline* in the detection of anomalies.
//!
//! # The edges
//! * **The first days:** every hour begins at the floor, as in the adaptive limit, and each hour
//!   learns by itself. So the floor must suffice for a newcomer for some days.
//! * **A sender that never sleeps:** every hour has the same habit, and the limit is that of the
//!   adaptive limit.
//! * **A holiday:** an hour without events keeps e^(-1d/q) of its habit each day, as in the adaptive
//!   limit. At `7d`, 14% are left after two weeks away.
//! * **Weekends:** the days of the week are not distinguished. Noon on Saturday has the habit of
//!   noon. At `7d`, two days without events cost a quarter of the habit, which is missing on Monday.
//!   A habit for each of 168 hours would learn seven times as slowly.
//! * **Summer time:** the core knows no calendar, so hours have a fixed offset that the rule gives.
//!   When the clocks change, everyone is an hour early or late, which the neighbouring hours allow.
//! * **Evening and morning:** for the same reason the day's limit reaches an hour into the night at
//!   each end.
//! * **Time runs backwards:** as in the adaptive limit. If the new time is in another hour, that
//!   hour's habit counts.
//! * **A long silence:** after a day, and at most an hour more, the rate is below e^-24 of what it
//!   was and is taken as 0. Whole days of silence then cost one exponential.
//!
//! # What it remembers
//! The habits of the other hours are f32, rounded down when an hour ends, so that no bound is
//! exceeded; the current one is f64.
//!
#![doc = include_str!("by_hour/measured.md")]

mod algorithm;
mod day;
mod habits;

pub use day::{DAY, Day, HOURS};
pub use habits::Habits;

use super::adaptive::{Adaptive, Habit, later};
use super::exim::Mode;
use super::retry::wait_until;
use super::{Limiter, is_cost};
use crate::estimate::decay::left;
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// The adaptive limit with a habit for each hour of the day.
///
/// ```text
/// L = max(floor, k max(B_h-1, B_h, B_h+1))        an event in hour h passes when R < L
/// ```
///
/// ```
/// use ratescope::limit::any::AnyLimiter;
/// use ratescope::{Limiter, Span, Time};
///
/// let limiter: AnyLimiter = "adaptive x3 decay 10m floor 10 by hour".parse()?;
/// let mut state = limiter.initial();
/// // For thirty days two events a minute, from 9 to 17 o'clock.
/// let by_day = |minute: &u64| (9 * 60..17 * 60).contains(&(minute % (24 * 60)));
/// for minute in (0..30 * 24 * 60).filter(by_day) {
///     limiter.check(&mut state, Time::ZERO.after(Span::from_mins(minute)), 2.0);
/// }
/// let limit = |hour: u64| limiter.peek(&state, Time::ZERO.after(Span::from_hours(30 * 24 + hour)), 0.0).limit;
/// // At night the floor; at 13 o'clock three times what is usual then, which is just below 20 in ten minutes.
/// assert_eq!([3, 13].map(limit).map(f64::round), [10.0, 56.0]);
/// # Ok::<(), ratescope::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByHour {
    /// The rule within an hour.
    hourly: Adaptive,
    increase: Span,
    day: Day,
}

impl ByHour {
    /// A limit of `factor` times the rate over `decay`, smoothed for each hour of the `day` over
    /// `increase`; at least `floor` events per decay interval.
    ///
    /// # Errors
    /// As for [`Adaptive::new`]. When the decay is more than an hour: such a rate cannot tell the
    /// hours apart. When the increase is less than two days: a habit needs more than one day.
    pub fn new(
        factor: f64,
        decay: Span,
        increase: Span,
        floor: f64,
        mode: Mode,
        day: Day,
    ) -> Result<Self, BadNumber> {
        if decay > day.hour() {
            let want = "at most an hour of the day";
            return Err(BadNumber {
                what: "the decay in seconds",
                given: decay.as_secs_f64(),
                want,
            });
        }
        if increase.as_secs_f64() < 2.0 * day.length().as_secs_f64() {
            return Err(BadNumber {
                what: "the increase in seconds",
                given: increase.as_secs_f64(),
                want: "at least two days, by hour",
            });
        }
        // A 24th of at least two days is at least two hours, twice the decay. The hour is rounded
        // up, so `max` is needed.
        let share = (increase.as_secs_f64() / HOURS as f64).max(2.0 * decay.as_secs_f64());
        let hourly = Adaptive::new(factor, decay, Span::try_from_secs_f64(share)?, floor, mode)?;
        Ok(ByHour { hourly, increase, day })
    }

    /// The rule within an hour, for that hour's own habit: its increase interval is a 24th of this
    /// limiter's.
    pub fn hourly(&self) -> &Adaptive {
        &self.hourly
    }

    /// The increase interval.
    pub fn increase(&self) -> Span {
        self.increase
    }

    /// The day that is cut into hours.
    pub fn day(&self) -> Day {
        self.day
    }

    /// The state at `now`, if nothing was counted since it was stored: the rate has decayed, and the
    /// habits of the hours that passed have followed it.
    pub fn at(&self, state: &Habits, now: Time) -> Habits {
        let mut habits = *state;
        let at = state.current.at;
        if now <= at {
            habits.turn(self.day.hour_of(at), self.day.hour_of(now));
            habits.current.at = now;
            return habits;
        }
        let faded = self.faded(state);
        self.pass(&mut habits, now.min(faded));
        if now > faded {
            habits.current.rate = 0.0;
            let (days, after) = self.day.whole(faded, now);
            let increases = days * self.day.hour().as_secs_f64() / self.increase_in_hour();
            habits.fade(left(increases));
            habits.current.at = after;
            self.pass(&mut habits, now);
        }
        habits
    }

    /// The limit L at `now`, if nothing was counted since the state was stored.
    pub fn limit_at(&self, state: &Habits, now: Time) -> f64 {
        self.limit(&self.at(state, now))
    }

    fn increase_in_hour(&self) -> f64 {
        self.hourly.smoothing().increase.as_secs_f64()
    }

    /// The end of the hour that contains the instant a day after the last event.
    fn faded(&self, state: &Habits) -> Time {
        let day = Span::from_micros(HOURS as u64 * self.day.hour.unsigned_abs());
        self.day.around(state.current.at.after(day)).end
    }

    /// Moves the habits forward to `until`, hour by hour.
    fn pass(&self, habits: &mut Habits, until: Time) {
        while habits.current.at < until {
            let at = habits.current.at;
            let hour = self.day.around(at);
            let to = until.min(hour.end);
            habits.current = Habit {
                rate: self.hourly.estimator().rate_at(self.hourly.measured(&habits.current), to),
                smoothed: self.hourly.smoothed_at(&habits.current, to),
                at: to,
            };
            habits.turn(hour.index, self.day.hour_of(to));
        }
    }

    fn limit(&self, habits: &Habits) -> f64 {
        let hour = self.day.hour_of(habits.current.at);
        let before = habits.of(hour + HOURS - 1);
        let after = habits.of(hour + 1);
        self.hourly.limit(habits.current.smoothed.max(before).max(after))
    }

    /// Decides about an event; `habits` is `state` at the time of the event.
    fn decide(&self, state: &Habits, habits: &Habits, cost: f64) -> Outcome {
        let limit = self.limit(habits);
        if !is_cost(cost) {
            return Outcome::new(false, cost, limit);
        }
        let rate = self.hourly.measure(&state.current, habits.current.at, cost);
        Outcome::new(rate < limit, rate, limit)
    }

    /// The state after the event.
    fn recorded(&self, state: &Habits, mut habits: Habits, cost: f64, allowed: bool) -> Habits {
        let mode = self.hourly.mode();
        let at = habits.current.at;
        if is_cost(cost) && mode.counts(allowed) {
            habits.current.rate = self.hourly.measure(&state.current, at, cost);
            habits
        } else if is_cost(cost)
            && mode.follows_back(state.current.at, at, self.hourly.smoothing().decay)
        {
            habits
        } else {
            *state
        }
    }

    /// The instant from which on an event of cost `cost` passes, or all habits only sink.
    fn settled(&self, state: &Habits, cost: f64) -> Time {
        let faded = self.faded(state).after(self.day.length());
        self.hourly.decayed(&state.current, cost, cost.max(self.hourly.floor())).max(faded)
    }
}

impl Limiter for ByHour {
    type State = Habits;

    fn initial(&self) -> Habits {
        Habits { current: self.hourly.initial(), hours: [0.0; HOURS] }
    }

    fn peek(&self, state: &Habits, now: Time, cost: f64) -> Outcome {
        self.decide(state, &self.at(state, now), cost)
    }

    fn record(&self, state: &mut Habits, now: Time, cost: f64, allowed: bool) {
        *state = self.recorded(state, self.at(state, now), cost, allowed);
    }

    /// Moves the habits forward once instead of twice.
    fn check_last(&self, state: &mut Habits, now: Time, cost: f64, others: bool) -> Outcome {
        let habits = self.at(state, now);
        let outcome = self.decide(state, &habits, cost);
        *state = self.recorded(state, habits, cost, others && outcome.is_allowed());
        outcome
    }

    /// The first instant at which R with the event is below L.
    ///
    /// Within an hour, the argument for the adaptive limit holds: the habits of the neighbours do not change meanwhile,
    /// and the larger of a fixed and a falling limit falls no faster. So in each hour, once the event passes, it passes
    /// at every later instant until R has reached the floor or w, and B its peak. The search goes through the hours one
    /// by one, from the first in which any limit could be met. When every hour has come once since R was forgotten, and
    /// R is w, limits only fall.
    fn retry_after(&self, state: &Habits, now: Time, cost: f64) -> Retry {
        if !is_cost(cost) {
            return Retry::Never;
        }
        let passes = |at| self.peek(state, at, cost).is_allowed();
        if passes(now) {
            return Retry::NOW;
        }
        let floor = self.hourly.floor();
        let counted = self.hourly.mode().cost(cost);
        // A habit never rises above the limit that it sets, so no limit exceeds this one.
        let highest = self.hourly.limit(self.hourly.limit(state.highest()));
        let possible = self.hourly.decayed(&state.current, counted, highest.max(counted));
        let reached = self.hourly.decayed(&state.current, counted, counted.max(floor));
        let settled = self.settled(state, counted);
        // The guess may be a rounding error late, so the search begins an hour early.
        let mut from = now.max(possible.before(self.day.hour()));
        while from <= settled.max(now) {
            let end = self.day.around(from).end;
            let highest = self.hourly.peak(&self.at(state, from).current);
            let last = reached.max(highest).min(end.before(Span::from_micros(1))).max(from);
            if passes(last) {
                return Retry::After(now.until(from.after(wait_until(last, from, &passes))));
            }
            if end <= from {
                break;
            }
            from = end;
        }
        Retry::Never
    }

    fn remaining(&self, state: &Habits, now: Time) -> f64 {
        let limit = self.limit_at(state, now);
        let measured = self.hourly.measured(&state.current);
        let room = self.hourly.estimator().room(Some(measured), now, limit);
        self.hourly.mode().remaining(room)
    }

    /// Until an event reads its own cost and the limit is at the floor in every hour.
    fn reset_after(&self, state: &Habits, now: Time) -> Span {
        let reads_itself = |at| self.hourly.measure(&state.current, at, 1.0) <= 1.0;
        let at_floor = |habit| self.hourly.limit(habit) <= self.hourly.floor();
        let decayed = self.hourly.decayed(&state.current, 1.0, 1.0);
        let alone = now.after(wait_until(decayed, now, &reads_itself));
        let here = self.at(state, now);
        // A habit that rises follows the rate, and never exceeds it.
        if at_floor(here.highest().max(here.current.rate)) {
            return now.until(alone);
        }
        // Once the rate is forgotten, all habits sink by a factor of e^(-1d/q) a day.
        let from = alone.max(self.faded(state));
        let most = self.hourly.limit(self.at(state, from).highest());
        let increases = libm::log(most / self.hourly.floor());
        let sunk = later(from, increases * self.increase.as_secs_f64());
        let passes = |at| at_floor(self.at(state, at).highest());
        now.until(from.after(wait_until(sunk, from, &passes)))
    }

    /// Infinite, since the limit is learned.
    fn max_admitted(&self, _window: Span, _cost: f64) -> f64 {
        f64::INFINITY
    }
}
