//! The sliding counter: two windows of the clock, the older one fading out.
//!
#![doc = include_str!("pictures/sliding_counter.svg")]
//!
//! Source: the "sliding window counter" of web gateways; Cloudflare describes its own in "How we
//! built rate limiting capable of scaling to millions of domains" (2017).
//!
//! The count of the last period is estimated from the counts of two windows of the clock: all of
//! the current one, and of the previous one the share that the last period still overlaps. The
//! estimate assumes that the events of the previous window were spread evenly.
//!
//! ```text
//! level = previous × (time left in the current window)/period + current + cost
//! ```
//!
//! It promises at most the limit in every window of the clock.
//!
//! # At a glance
//! * **For:** a moving window in a fixed amount of memory.
//! * **Against:** events that are not spread evenly. After a burst at the very end of a window, nearly the whole limit
//!   passes again during the next, so nearly twice the limit can pass in one period. After a burst at the beginning of
//!   a window, events are refused although the last period contained none.
//! * **Memory:** 24 bytes a key, whatever the limit.
//! * **Elsewhere:** *sliding window counter* at Cloudflare and in most libraries, or *approximated sliding window*. In
//!   lists that sum the counters of the last 60 seconds, that name is the [`sliding_window`](super::sliding_window).
//!   [`haproxy`](super::haproxy) begins the windows with the first event of a key.
//! * **Wrong in articles:** the previous window weighted by the share that has passed, in place of the share that is
//!   left; refused events that count, so that a sender that keeps trying is never let in.
//!
//! The limit is the count of the rate. Decisions do not divide: both sides are multiplied by the
//! period, so equality is exact.
//!
//! # The edges
//! * **Equality:** the event that reaches the limit passes.
//! * **On an edge:** the current window becomes the previous one, at its full weight.
//! * **A long silence:** after two windows nothing is left.
//! * **Time runs backwards:** an event from before the last one counts at the time of the last one. An event more than
//!   a period earlier shows that the clock was set back, and the level moves to its time.

use super::algorithm::{Algorithm, NotRelaxed, Relax, kept};
use super::amount::{amount, events, to_f64, touched, window};
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use super::{LONG_AGO, Limiter};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The sliding counter: two windows of the clock, the older one fading out.
///
/// ```text
/// level = previous × (time left in the current window)/period + current + cost        an event passes when level <= limit
/// ```
///
/// ```
/// use ratescope::limit::sliding_counter::SlidingCounter;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = SlidingCounter::new(Rate::per_minute(3))?;
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::from_secs(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // At 80, two thirds of the three from the first minute still count.
/// assert_eq!(String::from_iter(passed), "11100001010");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlidingCounter {
    limit: Rate,
    most: u64,
    period: i64,
}

/// The latest time seen, the count of its window and the count of the window before: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    at: Time,
    previous: u64,
    current: u64,
}

/// A state as of an instant, and the rest of its window.
#[derive(Clone, Copy)]
struct Rolled {
    state: State,
    /// The microseconds of the current window that are left: a period at its beginning, 1 at its last
    /// instant.
    left: i64,
}

impl SlidingCounter {
    /// At most `limit` in a period, by the estimate above. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to 10^12.
    pub fn new(limit: Rate) -> Result<Self, BadNumber> {
        window(limit).map(|(most, period)| SlidingCounter { limit, most, period })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The window of the clock that contains `now`: its first instant, and the first of the next.
    pub fn window(&self, now: Time) -> [Time; 2] {
        let left = self.left(now);
        let end = now.as_micros().saturating_add(left);
        [end.saturating_sub(self.period), end].map(Time::from_micros)
    }

    /// The share with which an event of the window before counts at `now`: 1 at the first instant of a window.
    pub fn fading(&self, now: Time) -> f64 {
        self.left(now) as f64 / self.period as f64
    }

    /// The state at `now`.
    #[inline]
    fn roll(&self, state: &State, now: Time) -> Rolled {
        if now < state.at {
            return self.roll_back(state, now);
        }
        let left = self.left(now);
        let begun = now.as_micros().saturating_sub(self.period - left);
        let before = begun.saturating_sub(state.at.as_micros());
        // In the same window as before, in the next, or later.
        let (previous, current) = match before {
            ..=0 => (state.previous, state.current),
            _ if before <= self.period => (state.current, 0),
            _ => (0, 0),
        };
        Rolled { state: State { at: now, previous, current }, left }
    }

    /// The state at `now`, which is earlier than the latest event.
    #[cold]
    fn roll_back(&self, state: &State, now: Time) -> Rolled {
        let standing = Rolled { state: *state, left: self.left(state.at) };
        if state.at.as_micros().saturating_sub(now.as_micros()) <= self.period {
            return standing;
        }
        let level = self.weighed(&standing, 0).div_ceil(self.scale());
        let current = u64::try_from(level).unwrap_or(u64::MAX);
        Rolled { state: State { at: now, previous: 0, current }, left: self.left(now) }
    }

    /// The microseconds of the window of `at` that are left then.
    fn left(&self, at: Time) -> i64 {
        self.period - at.as_micros().rem_euclid(self.period)
    }

    /// The level including `amount`, times the period: two products below 2^127.
    #[inline]
    fn weighed(&self, &Rolled { state, left }: &Rolled, amount: u64) -> u128 {
        let fading = u128::from(state.previous) * u128::from(left.unsigned_abs());
        fading + u128::from(state.current.saturating_add(amount)) * self.scale()
    }

    fn outcome(&self, rolled: &Rolled, amount: u64) -> Outcome {
        let level = self.weighed(rolled, amount);
        let shown = to_f64(level) / (self.period as f64 * 1e6);
        Outcome::new(level <= self.bound(), shown, self.limit.count())
    }

    fn store(&self, state: &mut State, rolled: &Rolled, amount: u64, allowed: bool) {
        let mut next = rolled.state;
        if allowed {
            next.current = next.current.saturating_add(amount);
        }
        // With nothing counted, the time does not matter.
        *state = if (next.previous, next.current) == (0, 0) { self.initial() } else { next };
    }

    fn scale(&self) -> u128 {
        u128::from(self.period.unsigned_abs())
    }

    fn bound(&self) -> u128 {
        u128::from(self.most) * self.scale()
    }

    /// The most microseconds that may be left of a window so that the amount `standing` fits beside what then still
    /// counts of the amount `fading`; at most a period.
    fn fits_from(&self, fading: u64, standing: u128) -> i64 {
        let room = self.bound().saturating_sub(standing * self.scale());
        let left = room.checked_div(u128::from(fading)).unwrap_or(u128::MAX);
        i64::try_from(left).unwrap_or(i64::MAX).min(self.period)
    }
}

impl Limiter for SlidingCounter {
    type State = State;

    fn initial(&self) -> State {
        State { at: LONG_AGO, previous: 0, current: 0 }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let Some(amount) = amount(cost) else {
            return Outcome::new(false, cost, self.limit.count());
        };
        self.outcome(&self.roll(state, now), amount)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        if let Some(amount) = amount(cost) {
            self.store(state, &self.roll(state, now), amount, allowed);
        }
    }

    /// Looks at the clock once instead of twice.
    #[inline]
    fn check_last(&self, state: &mut State, now: Time, cost: f64, others: bool) -> Outcome {
        let Some(amount) = amount(cost) else {
            return Outcome::new(false, cost, self.limit.count());
        };
        let rolled = self.roll(state, now);
        let outcome = self.outcome(&rolled, amount);
        self.store(state, &rolled, amount, others && outcome.is_allowed());
        outcome
    }

    fn undo(&self, state: &mut State, at: Time, _now: Time, cost: f64) -> bool {
        let window = |at: Time| at.as_micros().div_euclid(self.period);
        let counted = match window(state.at).saturating_sub(window(at)) {
            0 => &mut state.current,
            1 => &mut state.previous,
            _ => return true,
        };
        *counted = counted.saturating_sub(amount(cost).unwrap_or(0));
        true
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let Some(amount) = amount(cost).filter(|&amount| amount <= self.most) else {
            return Retry::Never;
        };
        let rolled = self.roll(state, now);
        if self.weighed(&rolled, amount) <= self.bound() {
            return Retry::NOW;
        }
        // The event fits when the previous count has faded enough within this window, or else when the current count
        // has faded enough within the next.
        let Rolled { state, left } = rolled;
        let standing = u128::from(state.current) + u128::from(amount);
        let (left, wait) = if standing <= u128::from(self.most) {
            (self.fits_from(state.previous, standing), left)
        } else {
            let next = left.saturating_add(self.period);
            (self.fits_from(state.current, u128::from(amount)), next)
        };
        let passes = state.at.as_micros().saturating_add(wait - left);
        Retry::After(now.until(Time::from_micros(passes)))
    }

    fn remaining(&self, state: &State, now: Time) -> f64 {
        let room = self.bound().saturating_sub(self.weighed(&self.roll(state, now), 0));
        events(u64::try_from(room / self.scale()).unwrap_or(u64::MAX))
    }

    /// Until the count of the current window has faded, at the end of the next window.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        let Rolled { state, left } = self.roll(state, now);
        let wait = match (state.current, state.previous) {
            (0, 0) => return Span::ZERO,
            (0, _) => left,
            _ => left.saturating_add(self.period),
        };
        now.until(Time::from_micros(state.at.as_micros().saturating_add(wait)))
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        events(self.most) * touched(window.micros_up(), self.period) as f64
    }
}

impl Algorithm for SlidingCounter {
    const FORM: Form = Form {
        name: "sliding-counter",
        words: "RATE",
        example: "sliding-counter 500/1m",
        about: "at most the count in this window of the clock and the fading share of the last one",
    };
    const UNIT: &'static str = "in window";

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        Ok(SlidingCounter::new(given.rate()?)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(SlidingCounter::new(by.rate(self.limit)?)?)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [Span::from_micros(self.period.unsigned_abs())])
    }

    kept! {
        "sliding-counter" ["period"]
        State {
            at: time "the time",
            previous: amount "the previous count",
            current: amount "the current count",
        }
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        in_f64::check_window(self.most, self.period)?;
        Ok(InF64::new(
            Lua { name: "counter", counts: true },
            [self.most as f64, self.period as f64],
        ))
    }
}

/// As in `sliding-counter 500/1m`.
impl fmt::Display for SlidingCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sliding-counter {}", self.limit)
    }
}
