//! Several limits at once: an event passes when all of them let it.
//!
//! Source: Josiah Carlson, "Introduction to rate limiting with Redis", parts 1 and 2. The first
//! version there counts in one limit after the other until one refuses, so that a refused event
//! uses up the limits it was put to before; a client over its limit per second then loses its
//! limit per hour to events that never passed, and the order of the limits matters. The remedy is
//! to pass over them twice: first all are asked, then the event is counted in all or in none.
//!
//! The one exception is for limits that count refused events by their nature: strict Exim and the
//! recent average. They count every event that was put to them, whoever refused it, as they do
//! when they are alone.
//!
//! [`AllOf`] is several limits on one key, and a limiter itself. For several keys, or limits of
//! different keys, put together a [`Part`] for each and [`check`] them.
//!
//! The wait is the longest, and the time to come back is the first at which all pass. The level
//! and the limit are those of the limit that decided: of the ones that refuse, or else of all,
//! the one whose level is the highest in terms of its limit. So nothing in an outcome depends on
//! the order of the limits.

use super::Limiter;
use crate::outcome::{Answer, Outcome, Retry};
use crate::time::{Span, Time};
use core::cmp::Ordering;
use core::fmt;

/// Several limits on one key.
#[derive(Clone, Debug, PartialEq)]
pub struct AllOf<L>(Vec<L>);

/// A limiter, and the state of the key that it is to decide about.
#[derive(Debug)]
pub struct Part<'a, L: Limiter> {
    /// The rule.
    pub limiter: &'a L,
    /// What is remembered of the key.
    pub state: &'a mut L::State,
}

/// Decides about an event that all `parts` must allow, and counts it in all of them or in none.
/// With no parts it is allowed.
pub fn check<L: Limiter>(parts: &mut [Part<'_, L>], now: Time, cost: f64) -> Outcome {
    let answer = ask_all(parts.iter().map(|part| (part.limiter, &*part.state)), now, cost);
    for part in parts.iter_mut() {
        part.limiter.count(part.state, now, cost, answer.passes());
    }
    let counted = parts.iter().map(|part| (part.limiter, &*part.state));
    answer.outcome(|| retry_all(counted, now, cost))
}

/// Decides as [`check`] would, and counts nothing.
pub fn peek<L: Limiter>(parts: &[(&L, &L::State)], now: Time, cost: f64) -> Outcome {
    let mut states: Vec<_> = parts.iter().map(|(_, state)| (*state).clone()).collect();
    let zip = parts.iter().zip(&mut states);
    let mut copies: Vec<_> =
        zip.map(|((limiter, _), state)| Part { limiter: *limiter, state }).collect();
    check(&mut copies, now, cost)
}

/// The first pass: what all of them together make of the event.
pub(crate) fn ask_all<'a, L: Limiter + 'a>(
    parts: impl Iterator<Item = (&'a L, &'a L::State)>,
    now: Time,
    cost: f64,
) -> Answer {
    let answers = parts.map(|(limiter, state)| limiter.ask(state, now, cost));
    answers.reduce(stricter).unwrap_or(Answer::new(true, 0.0, 0.0))
}

/// Of two answers the one that decides, with the longer wait.
fn stricter(a: Answer, b: Answer) -> Answer {
    let (decides, other) = if tightness(&a, &b) == Ordering::Less { (b, a) } else { (a, b) };
    match (decides.wait, other.wait) {
        (Some(wait), Some(longer)) if longer > wait => Answer { wait: Some(longer), ..decides },
        _ => decides,
    }
}

fn tightness(a: &Answer, b: &Answer) -> Ordering {
    // An answer with a limit of 0 that passes is from one that only measures.
    let share = |x: &Answer| if x.passes() && x.limit == 0.0 { 0.0 } else { x.level / x.limit };
    let refuses = b.passes().cmp(&a.passes());
    refuses.then(share(a).total_cmp(&share(b))).then(a.limit.total_cmp(&b.limit))
}

/// The first instant at which all of them pass.
///
/// Each passes from its own instant on, so the latest of these is the first for all. Where that is
/// only nearly so (an adaptive limit can sink again), what is found is asked about once more.
pub(crate) fn retry_all<'a, L: Limiter + 'a>(
    parts: impl Iterator<Item = (&'a L, &'a L::State)> + Clone,
    now: Time,
    cost: f64,
) -> Retry {
    let mut at = now;
    for _ in 0..ROUNDS {
        let mut latest = Span::ZERO;
        for (limiter, state) in parts.clone() {
            match limiter.retry_after(state, at, cost) {
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

/// How often [`retry_all`] looks for a common instant: twice is enough but in strange cases.
const ROUNDS: usize = 16;

impl<L> AllOf<L> {
    /// All of `limits`, in any order; with none of them everything is allowed.
    pub fn new(limits: Vec<L>) -> Self {
        AllOf(limits)
    }

    /// The limits.
    pub fn limits(&self) -> &[L] {
        &self.0
    }
}

impl<L: Limiter> AllOf<L> {
    /// The limits, each with its own state.
    pub fn each<'a>(
        &'a self,
        states: &'a [L::State],
    ) -> impl Iterator<Item = (&'a L, &'a L::State)> + Clone {
        self.0.iter().zip(states)
    }
}

impl<L: Limiter> Limiter for AllOf<L> {
    /// The states of the limits, in their order.
    type State = Box<[L::State]>;

    fn fresh(&self) -> Self::State {
        self.0.iter().map(L::fresh).collect()
    }

    fn ask(&self, state: &Self::State, now: Time, cost: f64) -> Answer {
        ask_all(self.each(state), now, cost)
    }

    fn count(&self, state: &mut Self::State, now: Time, cost: f64, allowed: bool) {
        for (limit, state) in self.0.iter().zip(state) {
            limit.count(state, now, cost, allowed);
        }
    }

    fn retry_after(&self, state: &Self::State, now: Time, cost: f64) -> Retry {
        retry_all(self.each(state), now, cost)
    }

    /// The least of any.
    fn remaining(&self, state: &Self::State, now: Time) -> f64 {
        let each = self.each(state).map(|(limit, state)| limit.remaining(state, now));
        each.fold(f64::INFINITY, f64::min)
    }

    /// The longest of any.
    fn reset_after(&self, state: &Self::State, now: Time) -> Span {
        let each = self.each(state).map(|(limit, state)| limit.reset_after(state, now));
        each.fold(Span::ZERO, |longest, span| if span > longest { span } else { longest })
    }

    /// The least of any.
    fn most_in(&self, window: Span, cost: f64) -> f64 {
        let each = self.0.iter().map(|limit| limit.most_in(window, cost));
        each.fold(f64::INFINITY, f64::min)
    }
}

/// As in `gcra 10/1s burst 10 & fixed-window 240/1h`.
impl<L: fmt::Display> fmt::Display for AllOf<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, limit) in self.0.iter().enumerate() {
            write!(f, "{}{limit}", if i == 0 { "" } else { " & " })?;
        }
        Ok(())
    }
}
