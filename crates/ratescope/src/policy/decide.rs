//! How several limits together decide about an event.

use super::LIMITS;
use crate::outcome::{Outcome, Retry};
use crate::time::{Span, Time};
use core::cmp::Ordering;

/// The wait for two limits together; `None` if either refuses.
pub(crate) fn longer(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    Some(a?.max(b?))
}

/// Orders outcomes: refusals above the others, and then those nearer to their limit above those farther from it. The
/// greatest of several decides.
pub fn tightness(a: &Outcome, b: &Outcome) -> Ordering {
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
