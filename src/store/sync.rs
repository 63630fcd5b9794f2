//! The lock: that of std, or that of loom where loom tries every order in which threads may run.

#[cfg(not(all(test, loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, loom))]
pub(super) use loom::sync::{Mutex, MutexGuard};

/// Locks. A thread that panics while it holds the lock leaves at most one event half counted,
/// which is no reason to stop all others.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
