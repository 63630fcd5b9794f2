//! Clocks: the time of a [`RateLimiter`](crate::RateLimiter), and of anything that waits or serves.
//!
//! | clock | time | for |
//! |---|---|---|
//! | [`MonotonicClock`] | starts at the Unix time, and is never set back | a process; the default |
//! | [`SystemClock`] | the system's clock, which may be set | limits that several machines share |
//! | [`FakeClock`] | stands still until it is set | tests |
//!
//! They need no runtime: [`sleep`](Clock::sleep) is a future for any executor. A clock of your own needs two
//! methods. This one runs on tokio's time, which a test can pause:
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

mod sleepers;
mod timer;

pub(crate) use timer::block_on;

use crate::time::{Span, Time};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use sleepers::Sleepers;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A clock that can be waited for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a clock",
    note = "take `MonotonicClock`, `SystemClock` or, in a test, `FakeClock`, or implement `now` and `sleep`"
)]
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Time;

    /// Waits at least for `span`.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send;
}

impl<C: Clock> Clock for Arc<C> {
    fn now(&self) -> Time {
        (**self).now()
    }

    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send {
        (**self).sleep(span)
    }
}

/// The clock of the process: the Unix time at its first reading, plus the time that has passed since. Setting the
/// system's clock does not change it, and on some systems it stops while the machine sleeps. Windows are aligned to the
/// hours and days of UTC.
///
/// `wasm32-unknown-unknown` has no such clock: there, the standard library panics. Use a clock of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    #[allow(clippy::disallowed_methods)] // This is the clock.
    fn now(&self) -> Time {
        static START: OnceLock<(Instant, Time)> = OnceLock::new();
        let (start, time) = START.get_or_init(|| (Instant::now(), SystemTime::now().into()));
        let passed = Time::from(start.elapsed()).as_micros();
        Time::from_micros(time.as_micros().saturating_add(passed))
    }

    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send {
        timer::sleep(duration(span))
    }
}

/// The system's clock, with the Unix epoch as origin. Windows are aligned to the hours and days of UTC, so several
/// processes agree about them. The system's clock may be set back: see
/// [limiters](crate::limit#when-time-runs-backwards).
///
/// `wasm32-unknown-unknown` has no such clock: there, the standard library panics. Use a clock of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    #[allow(clippy::disallowed_methods)] // This is the clock.
    fn now(&self) -> Time {
        SystemTime::now().into()
    }

    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send {
        timer::sleep(duration(span))
    }
}

/// A clock for tests, which stands still until it is set. Its clones show the same time.
///
/// ```
/// use ratescope::clock::{Clock, FakeClock};
/// use ratescope::{Span, Time};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = FakeClock::default();
/// let sleeper = tokio::spawn({
///     let clock = clock.clone();
///     async move { clock.sleep(Span::from_hours(1)).await }
/// });
/// tokio::task::yield_now().await; // It sleeps now.
/// clock.advance(Duration::from_secs(3600));
/// sleeper.await.unwrap();
/// assert_eq!(clock.now(), Time::ZERO.after(Span::from_hours(1)));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeClock(Arc<Mutex<Fake>>);

#[derive(Debug, Default)]
struct Fake {
    now: Time,
    sleepers: Sleepers<Time>,
}

impl FakeClock {
    /// Sets the time, also back, and wakes those who have slept long enough.
    pub fn set(&self, now: Time) {
        self.turn(|_| now);
    }

    /// Sets the time forward, and wakes those who have slept long enough.
    pub fn advance(&self, span: impl Into<Span>) {
        let span = span.into();
        self.turn(|now| now.after(span));
    }

    fn turn(&self, to: impl FnOnce(Time) -> Time) {
        let mut fake = lock(&self.0);
        fake.now = to(fake.now);
        let now = fake.now;
        let due = fake.sleepers.due(now);
        // A waker may run the task that it wakes, which reads this clock.
        drop(fake);
        due.into_iter().for_each(Waker::wake);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Time {
        lock(&self.0).now
    }

    async fn sleep(&self, span: Span) {
        let until = self.now().after(span);
        FakeSleep { clock: self, until, number: None }.await;
    }
}

struct FakeSleep<'a> {
    clock: &'a FakeClock,
    until: Time,
    /// The number that the sleepers know it by.
    number: Option<u64>,
}

impl Future for FakeSleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let clock = self.clock;
        let mut fake = lock(&clock.0);
        if fake.now >= self.until {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| fake.sleepers.number());
        let replaced = fake.sleepers.add(self.until, number, waker);
        drop(fake);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for FakeSleep<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let removed = lock(&self.clock.0).sleepers.remove(self.until, number);
            drop(removed);
        }
    }
}

/// The span as a duration, at most the longest duration.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::try_from(span).unwrap_or(Duration::MAX)
}

/// Locks, even if the lock is poisoned: no change under these locks can be half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
