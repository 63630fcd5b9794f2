//! The fixed window: at most the limit in each minute of the clock.
//!
#![doc = include_str!("pictures/fixed_window.svg")]
//!
//! Source: the plain counter of Josiah Carlson, "Introduction to rate limiting with Redis", part
//! 1, but counting allowed events only, as his part 2 asks.
//!
//! Time is cut into windows of one period, and each counts from zero. It promises at most the limit in each of *these*
//! windows. They begin at the multiples of the period since the origin of time, unless it says otherwise:
//!
//! | text | a window begins |
//! |---|---|
//! | `fixed-window 100/1d` | at midnight, UTC |
//! | `fixed-window 100/1d from 06:00` | at six in the morning, UTC |
//! | `fixed-window 100/1d from 00:00+02:00` | at midnight where clocks are two hours ahead of UTC; written as `from 22:00` |
//! | `fixed-window 100/1w from 4d` | on Monday, as the origin of time was on a Thursday |
//! | `fixed-window 10/1m from first` | with the first event that is counted |
//! | `fixed-window 10/1m from first attempts` | with the first event, as INCR and EXPIRE do on Redis |
//!
//! A clock that is put forward and back has days of 23 and 25 hours, which it does not follow.
//!
//! # Attempts
//! With `attempts`, refused events count, too, as a plain INCR counts them. A sender that goes on is refused until the
//! window ends, as without. But among several limits, an event that one of them refuses uses up the others. Carlson
//! calls it a counting bug. Under his limits, `10/1s & 120/1m & 240/1h`, a client that sends 120 a second gets ten
//! through in an hour: the first second uses up the minute, and the second one the hour. If only allowed events are
//! counted, it gets 240.
//!
//! # At a glance
//! * **For:** quotas and invoices, which are per hour or day of the clock.
//! * **Against:** protecting a backend. The whole limit just before an edge and again just after is twice the limit
//!   within a moment, and all keys' windows end together, unless they begin with their first events.
//! * **Memory:** 16 bytes a key, whatever the limit.
//! * **Elsewhere:** *fixed window counter*; `rate_limit` of envoyproxy/ratelimit; with `from first attempts`, `INCR` and
//!   `EXPIRE` on Redis.
//! * **Wrong in articles:** a window that is never reset; `INCR` and `EXPIRE` in two calls, so that a key without an
//!   expiry is refused for ever; `EXPIRE` at every event, so that the window never ends for a sender that goes on.
//!
//! The level is the count with the event; the limit is the count of the rate.
//!
//! # The edges
//! * **Equality:** the event that reaches the limit passes.
//! * **On an edge:** the first instant of a window belongs to it, and that after its period to the next.
//! * **Time runs backwards:** an event up to a period before the latest window counts in it. An event from further back
//!   shows that the clock was set back, and the count moves to its window, which with `from first` begins there.
//! * **Another beginning:** when the limit changes, the window in progress ends when it would have ended.
//! * **The event that began a window is undone:** with `from first`, the window stays if it counted other events, and
//!   otherwise the next event begins one. Windows never overlap, so each of them admits at most the limit in any case.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax, kept};
use super::amount::{amount, events, touched, window};
use super::any::AnyLimiter;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
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
///     let now = Time::ZERO.after(Span::from_secs(second));
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
    begins: Begins,
    /// The offset; the period for [`Begins::WithFirst`].
    offset: i64,
    attempts: bool,
}

/// The most attempts that are counted, in millionths: beyond 2^52 an f64 is not exact. The limits that Redis can compute
/// are below half of it.
const MOST_ATTEMPTS: u64 = 4_503_599_627_000_000;

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Begins {
    /// So long after each multiple of the period since the origin of time.
    After(Span),
    /// With the first event that is counted after the window before.
    WithFirst,
}

/// The first instant of the latest window in which anything was allowed, and its count: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct State {
    begin: Time,
    counted: u64,
}

impl FixedWindow {
    /// At most `limit` in each window of its period. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to 10^12.
    pub fn new(limit: Rate) -> Result<Self, BadNumber> {
        let begins = Begins::After(Span::ZERO);
        let (most, period) = window(limit)?;
        Ok(FixedWindow { limit, most, period, begins, offset: 0, attempts: false })
    }

    /// The same limit, but refused events count, too, if `attempts`.
    #[must_use]
    pub fn with_attempts(self, attempts: bool) -> Self {
        FixedWindow { attempts, ..self }
    }

    /// True if refused events count, too.
    pub fn counts_attempts(&self) -> bool {
        self.attempts
    }

    /// The same limit in windows that begin elsewhere.
    ///
    /// # Errors
    /// When they would begin a period or more after the multiples of the period.
    pub fn with_begin(self, begins: Begins) -> Result<Self, BadNumber> {
        let offset = match begins {
            Begins::WithFirst => self.period,
            Begins::After(offset) if offset.micros_up() < self.period => offset.micros_up(),
            Begins::After(offset) => {
                let want = "less than the period";
                return Err(BadNumber {
                    what: "the offset in seconds",
                    given: offset.as_secs_f64(),
                    want,
                });
            }
        };
        Ok(FixedWindow { begins, offset, ..self })
    }

    /// The limit of each window.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// Where windows begin.
    pub fn begins(&self) -> Begins {
        self.begins
    }

    /// True if its windows begin at the multiples of the period, and only allowed events count.
    pub fn is_plain(&self) -> bool {
        self.offset == 0 && !self.attempts
    }

    /// The window of the clock that contains `now`: its first instant, and the first of the next. `None` for
    /// [`Begins::WithFirst`], whose windows are the sender's own.
    pub fn window(&self, now: Time) -> Option<[Time; 2]> {
        let begin = self.begin(now);
        (self.begins != Begins::WithFirst).then(|| [begin, self.end(begin)])
    }

    /// The first instant of the window that an event at `now` begins or is in, if nothing was counted before.
    fn begin(&self, now: Time) -> Time {
        match self.begins {
            Begins::WithFirst => now,
            Begins::After(_) => {
                let micros = now.as_micros();
                let into = micros.saturating_sub(self.offset).rem_euclid(self.period);
                Time::from_micros(micros.saturating_sub(into))
            }
        }
    }

    /// The state at `now`.
    fn roll(&self, state: &State, now: Time) -> State {
        let into = now.as_micros().saturating_sub(state.begin.as_micros());
        if state.counted == 0 || into >= self.period {
            State { begin: self.begin(now), counted: 0 }
        } else if into < -self.period {
            State { begin: self.begin(now), ..*state }
        } else {
            *state
        }
    }

    /// The end of a window, which is the beginning of the next.
    fn end(&self, begin: Time) -> Time {
        Time::from_micros(begin.as_micros().saturating_add(self.period))
    }
}

/// Reads the word after `from`, if it is there.
fn begins(given: &mut Given<'_>, period: i64) -> Result<Begins, Unreadable> {
    let Some(word) = given.value("from")? else { return Ok(Begins::After(Span::ZERO)) };
    if word.is("first") {
        return Ok(Begins::WithFirst);
    }
    if let Some(micros) = clock(word.text) {
        return Ok(Begins::After(Span::from_micros(micros.rem_euclid(period).unsigned_abs())));
    }
    let help = match word.text.parse::<Span>() {
        Ok(span) if span.micros_up() < period => return Ok(Begins::After(span)),
        Ok(_) => "windows begin less than a period after its multiples",
        Err(_) => {
            "not the beginning of a window; write a time as 06:00 or 06:00+02:00, a span as 4d, or first"
        }
    };
    Err(given.wrong(word, help).into())
}

/// A time of the day as in `06:00` or, by a clock that is ahead, `06:00+02:00`, in microseconds.
fn clock(text: &str) -> Option<i64> {
    let minutes = |text: &str, most: i64| {
        let (hours, minutes) = text.split_once(':')?;
        let two = |digits: &str| {
            let is_two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i64>().ok().filter(|_| is_two)
        };
        let (hours, minutes) = (two(hours)?, two(minutes)?);
        (hours <= most && minutes < 60).then_some(hours * 60 + minutes)
    };
    let zone = text.find(['+', '-']).unwrap_or(text.len());
    let (time, zone) = text.split_at_checked(zone)?;
    let ahead = match zone.split_at_checked(1) {
        Some(("+", ahead)) => minutes(ahead, 14)?,
        Some(("-", behind)) => -minutes(behind, 14)?,
        _ => 0,
    };
    const DAY: i64 = 24 * 60;
    Some((minutes(time, 23)? - ahead).rem_euclid(DAY) * 60_000_000)
}

impl Limiter for FixedWindow {
    type State = State;

    fn initial(&self) -> State {
        State { begin: Time::ZERO, counted: 0 }
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
        if (allowed || self.attempts) && amount > 0 {
            next.counted = next.counted.saturating_add(amount);
            if self.attempts {
                next.counted = next.counted.min(MOST_ATTEMPTS.max(self.most + 1));
            }
            *state = next;
        } else if next.counted > 0 {
            // Only a clock that was set back moves the count to another window. The count of a window that is over
            // stays, since the clock may be set back to it.
            *state = next;
        }
    }

    fn undo(&self, state: &mut State, at: Time, _now: Time, cost: f64) -> bool {
        if self.attempts {
            return false;
        }
        let into = at.as_micros().saturating_sub(state.begin.as_micros());
        if (0..self.period).contains(&into) {
            state.counted = state.counted.saturating_sub(amount(cost).unwrap_or(0));
        }
        true
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        let state = self.roll(state, now);
        match amount(cost) {
            Some(amount) if amount <= self.most => {
                let fits = state.counted.saturating_add(amount) <= self.most;
                Retry::After(if fits { Span::ZERO } else { now.until(self.end(state.begin)) })
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
        if state.counted == 0 { Span::ZERO } else { now.until(self.end(state.begin)) }
    }

    /// Also for [`Begins::WithFirst`]: windows do not overlap.
    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        events(self.most) * touched(window.micros_up(), self.period) as f64
    }
}

impl Algorithm for FixedWindow {
    const FORM: Form = Form {
        name: "fixed-window",
        words: "RATE [from TIME|SPAN|first] [attempts]",
        example: "fixed-window 10/1m",
        about: "at most the count in each window of the clock, or from 06:00, or from the first event; refused events count, too, with attempts; the same as a rate alone, 10/1m",
    };
    const UNIT: &'static str = "in window";
    kept!("fixed-window" ["period"] State {
        begin: time "the beginning of the window",
        counted: amount "the count",
    });

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let limit = FixedWindow::new(given.rate()?)?;
        let attempts = given.flag(&["attempts"]).is_some();
        Ok(limit.with_begin(begins(given, limit.period)?)?.with_attempts(attempts).into())
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        let relaxed = FixedWindow::new(by.rate(self.limit)?)?.with_begin(self.begins)?;
        Ok(relaxed.with_attempts(self.attempts))
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [Span::from_micros(self.period.unsigned_abs())])
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        in_f64::check_window(self.most, self.period)?;
        Ok(InF64::new(
            Lua { name: "window", counts: true },
            [
                self.most as f64,
                self.period as f64,
                self.offset as f64,
                f64::from(u8::from(self.attempts)),
            ],
        ))
    }
}

/// As in `fixed-window 10/1m` or `fixed-window 100/1d from 06:00`.
impl fmt::Display for FixedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed-window {}", self.limit)?;
        let minutes = self.offset / 60_000_000;
        match self.begins {
            Begins::WithFirst => f.write_str(" from first")?,
            Begins::After(Span::ZERO) => {}
            Begins::After(_) if self.offset % 60_000_000 == 0 && minutes < 24 * 60 => {
                write!(f, " from {:02}:{:02}", minutes / 60, minutes % 60)?;
            }
            Begins::After(offset) => write!(f, " from {offset}")?,
        }
        f.write_str(if self.attempts { " attempts" } else { "" })
    }
}
