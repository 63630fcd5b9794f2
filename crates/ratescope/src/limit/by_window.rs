//! The limiters that count in blocks: sliding window and sliding log. They differ in the precision of their blocks. The
//! arithmetic is in `history.rs`.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax};
use super::any::AnyLimiter;
use super::history::{Blocks, Window};
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// A limiter that counts in blocks. `P` is the length of a block: a [`Span`] for the
/// [`SlidingWindow`](super::sliding_window::SlidingWindow), and exact for the
/// [`SlidingLog`](super::sliding_log::SlidingLog).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByWindow<P> {
    limit: Rate,
    pub(super) precision: P,
    pub(super) window: Window,
}

/// The length of a block of a window, and how a limiter with such blocks is named.
pub(super) trait Precision: Copy + fmt::Debug + PartialEq {
    const FORM: Form;
    const KIND: &'static Kind;
    fn read(rate: Rate, given: &mut Given<'_>) -> Result<Self, Unreadable>;
    fn window(self, limit: Rate) -> Result<Window, BadNumber>;
    fn shape(self, period: Span) -> Shape;
    /// Writes the words after the rate, whose period is `period`.
    fn write(self, period: Span, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<P> ByWindow<P> {
    pub(super) fn of(limit: Rate, precision: P) -> Result<Self, BadNumber>
    where
        P: Precision,
    {
        Ok(ByWindow { limit, precision, window: precision.window(limit)? })
    }

    /// The limit.
    pub fn limit(&self) -> Rate {
        self.limit
    }

    /// The first instant whose events still count at `now`.
    pub fn since(&self, now: Time) -> Time {
        self.window.since(now)
    }
}

impl<P: Precision> Limiter for ByWindow<P> {
    /// 40 bytes, and 16 for each block of its capacity.
    type State = Blocks;

    fn initial(&self) -> Blocks {
        Blocks::default()
    }

    fn peek(&self, state: &Blocks, now: Time, cost: f64) -> Outcome {
        self.window.peek(state, now, cost, self.limit.count())
    }

    fn record(&self, state: &mut Blocks, now: Time, cost: f64, allowed: bool) {
        self.window.record(state, now, cost, allowed);
    }

    fn undo(&self, state: &mut Blocks, at: Time, _now: Time, cost: f64) -> bool {
        self.window.undo(state, at, cost);
        true
    }

    fn grows(&self) -> bool {
        true
    }

    fn forget(&self, state: &mut Blocks, now: Time) {
        self.window.forget(state, now);
    }

    fn retry_after(&self, state: &Blocks, now: Time, cost: f64) -> Retry {
        self.window.retry_after(state, now, cost)
    }

    fn remaining(&self, state: &Blocks, now: Time) -> f64 {
        self.window.remaining(state, now)
    }

    /// Until the latest block with an allowed event has left the window.
    fn reset_after(&self, state: &Blocks, now: Time) -> Span {
        self.window.reset_after(state, now)
    }

    fn max_admitted(&self, window: Span, _cost: f64) -> f64 {
        self.window.max_admitted(window)
    }
}

impl<P: Precision> Algorithm for ByWindow<P>
where
    Self: Into<AnyLimiter>,
{
    const FORM: Form = P::FORM;
    const UNIT: &'static str = "in window";
    const KIND: &'static Kind = P::KIND;

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        let rate = given.rate()?;
        let precision = P::read(rate, given)?;
        Ok(Self::of(rate, precision)?.into())
    }

    fn quota(&self) -> Option<Rate> {
        Some(self.limit)
    }

    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed> {
        Ok(Self::of(by.rate(self.limit)?, self.precision)?)
    }

    fn shape(&self) -> Shape {
        self.precision.shape(self.limit.per().whole_micros())
    }

    fn keep(&self, state: &Blocks, _now: Time, out: &mut Content) {
        state.keep(out);
    }

    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<Blocks, KeptError> {
        Ok(self.window.fit(&Blocks::read(self.window.width, bytes)?))
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        self.window.in_f64()
    }
}

/// As in `sliding-log 10/1s`, `sliding-window 240/1h` or `sliding-window 240/1h precision 10s`.
impl<P: Precision> fmt::Display for ByWindow<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", P::FORM.name, self.limit)?;
        self.precision.write(self.limit.per(), f)
    }
}
