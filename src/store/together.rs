//! Locks the keys of one event in several stores at once.

use super::{Held, Key, Store};
use crate::event::Event;
use crate::limit::any::AnyLimiter;
use smallvec::SmallVec;

/// A few of anything.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// Locks the key of the event in each of `stores`. Each store has one limit, and none occurs twice.
/// The result has the order of `stores`. The locks are taken in the order of the stores' addresses,
/// which is the same for all threads whatever their rules, so they cannot deadlock. The hashes are
/// computed before the first lock is taken.
pub(crate) fn hold<'a>(
    stores: impl Iterator<Item = &'a Store>,
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let mut keyed = stores.enumerate().filter_map(|(i, store)| {
        let (limit, keyed) = (store.policy.limits().first()?, store.limits.first()?);
        Some((i, keyed, keyed.hash(&Key(&limit.per, event))))
    });
    let (first, second) = (keyed.next(), keyed.next());
    let mut held = Few::new();
    // Mostly it is only one.
    if let (Some((_, keyed, hash)), None) = (first, second) {
        held.push(keyed.hold(hash));
        return held;
    }
    let mut keyed: Few<_> = first.into_iter().chain(second).chain(keyed).collect();
    keyed.sort_unstable_by_key(|(_, keyed, _)| core::ptr::from_ref(*keyed).addr());
    let locked = keyed.into_iter().map(|(i, keyed, hash)| (i, keyed.hold(hash)));
    let mut locked: Few<_> = locked.collect();
    locked.sort_unstable_by_key(|(i, _)| *i);
    held.extend(locked.into_iter().map(|(_, held)| held));
    held
}
