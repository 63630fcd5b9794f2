//! Several stores about one event: what each of them holds of it, all at once.

use super::{Held, Key, Store};
use crate::event::Event;
use crate::limit::any::AnyLimiter;
use smallvec::SmallVec;

/// What is asked about one event: a few of anything.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// Holds the key of the event in each of `stores`, which have one limit each, and of which none
/// stands there twice. They are returned in the order in which they are given, and locked in the
/// order of their addresses: that is one order for all threads, whichever rules they follow, so that
/// no two wait for each other. The hashes are found before the first lock is taken.
pub(crate) fn hold<'a>(
    stores: impl Iterator<Item = &'a Store>,
    event: &Event<'_>,
) -> Few<Held<'a, AnyLimiter>> {
    let keyed = stores.enumerate().filter_map(|(i, store)| {
        let (limit, keyed) = (store.policy.limits().first()?, store.limits.first()?);
        Some((i, keyed, keyed.hash(&Key(&limit.per, event))))
    });
    let mut keyed: Few<_> = keyed.collect();
    if let [(_, keyed, hash)] = keyed[..] {
        return core::iter::once(keyed.hold(hash)).collect();
    }
    keyed.sort_unstable_by_key(|(_, keyed, _)| core::ptr::from_ref(*keyed).addr());
    let held = keyed.into_iter().map(|(i, keyed, hash)| (i, keyed.hold(hash)));
    let mut held: Few<_> = held.collect();
    held.sort_unstable_by_key(|(i, _)| *i);
    held.into_iter().map(|(_, held)| held).collect()
}
