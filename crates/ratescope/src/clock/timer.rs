//! Sleeping in any executor: one thread wakes all that sleep. It starts with the first sleep. A blocked thread waits by
//! itself.

#![allow(clippy::disallowed_methods)] // This is a clock.

use super::lock;
use super::sleepers::Sleepers;
use core::cell::Cell;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::panic::catch_unwind;
use std::process;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

static SLEEPERS: Mutex<Sleepers<Instant>> = Mutex::new(Sleepers::new());

/// Tells the thread that a new sleeper wakes before all others.
static EARLIER: Condvar = Condvar::new();

/// A sleep that never ends in practice, 34 years; an `Instant` can't be much later on some systems.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// Sleeps for `duration` from the first poll on.
pub(super) fn sleep(duration: Duration) -> Sleep {
    Sleep { duration, until: None, number: None }
}

pub(super) struct Sleep {
    duration: Duration,
    until: Option<Instant>,
    /// The number that the sleepers know it by.
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let duration = self.duration.min(LONGEST);
        let until = *self.until.get_or_insert_with(|| now + duration);
        if now >= until {
            return Poll::Ready(());
        }
        if let Some(next) = WAKES.get() {
            WAKES.set(Some(Some(next.map_or(until, |next| next.min(until)))));
            return Poll::Pending;
        }
        if !is_running() {
            // Without a timer thread, only this thread can wait.
            thread::sleep(until - now);
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let mut sleepers = lock(&SLEEPERS);
        let is_first = sleepers.next().is_none_or(|next| until < next);
        let number = *self.number.get_or_insert_with(|| sleepers.number());
        let replaced = sleepers.add(until, number, waker);
        drop(sleepers);
        drop(replaced);
        if is_first {
            EARLIER.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let (Some(until), Some(number)) = (self.until, self.number) {
            let removed = lock(&SLEEPERS).remove(until, number);
            drop(removed);
        }
    }
}

thread_local! {
    /// When the first of the sleeps that were polled wakes, while this thread [blocks](block_on).
    static WAKES: Cell<Option<Option<Instant>>> = const { Cell::new(None) };
}

/// Runs a future to completion on this thread, which wakes its sleeps itself: so it needs no other thread, which a
/// forked child does not have.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        let blocked = Blocked::begin();
        let polled = future.as_mut().poll(&mut context);
        match (polled, blocked.end()) {
            (Poll::Ready(result), _) => return result,
            (_, Some(wakes)) => thread::park_timeout(wakes - Instant::now()),
            (_, None) => thread::park(),
        }
    }
}

/// Collects the sleeps that are polled on this thread, until it is dropped.
struct Blocked(Option<Option<Instant>>);

impl Blocked {
    fn begin() -> Self {
        Blocked(WAKES.replace(Some(None)))
    }

    /// When the first of them wakes.
    fn end(self) -> Option<Instant> {
        WAKES.get().flatten()
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        WAKES.set(self.0);
    }
}

/// Starts the thread if it does not run; returns whether it runs in this process, which may be a forked one.
fn is_running() -> bool {
    static PROCESS: OnceLock<Option<u32>> = OnceLock::new();
    let start = || {
        let started = thread::Builder::new().name("ratescope-timer".to_owned()).spawn(run);
        started.is_ok().then(process::id)
    };
    *PROCESS.get_or_init(start) == Some(process::id())
}

/// Wakes each sleeper at its time.
fn run() {
    let mut sleepers = lock(&SLEEPERS);
    loop {
        let now = Instant::now();
        let due = sleepers.due(now);
        if !due.is_empty() {
            drop(sleepers);
            for waker in due {
                // A panic in an executor must not end the thread, on which all sleepers depend.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            sleepers = lock(&SLEEPERS);
            continue;
        }
        sleepers = match sleepers.next() {
            Some(next) => {
                let woken = EARLIER.wait_timeout(sleepers, next - now);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => EARLIER.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
        };
    }
}
