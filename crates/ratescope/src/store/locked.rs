//! The keys of one decision, locked together. Two of them may be in one shard, or be the same.

use super::Few;
use super::held::Held;
use super::keyed_limit::{KeyedLimit, Memory, State};
use super::sync::MutexGuard;
use super::table::Slot;
use crate::event::Event;

/// Keys of any limits, all of them locked.
pub(crate) struct Locked<'k, 'a> {
    keys: &'k [Key<'a>],
    shards: Few<MutexGuard<'a, Memory>>,
}

pub(crate) struct Key<'a> {
    limit: &'a KeyedLimit,
    hash: u64,
    /// The index of its shard among the locked ones.
    shard: usize,
    /// Where its state is; `None` if it has none, or if another key of the same shard may move it.
    slot: Option<Slot>,
}

impl<'a> Key<'a> {
    #[inline(always)]
    pub(crate) fn new(limit: &'a KeyedLimit, event: &Event<'_>) -> Self {
        Key { limit, hash: limit.hash(event), shard: 0, slot: None }
    }

    /// True if both have the same state.
    pub(crate) fn is(&self, other: &Key<'_>) -> bool {
        self.limit.number == other.limit.number && self.hash == other.hash
    }

    /// All threads lock in this order, so they cannot deadlock.
    fn order(&self) -> (usize, usize) {
        (self.limit.number, self.limit.keys.shard(self.hash))
    }
}

impl<'k, 'a> Locked<'k, 'a> {
    /// Locks these keys, and then finds their states. Taking a lock waits for all earlier reads, so with a search
    /// between two locks the processor would wait for the memory of one key after the other.
    pub(crate) fn new(keys: &'k mut [Key<'a>]) -> Self {
        let mut order: Few<usize> = (0..keys.len()).collect();
        // The limits of rules are mostly in the order in which they were made.
        if !keys.is_sorted_by_key(Key::order) {
            order.sort_unstable_by_key(|i| keys[*i].order());
        }
        let mut shards = Few::new();
        let mut latest = None;
        for i in order {
            let key = &mut keys[i];
            let own = key.order();
            if latest.replace(own) != Some(own) {
                shards.push(key.limit.lock_shard(own.1));
            }
            key.shard = shards.len() - 1;
        }
        if shards.len() == keys.len() {
            for key in &mut *keys {
                key.slot = shards[key.shard].find(key.hash);
            }
        }
        Locked { keys, shards }
    }

    /// The state of a key, or that of a new key.
    pub(crate) fn state(&self, i: usize) -> &State {
        let Key { limit, hash, shard, slot } = &self.keys[i];
        let memory = &self.shards[*shard];
        slot.or_else(|| memory.find(*hash)).map_or(limit.keys.initial(), |slot| memory.state(slot))
    }

    /// A key, to change its state.
    pub(crate) fn held(&mut self, i: usize) -> Held<'_, State, &mut Memory> {
        let Key { limit, hash, shard, slot } = &self.keys[i];
        let mut held = limit.within(&mut self.shards[*shard], *hash);
        match slot {
            Some(slot) => held.slot = Some(*slot),
            None => held.find(),
        }
        held
    }
}
