//! The keys of several events, locked together. Two of them may be in one shard, or be the same.

use super::held::{Held, Memory};
use super::keyed_limit::KeyedLimit;
use super::sync::MutexGuard;
use crate::event::Event;
use crate::limit::any::{AnyLimiter, AnyState};

/// Keys of any limits, all of them locked.
pub(crate) struct Together<'a> {
    keys: Vec<Key<'a>>,
    shards: Vec<MutexGuard<'a, Memory<AnyState>>>,
}

/// A key of a limit.
pub(crate) struct Key<'a> {
    limit: &'a KeyedLimit,
    hash: u64,
    /// The index of its shard among the locked ones.
    shard: usize,
}

impl<'a> Key<'a> {
    /// The key of an event in a limit.
    pub(crate) fn new(limit: &'a KeyedLimit, event: &Event<'_>) -> Self {
        Key { limit, hash: limit.hash(event), shard: 0 }
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

impl<'a> Together<'a> {
    /// Locks these keys.
    pub(crate) fn lock(mut keys: Vec<Key<'a>>) -> Self {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|i| keys[*i].order());
        let mut shards = Vec::new();
        let mut latest = None;
        for i in order {
            let key = &mut keys[i];
            let own = key.order();
            if latest.replace(own) != Some(own) {
                shards.push(key.limit.keys.lock_shard(own.1));
            }
            key.shard = shards.len() - 1;
        }
        Together { keys, shards }
    }

    /// Converts the states of these keys to their limiters, if other limiters counted them.
    pub(crate) fn adapt(&mut self, places: &[usize]) {
        for i in places {
            self.held(*i);
        }
    }

    /// The limiter of a key and its state, which must be [adapted](Self::adapt) first.
    pub(crate) fn at(&self, i: usize) -> (&AnyLimiter, &AnyState) {
        let Key { limit, hash, shard } = &self.keys[i];
        (limit.limiter(), limit.state_in(&self.shards[*shard], *hash))
    }

    /// A key, to change its state.
    pub(crate) fn held(&mut self, i: usize) -> Held<'_, AnyLimiter, &mut Memory<AnyState>> {
        let Key { limit, hash, shard } = &self.keys[i];
        limit.within(&mut self.shards[*shard], *hash)
    }
}
