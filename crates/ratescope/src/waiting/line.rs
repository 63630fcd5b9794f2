//! Those who wait for one key, in the order in which they came.

use core::future::poll_fn;
use core::hash::{BuildHasher, Hash, Hasher};
use core::task::{Poll, Waker};
use std::collections::BTreeMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lines of all keys of a store. Only the first in a line asks the limiter and has a timer, so those behind it can't
/// overtake it, and do not all wake at once.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    hasher: RandomState,
    /// By the hash of the key, and the number of the place. Each with the waker that tells it that it is the first.
    places: Mutex<Places>,
    /// The number of places, so that nobody locks while nobody waits.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Places {
    wakers: BTreeMap<(u64, u64), Option<Waker>>,
    numbers: u64,
}

impl Places {
    fn first(&mut self, key: u64) -> Option<(u64, &mut Option<Waker>)> {
        let first = self.wakers.range_mut((key, 0)..=(key, u64::MAX)).next();
        first.map(|((_, number), waker)| (*number, waker))
    }
}

impl Lines {
    pub(super) fn key<'v>(&self, values: impl Iterator<Item = &'v str>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        values.for_each(|value| value.hash(&mut hasher));
        hasher.finish()
    }

    /// True if nobody waits for this key.
    pub(super) fn is_empty(&self, key: u64) -> bool {
        self.waiting.load(Ordering::Acquire) == 0 || self.lock().first(key).is_none()
    }

    /// A place at the end of the line for a key. Dropping it leaves the line.
    pub(super) fn enter(&self, key: u64) -> InLine<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let mut places = self.lock();
        places.numbers += 1;
        let number = places.numbers;
        places.wakers.insert((key, number), None);
        InLine { lines: self, key, number }
    }

    /// Locks, even if the lock is poisoned: no change under it can be half done.
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the line for a key.
#[derive(Debug)]
pub(super) struct InLine<'a> {
    lines: &'a Lines,
    key: u64,
    number: u64,
}

impl InLine<'_> {
    /// Waits until all who were before it have left.
    pub(super) async fn first(&self) {
        poll_fn(|context| {
            let mut places = self.lines.lock();
            if places.first(self.key).is_none_or(|(first, _)| first == self.number) {
                return Poll::Ready(());
            }
            let waker = Some(context.waker().clone());
            let replaced = places.wakers.insert((self.key, self.number), waker);
            // The last waker of a task may drop the task, and places with it.
            drop(places);
            drop(replaced);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut places = self.lines.lock();
        let left = places.wakers.remove(&(self.key, self.number));
        let next = places.first(self.key).and_then(|(_, waker)| waker.take());
        drop(places);
        self.lines.waiting.fetch_sub(1, Ordering::AcqRel);
        drop(left);
        // It may run the task that it wakes.
        if let Some(next) = next {
            next.wake();
        }
    }
}
