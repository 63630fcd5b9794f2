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

/// The bytes before a message: a flag and its length.
const HEAD: usize = 5;

/// The overhead of each field in the size of a header list (RFC 9113, section 10.5.1).
const HEADER: usize = 32;

/// The body of a call. Its bytes and those of the head are reserved until the message is read, which drops the body.
pub(super) struct BudgetedBody {
    body: Incoming,
    reservation: Arc<Reservation>,
    bytes: usize,
    /// Of a stream of messages: each is released when the next frame is asked for.
    messages: Option<Messages>,
    is_over_budget: bool,
}

/// What has arrived of a stream of messages, each behind a flag and its length in four bytes.
#[derive(Default)]
struct Messages {
    /// How many of these five bytes of the last message have arrived.
    head: usize,
    /// How much is missing of it.
    missing: usize,
    /// The bytes of messages that are whole.
    whole: usize,
    /// The bytes of the last message, which is not whole.
    part: usize,
}

impl Messages {
    fn add(&mut self, mut data: &[u8]) {
        while let Some((&first, rest)) = data.split_first() {
            let taken = if self.head < HEAD {
                // The flag is shifted out.
                self.missing = (self.missing << 8 | usize::from(first)) & 0xffff_ffff;
                self.head += 1;
                data = rest;
                1
            } else {
                let taken = self.missing.min(data.len());
                self.missing -= taken;
                data = data.get(taken..).unwrap_or_default();
                taken
            };
            self.part += taken;
            if self.head == HEAD && self.missing == 0 {
                self.whole += core::mem::take(&mut self.part);
                self.head = 0;
            }
        }
    }
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
                messages: is_stream.then(Messages::default),
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
            if let Some(messages) = &mut self.messages {
                let read = core::mem::take(&mut messages.whole);
                self.reservation.release(read);
                self.bytes -= read;
            }
            frame = ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()?;
            if let Some(data) = frame.as_ref().and_then(Frame::data_ref) {
                self.reserve(data.len());
                if let Some(messages) = &mut self.messages {
                    messages.add(data);
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A message ends wherever its frames do.
    #[test]
    fn a_message_is_whole_when_all_of_it_has_come() {
        let bytes: Vec<u8> =
            [&[0, 0, 0, 1, 2][..], &[7; 258], &[0; 5], &[1, 0, 0, 0, 3, 9, 9, 9]].concat();
        for cut in 0..=bytes.len() {
            let mut messages = Messages::default();
            messages.add(&bytes[..cut]);
            let whole = [276, 268, 263, 0].into_iter().find(|end| cut >= *end).unwrap();
            assert_eq!((messages.whole, messages.part), (whole, cut - whole));
            messages.add(&bytes[cut..]);
            assert_eq!((messages.whole, messages.part), (bytes.len(), 0));
        }
    }
}
