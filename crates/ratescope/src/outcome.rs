//! Outcomes: the answers of a [limiter](crate::limit), with the numbers that explain them.
//!
//! An [`Outcome`] says whether an event may pass, at once or after a wait. A [`Retry`] says when a
//! refused event would pass. It takes longer to compute, so it is a separate call,
//! [`Limiter::retry_after`](crate::Limiter::retry_after): otherwise the events of an attacker would
//! be the most expensive ones.

use crate::rate::Rate;
use crate::time::{Span, millionths_up};
use core::fmt;

/// The answer of a limiter to one event.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "an event may pass only if it was allowed"]
#[non_exhaustive]
pub struct Outcome {
    /// How long an allowed event waits in the queue, zero without a queue; `None` if the event is refused.
    pub wait: Option<Span>,
    /// The value that the limiter compared with its limit: a rate, an estimate, a count or a fill level, as each
    /// limiter's documentation says. An event whose cost cannot be counted is always refused, and for most limiters its
    /// level is the cost, which may be NaN.
    pub level: f64,
    /// The bound that the level was compared with.
    pub limit: f64,
}

/// When an event would pass, if nothing else is counted until then.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "it says how long to wait"]
pub enum Retry {
    /// After this span, the shortest one that suffices, rounded up to whole microseconds.
    After(Span),
    /// No wait is long enough: the cost is more than the limiter ever admits, or an adaptive limit has sunk for good.
    Never,
}

/// The part of a limit that a client may still use, for headers and dashboards.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quota {
    /// The quota and the span in which it may be used; `None` for a limiter that never refuses.
    pub limit: Option<Rate>,
    /// How much may still be counted: see [`Limiter::remaining`](crate::Limiter::remaining). In a rule with a cost of
    /// its own, it is a number of events of this cost.
    pub remaining: f64,
    /// How long until the key is as good as new: see [`Limiter::reset_after`](crate::Limiter::reset_after). With a
    /// limit of 0 it is at least the period, so that no client retries at once.
    pub reset: Span,
}

impl Quota {
    /// A quota, for a store of your own.
    pub const fn new(limit: Option<Rate>, remaining: f64, reset: Span) -> Self {
        Quota { limit, remaining, reset }
    }
}

impl Outcome {
    /// The outcome of a limiter without a queue: allowed at once if `passes`, or refused.
    pub const fn new(passes: bool, level: f64, limit: f64) -> Self {
        let wait = if passes { Some(Span::ZERO) } else { None };
        Outcome { wait, level, limit }
    }

    /// True if the event may pass, at once or after a wait.
    pub const fn is_allowed(self) -> bool {
        self.wait.is_some()
    }
}

impl Retry {
    /// At once.
    pub const NOW: Retry = Retry::After(Span::ZERO);

    /// The span to wait; `None` when no wait is long enough.
    pub const fn wait(self) -> Option<Span> {
        match self {
            Retry::After(wait) => Some(wait),
            Retry::Never => None,
        }
    }
}

/// As in `refused: level 10.4, limit 10`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Answer(self.wait), InNumbers(self))
    }
}

/// The numbers of an outcome with up to six decimals, as in `level 10.4, limit 10`. They are rounded so that they never
/// contradict the answer: a refused event is not below the limit.
pub(crate) struct InNumbers<'a>(pub(crate) &'a Outcome);

impl fmt::Display for InNumbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { level, limit, .. } = *self.0;
        let passes = self.0.is_allowed();
        for (name, number, up) in [("level ", level, !passes), (", limit ", limit, passes)] {
            f.write_str(name)?;
            match number as u64 {
                // A whole number has the same text as an integer, and is written much faster as one.
                whole if (1..1 << 53).contains(&whole) && whole as f64 == number => {
                    fmt::Display::fmt(&whole, f)?
                }
                _ => fmt::Display::fmt(&in_millionths(number, up), f)?,
            }
        }
        Ok(())
    }
}

/// A number below a billion in whole millionths, rounded up or down.
fn in_millionths(number: f64, up: bool) -> f64 {
    if !(0.0..1e9).contains(&number) {
        return number;
    }
    let above = millionths_up(number);
    let is_above = above as f64 / 1e6 > number;
    (above - i64::from(is_above && !up)) as f64 / 1e6
}

/// A wait in words, as in `allowed`, `allowed in 2.3s` or `refused`.
pub(crate) struct Answer(pub(crate) Option<Span>);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Span::ZERO) => f.write_str("allowed"),
            Some(wait) => write!(f, "allowed in {wait}"),
            None => f.write_str("refused"),
        }
    }
}

/// As in `now`, `in 2.3s` or `never`.
impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retry::After(wait) if *wait == Span::ZERO => f.write_str("now"),
            Retry::After(wait) => write!(f, "in {wait}"),
            Retry::Never => f.write_str("never"),
        }
    }
}
