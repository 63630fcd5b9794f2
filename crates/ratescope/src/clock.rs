//! Clocks that can be waited for, for the layer (`middleware`) and for [waiting](crate::waiting).
//!
//! A clock of your own needs two methods. This one runs on tokio's time, which a test can pause:
//!
//! ```
//! use ratescope::clock::Clock;
//! use ratescope::{Span, Time};
//! use std::time::Duration;
//! use tokio::time::Instant;
//!
//! struct TokioClock(Instant);
//!
//! impl Clock for TokioClock {
//!     fn now(&self) -> Time {
//!         Time::from(self.0.elapsed())
//!     }
//!
//!     async fn sleep(&self, span: Span) {
//!         tokio::time::sleep(Duration::try_from(span).unwrap_or(Duration::MAX)).await;
//!     }
//! }
//! ```

use crate::time::{Span, Time};
use core::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// A clock that can be waited for. A service uses the [`SystemClock`], a test a [`FakeClock`].
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Time;

    /// Waits at least for `span`.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send;
}

/// The system's clock, with the Unix epoch as origin, and tokio's timer. Windows are aligned to the
/// hours and days of UTC, so several processes agree about them. The system's clock may be set back:
/// see [limiters](crate::limit#when-time-runs-backwards).
///
/// `wasm32-unknown-unknown` has no such clock, and the standard library panics when it is asked there.
/// Use one from the host there.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // This is the clock.
    fn now(&self) -> Time {
        SystemTime::now().into()
    }

    /// Needs a tokio runtime.
    async fn sleep(&self, span: Span) {
        tokio::time::sleep(Duration::try_from(span).unwrap_or(Duration::MAX)).await;
    }
}

/// A clock for tests, which stands still until it is set. Its clones show the same time.
///
/// ```
/// use ratescope::clock::{Clock, FakeClock};
/// use ratescope::{Span, Time};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = FakeClock::default();
/// let sleeper = tokio::spawn({
///     let clock = clock.clone();
///     async move { clock.sleep(Span::hours(1)).await }
/// });
/// tokio::task::yield_now().await; // It sleeps now.
/// clock.advance(Span::hours(1));
/// sleeper.await.unwrap();
/// assert_eq!(clock.now(), Time::ZERO.after(Span::hours(1)));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeClock(Arc<watch::Sender<Time>>);

impl FakeClock {
    /// Sets the time, also back, and wakes those who have slept long enough.
    pub fn set(&self, now: Time) {
        self.0.send_replace(now);
    }

    /// Sets the time forward, and wakes those who have slept long enough.
    pub fn advance(&self, span: Span) {
        self.0.send_modify(|now| *now = now.after(span));
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Time {
        *self.0.borrow()
    }

    async fn sleep(&self, span: Span) {
        let (until, mut time) = (self.now().after(span), self.0.subscribe());
        // The sender is held by this clock, so there is no error.
        let _ = time.wait_for(|now| *now >= until).await;
    }
}
