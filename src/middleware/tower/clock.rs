//! The clock of the layer.

use crate::time::{Span, Time};
use core::future::Future;
use std::time::{Duration, SystemTime};

/// A clock that can be waited for. A service uses the [`SystemClock`], a test its own.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Time;

    /// Waits at least for `span`.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + 'static;
}

/// The system's clock, with the Unix epoch as origin, and tokio's timer. Windows are aligned to the
/// hours and days of UTC, so several processes agree about them. The system's clock may be set back:
/// see [limiters](crate::limit#when-time-runs-backwards).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        SystemTime::now().into()
    }

    /// Needs a tokio runtime.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(Duration::try_from(span).unwrap_or(Duration::MAX))
    }
}
