//! The parts of the tests: a clock set by hand, an inner service.

pub(crate) use crate::middleware::far::{Far, pending, ruled};
use core::future::{Future, poll_fn};
use core::net::IpAddr;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use http::{HeaderMap, Request, Response};
use ratescope::rules::Store;
use ratescope::{Span, Time};
use ratescope_tower::{Clock, FakeClock, RateLimitLayer};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tower_service::Service;

/// A clock that is set in seconds.
#[derive(Clone, Default)]
pub(crate) struct Hand(FakeClock);

impl Hand {
    pub(crate) fn set(&self, seconds: f64) {
        self.0.set(Time::try_from_secs_f64(seconds).unwrap());
    }
}

impl Clock for Hand {
    fn now(&self) -> Time {
        self.0.now()
    }

    async fn sleep(&self, span: Span) {
        self.0.sleep(span).await;
    }
}

/// The service within: answers with the path that was asked for, after so many polls each. A path such as
/// `/status/429` gives the status.
#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) seen: Arc<Seen>,
    pub(crate) headers: HeaderMap,
    /// How often a clone says that it is not ready, and a response that it is not there yet.
    pub(crate) unready: usize,
    pub(crate) slow: usize,
    pub(crate) asked: usize,
    pub(crate) is_ready: bool,
}

/// A clone is not ready, whatever this one is.
impl Clone for Inner {
    fn clone(&self) -> Self {
        let Inner { unready, slow, .. } = *self;
        let (seen, headers) = (Arc::clone(&self.seen), self.headers.clone());
        Inner { seen, headers, unready, slow, asked: 0, is_ready: false }
    }
}

/// The counts that all clones of an inner service share.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: AtomicUsize,
    /// Responses that are awaited now.
    pub(crate) running: AtomicUsize,
    pub(crate) paths: Mutex<Vec<String>>,
}

impl Service<Request<String>> for Inner {
    type Response = Response<String>;
    type Error = String;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<String>, String>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        self.asked += 1;
        self.is_ready = self.asked > self.unready;
        if self.is_ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        assert!(core::mem::take(&mut self.is_ready), "called without having been asked");
        self.asked = 0;
        let path = request.uri().path().to_owned();
        self.seen.calls.fetch_add(1, Ordering::SeqCst);
        self.seen.paths.lock().unwrap().push(path.clone());
        let running = Running::new(&self.seen);
        let (headers, slow) = (self.headers.clone(), self.slow);
        Box::pin(async move {
            pending(slow).await;
            drop(running);
            if path == "/broken" {
                return Err("broken".to_owned());
            }
            let status = path.strip_prefix("/status/").map(|code| code.parse().unwrap());
            let mut response = Response::new(path);
            *response.headers_mut() = headers;
            *response.status_mut() = status.unwrap_or_default();
            Ok(response)
        })
    }
}

struct Running(Arc<Seen>);

impl Running {
    fn new(seen: &Arc<Seen>) -> Self {
        seen.running.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Seen {
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

/// A limit by the rules, where the extension `IpAddr` is the peer and the clock is the test's.
pub(crate) fn limit<S: Store>(
    store: S,
    clock: &Hand,
) -> RateLimitLayer<S, ratescope_tower::Problem, Hand> {
    RateLimitLayer::new(store).clock(clock.clone())
}

/// A request from an address.
pub(crate) fn get(path: &str, ip: &str) -> Request<String> {
    let mut request = Request::new(String::new());
    *request.uri_mut() = path.parse().unwrap();
    request.extensions_mut().insert(ip.parse::<IpAddr>().unwrap());
    request
}

/// Hands in a request to a service that is ready, and polls until the response is there.
pub(crate) fn send<S>(service: &mut S, request: Request<String>) -> Response<String>
where
    S: Service<Request<String>, Response = Response<String>, Error = String>,
{
    finished(call(service, request)).unwrap()
}

/// Hands in a request once the service is ready.
pub(crate) fn call<S: Service<Request<String>, Error = String>>(
    service: &mut S,
    request: Request<String>,
) -> S::Future {
    finished(poll_fn(|cx| service.poll_ready(cx))).unwrap();
    service.call(request)
}

/// Polls until it is ready.
pub(crate) fn finished<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    for _ in 0..1000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
    panic!("it waits for ever");
}

/// The headers of a response, each in a line and sorted.
pub(crate) fn head(response: &Response<String>) -> Vec<String> {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        format!("{name}: {}", value.to_str().unwrap())
    };
    let mut lines: Vec<String> = response.headers().iter().map(line).collect();
    lines.sort();
    lines
}
