//! The adaptive limit that knows the hour: each sender is held to a few times its own habit at this
//! time of day.
//!
//! Source: the page "ratelimit demo" by Tony Finch asks: "How do I avoid overnight spam runs?
//! Internet services have a strong diurnal load variation. A rate limit that makes sense for working
//! hours is several times too large for the small hours." The answer below is ours.
//!
//! # The rule
//! The rate R is measured and the habit is learned as by [`adaptive`](super::adaptive), but there is
//! a habit B_h for each hour h of the day, and it changes in its own hour only. An hour comes by for
//! a 24th of the time, so the habit follows 24 times as fast while it does, and the increase interval
//! q keeps its meaning, counted in days:
//!
//! ```text
//! dB_h/dt = (min(R, L_h) - B_h) 24/q     in hour h;  0 in any other
//! L_h = max(floor, k B_h)                what the hour's own habit would allow
//! L   = max(floor, k max(B_h-1, B_h, B_h+1))      an event passes when R < L
//! ```
//!
//! Within an hour that is the adaptive limit with an increase interval of q/24, exact between events.
//! Where an event's rate lasts into the next hour, that one goes on with its own habit from what R has
//! decayed to, and clips it by its own limit.
//!
//! The hours beside are looked at because people aren't on time: without them, half as many honest
//! events again are refused. And they only let
//! pass, they don't teach: were a habit to learn from what its neighbours allow, a sender could climb
//! from hour to hour, and double its limit 24 times as often.
//!
//! # How much control it gives the sender
//! What moves the habit of an hour is time spent in this hour, a 24th of each day, 24 times as fast.
//! So the bound is the adaptive limit's, a night for a day: at the hour of its choice, a
//! sender that takes all it can get leaves the floor behind in q ln(k/(k-1)), and from there doubles
//! its limit every q ln 2/(k-1), no faster:
//! [`highest_after`](ByHour::highest_after), [`doubling_time`](ByHour::doubling_time). With `x3` and
//! `increase 7d` those are three nights at the floor, and then a doubling each 2.4.
//!
//! In a window in which no limit rises above M, no more passes than with Exim's limit of M:
//!
//! ```text
//! total <= M + (M + w/2) s      in s decay intervals, for events of cost w
//! ```
//!
//! and where the habit of these hours is nothing, M is the floor for as long as q ln(k/(k-1)) is more
//! than a day. So in its first night a sender gets through, with `decay 10m` and `floor 10`, at most
//! 10 + 10.5 · 48 = 514 in eight hours, whatever it sends by day:
//! [`max_admitted_from`](ByHour::max_admitted_from).
//!
//! It promises that, and no number of events in a window. It surprises a sender at an hour that is new
//! to it.
//!
//! # The edges
//! * **The first days:** every hour begins at the floor, as for the adaptive limit, and each hour
//!   learns by itself. So the floor must be one that a newcomer can live with for some days.
//! * **A sender that never sleeps:** every hour has the same habit, and it is held to what the
//!   adaptive limit holds it to.
//! * **A holiday:** an hour without events forgets e^(-1d/q) of its habit a day, as the adaptive
//!   limit does; after two weeks away, at `7d`, 14% is left.
//! * **Weekends:** the days of the week aren't told apart. Saturday's noon is held to the habit of
//!   noon; two days without events take a quarter of the habit, at `7d`, and Monday finds that missing.
//!   A habit for each of 168 hours would learn seven times as slowly.
//! * **Summer time:** the core knows no calendar, so hours are of a fixed offset that the rule gives.
//!   When the clocks change, everyone is an hour early or late, which the hours beside allow for.
//! * **Evening and morning:** for the same reason the day's limit reaches an hour into the night at
//!   each end.
//! * **Time runs backwards:** as for the adaptive limit. Where it lands in another hour, that hour's
//!   habit is the one that counts.
//! * **A long silence:** what is left of a rate after a day and an hour, less than e^-24, teaches
//!   nothing any more; whole days of silence are one exponential.
//!
//! # What it remembers
//! The habits of the hours are f32, rounded down when an hour is over, so that no bound is passed; the
//! current one is f64. That is 120 bytes a key, five times the adaptive limit's 24.
//!
#![doc = include_str!("by_hour/measured.md")]

mod day;
mod habits;

pub use day::{DAY, Day, HOURS};
pub use habits::Habits;

pub(super) use day::signed;

use super::adaptive::{Adaptive, Habit};
use super::exim::{Exim, Mode};
use super::kept::{Algorithm, Content, Keep, Shape};
use super::retry::wait_until;
use super::{Limiter, is_cost};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// An adaptive limiter with a habit for each hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByHour {
    /// What holds within an hour.
    hourly: Adaptive,
    increase: Span,
    day: Day,
}

impl ByHour {
    /// `factor` times the rate over `decay`, smoothed for each hour of the `day` over `increase`, which
    /// is counted in whole days; at least `floor` events per decay interval.
    ///
    /// # Errors
    /// As for [`Adaptive::new`]. When the decay is more than an hour: such a rate can't tell the hours
    /// apart. When the increase is less than two days: a habit is more than yesterday.
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
            return Err(BadNumber { what: "the decay", given: decay.secs(), want });
        }
        if increase.secs() < 2.0 * day.length().secs() {
            let want = "at least two days, by hour";
            return Err(BadNumber { what: "the increase", given: increase.secs(), want });
        }
        // Two days are 48 hours, so that a 24th of it is at least twice the decay but for a
        // rounding up of the hour.
        let share = (increase.secs() / HOURS as f64).max(2.0 * decay.secs());
        let hourly = Adaptive::new(factor, decay, Span::from_secs(share)?, floor, mode)?;
        Ok(ByHour { hourly, increase, day })
    }

    /// The rule within an hour, for that hour's own habit: its increase is a 24th of the limiter's.
    pub fn hourly(&self) -> &Adaptive {
        &self.hourly
    }

    /// The increase interval.
    pub fn increase(&self) -> Span {
        self.increase
    }

    /// The day that the hours are of.
    pub fn day(&self) -> Day {
        self.day
    }

    /// The state as of `now`, when nothing was counted since: the rate has decayed, and the hours
    /// that have passed know of it.
    pub fn at(&self, state: &Habits, now: Time) -> Habits {
        let (mut habits, at) = (*state, state.current.at);
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
            let increases = days * self.day.hour().secs() / self.increase_in_hour();
            habits.fade(libm::exp(-increases));
            habits.current.at = after;
            self.pass(&mut habits, now);
        }
        habits
    }

    /// The limit L at `now`, when nothing was counted since.
    pub fn limit_at(&self, state: &Habits, now: Time) -> f64 {
        self.limit(&self.at(state, now))
    }

    /// The highest that the habit of an hour, now `smoothed`, can be after `elapsed`, whatever the
    /// sender does.
    pub fn highest_after(&self, smoothed: f64, elapsed: Span) -> f64 {
        self.hourly.highest_after(smoothed, self.day.in_one_hour(elapsed))
    }

    /// The least time in which a sender can double its limit at an hour, once that is above the
    /// floor; counted in days, in each of which the hour comes once.
    pub fn doubling_time(&self) -> Span {
        let seconds = self.hourly.doubling_time().secs() * HOURS as f64;
        Span::from_secs(seconds).unwrap_or(Span::ZERO)
    }

    /// The most that is admitted in an interval of `window` in events of cost `cost`, when at its
    /// beginning no hour that it touches, nor one beside those, has a habit above `smoothed`.
    pub fn max_admitted_from(&self, smoothed: f64, window: Span, cost: f64) -> f64 {
        let highest = self.hourly.limit(self.highest_after(smoothed, window));
        let limit = Rate::new(highest, self.hourly.smoothing().decay);
        limit.map_or(f64::INFINITY, |limit| {
            Exim { limit, mode: self.hourly.mode() }.max_admitted(window, cost)
        })
    }

    fn increase_in_hour(&self) -> f64 {
        self.hourly.smoothing().increase.secs()
    }

    /// The end of the hour in which it is a day since the last event.
    fn faded(&self, state: &Habits) -> Time {
        self.day.around(state.current.at.after(self.day.length())).end
    }

    /// Lets the hours pass one by one.
    fn pass(&self, habits: &mut Habits, until: Time) {
        while habits.current.at < until {
            let Habit { at, .. } = habits.current;
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
        let beside = [hour + HOURS - 1, hour + 1].map(|hour| habits.of(hour));
        self.hourly.limit(habits.current.smoothed.max(beside[0]).max(beside[1]))
    }

    /// What is made of an event when the state is by now `habits`.
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
        let (mode, at) = (self.hourly.mode(), habits.current.at);
        let set_back = state.current.at.since(at) > self.hourly.smoothing().decay.secs();
        if is_cost(cost) && mode.counts(allowed) {
            habits.current.rate = self.hourly.measure(&state.current, at, cost);
            habits
        } else if is_cost(cost) && mode == Mode::Leaky && set_back {
            habits
        } else {
            *state
        }
    }

    /// When an event of cost `cost` can no longer be refused, or only hours that sink are to come.
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

    /// With the hours passed once instead of twice.
    fn check(&self, state: &mut Habits, now: Time, cost: f64) -> Outcome {
        let habits = self.at(state, now);
        let outcome = self.decide(state, &habits, cost);
        *state = self.recorded(state, habits, cost, outcome.is_allowed());
        outcome
    }

    /// The first instant at which R with the event is below L.
    ///
    /// Within an hour, what is said of the adaptive limit holds: the hours beside it don't change
    /// meanwhile, and a limit that is the larger of a fixed one and a falling one falls no faster. So
    /// in each hour, passing is a matter of time up to the later of the instants when R has reached
    /// the floor or w, and when B is highest; and hours are gone through one by one, from the first
    /// in which any limit could be met. When all of them have come by once since R was forgotten, and
    /// R is w, limits only sink.
    fn retry_after(&self, state: &Habits, now: Time, cost: f64) -> Retry {
        let floor = self.hourly.floor();
        let counted = self.hourly.mode().cost(cost);
        let passes = |at| self.peek(state, at, cost).is_allowed();
        if !is_cost(cost) {
            return Retry::Never;
        }
        if passes(now) {
            return Retry::NOW;
        }
        // A habit never rises above the limit that it sets, so this is what no limit exceeds.
        let highest = self.hourly.limit(self.hourly.limit(state.highest()));
        let possible = self.hourly.decayed(&state.current, counted, highest.max(counted));
        let reached = self.hourly.decayed(&state.current, counted, counted.max(floor));
        let settled = self.settled(state, counted);
        // The guess may be a rounding error late, so the search begins an hour early.
        let mut from = now.max(possible.before(self.day.hour()));
        while from <= settled.max(now) {
            let end = self.day.around(from).end;
            let highest = self.hourly.peak(&self.at(state, from).current);
            let last = reached.max(highest).min(end.before(Span::micros(1))).max(from);
            if passes(last) {
                return Retry::After(now.until(from.after(wait_until(last, from, &passes))));
            }
            if end <= from || end == Time::LAST {
                break;
            }
            from = end;
        }
        Retry::Never
    }

    fn remaining(&self, state: &Habits, now: Time) -> f64 {
        let (limit, measured) = (self.limit_at(state, now), self.hourly.measured(&state.current));
        let room = self.hourly.estimator().room(Some(measured), now, limit);
        self.hourly.mode().remaining(room)
    }

    /// Until an event reads its own cost, and the limit is back at the floor in every hour.
    fn reset_after(&self, state: &Habits, now: Time) -> Span {
        let reads_itself = |at| self.hourly.measure(&state.current, at, 1.0) <= 1.0;
        let at_floor = |habit| self.hourly.limit(habit) <= self.hourly.floor();
        let decayed = self.hourly.decayed(&state.current, 1.0, 1.0);
        let alone = now.after(wait_until(decayed, now, &reads_itself));
        let here = self.at(state, now);
        // No habit rises above the rate.
        if at_floor(here.highest().max(here.current.rate)) {
            return now.until(alone);
        }
        // Once the rate is forgotten they all sink, by e^(-1d/q) a day.
        let from = alone.max(self.faded(state));
        let most = self.hourly.limit(self.at(state, from).highest());
        let increases = libm::log(most / self.hourly.floor());
        let sunk = self.hourly.later(from, increases * self.increase.secs());
        let passes = |at| at_floor(self.at(state, at).highest());
        now.until(from.after(wait_until(sunk, from, &passes)))
    }

    /// The limit is learned, so there is no number; see
    /// [`max_admitted_from`](Self::max_admitted_from).
    fn max_admitted(&self, _window: Span, _cost: f64) -> f64 {
        f64::INFINITY
    }
}

impl Keep for ByHour {
    /// The offset shapes nothing: when it changes, the habit of nine o'clock stays that of nine.
    fn shape(&self) -> Shape {
        let spans = [self.hourly.smoothing().decay, self.increase, self.day.length()];
        Shape::new(Algorithm::ByHour, spans)
    }

    fn keep(&self, state: &Habits, _now: Time) -> Content {
        let hour = self.day.hour_of(state.current.at);
        Content::Habits { habits: Box::new(*state), hour }
    }

    fn restore(&self, content: &Content) -> Option<Habits> {
        let Content::Habits { habits, hour } = content else { return None };
        let mut state = **habits;
        state.turn(*hour, self.day.hour_of(state.current.at));
        Some(state)
    }

    /// It is of f64 anyway, and of f32.
    fn exact_in_f64(&self) -> Result<(), BadNumber> {
        Ok(())
    }
}

/// As in `adaptive x3 decay 10m increase 7d floor 10 by hour offset +1h leaky`.
impl fmt::Display for ByHour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decay = self.hourly.smoothing().decay;
        let (factor, floor) = (self.hourly.factor(), self.hourly.floor());
        write!(f, "adaptive x{factor} decay {decay} increase {} floor {floor}", self.increase)?;
        write!(f, " by hour{} {}", self.day, self.hourly.mode())
    }
}
