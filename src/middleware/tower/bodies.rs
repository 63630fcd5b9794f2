//! Responses that cost what is sent of their bodies.
//!
//! A body counts its bytes as the server takes them, and owes their cost until it is dropped: after its
//! end, or when the client hung up. The debt is paid then, at once in memory, and by a task of its own
//! where a store has to be waited for.

use super::clock::Clock;
use super::keys::Head;
use super::refused::Answer;
use super::service::later;
use super::shared::{Debtor, Shared};
use crate::rules::AsyncStore;
use bytes::Buf;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::sync::Arc;
use tower_layer::Layer;
use tower_service::Service;

/// A layer that limits requests and charges for the bodies of responses. See
/// [`RateLimit::layer_for_bodies`](super::RateLimit::layer_for_bodies).
pub struct BodyLimitLayer<S, A, C>(Arc<Shared<S, A, C>>);

impl<S, A, C> BodyLimitLayer<S, A, C> {
    pub(super) fn new(shared: Shared<S, A, C>) -> Self {
        BodyLimitLayer(Arc::new(shared))
    }

    /// The number of requests in the queue.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

impl<S, A, C> Clone for BodyLimitLayer<S, A, C> {
    fn clone(&self) -> Self {
        BodyLimitLayer(Arc::clone(&self.0))
    }
}

impl<I, S, A, C> Layer<I> for BodyLimitLayer<S, A, C> {
    type Service = BodyLimited<I, S, A, C>;

    fn layer(&self, inner: I) -> Self::Service {
        BodyLimited { inner, shared: Arc::clone(&self.0) }
    }
}

/// A service whose requests are limited, and whose responses cost what is sent of them.
pub struct BodyLimited<I, S, A, C> {
    inner: I,
    shared: Arc<Shared<S, A, C>>,
}

impl<I: Clone, S, A, C> Clone for BodyLimited<I, S, A, C> {
    fn clone(&self) -> Self {
        BodyLimited { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<I, S, A, C, Q, B> Service<Request<Q>> for BodyLimited<I, S, A, C>
where
    I: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    I::Future: Send,
    S: AsyncStore,
    A: Answer<B>,
    C: Clock,
    Q: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<Counted<B>>;
    type Error = I::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, I::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), I::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let judged = shared.decide_now(Head::of(&request));
        let later = later(Arc::clone(&shared), self.inner.clone(), request, judged);
        Box::pin(async move {
            let (response, debtor) = later.await?;
            let debt = debtor.map(|debtor| Debt::new(shared, debtor));
            Ok(response.map(|body| Counted { body, debt }))
        })
    }
}

pin_project! {
    /// A body whose bytes are counted as they are sent.
    pub struct Counted<B> {
        #[pin]
        body: B,
        debt: Option<Debt>,
    }
}

impl<B> Counted<B> {
    /// The body.
    pub fn get_ref(&self) -> &B {
        &self.body
    }
}

impl<B: Body> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(cx));
        match (&frame, this.debt.as_mut()) {
            (Some(Ok(frame)), Some(debt)) => {
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                debt.bytes = debt.bytes.saturating_add(bytes as u64);
            }
            // Its end, or an error after which there is no more.
            _ => drop(this.debt.take()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// So many bytes that are not yet paid for. They are when this is dropped.
struct Debt {
    bytes: u64,
    pay: Option<Box<dyn FnOnce(u64) -> Paying + Send>>,
}

type Paying = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Debt {
    fn new<S: AsyncStore, A, C: Clock>(shared: Arc<Shared<S, A, C>>, debtor: Debtor) -> Self
    where
        A: Send + Sync + 'static,
    {
        let pay = move |bytes| -> Paying {
            Box::pin(async move { shared.charge_sent(&debtor, bytes).await })
        };
        Debt { bytes: 0, pay: Some(Box::new(pay)) }
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        let Some(pay) = self.pay.take() else { return };
        let mut paying = pay(self.bytes);
        let waiting = paying.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        // Without a runtime there is no service any more.
        if waiting && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(paying);
        }
    }
}
