//! Outcomes: what a [limiter](crate::limit) answers, with the numbers that it is based on.
//!
//! An [`Outcome`] says whether an event may pass, at once or after a wait, or when to come back. An
//! [`Answer`] is the same before anything is counted; only those who write a limiter meet it.

use crate::text::Decimal;
use crate::time::Span;
use core::fmt;

/// The answer to one event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Whether it may pass, and when.
    pub decision: Decision,
    /// What the limiter measured to decide: a rate, an estimate, a count or a fill, in the
    /// unit of its limit. Each limiter's documentation says which.
    pub level: f64,
    /// What the level was held against.
    pub limit: f64,
}

/// What a limiter makes of an event before anything is counted: an [`Outcome`] but for the time
/// to come back, which takes longer to find than the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// How long the event would stand in the queue, zero without one; `None` when it is refused.
    pub wait: Option<Span>,
    /// As in [`Outcome::level`].
    pub level: f64,
    /// As in [`Outcome::limit`].
    pub limit: f64,
}

impl Answer {
    /// The answer of a limiter without a queue: `passes` at once or is refused.
    pub const fn new(passes: bool, level: f64, limit: f64) -> Self {
        Answer { wait: if passes { Some(Span::ZERO) } else { None }, level, limit }
    }

    /// Whether the event may pass, at once or after a wait.
    pub const fn passes(self) -> bool {
        self.wait.is_some()
    }

    /// The outcome, with the time to come back from `retry_after` when it is needed.
    pub fn outcome(self, retry_after: impl FnOnce() -> Retry) -> Outcome {
        let decision = match self.wait {
            Some(wait) => Decision::Allowed { wait },
            None => Decision::Denied { retry_after: retry_after() },
        };
        Outcome { decision, level: self.level, limit: self.limit }
    }
}

/// Allowed or denied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The event may pass after `wait`; every limiter without a queue says zero.
    Allowed {
        /// How long the event stands in the queue.
        wait: Span,
    },
    /// The event is refused.
    Denied {
        /// When the same event would pass, if nothing else arrives.
        retry_after: Retry,
    },
}

/// When a refused event would pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retry {
    /// After this long, and not sooner by more than the rounding to whole microseconds.
    After(Span),
    /// Never: its cost is more than the limit ever admits.
    Never,
}

impl Outcome {
    /// Allowed at once.
    pub const fn allowed(level: f64, limit: f64) -> Self {
        Outcome { decision: Decision::Allowed { wait: Span::ZERO }, level, limit }
    }

    /// Denied until `retry_after` has passed.
    pub const fn denied(retry_after: Retry, level: f64, limit: f64) -> Self {
        Outcome { decision: Decision::Denied { retry_after }, level, limit }
    }

    /// Whether the event may pass, at once or after a wait.
    pub const fn is_allowed(self) -> bool {
        matches!(self.decision, Decision::Allowed { .. })
    }

    /// When the event would pass; `None` when it is allowed.
    pub const fn retry_after(self) -> Option<Retry> {
        match self.decision {
            Decision::Allowed { .. } => None,
            Decision::Denied { retry_after } => Some(retry_after),
        }
    }
}

/// The reason in numbers, as in `refused: level 10.4, limit 10; allowed again in 2.3s`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, limit) = (Decimal(self.level), Decimal(self.limit));
        match self.decision {
            Decision::Allowed { wait } if wait == Span::ZERO => {
                write!(f, "allowed: level {level}, limit {limit}")
            }
            Decision::Allowed { wait } => {
                write!(f, "allowed in {wait}: level {level}, limit {limit}")
            }
            Decision::Denied { retry_after: Retry::After(wait) } => {
                write!(f, "refused: level {level}, limit {limit}; allowed again in {wait}")
            }
            Decision::Denied { retry_after: Retry::Never } => {
                write!(f, "refused: level {level}, limit {limit}; it can never be allowed")
            }
        }
    }
}
