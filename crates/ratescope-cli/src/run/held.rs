//! The bytes of calls that are not whole yet, which are bounded for all connections.

use crate::server::{Sum, Unfinished};
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tonic::Status;

/// Of gRPC, where a connection has many requests at a time: a few calls whose message has not arrived are free.
pub(super) static CALLS: Sum = Sum::new(64 << 10);

/// What a call takes until its message is read, beside its bytes.
const CALL: usize = 8 << 10;

/// What a header takes beside its texts, as HTTP/2 counts it (RFC 9113, section 10.5.1).
const HEADER: usize = 32;

/// The body of a call. Its bytes, and those of the head, are held until it is dropped, when the message is read.
pub(super) struct Held {
    body: Incoming,
    by: Arc<Unfinished>,
    bytes: usize,
    /// Whether the connection may hold no more.
    is_too_much: bool,
}

impl Held {
    /// The same call with such a body, on a connection that holds bytes `by` this.
    pub(super) fn of(call: Request<Incoming>, by: &Arc<Unfinished>) -> Request<Held> {
        let each = call.headers().iter();
        let head: usize =
            each.map(|(name, value)| name.as_str().len() + value.len() + HEADER).sum();
        call.map(|body| {
            let mut held = Held { body, by: Arc::clone(by), bytes: 0, is_too_much: false };
            held.take(CALL + head);
            held
        })
    }

    fn take(&mut self, bytes: usize) {
        match self.by.take(bytes) {
            true => self.bytes += bytes,
            false => self.is_too_much = true,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.by.give_back(self.bytes);
    }
}

impl Body for Held {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = match self.is_too_much {
            true => None,
            false => ready!(Pin::new(&mut self.body).poll_frame(context)),
        };
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            let bytes = data.len();
            self.take(bytes);
        }
        if self.is_too_much {
            let status = Status::resource_exhausted("too many calls at once are not whole yet");
            return Poll::Ready(Some(Err(status.into())));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        !self.is_too_much && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
