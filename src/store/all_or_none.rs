//! All or none: the keys of one event are locked in several limits at once. First all limits are
//! asked, then the event is counted in all of them or in none. A [`Store`](super::Store) and
//! [rules](crate::rules) decide so.

use super::held::Held;
use super::keyed_limit::KeyedLimit;
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{self, Verdict, strictest};
#[cfg(any(feature = "wait", all(test, loom)))]
use crate::time::Span;
use crate::time::Time;
#[cfg(not(target_arch = "wasm32"))]
use smallvec::SmallVec;

/// A list that usually has up to four items, and then needs no allocation. In WebAssembly, which has one thread, an
/// allocation costs less than the 3 kB of code that a page would load to do without.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type Few<T> = SmallVec<[T; 4]>;
#[cfg(target_arch = "wasm32")]
pub(crate) type Few<T> = alloc::vec::Vec<T>;

/// Locks the key of the event in each of `limits`. The hashes are computed before the first lock is taken.
/// The locks are taken in the order in which the limits were made, which is the same for all threads and rules,
/// so they cannot deadlock. The result has the order of `limits`.
///
/// # Panics
/// When a limit is given twice, before anything is locked: the event would wait for itself for ever,
/// and keep all others of its key waiting.
pub(crate) fn hold<'a>(
    limits: impl Iterator<Item = &'a KeyedLimit>,
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let hashed: Few<_> = limits.map(|limit| (limit, limit.hash(event))).collect();
    let number = |(limit, _): &(&KeyedLimit, u64)| limit.number;
    let is_before = |a: &_, b: &_| number(a) < number(b);
    // Rules are mostly asked in the order in which their limits were made.
    if hashed.is_sorted_by(is_before) {
        return hashed.iter().map(|(limit, hash)| limit.keys.hold(*hash)).collect();
    }
    let in_order = sorted(hashed.into_iter().enumerate(), |(_, hashed)| number(hashed));
    let are_different = in_order.is_sorted_by(|(_, a), (_, b)| is_before(a, b));
    assert!(are_different, "a limit was given twice");
    let held = in_order.iter().map(|(i, (limit, hash))| (*i, limit.keys.hold(*hash)));
    sorted(held, |(i, _)| *i).into_iter().map(|(_, held)| held).collect()
}

/// A few items in the order of a number, each inserted at its place: the sort of the standard library, which is fast
/// for many, is 2 kB of a page.
fn sorted<T>(items: impl Iterator<Item = T>, number: impl Fn(&T) -> usize) -> Few<T> {
    items.fold(Few::new(), |mut sorted, item| {
        let place = sorted.partition_point(|other| number(other) < number(&item));
        sorted.insert(place, item);
        sorted
    })
}

/// Decides about an event whose keys are locked, and counts it in all limits or in none. Rules judge each outcome
/// by its rule, which may be a shadow, have a cost of its own or not be known: see `Ruled::answer_by`.
pub(super) fn check<L: Limiter<State: PartialEq>>(
    held: &mut [Held<'_, L>],
    now: Time,
    cost: f64,
) -> Verdict {
    let outcomes: Few<Outcome> = held.iter().map(|held| held.peek(now, cost)).collect();
    let verdict = strictest(outcomes.iter().copied());
    for (held, outcome) in held.iter_mut().zip(outcomes) {
        held.record(now, cost, outcome.is_allowed(), verdict.is_allowed());
    }
    verdict
}

/// Counts an event whose keys are locked if it passes after `most` at the latest. Otherwise counts nothing,
/// and returns how long after `now` it would pass or should be tried again. If the clock was set back, the keys
/// follow it, so that not every attempt finds the same wait.
#[cfg(any(feature = "wait", all(test, loom)))]
pub(super) fn pass<L: Limiter<State: PartialEq>>(
    held: &mut [Held<'_, L>],
    now: Time,
    cost: f64,
    most: Span,
) -> Result<Verdict, Retry> {
    let verdict = strictest(held.iter().map(|held| held.peek(now, cost)));
    let wait = verdict.outcome.wait();
    if wait.is_some_and(|wait| wait <= most) {
        return Ok(check(held, now, cost));
    }
    held.iter_mut().for_each(|held| held.follow(now));
    Err(wait.map_or_else(|| retry_after(held, now, cost), Retry::After))
}

/// How long after `now` an event whose keys are locked would pass all limits.
pub(super) fn retry_after<L: Limiter<State: PartialEq>>(
    held: &[Held<'_, L>],
    now: Time,
    cost: f64,
) -> Retry {
    policy::retry_after(now, |at| held.iter().map(move |held| held.retry_after(at, cost)))
}

#[cfg(not(loom))]
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{KeyedLimit, hold};
    use crate::event::Event;
    use crate::policy::Policy;
    use crate::time::Time;

    #[test]
    #[should_panic(expected = "a limit was given twice")]
    fn a_repeated_limit_is_refused() {
        let policy: Policy = "gcra 5/1m per all & gcra 6/1m per all".parse().unwrap();
        let [one, other] = [0, 1].map(|i| KeyedLimit::new(&policy.limits()[i], 10));
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &() };
        assert_eq!(hold([&one, &other].into_iter(), &event).len(), 2);
        hold([&one, &other, &one].into_iter(), &event);
    }
}
