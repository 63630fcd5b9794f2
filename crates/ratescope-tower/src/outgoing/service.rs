//! A client whose calls wait for their limits.

use super::{Limits, Pace, pause};
use core::fmt;
use core::future::{Future, poll_fn, ready};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use http::header::HOST;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use ratescope::clock::Clock;
use ratescope::event::{Event, Fields};
use ratescope::outcome::Retry;
use ratescope::time::{Span, Time};
use ratescope::waiting::{Blocked, NotAllowed, attempt, until};
use tower_service::Service;

/// A client whose calls are limited: see [the module](super).
#[derive(Clone, Debug)]
pub struct Paced<I, C> {
    inner: I,
    pace: Pace<C>,
}

impl<I, C> Paced<I, C> {
    pub(super) fn new(inner: I, pace: Pace<C>) -> Self {
        Paced { inner, pace }
    }

    /// The client inside.
    pub fn get_ref(&self) -> &I {
        &self.inner
    }
}

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError<E> {
    /// The call was not made, and not counted: its wait would have been too long. If it was counted, since it waited in
    /// a queue when the host asked for a pause, it is [undone](ratescope::Limiter::undo) as far as the limits can.
    GaveUp(NotAllowed),
    /// The call was made, and failed.
    Call(E),
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::GaveUp(reason) => write!(f, "the call was not made: {reason}"),
            CallError::Call(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            CallError::GaveUp(reason) => Some(reason),
            // The call's error is shown in place of this one, so its source comes next.
            CallError::Call(error) => error.source(),
        }
    }
}

impl<I, C, Q, B> Service<Request<Q>> for Paced<I, C>
where
    I: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    I::Future: Send,
    I::Error: Send,
    C: Clock,
    Q: Send + 'static,
{
    type Response = Response<B>;
    type Error = CallError<I::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(CallError::Call)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let call = Called::new(request.method(), request.uri(), request.headers());
        let pace = self.pace.clone();
        let is_free = !pace.limits.store.is_waited_for(&call);
        if is_free && pace.passes_at_once(&call) {
            let response = self.inner.call(request);
            return Box::pin(async move { pace.heeded(&call, response.await) });
        }
        // The clone replaces the ready client, which is dropped with everything that it holds.
        self.inner = self.inner.clone();
        let mut inner = self.inner.clone();
        Box::pin(async move {
            pace.until_allowed(&call).await.map_err(CallError::GaveUp)?;
            poll_fn(|cx| inner.poll_ready(cx)).await.map_err(CallError::Call)?;
            let response = inner.call(request);
            // The clone may hold something, and is not needed while the response is made.
            drop(inner);
            pace.heeded(&call, response.await)
        })
    }
}

impl Limits {
    /// When to ask again, while the host wants no calls.
    fn paused(&self, call: &Called, now: Time) -> Result<(), Retry> {
        self.pauses.pass(&call.host, now, 0.0, Span::ZERO).map(drop)
    }
}

impl<C: Clock> Pace<C> {
    /// Counts a call that passes within `most`, and returns when it was counted and its wait; otherwise says when to ask
    /// again.
    async fn attempt(&self, call: &Called, most: Span) -> Result<(Time, Option<Span>), Blocked> {
        let Pace { limits, waiting, clock, .. } = self;
        limits.paused(call, clock.now())?;
        let passed = attempt(&limits.store, call, &**clock, waiting.cost, most).await;
        passed.map(|(decision, wait)| (decision.time, wait))
    }

    /// Counts a call that need not wait, and returns true; false for any other. A store in memory answers at once.
    fn passes_at_once(&self, call: &Called) -> bool {
        let attempt = pin!(self.attempt(call, Span::ZERO));
        matches!(attempt.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_)))
    }

    /// Waits until the call is allowed, and counts it.
    pub(super) async fn until_allowed(&self, call: &Called) -> Result<(), NotAllowed> {
        let Pace { limits, waiting, clock, .. } = self;
        let (clock, waiting) = (&**clock, *waiting);
        let begin = clock.now();
        let attempt = |most| self.attempt(call, most);
        let counted = limits.store.until_passed(call, clock, waiting, attempt).await?;
        // The host may have asked for a pause while the call waited in a queue.
        let waited = until(clock, waiting.after(begin.until(clock.now())), |_| {
            let at_once = Some(Span::ZERO);
            let paused = limits.paused(call, clock.now());
            ready(paused.map(|()| ((), at_once)).map_err(Blocked::from))
        })
        .await;
        if waited.is_err() {
            let event = Event { time: counted, cost: -waiting.cost, fields: call };
            // A cost is neither negative nor NaN, so it can be given back.
            let _ = limits.store.settle(&event, clock.now(), None);
        }
        waited
    }

    /// Begins the pause that a response asks for, and returns the response.
    fn heeded<B, E>(
        &self,
        call: &Called,
        response: Result<Response<B>, E>,
    ) -> Result<Response<B>, CallError<E>> {
        let response = response.map_err(CallError::Call)?;
        self.heed(call, response.status(), response.headers());
        Ok(response)
    }

    /// Begins the pause that the head of a response asks for.
    pub(super) fn heed(&self, call: &Called, status: StatusCode, headers: &HeaderMap) {
        let now = self.clock.now();
        if let Some(pause) = pause::asked_for(status, headers, now) {
            let seconds = pause.min(self.longest_pause).as_secs_f64();
            // A pause is neither negative nor NaN, so it is counted.
            let _ = self.limits.pauses.charge(&call.host, now, seconds);
        }
    }
}

/// The fields of a call.
pub(super) struct Called {
    host: String,
    method: Method,
    uri: Uri,
}

impl Called {
    pub(super) fn new(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let host = match uri.authority() {
            // Without the user's name and password.
            Some(authority) => authority.as_str().rsplit('@').next(),
            None => headers.get(HOST).and_then(|host| host.to_str().ok()),
        };
        let host = host.unwrap_or("").to_ascii_lowercase();
        Called { host, method: method.clone(), uri: uri.clone() }
    }
}

impl Fields for Called {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "host" => Some(&self.host),
            "method" => Some(self.method.as_str()),
            "path" => Some(self.uri.path()),
            _ => None,
        }
    }
}
