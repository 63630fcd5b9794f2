//! The fixed window: at most the limit in each minute of the clock.
//!
//! Source: the plain counter of Josiah Carlson, "Introduction to rate limiting with Redis", part
//! 1, but counting allowed events only, as his part 2 asks.
//!
//! Time is cut into windows of one period, aligned to the origin of time. Each window counts from
//! zero. It promises at most the limit in every window *of the clock*.
//!
//! # At a glance
//! * **For:** quotas and invoices, which are per hour or day of the clock.
//! * **Against:** protecting a backend. The whole limit just before an edge and again just after is twice the limit
//!   within a moment, and all keys' windows end together.
//! * **Memory:** 16 bytes a key, whatever the limit.
//! * **Elsewhere:** *fixed window counter*; `rate_limit` of envoyproxy/ratelimit. `INCR` and `EXPIRE` on Redis is a
//!   variant whose window begins with the key's first event: [`from first`](super::window_from).
//! * **Wrong in articles:** a window that is never reset; `INCR` and `EXPIRE` in two calls, so that a key without an
//!   expiry is refused for ever; `EXPIRE` at every event, so that the window never ends for a sender that goes on.
//!
//! The level is the count with the event; the limit is the count of the rate.
//!
//! # The edges
//! * **Equality:** the event that reaches the limit passes.
//! * **On an edge:** the first instant of a window belongs to it.
//! * **Time runs backwards:** an event from the window before the latest one counts in the latest. An event from
//!   further back shows that the clock was set back, and the count moves to its window.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax};
use super::amount::{amount, events, touched, window};
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use super::window_from::WindowFrom;
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The fixed window: at most the limit in each window of the clock.
///
/// ```text
/// counted = 0 where a window begins        an event passes when counted + cost <= limit
/// ```
///
/// ```
/// use ratescope::limit::fixed_window::FixedWindow;
/// use ratescope::{Limiter, Rate, Span, Time};
///
/// let limiter = FixedWindow::new(Rate::per_minute(3))?;
/// let mut state = limiter.initial();
/// let passed = [50, 50, 50, 60, 60, 60, 70, 80, 90, 100, 110].map(|second| {
///     let now = Time::ZERO.after(Span::seconds(second));
///     if limiter.check(&mut state, now, 1.0).is_allowed() { '1' } else { '0' }
/// });
/// // A minute of the clock ends at 60: six pass within ten seconds.
/// assert_eq!(String::from_iter(passed), "11111100000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedWindow {
    limit: Rate,
    most: u64,
    period: i64,
}

/// The latest window in which anything was allowed, and its count: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    window: i64,
    counted: u64,
}

impl FixedWindow {
    /// At most `limit` in each window of its period. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to 10^12.
    pub fn new(limit: Rate) -> Result<Self, BadNumber> {
        window(limit).map(|(most, period)| FixedWindow { limit, most, period })
    }

    /// The limit of each window.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The window of the clock that contains `now`: its first instant, and the first of the next.
    pub fn window(&self, now: Time) -> [Time; 2] {
        let window = self.number(now);
        [window, window.saturating_add(1)]
            .map(|window| Time::from_micros(window.saturating_mul(self.period)))
    }

    /// The number of the window that contains `now`.
    fn number(&self, now: Time) -> i64 {
        now.as_micros().div_euclid(self.period)
    }

    /// The state at `now`.
    fn roll(&self, state: &State, now: Time) -> State {
        let window = self.number(now);
        let ahead = state.window.saturating_sub(window);
        match ahead {
            _ if state.counted == 0 => State { window, counted: 0 },
            ..0 => State { window, counted: 0 },
            0 | 1 => *state,
            2.. => State { window, ..*state },
        }
    }

    /// The end of the window of `state`, which is the beginning of the next.
    fn end(&self, state: &State) -> Time {
        Time::from_micros(state.window.saturating_add(1).saturating_mul(self.period))
    }
}

impl Limiter for FixedWindow {
    type State = State;

    fn initial(&self) -> State {
        State { window: 0, counted: 0 }
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        let Some(amount) = amount(cost) else {
            return Outcome::new(false, cost, self.limit.count());
        };
        let level = self.roll(state, now).counted.saturating_add(amount);
        Outcome::new(level <= self.most, events(level), self.limit.count())
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        let Some(amount) = amount(cost) else { return };
        let mut next = self.roll(state, now);
        if allowed && amount > 0 {
            next.counted = next.counted.saturating_add(amount);
            *state = next;
        } else if next.counted > 0 {
            // Only a clock that was set back moves what was counted. What a window counted that is over stays, since
            // the clock may be set back to it.
            *state = next;
        }
    }

    fn undo(&self, state: &mut State, at: Time, _now: Time, cost: f64) -> bool {
        if self.number(at) == state.window {
            state.counted = state.counted.saturating_sub(amount(cost).unwrap_or(0));
        }
        true
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let state = self.roll(state, now);
        match amount(cost) {
            Some(amount) if amount <= self.most => {
                let fits = state.counted.saturating_add(amount) <= self.most;
                Retry::After(if fits { Span::ZERO } else { now.until(self.end(&state)) })
            }
            _ => Retry::Never,
        }
    }

    fn remaining(&self, state: &State, now: Time) -> f64 {
        events(self.most.saturating_sub(self.roll(state, now).counted))
    }

    /// Until the window ends, if it has counted anything.
    fn reset_after(&self, state: &State, now: Time) -> Span {
        let state = self.roll(state, now);
        if state.counted == 0 { Span::ZERO } else { now.until(self.end(&state)) }
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        events(self.most) * touched(window.micros_up(), self.period) as f64
    }
}

impl Algorithm for FixedWindow {
    const FORM: Form = Form {
        name: "fixed-window",
        words: "RATE [from TIME|SPAN|first]",
        example: "fixed-window 10/1m",
        about: "at most the count in each window of the clock, or from 06:00, or from the first event; the same as a rate alone, 10/1m",
    };
    const UNIT: &'static str = "in window";
    const KIND: &'static Kind = &Kind {
        name: "fixed-window",
        spans: &["period"],
        read: |[period, ..], bytes| read(period.micros_up(), bytes).map(drop),
    };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let limit = given.rate()?;
        WindowFrom::read(given, limit)
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(FixedWindow::new(by.rate(self.limit)?)?)
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [Span::micros(self.period.unsigned_abs())])
    }

    fn keep(&self, state: &State, _now: Time, out: &mut Content) {
        out.signed(state.window).amount(state.counted);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        read(self.period, bytes)
    }

    fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
        in_f64::check_window(self.most, self.period)?;
        Ok(Some(InF64::new(
            Lua { name: "window", counts: true },
            [self.most as f64, self.period as f64],
        )))
    }
}

fn read(period: i64, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
    Ok(State { window: bytes.block(period, None)?, counted: bytes.amount("the count")? })
}

/// As in `fixed-window 10/1m`.
impl fmt::Display for FixedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed-window {}", self.limit)
    }
}
