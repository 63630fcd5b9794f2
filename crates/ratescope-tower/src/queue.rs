//! The queue of requests that a leaky bucket delays.
//!
//! A request takes its seat before the store is asked about it, and gives it up if it need not wait. So
//! no request is refused for lack of a seat after it was counted.

use core::hash::BuildHasher;
use core::sync::atomic::{AtomicUsize, Ordering};
use metrics::Gauge;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The seats, and who has taken them.
pub(super) struct Queue {
    seats: usize,
    /// The most seats of one key.
    of_one_key: usize,
    taken: Mutex<Taken>,
    /// The number of seats whose requests wait; the store is still being asked about the others.
    waiting: AtomicUsize,
    hasher: RandomState,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// The number of seats of each key, by its hash.
    by_key: HashMap<u64, usize>,
}

/// The hashes of the keys for which a request may have to wait.
pub(super) type KeyHashes = SmallVec<[u64; 2]>;

impl Queue {
    pub(super) fn new(seats: usize, of_one_key: usize) -> Self {
        Queue {
            seats,
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

    /// Takes a seat for a request with these keys, if there is one and none of the keys has its share.
    pub(super) fn reserve(self: &Arc<Self>, keys: KeyHashes) -> Option<Seat> {
        let mut taken = self.taken();
        let has_its_share =
            |key| taken.by_key.get(key).is_some_and(|&seats| seats >= self.of_one_key);
        if taken.all >= self.seats || keys.iter().any(has_its_share) {
            return None;
        }
        taken.all += 1;
        for key in &keys {
            *taken.by_key.entry(*key).or_default() += 1;
        }
        drop(taken);
        Some(Seat { queue: Arc::clone(self), keys, gauge: None })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, which is freed on drop, together with the request.
pub(super) struct Seat {
    queue: Arc<Queue>,
    keys: KeyHashes,
    /// The gauge of waiting requests, if this one waits.
    gauge: Option<Gauge>,
}

impl Seat {
    /// Counts the request as waiting from now on.
    pub(super) fn wait(&mut self, gauge: &Gauge) {
        self.queue.waiting.fetch_add(1, Ordering::Relaxed);
        gauge.increment(1.0);
        self.gauge = Some(gauge.clone());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
            gauge.decrement(1.0);
        }
        let mut taken = self.queue.taken();
        taken.all -= 1;
        for key in &self.keys {
            if let Some(seats) = taken.by_key.get_mut(key) {
                *seats -= 1;
                if *seats == 0 {
                    taken.by_key.remove(key);
                }
            }
        }
    }
}
