//! The lock: std's, or loom's in the tests in which loom tries every interleaving of threads.

#[cfg(not(all(test, loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, loom))]
pub(super) use loom::sync::{Mutex, MutexGuard};

/// Locks, even if the lock is poisoned: a panic leaves at most one event half counted, which is no reason to stop all
/// other threads.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
