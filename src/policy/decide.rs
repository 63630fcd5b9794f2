//! What several limits together make of an event.

use super::LIMITS;
use crate::limit::Limiter;
use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};
use core::cmp::Ordering;
use core::fmt;

/// The answer of a policy, and which of its limits decided.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "an event may pass only if it was allowed"]
pub struct Verdict {
    /// Whether the event may pass. The level and the limit are those of the limit that decided;
    /// the wait is the longest of any.
    pub outcome: Outcome,
    /// The place of the limit that decided in [`Policy::limits`](super::Policy::limits): of those
    /// that refuse, or else of all, the one whose level is the highest in terms of its limit.
    pub by: usize,
}

impl Verdict {
    /// Whether the event may pass, at once or after a wait.
    pub const fn is_allowed(self) -> bool {
        self.outcome.is_allowed()
    }
}

/// As its outcome.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcome.fmt(f)
    }
}

/// The first pass: what limits that answered `outcomes`, in their order, make of the event
/// together. But for the place of the limit that decided, nothing depends on the order. Without
/// any limit the event is allowed.
pub fn strictest(outcomes: impl IntoIterator<Item = Outcome>) -> Verdict {
    let each = outcomes.into_iter().enumerate().map(|(by, outcome)| Verdict { outcome, by });
    each.reduce(stricter).unwrap_or(Verdict { outcome: Outcome::new(true, 0.0, 0.0), by: 0 })
}

/// Of two verdicts the one that decides, with the longer wait.
pub(crate) fn stricter(a: Verdict, b: Verdict) -> Verdict {
    let less = tightness(&a.outcome, &b.outcome) == Ordering::Less;
    let (mut decides, other) = if less { (b, a) } else { (a, b) };
    if let (Some(wait), Some(longer)) = (decides.outcome.wait(), other.outcome.wait())
        && longer > wait
    {
        decides.outcome.decision = other.outcome.decision;
    }
    decides
}

fn tightness(a: &Outcome, b: &Outcome) -> Ordering {
    // A limit of 0 that lets an event pass is one that only measures.
    let share =
        |x: &Outcome| if x.is_allowed() && x.limit == 0.0 { 0.0 } else { x.level / x.limit };
    let refuses = b.is_allowed().cmp(&a.is_allowed());
    refuses.then(share(a).total_cmp(&share(b))).then(a.limit.total_cmp(&b.limit))
}

/// The first instant at which all limits let an event pass, if nothing is counted before.
pub(crate) fn retry_after<'a, L: Limiter + 'a>(
    held: impl Iterator<Item = (&'a L, &'a L::State)> + Clone,
    now: Time,
    cost: f64,
) -> Retry {
    let each = |(limiter, state): (&L, &L::State), at| limiter.retry_after(state, at, cost);
    retry_after_all(now, |at| held.clone().map(move |one| each(one, at)))
}

/// The first instant at which an event passes everything that is asked: `ask` lists how long after
/// an instant each would let it pass.
///
/// Each passes from its own instant on, so the latest of these is the first for all. Where that is
/// only nearly so (an adaptive limit can sink again), what is found is asked about once more.
pub(crate) fn retry_after_all<R: Iterator<Item = Retry>>(
    now: Time,
    ask: impl Fn(Time) -> R,
) -> Retry {
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

/// How often [`retry_after_all`] looks for a common instant: twice is enough but in strange cases.
const ROUNDS: usize = 2 * LIMITS;
