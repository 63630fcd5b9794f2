//! Bounds the bytes of unread answers of gRPC, over all connections: each client sets its own flow control window.
//!
//! A stream, such as that of `Health/Watch`, stays open for as long as its client likes. So streams have a budget of
//! their own, and a client that uses it all up takes no answer from anybody.

use crate::server::{Budget, Reservation};
use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body as Answer;

/// The budget of answers that wait for flow control; the allowance of a connection is two of them.
pub(super) static ANSWERS: Budget = Budget::new(64 << 10);

/// The budget of the open streams of quotas, health and reflection; the allowance of a connection is two of them.
pub(super) static STREAMS: Budget = Budget::new(64 << 10);

/// The memory of such an answer and its call: measured up to 28 KiB, with 64 descriptors. A stream of reflection holds
/// as much while its last message is not read.
pub(super) const ANSWER: usize = 32 << 10;

/// The memory of a stream of quotas between two reports: measured up to 770 KiB, with short ids.
pub(super) const QUOTAS: usize = 768 << 10;

/// The body of an answer, whose bytes are reserved until it is sent.
pub(super) struct BudgetedAnswer {
    body: Answer,
    reservation: Arc<Reservation>,
    bytes: usize,
}

impl BudgetedAnswer {
    /// The answer with such a body, which takes so many bytes, or an error if too many answers are unread; `reservation`
    /// is that of its connection.
    pub(super) fn wrap(
        answer: Response<Answer>,
        reservation: &Arc<Reservation>,
        bytes: usize,
    ) -> Response<Answer> {
        if answer.body().is_end_stream() {
            return answer;
        }
        if !reservation.reserve(bytes) {
            let status = Status::resource_exhausted(
                "too many answers at once are not read yet, or too many streams are open",
            );
            return status.into_http();
        }
        let reservation = Arc::clone(reservation);
        answer.map(|body| Answer::new(BudgetedAnswer { body, reservation, bytes }))
    }
}

impl Drop for BudgetedAnswer {
    fn drop(&mut self) {
        self.reservation.release(self.bytes);
    }
}

impl Body for BudgetedAnswer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
