//! The service that the layer wraps around another one.
//!
//! A request becomes a 429 in these steps. `call` asks `decide.rs`, which finds the fields of the request (`fields.rs`,
//! behind proxies `proxies.rs`) and asks the store. If the decision refuses, `refusal.rs` writes the response, and
//! `headers.rs` its headers. `later` serves a request that has to wait.
//!
//! # Readiness
//! A service that says it is ready may hold something from then on, such as a permit of a concurrency limit. The
//! wrapped service is ready when the inner one is. Then:
//!
//! * If the store answers at once, as the one in memory does, and the request passes, `call` calls this
//!   ready inner service.
//! * If the request is refused, nobody calls the inner service. The layer drops it and keeps a clone, so the permit is
//!   free at once.
//! * If the request has to wait, for the store or in the queue, the layer does the same. The request takes another
//!   clone, which it makes ready and calls when its wait is over. So a waiting request holds nothing of the inner
//!   service.
//!
//! So while requests wait, more of them may be inside the layer than the inner service is ready for; then they also
//! wait for the inner service.

use super::bodies::{Bodies, Uncharged};
use super::cycles::CycleClock;
use super::decide::{Decided, Shared};
use super::fields::Head;
use super::headers::Values;
use super::refusal::{Answer, Problem};
use super::settle::Debt;
use super::ticket::Ticket;
use core::fmt;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use http::{Request, Response};
use pin_project_lite::pin_project;
use ratescope::clock::Clock;
use ratescope::rules::Store;
use std::sync::Arc;
use tower_service::Service;

/// A service whose requests are limited. `W` says whether the bodies of its responses are
/// [charged](super::Charged) for.
pub struct RateLimit<I, S, A = Problem, C = CycleClock, W = Uncharged> {
    inner: I,
    shared: Arc<Shared<S, A, C>>,
    bodies: PhantomData<W>,
}

impl<I, S, A, C, W> RateLimit<I, S, A, C, W> {
    pub(super) fn new(inner: I, shared: Arc<Shared<S, A, C>>) -> Self {
        RateLimit { inner, shared, bodies: PhantomData }
    }

    /// The inner service.
    pub fn get_ref(&self) -> &I {
        &self.inner
    }
}

impl<I: fmt::Debug, S, A, C, W> fmt::Debug for RateLimit<I, S, A, C, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.shared.name();
        let mut out = f.debug_struct("RateLimit");
        out.field("name", &name).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<I: Clone, S, A, C, W> Clone for RateLimit<I, S, A, C, W> {
    fn clone(&self) -> Self {
        RateLimit::new(self.inner.clone(), Arc::clone(&self.shared))
    }
}

impl<I, S, A, C, W, Q, B> Service<Request<Q>> for RateLimit<I, S, A, C, W>
where
    I: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    I::Future: Send,
    S: Store,
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

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let shared = &self.shared;
        let decided = shared.decide_now(&Head::new(&request));
        if let Some(Ok(ticket)) = &decided {
            shared.insert_extensions(&mut request, ticket);
        }
        let state = match decided {
            Some(Ok(ticket)) if ticket.slot.is_none() => {
                let inner = self.inner.call(request);
                match shared.charged(&ticket) {
                    None => State::Called { inner, headers: ticket.headers },
                    Some(_) => {
                        let response = respond(Arc::clone(shared), inner, ticket);
                        State::Later { later: Box::pin(response) }
                    }
                }
            }
            decided => {
                // The clone replaces the ready service, which is dropped with everything that it holds.
                self.inner = self.inner.clone();
                match decided {
                    Some(Err(refusal)) => State::Refused { response: Some(refusal) },
                    decided => {
                        let later = later(Arc::clone(shared), self.inner.clone(), request, decided);
                        State::Later { later: Box::pin(later) }
                    }
                }
            }
        };
        ResponseFuture { state, bodies: PhantomData }
    }
}

/// Serves a request that has to wait: for the store, if it has not `decided` at once, or in the queue. The `inner` service
/// need not be ready. Also returns the debt of the body, if bodies are charged for.
async fn later<I, S, A, C, Q, B>(
    shared: Arc<Shared<S, A, C>>,
    mut inner: I,
    mut request: Request<Q>,
    decided: Option<Decided<B>>,
) -> Result<(Response<B>, Option<Debt>), I::Error>
where
    I: Service<Request<Q>, Response = Response<B>>,
    S: Store,
    A: Answer<B>,
    C: Clock,
{
    let ticket = match shared.admit(&mut request, decided).await {
        Ok(ticket) => ticket,
        Err(refusal) => return Ok((*refusal, None)),
    };
    poll_fn(|cx| inner.poll_ready(cx)).await?;
    let response = inner.call(request);
    // The clone may hold something, and is not needed while the response is made.
    drop(inner);
    respond(shared, response, ticket).await
}

async fn respond<S, A, C, B, E>(
    shared: Arc<Shared<S, A, C>>,
    response: impl Future<Output = Result<Response<B>, E>>,
    mut ticket: Ticket,
) -> Result<(Response<B>, Option<Debt>), E>
where
    S: Store,
    A: Answer<B>,
    C: Clock,
{
    let mut response = response.await?;
    shared.finish(&mut ticket, &mut response).await;
    let counted = shared.charged(&ticket).cloned();
    Ok((response, counted.and_then(|counted| shared.debt(counted))))
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
        Called { #[pin] inner: F, headers: Option<Box<Values>> },
        Refused { response: Option<Box<Response<B>>> },
        Later { later: Later<B, E> },
    }
}

impl<F, B, E, W> fmt::Debug for ResponseFuture<F, B, E, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
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
            Projected::Called { inner, headers } => {
                let mut polled = inner.poll(cx);
                if let Poll::Ready(Ok(response)) = &mut polled
                    && let Some(mut headers) = headers.take()
                {
                    headers.write(response.headers_mut());
                }
                return polled.map_ok(|response| W::pass(response, None));
            }
            Projected::Refused { response } => match response.take() {
                Some(response) => (*response, None),
                // A future is not polled again after it was ready.
                None => return Poll::Pending,
            },
            Projected::Later { later } => ready!(later.as_mut().poll(cx))?,
        };
        Poll::Ready(Ok(W::pass(response, debt)))
    }
}
