//! The clock of the layer: what time it is for events, and waiting until it is later.

use crate::time::{Span, Time};
use core::future::Future;
use std::time::{Duration, SystemTime};

/// A clock. A service takes the [`SystemClock`]; a test has its own.
pub trait Clock: Send + Sync + 'static {
    /// What time it is.
    fn now(&self) -> Time;

    /// Waits, at least for so long.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + 'static;
}

/// The time since the Unix epoch, by the system's clock, and tokio's timer. So windows are aligned to
/// the hours and days of UTC, and several processes agree about them. It may be set back, and
/// [`limit`](crate::limit#when-time-runs-backwards) says what happens then.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        SystemTime::now().into()
    }

    /// To be asked for within a tokio runtime.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(Duration::try_from(span).unwrap_or(Duration::MAX))
    }
}
