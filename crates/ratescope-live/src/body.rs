//! The bodies of responses: a text, a file, or the news for a viewer.

use super::viewer::Viewer;
use bytes::Bytes;
use core::convert::Infallible;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use http_body::{Frame, SizeHint};
use ratescope::time::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::{Instant, Sleep, sleep};

/// The time between two messages to a viewer.
const OFTEN: Duration = Duration::from_millis(250);

/// Returns the time by the clock of the probe's events.
pub(super) type Now = Arc<dyn Fn() -> Time + Send + Sync>;

/// The body of a response.
#[derive(Debug)]
pub struct Body(Inner);

#[derive(Debug)]
enum Inner {
    Whole(Bytes),
    News(Box<NewsBody>),
}

/// The stream of news for a viewer. Nothing is queued: the next message is made when the connection has room.
struct NewsBody {
    viewer: Viewer,
    now: Now,
    /// Ends the streams of all viewers.
    ends: Arc<AtomicBool>,
    next: Pin<Box<Sleep>>,
}

impl NewsBody {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.ends.load(Ordering::Relaxed) {
                return Poll::Ready(None);
            }
            ready!(self.next.as_mut().poll(context));
            let text = self.viewer.next((self.now)());
            // Sends the past in pieces, as fast as the viewer reads.
            if !self.viewer.is_behind() {
                self.next.as_mut().reset(Instant::now() + OFTEN);
            }
            if self.viewer.is_replaced {
                return Poll::Ready(None);
            }
            if !text.is_empty() {
                return Poll::Ready(Some(text.into()));
            }
        }
    }
}

impl fmt::Debug for NewsBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewsBody").field("viewer", &self.viewer).finish_non_exhaustive()
    }
}

impl Body {
    /// The stream of news for this viewer; it ends within a quarter of a second once `ends` is true, and at once when
    /// another viewer takes its place.
    pub(super) fn news(viewer: Viewer, now: Now, ends: Arc<AtomicBool>) -> Self {
        let next = Box::pin(sleep(Duration::ZERO));
        Body(Inner::News(Box::new(NewsBody { viewer, now, ends, next })))
    }
}

impl From<Bytes> for Body {
    fn from(whole: Bytes) -> Self {
        Body(Inner::Whole(whole))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.0 {
            Inner::Whole(whole) => Some(core::mem::take(whole)).filter(|whole| !whole.is_empty()),
            Inner::News(news) => ready!(news.poll(context)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(whole) if whole.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Inner::News(_) => SizeHint::default(),
        }
    }
}
