//! The processor time of a thread, which other work on the machine does not change.

use std::time::Duration;

/// The time that this thread has worked so far.
pub(crate) fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().unwrap()
}
