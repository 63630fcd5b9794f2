//! Work on all processors. The page has one thread.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// The number of processors.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Calls `part` once on each processor, and returns all results.
pub(super) fn on_each<T: Send>(part: impl Fn() -> T + Sync) -> Vec<T> {
    if cfg!(target_arch = "wasm32") {
        return vec![part()];
    }
    let part = &part;
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads()).map(|_| scope.spawn(part)).collect();
        // A panic continues here: without this thread's result, the sum would be too low.
        let result = |thread: ScopedJoinHandle<'_, T>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().map(result).collect()
    })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Without the result of the thread that panicked, the answer would be wrong.
    #[test]
    fn a_panic_of_one_thread_ends_all() {
        let first = AtomicUsize::new(0);
        let part = || {
            let place = first.fetch_add(1, Ordering::Relaxed);
            assert_ne!(place, 0, "this is the panic that the test is about");
            place
        };
        assert!(catch_unwind(AssertUnwindSafe(|| on_each(part))).is_err());
    }
}
