//! How several limits together decide about an event.

use super::LIMITS;
use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};
use core::cmp::Ordering;
use core::fmt;

/// The outcome of several limits together, and the limit that decided.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "an event may pass only if it was allowed"]
#[non_exhaustive]
pub struct PolicyOutcome {
    /// Allowed if all limits allow the event. The level and the limit are those of the limit that decided; the
    /// wait is the longest of all limits.
    pub outcome: Outcome,
    /// The index in [`Policy::limits`](super::Policy::limits) of the limit that decided: the one with the highest ratio
    /// of level to limit, among the limits that refuse, or among all if none refuses.
    pub by: usize,
}

impl PolicyOutcome {
    /// True if the event may pass, at once or after a wait.
    pub const fn is_allowed(self) -> bool {
        self.outcome.is_allowed()
    }
}

/// As its outcome.
impl fmt::Display for PolicyOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcome.fmt(f)
    }
}

/// The outcome of limits together, given the outcome of each; allowed without limits. The order matters only for
/// [`PolicyOutcome::by`].
pub fn strictest(outcomes: impl IntoIterator<Item = Outcome>) -> PolicyOutcome {
    let each = outcomes.into_iter().enumerate().map(|(by, outcome)| PolicyOutcome { outcome, by });
    each.reduce(stricter).unwrap_or(PolicyOutcome { outcome: Outcome::new(true, 0.0, 0.0), by: 0 })
}

/// Returns which of two outcomes decides, the first if they are equal. If both allow the event, the result has the
/// longer wait.
pub(crate) fn stricter(a: PolicyOutcome, b: PolicyOutcome) -> PolicyOutcome {
    let less = tightness(&a.outcome, &b.outcome) == Ordering::Less;
    let (mut decides, other) = if less { (b, a) } else { (a, b) };
    decides.outcome.wait = longer(decides.outcome.wait, other.outcome.wait);
    decides
}

/// The wait for two limits together; `None` if either refuses.
pub(crate) fn longer(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    Some(a?.max(b?))
}

/// Orders outcomes: refused above allowed, then nearer to the limit above farther.
pub(crate) fn tightness(a: &Outcome, b: &Outcome) -> Ordering {
    b.is_allowed().cmp(&a.is_allowed()).then(fullness(a, b))
}

/// Compares the ratios of level to limit, then the limits.
pub(crate) fn fullness(a: &Outcome, b: &Outcome) -> Ordering {
    // A limit of 0 that allows an event only measures, and never decides before another.
    let share =
        |x: &Outcome| if x.is_allowed() && x.limit == 0.0 { 0.0 } else { x.level / x.limit };
    share(a).total_cmp(&share(b)).then(a.limit.total_cmp(&b.limit))
}

/// The wait from `now` until all limits let an event pass. `ask` returns the wait of each limit from a given instant,
/// if nothing is counted meanwhile.
///
/// A limit usually lets the event pass from some instant on, so the latest of these instants is the
/// answer. An adaptive limit can sink again, so all limits are asked once more at that instant.
pub fn retry_after<R: Iterator<Item = Retry>>(now: Time, ask: impl Fn(Time) -> R) -> Retry {
    let mut at = now;
    for _ in 0..ROUNDS {
        let mut latest = Span::ZERO;
        for retry in ask(at) {
            match retry {
                Retry::After(wait) if wait > latest => latest = wait,
                Retry::After(_) => {}
                Retry::Never => return Retry::Never,
            }
        }
        if latest == Span::ZERO {
            return Retry::After(now.until(at));
        }
        at = at.after(latest);
    }
    Retry::Never
}

/// How many times [`retry_after`] asks all limits before it answers [`Retry::Never`]; twice is nearly
/// always enough.
const ROUNDS: usize = 2 * LIMITS;
