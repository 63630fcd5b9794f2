//! All or none: the keys of one event are locked in several limits at once. First all limits are
//! asked, then the event is counted in all of them or in none. A [`Store`](super::Store) and
//! [rules](crate::rules) decide so.

use super::held::Held;
use super::keyed::Keyed;
use super::saved::{Saved, SavedError};
use crate::event::{Event, Fields};
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{self, Limit, Per, Verdict, strictest};
#[cfg(any(feature = "wait", all(test, loom)))]
use crate::time::Span;
use crate::time::Time;
use core::hash::{Hash, Hasher};
use smallvec::SmallVec;

/// A list that usually has up to four items, and then needs no allocation.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// A limit, and the states of its keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyedLimit {
    pub(super) per: Per,
    pub(crate) keys: Keyed<AnyLimiter>,
}

impl KeyedLimit {
    pub(crate) fn new(limit: &Limit, capacity: usize) -> Self {
        let keys = Keyed::new(limit.limiter.clone(), capacity);
        KeyedLimit { per: limit.per.clone(), keys }
    }

    /// The states that were saved under `name`, or none.
    pub(crate) fn restore(
        limit: &Limit,
        capacity: usize,
        name: &str,
        saved: &Saved<'_>,
    ) -> Result<Self, SavedError> {
        let keys = saved.find(name, limit.limiter.clone(), capacity)?;
        let restored = keys.map(|keys| KeyedLimit { per: limit.per.clone(), keys });
        Ok(restored.unwrap_or_else(|| KeyedLimit::new(limit, capacity)))
    }

    /// Whether these are the states of exactly this limit.
    #[cfg(feature = "rules")]
    pub(crate) fn is_for(&self, limit: &Limit) -> bool {
        self.per == limit.per && *self.keys.limiter() == limit.limiter
    }

    /// Locks the key of the event.
    #[inline(always)]
    pub(crate) fn hold(&self, event: &Event<'_>) -> Held<'_, AnyLimiter> {
        self.keys.hold(self.hash(event))
    }

    /// Makes the key of an event with these fields a new one, and returns whether it was remembered.
    pub(crate) fn reset(&self, fields: &dyn Fields) -> bool {
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        self.hold(&event).reset()
    }

    /// The hash of the event's key.
    #[inline(always)]
    pub(super) fn hash(&self, event: &Event<'_>) -> u64 {
        self.keys.hash(&Key(&self.per, event))
    }
}

/// The key of an event for a limit, as it is hashed: the values of its fields. Each ends with a byte that
/// no text contains, as `str` does it, so different values are hashed differently. The names need not be
/// hashed, since each limit has its own tables.
struct Key<'a>(&'a Per, &'a Event<'a>);

impl Hash for Key<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for name in self.0.fields() {
            hasher.write(self.1.fields.bytes(name).unwrap_or_default());
            hasher.write_u8(0xff);
        }
    }
}

/// Locks the key of the event in each of `limits`, which lie one after the other in memory. All threads
/// take the locks in that order, so they cannot deadlock. The hashes are computed before the first lock
/// is taken.
pub(super) fn hold_all<'a>(
    limits: &'a [KeyedLimit],
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let hashed: Few<_> = limits.iter().map(|limit| (limit, limit.hash(event))).collect();
    lock(&hashed)
}

/// The same for `limits` that lie anywhere: the locks are taken in the order of their addresses, which
/// is the same for all threads, with any rules. The result has the order of `limits`.
///
/// # Panics
/// When a limit is given twice, before anything is locked: the event would wait for itself for ever,
/// and keep all others of its key waiting.
#[cfg(feature = "rules")]
pub(crate) fn hold<'a>(
    limits: impl Iterator<Item = &'a KeyedLimit>,
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let hashed: Few<_> = limits.map(|limit| (limit, limit.hash(event))).collect();
    let address = |(limit, _): &(&KeyedLimit, u64)| core::ptr::from_ref(*limit).addr();
    let is_before = |a: &_, b: &_| address(a) < address(b);
    if hashed.is_sorted_by(is_before) {
        return lock(&hashed);
    }
    let mut in_order: Few<_> = hashed.into_iter().enumerate().collect();
    in_order.sort_unstable_by_key(|(_, hashed)| address(hashed));
    let are_different = in_order.is_sorted_by(|(_, a), (_, b)| is_before(a, b));
    assert!(are_different, "a limit was given twice");
    let held = in_order.iter().map(|(i, (limit, hash))| (*i, limit.keys.hold(*hash)));
    let mut held: Few<_> = held.collect();
    held.sort_unstable_by_key(|(i, _)| *i);
    held.into_iter().map(|(_, held)| held).collect()
}

/// Decides about an event whose keys are locked, and counts it in all limits or in none.
pub(super) fn check(held: &mut [Held<'_, AnyLimiter>], now: Time, cost: f64) -> Verdict {
    let outcomes: Few<Outcome> = held.iter().map(|held| held.peek(now, cost)).collect();
    let verdict = strictest(outcomes.iter().copied());
    for (held, outcome) in held.iter_mut().zip(outcomes) {
        held.record(now, cost, outcome.is_allowed(), verdict.is_allowed());
    }
    verdict
}

/// Counts an event whose keys are locked if it passes after `most` at the latest. Otherwise counts nothing,
/// and returns how long after `now` it would pass or should be tried again.
#[cfg(any(feature = "wait", all(test, loom)))]
pub(super) fn pass(
    held: &mut [Held<'_, AnyLimiter>],
    now: Time,
    cost: f64,
    most: Span,
) -> Result<Verdict, Retry> {
    let verdict = strictest(held.iter().map(|held| held.peek(now, cost)));
    match verdict.outcome.wait() {
        None => Err(retry_after(held, now, cost)),
        Some(wait) if wait > most => Err(Retry::After(wait)),
        Some(_) => Ok(check(held, now, cost)),
    }
}

/// How long after `now` an event whose keys are locked would pass all limits.
pub(super) fn retry_after(held: &[Held<'_, AnyLimiter>], now: Time, cost: f64) -> Retry {
    policy::retry_after(now, |at| held.iter().map(move |held| held.retry_after(at, cost)))
}

/// Locks the keys, each a limit and a hash, one after the other.
fn lock<'a>(keys: &[(&'a KeyedLimit, u64)]) -> Few<Held<'a, AnyLimiter>> {
    keys.iter().map(|(limit, hash)| limit.keys.hold(*hash)).collect()
}

#[cfg(all(feature = "rules", not(loom)))]
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
