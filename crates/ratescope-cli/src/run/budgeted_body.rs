//! Bounds the bytes of incomplete calls, over all connections.

use crate::server::{Budget, Reservation};
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tonic::Status;

/// The budget of gRPC, where a connection has many requests at a time; its allowance is a few incomplete calls.
pub(super) static GRPC: Budget = Budget::new(64 << 10);

/// The memory of a call until its message is read, besides its bytes.
const CALL: usize = 8 << 10;

/// The overhead of each field in the size of a header list (RFC 9113, section 10.5.1).
const HEADER: usize = 32;

/// The body of a call. Its bytes and those of the head are reserved until the message is read, which drops the body.
pub(super) struct BudgetedBody {
    body: Incoming,
    reservation: Arc<Reservation>,
    bytes: usize,
    /// A stream of quotas, which has reserved its longest message: each frame is released when the next one comes.
    is_stream: bool,
    /// The bytes of the last frame.
    last: usize,
    is_over_budget: bool,
}

impl BudgetedBody {
    /// The call with such a body; `reservation` is that of its connection.
    pub(super) fn wrap(
        call: Request<Incoming>,
        reservation: &Arc<Reservation>,
        is_stream: bool,
    ) -> Request<BudgetedBody> {
        let texts = call.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
        let head: usize = texts.map(|texts| texts + HEADER).sum();
        call.map(|body| {
            let reservation = Arc::clone(reservation);
            let mut body = BudgetedBody {
                body,
                reservation,
                bytes: 0,
                is_stream,
                last: 0,
                is_over_budget: false,
            };
            body.reserve(CALL + head);
            body
        })
    }

    fn reserve(&mut self, bytes: usize) {
        if self.reservation.reserve(bytes) {
            self.bytes += bytes;
        } else {
            self.is_over_budget = true;
        }
    }
}

impl Drop for BudgetedBody {
    fn drop(&mut self) {
        self.reservation.release(self.bytes);
    }
}

impl Body for BudgetedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut frame = None;
        if !self.is_over_budget {
            frame = ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()?;
            if let Some(data) = frame.as_ref().and_then(Frame::data_ref) {
                let bytes = data.len();
                if self.is_stream {
                    self.reservation.release(self.last);
                    self.bytes -= core::mem::take(&mut self.last);
                }
                self.reserve(bytes);
                self.last = if self.is_over_budget { 0 } else { bytes };
            }
        }
        if self.is_over_budget {
            let status = Status::resource_exhausted("too many calls at once are not whole yet");
            return Poll::Ready(Some(Err(status.into())));
        }
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        !self.is_over_budget && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
