//! An exchange with a server that counts for or against its connection even if its caller gives up.
//!
//! Many callers wait less than the deadline of the store. If their exchanges ended with them, nobody would notice that
//! a connection is silent, and it would be used for ever.

use super::breaker::Permit;
use super::server::{Connection, Failure, report};
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context, Poll, ready};
use std::sync::Arc;
use tokio::runtime::Handle;

/// An exchange that goes on in a task of its own, until its deadline, if its caller gives up. Each connection has at
/// most one such exchange, which is enough to tell whether it is silent.
pub(super) struct Lasting<T: Send + 'static> {
    /// `None` once there is an answer.
    rest: Option<Exchange<T>>,
    connection: Arc<Connection>,
    permit: Option<Arc<Permit>>,
}

type Exchange<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

impl<T: Send + 'static> Lasting<T> {
    pub(super) fn new(
        exchange: impl Future<Output = Result<T, Failure>> + Send + 'static,
        connection: Arc<Connection>,
        permit: Option<&Arc<Permit>>,
    ) -> Self {
        Lasting { rest: Some(Box::pin(exchange)), connection, permit: permit.cloned() }
    }
}

impl<T: Send + 'static> Future for Lasting<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(rest) = &mut self.rest else { return Poll::Pending };
        let answer = ready!(rest.as_mut().poll(context));
        self.rest = None;
        Poll::Ready(answer)
    }
}

impl<T: Send + 'static> Drop for Lasting<T> {
    fn drop(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        if self.connection.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (connection, permit) = (Arc::clone(&self.connection), self.permit.take());
        runtime.spawn(async move {
            let answer = rest.await;
            connection.is_watched.store(false, Ordering::Relaxed);
            if let Some(permit) = permit {
                report(&permit, &answer);
            }
        });
    }
}
