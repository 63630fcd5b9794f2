//! A limit of a policy with the states of its keys.

use super::held::Held;
use super::keyed::Keyed;
use super::saved::{Saved, SavedError};
use super::sync::MutexGuard;
use crate::event::{Event, Fields};
use crate::limit::any::AnyLimiter;
use crate::limit::kept::Keeps;
use crate::limit::per_key::{self, PerKey};
use crate::policy::{Limit, Per};
use crate::time::Time;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The limiter of a limit: each event may have numbers of its own.
pub(crate) type Numbered = PerKey<AnyLimiter>;

pub(crate) type State = per_key::State<AnyLimiter>;

/// The memory of a shard of a limit.
pub(crate) type Memory = super::held::Memory<State>;

/// A limit, and the states of its keys.
#[derive(Debug)]
pub(crate) struct KeyedLimit {
    per: Per,
    pub(crate) keys: Keyed<Numbered>,
    /// Counted up in the process, in the order in which limits were made. All threads lock in this order.
    pub(super) number: usize,
}

impl KeyedLimit {
    fn with_keys(per: &Per, keys: Keyed<Numbered>) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        KeyedLimit { per: per.clone(), keys, number: MADE.fetch_add(1, Ordering::Relaxed) }
    }

    pub(crate) fn new(limit: &Limit, capacity: usize) -> Self {
        let limiter = PerKey::new(limit.limiter.clone());
        KeyedLimit::with_keys(&limit.per, Keyed::new(limiter, capacity))
    }

    /// This limit with a copy of the states.
    pub(crate) fn fork(&self) -> Self {
        KeyedLimit::with_keys(&self.per, self.keys.fork())
    }

    /// The states that were saved under `name`, or none.
    pub(crate) fn restore(
        limit: &Limit,
        capacity: usize,
        name: &str,
        saved: &Saved<'_>,
    ) -> Result<Self, SavedError> {
        let keys = saved.find(name, PerKey::new(limit.limiter.clone()), capacity)?;
        let restored = keys.map(|keys| KeyedLimit::with_keys(&limit.per, keys));
        Ok(restored.unwrap_or_else(|| KeyedLimit::new(limit, capacity)))
    }

    /// True if these states belong to exactly this limit.
    pub(crate) fn is_for(&self, limit: &Limit) -> bool {
        self.per == limit.per && *self.limiter().usual() == limit.limiter
    }

    /// The limiter that decides about events without numbers of their own.
    pub(crate) fn limiter(&self) -> &Numbered {
        self.keys.limiter()
    }

    /// The states of this limit, converted for `limit` at `now`; `None` if its keys or its shape differ.
    /// [`kept`](crate::limit::kept) says what becomes of each state.
    pub(crate) fn carried(&self, limit: &Limit, now: Time) -> Option<Self> {
        let old = self.limiter();
        if self.per != limit.per
            || old.kept_shape().difference(&limit.limiter.kept_shape()).is_some()
        {
            return None;
        }
        let keys = self.keys.turned(PerKey::new(limit.limiter.clone()), |state| {
            old.carry(state, now, &limit.limiter);
        });
        Some(KeyedLimit::with_keys(&self.per, keys))
    }

    /// Locks the key of the event.
    #[inline(always)]
    pub(crate) fn hold(&self, event: &Event<'_>) -> Held<'_, State> {
        self.keys.hold(self.hash(event))
    }

    #[inline(always)]
    pub(super) fn lock_shard(&self, shard: usize) -> MutexGuard<'_, Memory> {
        self.keys.lock_shard(shard)
    }

    /// A key whose shard is locked.
    #[inline(always)]
    pub(super) fn within<'a>(
        &'a self,
        memory: &'a mut Memory,
        hash: u64,
    ) -> Held<'a, State, &'a mut Memory> {
        self.keys.within(memory, hash)
    }

    /// Resets the key of an event with these fields, and returns whether it was remembered.
    pub(crate) fn reset(&self, fields: &dyn Fields) -> bool {
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        self.hold(&event).reset()
    }

    #[inline(always)]
    pub(super) fn hash(&self, event: &Event<'_>) -> u64 {
        self.keys.hash(&Key(&self.per, event))
    }
}

/// The key of an event for a limit, as it is hashed: the values of its fields. Each ends with a byte that no text
/// contains, as in the hash of `str`, so values never run into each other. Each limit has its own tables, so the names
/// are not hashed.
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
