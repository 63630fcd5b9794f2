//! The probe of the service as Server-Sent Events, for Live.

use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};
use ratescope::clock::Clock;
use ratescope::live::{Asked, Viewer};
use ratescope::service::{Service, States};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

/// The path of the stream.
pub(super) const EVENTS: &str = "/live/events";

/// The time between two messages to a viewer.
const OFTEN: Duration = Duration::from_millis(250);

/// The body of the answer to a viewer. Nothing waits in it: it is asked when there is room on the connection,
/// and then has the news.
pub(super) struct Told<B: States> {
    service: Arc<Service<B>>,
    viewer: Viewer,
    ends: watch::Receiver<bool>,
    next: Pin<Box<Sleep>>,
}

impl<B: States> Told<B> {
    /// The answer to a request; `None` if there are too many viewers.
    pub(super) fn new<Q>(
        service: &Arc<Service<B>>,
        request: &Request<Q>,
        ends: watch::Receiver<bool>,
    ) -> Option<Response<Self>> {
        let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        let asked = Asked::read(request.uri().query().unwrap_or_default(), last);
        let viewer = service.probe().look(&asked, service.clock().now())?;
        let (service, next) = (Arc::clone(service), Box::pin(sleep(Duration::ZERO)));
        let mut response = Response::new(Told { service, viewer, ends, next });
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }
}

impl<B: States> Body for Told<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if *self.ends.borrow() {
                return Poll::Ready(None);
            }
            ready!(self.next.as_mut().poll(context));
            self.next.as_mut().reset(Instant::now() + OFTEN);
            let now = self.service.clock().now();
            let text = self.viewer.next(now);
            if !text.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(text.into()))));
            }
        }
    }
}
