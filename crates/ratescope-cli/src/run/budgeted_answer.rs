//! The bytes of answers of gRPC that are not read yet, which are bounded for all connections: a client says itself how
//! much room it has for them.

use crate::server::{Budget, Reservation};
use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body as Answer;

/// Of answers that wait until their client makes room for them: the allowance of a connection is two of them.
pub(super) static ANSWERS: Budget = Budget::new(64 << 10);

/// What such an answer takes, with the call that it ends: up to 28 KiB by measurement, with 64 descriptors.
const ANSWER: usize = 32 << 10;

/// The body of an answer. Its bytes are reserved until it was sent.
pub(super) struct BudgetedAnswer {
    body: Answer,
    reservation: Arc<Reservation>,
}

impl BudgetedAnswer {
    /// The answer with such a body, or an error in its place if too many are not read; `reservation` is that of its
    /// connection.
    pub(super) fn wrap(
        answer: Response<Answer>,
        reservation: &Arc<Reservation>,
    ) -> Response<Answer> {
        if answer.body().is_end_stream() {
            return answer;
        }
        if !reservation.reserve(ANSWER) {
            let status = Status::resource_exhausted("too many answers at once are not read yet");
            return status.into_http();
        }
        let reservation = Arc::clone(reservation);
        answer.map(|body| Answer::new(BudgetedAnswer { body, reservation }))
    }
}

impl Drop for BudgetedAnswer {
    fn drop(&mut self) {
        self.reservation.release(ANSWER);
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
