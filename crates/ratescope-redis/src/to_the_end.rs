//! A decision that goes on to its end, whoever gives up waiting for it.
//!
//! Otherwise a caller who hangs up at the wrong moment would leave something counted that was refused, or undone
//! that was not. And many callers wait less than the deadline of the store: if their exchanges ended with them, nobody
//! would notice that a connection is silent, and it would be used for ever.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use tokio::runtime::Handle;

/// The most decisions that go on without a caller at a time. Beyond it, a decision ends with its caller.
const MOST: usize = 10_000;

static GOING_ON: AtomicUsize = AtomicUsize::new(0);

/// Polled by its caller. If that gives up, a task of its own goes on with it.
pub(super) struct ToTheEnd<T: Send + 'static> {
    /// `None` once it is at its end.
    rest: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// The runtime; `None` before the first poll, when nothing has begun.
    runtime: Option<Handle>,
}

impl<T: Send + 'static> ToTheEnd<T> {
    pub(super) fn new(decision: impl Future<Output = T> + Send + 'static) -> Self {
        ToTheEnd { rest: Some(Box::pin(decision)), runtime: None }
    }
}

impl<T: Send + 'static> Future for ToTheEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(rest) = &mut self.rest else { return Poll::Pending };
        match rest.as_mut().poll(context) {
            Poll::Ready(answer) => {
                self.rest = None;
                Poll::Ready(answer)
            }
            Poll::Pending => {
                if self.runtime.is_none() {
                    self.runtime = Handle::try_current().ok();
                }
                Poll::Pending
            }
        }
    }
}

impl<T: Send + 'static> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        let (Some(rest), Some(runtime)) = (self.rest.take(), self.runtime.take()) else { return };
        let counted = Counted::new();
        if counted.0 < MOST {
            runtime.spawn(async move {
                rest.await;
                drop(counted);
            });
        }
    }
}

/// One of those that go on, and how many there were before it.
struct Counted(usize);

impl Counted {
    fn new() -> Self {
        Counted(GOING_ON.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        GOING_ON.fetch_sub(1, Ordering::Relaxed);
    }
}
