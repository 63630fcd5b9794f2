//! The service that the layer wraps around another one.
//!
//! If the store answers at once, as the one in memory does, `call` decides about the request and calls
//! the inner service directly. A request that has to wait for the store, in the queue or for a charge
//! needs an allocation and a clone of the inner service.
//!
//! The clone is not ready yet. The request asks it to be ready when its wait is over, and leaves the
//! ready inner service to other requests. So a waiting request holds nothing that the inner service
//! gives out with readiness, such as a place under a concurrency limit.

use super::bodies::{Bodies, Debt, Uncharged};
use super::clock::Clock;
use super::headers::Told;
use super::keys::Head;
use super::layer::ResponseHead;
use super::refused::Answer;
use super::shared::{Judged, Passed, Shared};
use crate::rules::AsyncStore;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::sync::Arc;
use tower_service::Service;

/// A service whose requests are limited. `W` says whether the bodies of its responses are
/// [charged](super::Charged) for.
pub struct RateLimited<I, S, A, C, W = Uncharged> {
    inner: I,
    shared: Arc<Shared<S, A, C>>,
    bodies: PhantomData<W>,
}

impl<I, S, A, C, W> RateLimited<I, S, A, C, W> {
    pub(super) fn new(inner: I, shared: Arc<Shared<S, A, C>>) -> Self {
        RateLimited { inner, shared, bodies: PhantomData }
    }

    /// The inner service.
    pub fn get_ref(&self) -> &I {
        &self.inner
    }
}

impl<I: Clone, S, A, C, W> Clone for RateLimited<I, S, A, C, W> {
    fn clone(&self) -> Self {
        RateLimited::new(self.inner.clone(), Arc::clone(&self.shared))
    }
}

impl<I, S, A, C, W, Q, B> Service<Request<Q>> for RateLimited<I, S, A, C, W>
where
    I: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    I::Future: Send,
    S: AsyncStore,
    A: Answer<B>,
    C: Clock,
    W: Bodies,
    Q: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<W::Of<B>>;
    type Error = I::Error;
    type Future = ResponseFuture<I::Future, B, I::Error, W>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), I::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let shared = &self.shared;
        let state = match shared.decide_now(Head::of(&request)) {
            Some(Judged::Passes(Passed { told, debtor: None })) => {
                State::Passes { inner: self.inner.call(request), told: Some(told) }
            }
            Some(Judged::Refused(response)) => State::Refused { response: Some(response) },
            judged => {
                let later = later(Arc::clone(shared), self.inner.clone(), request, judged);
                State::Later { later: Box::pin(later) }
            }
        };
        ResponseFuture { state, bodies: PhantomData }
    }
}

/// Serves a request that has to wait: for the store, if it is not `judged` yet, in the queue, or for a
/// charge. Returns also the debt of the body, if that is charged for.
async fn later<I, S, A, C, Q, B>(
    shared: Arc<Shared<S, A, C>>,
    mut inner: I,
    request: Request<Q>,
    judged: Option<Judged<B>>,
) -> Result<(Response<B>, Option<Debt>), I::Error>
where
    I: Service<Request<Q>, Response = Response<B>>,
    S: AsyncStore,
    A: Answer<B>,
    C: Clock,
{
    let judged = match judged {
        Some(judged) => judged,
        None => shared.decide(Head::of(&request)).await,
    };
    let Passed { told, debtor } = match judged {
        Judged::Refused(response) => return Ok((response, None)),
        Judged::Passes(passed) => passed,
        Judged::Waits { wait, seat, passed } => {
            shared.clock.sleep(wait).await;
            drop(seat);
            passed
        }
    };
    poll_fn(|cx| inner.poll_ready(cx)).await?;
    let mut response = inner.call(request).await?;
    if let Some(debtor) = &debtor {
        shared.charge_head(debtor, ResponseHead::of(&response)).await;
    }
    told.put(response.headers_mut());
    let debtor = debtor.filter(|_| shared.settings.charge_sent.is_some());
    let debt = debtor.map(|debtor| Debt::new(shared, debtor));
    Ok((response, debt))
}

pin_project! {
    /// The response to a limited request.
    pub struct ResponseFuture<F, B, E, W = Uncharged> {
        #[pin]
        state: State<F, B, E>,
        bodies: PhantomData<W>,
    }
}

pin_project! {
    #[project = Projected]
    enum State<F, B, E> {
        Passes { #[pin] inner: F, told: Option<Told> },
        Refused { response: Option<Response<B>> },
        Later { later: Later<B, E> },
    }
}

type Later<B, E> = Pin<Box<dyn Future<Output = Result<(Response<B>, Option<Debt>), E>> + Send>>;

impl<F, B, E, W> Future for ResponseFuture<F, B, E, W>
where
    F: Future<Output = Result<Response<B>, E>>,
    W: Bodies,
{
    type Output = Result<Response<W::Of<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (response, debt) = match self.project().state.project() {
            Projected::Passes { inner, told } => {
                let mut response = ready!(inner.poll(cx))?;
                if let Some(told) = told.take() {
                    told.put(response.headers_mut());
                }
                (response, None)
            }
            Projected::Refused { response } => match response.take() {
                Some(response) => (response, None),
                // A future is not polled again after it was ready.
                None => return Poll::Pending,
            },
            Projected::Later { later } => ready!(later.as_mut().poll(cx))?,
        };
        Poll::Ready(Ok(W::pass(response, debt)))
    }
}
