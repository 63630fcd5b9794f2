//! Runs a decision to completion, even if its caller gives up.
//!
//! Otherwise a caller that hangs up at the wrong moment could leave a refused event counted, or an allowed one undone.
//! And if all callers waited less than the timeout of the store, and their calls ended with them, a silent connection
//! would never time out, and be used for ever.

use core::pin::Pin;
use core::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// A permit for each decision that runs without a caller. Without one, a decision ends with its caller.
static DETACHED: Semaphore = Semaphore::const_new(10_000);

/// A future that its caller polls. If the caller drops it, a task runs it to completion.
pub(super) struct DetachOnDrop<T: Send + 'static> {
    /// `None` once it has completed.
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// The runtime; `None` before the first poll, when nothing has begun.
    runtime: Option<Handle>,
}

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        DetachOnDrop { future: Some(Box::pin(future)), runtime: None }
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let answer = future.as_mut().poll(context);
        if answer.is_ready() {
            self.future = None;
        } else if self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
        answer
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        if let (Some(future), Some(runtime)) = (self.future.take(), self.runtime.take())
            && let Ok(permit) = DETACHED.try_acquire()
        {
            runtime.spawn(async move {
                future.await;
                drop(permit);
            });
        }
    }
}
