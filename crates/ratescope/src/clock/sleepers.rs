//! The tasks that sleep, by the time at which they wake.

use core::task::Waker;
use std::collections::BTreeMap;

/// The wakers of sleeping tasks, in the order of the times at which they wake.
#[derive(Debug)]
pub(super) struct Sleepers<T> {
    /// Each has a number of its own, since several may wake at one time.
    wakers: BTreeMap<(T, u64), Waker>,
    numbers: u64,
}

impl<T> Sleepers<T> {
    pub(super) const fn new() -> Self {
        Sleepers { wakers: BTreeMap::new(), numbers: 0 }
    }
}

impl<T> Default for Sleepers<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Ord> Sleepers<T> {
    /// A number for a new sleeper.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Adds a sleeper. Returns the waker that it replaces, to be dropped without a lock: the last waker of a task may
    /// drop the task, and other sleepers with it.
    #[must_use]
    pub(super) fn add(&mut self, until: T, number: u64, waker: Waker) -> Option<Waker> {
        self.wakers.insert((until, number), waker)
    }

    /// Removes a sleeper. Returns its waker, to be dropped without a lock.
    #[must_use]
    pub(super) fn remove(&mut self, until: T, number: u64) -> Option<Waker> {
        self.wakers.remove(&(until, number))
    }

    /// The time of the first to be woken.
    pub(super) fn next(&self) -> Option<T> {
        self.wakers.first_key_value().map(|((until, _), _)| *until)
    }

    /// Removes those who have slept long enough at `now`.
    pub(super) fn due(&mut self, now: T) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.wakers.first_entry().filter(|first| first.key().0 <= now) {
            due.push(first.remove());
        }
        due
    }
}
