//! The trait by which each limiter describes itself.

use super::Limiter;
use super::any::AnyLimiter;
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;

/// The text form, quota, kept state and Lua of a limiter. Each limiter implements it in its own file, and [`AnyLimiter`]
/// delegates to it.
pub(super) trait Algorithm: Limiter + fmt::Display + Into<AnyLimiter> {
    /// The text form, which `Display` writes with every word.
    const FORM: Form;

    /// A word for the level.
    const UNIT: &'static str;

    /// The kind of its kept states.
    const KIND: &'static Kind;

    /// Reads the words after the name.
    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable>;

    /// See [`AnyLimiter::quota`].
    fn quota(&self) -> Option<Rate>;

    /// How much of the [quota](Self::quota) is left, never more than it.
    fn left(&self, state: &Self::State, now: Time) -> f64 {
        let remaining = self.remaining(state, now);
        self.quota().map_or(remaining, |quota| remaining.min(quota.count()))
    }

    /// See [`AnyLimiter::relaxed`].
    fn relaxed(&self, by: Relax) -> Result<Self, NotRelaxed>;

    /// See [`AnyLimiter::delays`].
    fn delays(&self) -> bool {
        false
    }

    /// See [`AnyLimiter::shape`].
    fn shape(&self) -> Shape;

    /// Appends the state in plain units, as of `now`.
    fn keep(&self, state: &Self::State, now: Time, out: &mut Content);

    /// Reads a state that a limiter of the same shape has kept.
    fn restore(&self, bytes: &mut Bytes<'_>) -> Result<Self::State, KeptError>;

    /// The state as of `now`, for a limiter with other numbers. Most states, and the kept form of a bucket, say by
    /// themselves since when they drain.
    fn as_of(&self, state: &Self::State, _now: Time) -> Self::State {
        state.clone()
    }

    /// See [`Keeps::cut`](super::kept::Keeps::cut). Only a bucket can hold more than it has room for.
    fn cut(&self, _state: &mut Self::State) {}

    /// See [`AnyLimiter::in_f64`]; an error when a number is outside of the domain. Limiters that compute in f64 return
    /// no error.
    fn in_f64(&self) -> Result<InF64, BadNumber>;
}

/// The items of [`Algorithm`] for a state that is kept field by field. `$kind` and `$spans` are its shape.
/// Each field is followed by the method that writes and reads its number, and by its name in errors.
macro_rules! kept {
    ($kind:literal $spans:tt $state:ident { $($field:ident: $number:ident $part:literal,)* }) => {
        const KIND: &'static Kind = &Kind {
            name: $kind,
            spans: &$spans,
            read: |_, bytes| {
                $(bytes.$number($part)?;)*
                Ok(())
            },
        };

        fn keep(&self, state: &Self::State, _now: Time, out: &mut Content) {
            $(out.$number(state.$field);)*
        }

        fn restore(&self, bytes: &mut Bytes<'_>) -> Result<Self::State, KeptError> {
            Ok($state { $($field: bytes.$number($part)?,)* })
        }
    };
}

pub(super) use kept;

/// The size of a bucket per the time to fill it at `rate`; `None` if there is no such rate.
pub(super) fn fill(size: f64, rate: Rate) -> Option<Rate> {
    let time = Span::try_from_secs_f64(size / rate.frequency()).ok()?;
    Rate::new(size, time).ok()
}

/// How far limits are relaxed, in percent: 100 leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relax(pub(super) f64);

impl Relax {
    pub(super) fn count(self, count: f64) -> f64 {
        // Multiplies first, so that 110 % of 100 is exactly 110.
        count * self.0 / 100.0
    }

    pub(super) fn rate(self, rate: Rate) -> Result<Rate, BadNumber> {
        Rate::new(self.count(rate.count()), rate.per())
    }
}

/// Why a limiter cannot be relaxed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum NotRelaxed {
    /// It has no number to multiply; this says why.
    Fixed(&'static str),
    /// A number gets out of range.
    Number(BadNumber),
}

impl From<BadNumber> for NotRelaxed {
    fn from(error: BadNumber) -> Self {
        NotRelaxed::Number(error)
    }
}

impl fmt::Display for NotRelaxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRelaxed::Fixed(why) => write!(f, "{why}, so it cannot be relaxed"),
            NotRelaxed::Number(error) => write!(f, "when relaxed, {error}"),
        }
    }
}

impl core::error::Error for NotRelaxed {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            NotRelaxed::Number(error) => Some(error),
            NotRelaxed::Fixed(_) => None,
        }
    }
}
