//! All or none: the keys of one event are locked in several limits at once. First all limits are
//! asked, then the event is counted in all of them or in none. A [`KeyedPolicy`](super::KeyedPolicy) and
//! [rules](crate::rules) decide so.

use super::held::Held;
use super::keyed_limit::KeyedLimit;
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{self, PolicyOutcome, stricter, strictest};
use crate::time::Span;
use crate::time::Time;
use smallvec::SmallVec;

/// A list that usually has up to four items, and then needs no allocation.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// Locks the key of the event in each of `limits`, which are in the order in which they were made: all threads
/// lock in this order, so they cannot deadlock. The hashes are computed before the first lock is taken.
#[inline(always)]
pub(super) fn hold<'a>(limits: &'a [KeyedLimit], event: &Event<'_>) -> Few<Held<'a, AnyLimiter>> {
    debug_assert!(limits.is_sorted_by(|a, b| a.number < b.number));
    let hashes: Few<u64> = limits.iter().map(|limit| limit.hash(event)).collect();
    let mut held = Few::new();
    for (limit, hash) in limits.iter().zip(hashes) {
        held.push(limit.lock(hash));
    }
    find(&mut held);
    held
}

/// As [`hold`], without a list, for a number of limits that is known at compile time.
#[inline(always)]
pub(crate) fn hold_each<'a, const N: usize>(
    limits: [&'a KeyedLimit; N],
    event: &Event<'_>,
) -> [Held<'a, AnyLimiter>; N] {
    debug_assert!(limits.is_sorted_by(|a, b| a.number < b.number));
    let hashed = limits.map(|limit| (limit, limit.hash(event)));
    let mut held = hashed.map(|(limit, hash)| limit.lock(hash));
    find(&mut held);
    held
}

/// As [`hold`], for limits in any order, which the result keeps.
///
/// # Panics
/// When a limit is given twice, before anything is locked: the thread would deadlock with itself.
pub(crate) fn hold_in_any_order<'a>(
    limits: impl Iterator<Item = &'a KeyedLimit>,
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let hashed: Few<_> = limits.map(|limit| (limit, limit.hash(event))).collect();
    let number = |(limit, _): &(&KeyedLimit, u64)| limit.number;
    let is_before = |a: &_, b: &_| number(a) < number(b);
    let mut held = Few::new();
    // Rules are mostly asked in the order in which their limits were made.
    if hashed.is_sorted_by(is_before) {
        for (limit, hash) in hashed {
            held.push(limit.lock(hash));
        }
    } else {
        let mut in_order: Few<_> = hashed.into_iter().enumerate().collect();
        in_order.sort_unstable_by_key(|(_, hashed)| number(hashed));
        let are_different = in_order.is_sorted_by(|(_, a), (_, b)| is_before(a, b));
        assert!(are_different, "a limit was given twice");
        let each = in_order.into_iter().map(|(i, (limit, hash))| (i, limit.lock(hash)));
        let mut each: Few<_> = each.collect();
        each.sort_unstable_by_key(|(i, _)| *i);
        held.extend(each.into_iter().map(|(_, held)| held));
    }
    find(&mut held);
    held
}

/// Finds the entries of the keys, once all are locked. Taking a lock waits for all earlier reads, so with a search
/// between two locks the processor would wait for the memory of one key after the other.
#[inline(always)]
fn find(held: &mut [Held<'_, AnyLimiter>]) {
    for held in held {
        held.find();
    }
}

/// Decides about an event whose keys are locked, and counts it in all limits or in none.
#[inline(always)]
pub(super) fn check<L: Limiter<State: PartialEq>>(
    held: &mut [Held<'_, L>],
    now: Time,
    cost: f64,
) -> PolicyOutcome {
    let mut so_far: Option<PolicyOutcome> = None;
    let see = |by, outcome| {
        let next = PolicyOutcome { outcome, by };
        so_far = Some(so_far.map_or(next, |so_far| stricter(so_far, next)));
    };
    check_each(held, now, |_| cost, see);
    so_far.unwrap_or_else(|| strictest([]))
}

/// As [`check`], with a cost for each limit; `see` gets the outcome of each, in their order. Rules with shadows, with
/// stretched limits or without states decide in another way: see `MemoryStore::answer_as`.
#[inline(always)]
pub(crate) fn check_each<L: Limiter<State: PartialEq>>(
    held: &mut [Held<'_, L>],
    now: Time,
    cost: impl Fn(usize) -> f64,
    mut see: impl FnMut(usize, Outcome),
) {
    let Some((last, others)) = held.split_last_mut() else { return };
    let mut passes = true;
    for (by, held) in others.iter_mut().enumerate() {
        let outcome = held.peek(now, cost(by));
        held.passed = outcome.is_allowed();
        passes &= held.passed;
        see(by, outcome);
    }
    let outcome = last.check_last(now, cost(others.len()), passes);
    passes &= outcome.is_allowed();
    see(others.len(), outcome);
    for (by, held) in others.iter_mut().enumerate() {
        held.record(now, cost(by), held.passed, passes);
    }
}

/// Counts an event whose keys are locked if it passes within `most`. Otherwise counts nothing, and returns how long
/// after `now` it would pass or should be retried. If the clock was set back, the keys follow it, so that retries do
/// not find the same wait for ever.
pub(super) fn pass<L: Limiter<State: PartialEq>>(
    held: &mut [Held<'_, L>],
    now: Time,
    cost: f64,
    most: Span,
) -> Result<PolicyOutcome, Retry> {
    let wait = strictest(held.iter().map(|held| held.peek(now, cost))).outcome.wait;
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
    use super::{KeyedLimit, hold_in_any_order};
    use crate::event::Event;
    use crate::policy::Policy;
    use crate::time::Time;

    #[test]
    #[should_panic(expected = "a limit was given twice")]
    fn a_repeated_limit_is_refused() {
        let policy: Policy = "gcra 5/1m per all & gcra 6/1m per all".parse().unwrap();
        let [one, other] = [0, 1].map(|i| KeyedLimit::new(&policy.limits()[i], 10));
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &() };
        assert_eq!(hold_in_any_order([&one, &other].into_iter(), &event).len(), 2);
        hold_in_any_order([&one, &other, &one].into_iter(), &event);
    }
}
