//! A limit of a policy with the states of its keys.

use super::held::{Held, Memory};
use super::keyed::Keyed;
use super::saved::{Saved, SavedError};
use crate::event::{Event, Fields};
use crate::limit::Limiter;
use crate::limit::any::{AnyLimiter, AnyState};
use crate::policy::{Limit, Per};
use crate::time::Time;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// A limit, and the states of its keys. A clone has the same states and the same number: locking a key in both would
/// deadlock.
#[derive(Clone, Debug)]
pub(crate) struct KeyedLimit {
    pub(super) per: Per,
    pub(crate) keys: Keyed<AnyLimiter>,
    /// Counted up in the process, in the order in which limits were made. All threads lock in this order.
    pub(super) number: usize,
    /// The state of a new key, if the numbers differ from those of the table.
    own: Option<Arc<AnyState>>,
}

impl KeyedLimit {
    fn with_keys(per: &Per, keys: Keyed<AnyLimiter>) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        KeyedLimit {
            per: per.clone(),
            keys,
            number: MADE.fetch_add(1, Ordering::Relaxed),
            own: None,
        }
    }

    pub(crate) fn new(limit: &Limit, capacity: usize) -> Self {
        KeyedLimit::with_keys(&limit.per, Keyed::new(limit.limiter.clone(), capacity))
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
        let keys = saved.find(name, limit.limiter.clone(), capacity)?;
        let restored = keys.map(|keys| KeyedLimit::with_keys(&limit.per, keys));
        Ok(restored.unwrap_or_else(|| KeyedLimit::new(limit, capacity)))
    }

    /// True if these states belong to exactly this limit.
    pub(crate) fn is_for(&self, limit: &Limit) -> bool {
        self.own.is_none() && self.per == limit.per && *self.keys.limiter() == limit.limiter
    }

    /// These keys and states with the numbers of `limit`; `None` if its keys or its shape differ.
    pub(crate) fn with_limit(&self, limit: &Limit) -> Option<Self> {
        if self.per != limit.per || self.limiter().shape() != limit.limiter.shape() {
            return None;
        }
        let is_other = *self.keys.limiter() != limit.limiter;
        let own = is_other.then(|| Arc::new(AnyState::initial_of(&limit.limiter)));
        Some(KeyedLimit { own, ..self.clone() })
    }

    /// The limiter that decides.
    pub(crate) fn limiter(&self) -> &AnyLimiter {
        self.keys.limiter().of(self.initial())
    }

    /// The state of a new key.
    fn initial(&self) -> &AnyState {
        self.own.as_deref().unwrap_or(self.keys.initial())
    }

    /// Wraps a state of this limiter for the table.
    pub(crate) fn own_state(&self, state: AnyState) -> AnyState {
        self.initial().like(state)
    }

    /// Locks the key of this hash, without [finding](Held::find) its state.
    #[inline(always)]
    pub(super) fn lock(&self, hash: u64) -> Held<'_, AnyLimiter> {
        Held { initial: self.initial(), ..self.keys.lock(hash) }
    }

    /// A key whose shard is locked.
    pub(super) fn within<'a>(
        &'a self,
        memory: &'a mut Memory<AnyState>,
        hash: u64,
    ) -> Held<'a, AnyLimiter, &'a mut Memory<AnyState>> {
        let mut held = Held { initial: self.initial(), ..self.keys.within(memory, hash) };
        held.find();
        held
    }

    /// The state of a key whose shard is locked, or of a new key.
    pub(super) fn state_in<'a>(&'a self, memory: &'a Memory<AnyState>, hash: u64) -> &'a AnyState {
        self.keys.state_in(memory, hash).unwrap_or(self.initial())
    }

    /// The states of this limit, converted for `limit`; `None` if its keys or its shape differ.
    ///
    /// [`kept`](crate::limit::kept) says what becomes of each state; they are converted at `now`.
    pub(crate) fn carried(&self, limit: &Limit, now: Time) -> Option<Self> {
        let (old, new) = (self.limiter(), &limit.limiter);
        if self.per != limit.per || old.shape().difference(&new.shape()).is_some() {
            return None;
        }
        let keys = self.keys.turned(new.clone(), |state| {
            old.forget(state, now);
            *state = new.restore(&old.keep(state, now)).unwrap_or_else(|_| new.initial());
        });
        Some(KeyedLimit::with_keys(&self.per, keys))
    }

    /// True if this was made before the other.
    pub(crate) fn is_before(&self, other: &KeyedLimit) -> bool {
        self.number < other.number
    }

    /// Locks the key of the event.
    #[inline(always)]
    pub(crate) fn hold(&self, event: &Event<'_>) -> Held<'_, AnyLimiter> {
        let mut held = self.lock(self.hash(event));
        held.find();
        held
    }

    /// Resets the key of an event with these fields, and returns whether it was remembered.
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
