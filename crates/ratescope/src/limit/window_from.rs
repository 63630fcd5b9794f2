//! A fixed window that begins at a time of one's own: `fixed-window 100/1d from 06:00`, or `from first`.
//!
//! It counts as the [fixed window](super::fixed_window) does. Only the edges lie elsewhere:
//!
//! | text | a window begins |
//! |---|---|
//! | `fixed-window 100/1d from 06:00` | at six in the morning, UTC |
//! | `fixed-window 100/1d from 00:00+02:00` | at midnight where clocks are two hours ahead of UTC; written as `from 22:00` |
//! | `fixed-window 100/1w from 4d` | on Monday, as the origin of time was on a Thursday |
//! | `fixed-window 10/1m from first` | with the first event that is counted, as INCR and EXPIRE do on Redis |
//!
//! A clock that is put forward and back has days of 23 and 25 hours, which it does not follow.
//!
//! It promises at most the limit in each such window, and so twice the limit around an edge. With `from first`, the
//! windows of different keys do not end together.
//!
//! The level is the count with the event; the limit is the count of the rate.
//!
//! # The edges
//! * **Equality:** the event that reaches the limit passes.
//! * **On an edge:** the first instant of a window belongs to it, and that after its period to the next.
//! * **Time runs backwards:** an event up to a period before the latest window counts in it. An event from further back
//!   shows that the clock was set back, and the count moves to its window, which with `from first` begins there.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax};
use super::amount::{amount, events, touched, window};
use super::any::AnyLimiter;
use super::fixed_window::FixedWindow;
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum From {
    /// So long after each multiple of the period.
    Offset(Span),
    /// With the first event that is counted after the window before.
    First,
}

/// A fixed window with a beginning of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFrom {
    limit: Rate,
    most: u64,
    period: i64,
    from: From,
    /// The offset; the period for [`From::First`].
    offset: i64,
}

/// The first instant of the latest window in which anything was allowed, and its count: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    begin: i64,
    counted: u64,
}

impl WindowFrom {
    /// At most `limit` in each window of its period. A limit of 0 refuses everything.
    ///
    /// # Errors
    /// When the count of the limit is neither 0 nor from 0.001 to 10^12, or the offset is 0 or not less than the period.
    pub fn new(limit: Rate, from: From) -> Result<Self, BadNumber> {
        let (most, period) = window(limit)?;
        let offset = match from {
            From::First => period,
            From::Offset(offset) => {
                let micros = offset.micros_up();
                if !(1..period).contains(&micros) {
                    let want = "longer than 0 and less than the period";
                    let what = "the offset in seconds";
                    return Err(BadNumber { what, given: offset.secs(), want });
                }
                micros
            }
        };
        Ok(WindowFrom { limit, most, period, from, offset })
    }

    /// The limit of each window.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// Where windows begin.
    pub fn from(&self) -> From {
        self.from
    }

    /// The window of the clock that contains `now`: its first instant, and the first of the next. `None` for
    /// [`From::First`], whose windows are the sender's own.
    pub fn window(&self, now: Time) -> Option<[Time; 2]> {
        let begin = self.begin(now);
        let window = [begin, begin.saturating_add(self.period)].map(Time::from_micros);
        (self.from != From::First).then_some(window)
    }

    /// Reads the word after `from`, if it is there.
    pub(super) fn read(given: &mut Given<'_>, limit: Rate) -> Result<AnyLimiter, Unreadable> {
        let Some(word) = given.value("from")? else { return Ok(FixedWindow::new(limit)?.into()) };
        if word.is("first") {
            return Ok(WindowFrom::new(limit, From::First)?.into());
        }
        let period = limit.per().micros_up();
        let offset = match (clock(word.text), word.text.parse::<Span>()) {
            (Some(micros), _) => micros.rem_euclid(period),
            (None, Ok(span)) if span.micros_up() < period => span.micros_up(),
            (None, Ok(_)) => {
                return Err(given
                    .wrong(word, "windows begin less than a period after its multiples")
                    .into());
            }
            (None, Err(_)) => {
                let help = "not the beginning of a window; write a time as 06:00 or 06:00+02:00, a span as 4d, or first";
                return Err(given.wrong(word, help).into());
            }
        };
        Ok(match offset {
            0 => FixedWindow::new(limit)?.into(),
            _ => WindowFrom::new(limit, From::Offset(Span::micros(offset.unsigned_abs())))?.into(),
        })
    }

    /// The first instant of the window that an event at `now` begins or is in, if nothing was counted before.
    fn begin(&self, now: Time) -> i64 {
        let now = now.as_micros();
        match self.from {
            From::First => now,
            From::Offset(_) => {
                let into = now.saturating_sub(self.offset).rem_euclid(self.period);
                now.saturating_sub(into)
            }
        }
    }

    /// The state at `now`.
    fn roll(&self, state: &State, now: Time) -> State {
        let into = now.as_micros().saturating_sub(state.begin);
        if state.counted == 0 || into >= self.period {
            State { begin: self.begin(now), counted: 0 }
        } else if into < -self.period {
            State { begin: self.begin(now), ..*state }
        } else {
            *state
        }
    }

    /// The end of the window of `state`.
    fn end(&self, state: &State) -> Time {
        Time::from_micros(state.begin.saturating_add(self.period))
    }
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

impl Limiter for WindowFrom {
    type State = State;

    fn initial(&self) -> State {
        State { begin: 0, counted: 0 }
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
        let into = at.as_micros().saturating_sub(state.begin);
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

    /// Also for [`From::First`]: windows do not overlap.
    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        events(self.most) * touched(window.micros_up(), self.period) as f64
    }
}

impl Algorithm for WindowFrom {
    const FORM: Form = FixedWindow::FORM;
    const UNIT: &'static str = FixedWindow::UNIT;
    const KIND: &'static Kind = &Kind {
        name: "window-from",
        spans: &["period", "offset"],
        read: |_, bytes| read(bytes).map(drop),
    };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        FixedWindow::read(given)
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(WindowFrom::new(by.rate(self.limit)?, self.from)?)
    }

    /// For [`From::First`], the offset is the period, which no other has.
    fn shape(&self) -> Shape {
        let spans = [self.period, self.offset].map(|micros| Span::micros(micros.unsigned_abs()));
        Shape::new(Self::KIND, spans)
    }

    fn keep(&self, state: &State, _now: Time, out: &mut Content) {
        out.signed(state.begin).amount(state.counted);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
        read(bytes)
    }

    fn in_f64(&self) -> Result<Option<InF64>, BadNumber> {
        in_f64::check_window(self.most, self.period)?;
        Ok(Some(InF64::new(
            Lua { name: "window_from", counts: true },
            [self.most as f64, self.period as f64, self.offset as f64],
        )))
    }
}

fn read(bytes: &mut Bytes<'_>) -> Result<State, KeptError> {
    Ok(State {
        begin: bytes.signed("the beginning of the window")?,
        counted: bytes.amount("the count")?,
    })
}

/// As in `fixed-window 100/1d from 06:00`.
impl fmt::Display for WindowFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed-window {} from ", self.limit)?;
        let minutes = self.offset / 60_000_000;
        match self.from {
            From::First => f.write_str("first"),
            From::Offset(_) if self.offset % 60_000_000 == 0 && minutes < 24 * 60 => {
                write!(f, "{:02}:{:02}", minutes / 60, minutes % 60)
            }
            From::Offset(offset) => write!(f, "{offset}"),
        }
    }
}
