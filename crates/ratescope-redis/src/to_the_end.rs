//! Runs a decision to completion, even if its caller gives up.
//!
//! Otherwise a caller that hangs up at the wrong moment could leave a refused event counted, or an allowed one undone.
//! And if all callers waited less than the timeout of the store, and their calls ended with them, a silent connection
//! would never time out, and be used for ever.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use tokio::runtime::Handle;

/// The most decisions that run without a caller at a time. Further decisions end with their callers.
const MOST: usize = 10_000;

static GOING_ON: AtomicUsize = AtomicUsize::new(0);

/// A future that its caller polls. If the caller drops it, a task runs it to completion.
pub(super) struct ToTheEnd<T: Send + 'static> {
    /// `None` once it has completed.
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

/// A decision that runs without a caller; the number of others when it began.
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
