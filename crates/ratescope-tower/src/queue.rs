//! The queue of requests that a leaky bucket delays.
//!
//! A request takes its slot before the store is asked about it, and gives it up if it need not wait. So
//! no request is refused for lack of a slot after it was counted.

use core::hash::BuildHasher;
use core::sync::atomic::{AtomicUsize, Ordering};
use metrics::Gauge;
use ratescope::time::Span;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The slots, and who has taken them.
pub(super) struct Queue {
    slots: usize,
    /// The most slots of one key.
    of_one_key: usize,
    taken: Mutex<Taken>,
    /// The number of slots whose requests wait; the store is still being asked about the others.
    waiting: AtomicUsize,
    hasher: RandomState,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// The number of slots of each key, by its hash.
    by_key: HashMap<u64, usize>,
}

/// The hashes of the keys for which a request may have to wait.
pub(super) type KeyHashes = SmallVec<[u64; 2]>;

impl Queue {
    pub(super) fn new(slots: usize, of_one_key: usize) -> Self {
        Queue {
            slots,
            of_one_key,
            taken: Mutex::default(),
            waiting: AtomicUsize::new(0),
            hasher: RandomState::new(),
        }
    }

    /// The number of waiting requests.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The hash of a key, with a secret, so that nobody can choose colliding keys.
    pub(super) fn hash(&self, key: impl core::hash::Hash) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Takes a slot for a request with these keys, if there is one and none of the keys has its share.
    pub(super) fn reserve(self: &Arc<Self>, keys: KeyHashes) -> Option<Box<QueueSlot>> {
        let mut taken = self.taken();
        let has_its_share =
            |key| taken.by_key.get(key).is_some_and(|&slots| slots >= self.of_one_key);
        if taken.all >= self.slots || keys.iter().any(has_its_share) {
            return None;
        }
        taken.all += 1;
        for key in &keys {
            *taken.by_key.entry(*key).or_default() += 1;
        }
        drop(taken);
        let queue = Arc::clone(self);
        Some(Box::new(QueueSlot { queue, keys, wait: Span::ZERO, gauge: None }))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, which is freed on drop, together with the request.
pub(super) struct QueueSlot {
    queue: Arc<Queue>,
    keys: KeyHashes,
    /// How long the request waits.
    pub(super) wait: Span,
    /// The gauge of waiting requests, if this one waits.
    gauge: Option<Gauge>,
}

impl QueueSlot {
    /// Counts the request as waiting from now on.
    pub(super) fn wait(&mut self, wait: Span, gauge: &Gauge) {
        self.wait = wait;
        self.queue.waiting.fetch_add(1, Ordering::Relaxed);
        gauge.increment(1.0);
        self.gauge = Some(gauge.clone());
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
            gauge.decrement(1.0);
        }
        let mut taken = self.queue.taken();
        taken.all -= 1;
        for key in &self.keys {
            if let Some(slots) = taken.by_key.get_mut(key) {
                *slots -= 1;
                if *slots == 0 {
                    taken.by_key.remove(key);
                }
            }
        }
    }
}
