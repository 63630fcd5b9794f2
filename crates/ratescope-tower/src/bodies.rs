//! Responses that cost the sent bytes of their bodies.
//!
//! A body counts its bytes as the server takes them. Their cost is charged when the body is dropped: after its end, or
//! when the client hangs up. A store in memory is charged at once, any other by a task of its own on the runtime that
//! drops the body. Without a runtime the charge is lost, and [counted](super::meters) as lost.

use super::settle::Debt;
use bytes::Buf;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// Says whether a layer charges for the bodies of responses, and which type the bodies have. Only [`Uncharged`] and
/// [`Charged`] implement it.
pub trait Bodies {
    /// The body of a response where the inner service answers with a `B`.
    type Of<B>;

    /// Makes the response to the client. Without a `debt`, its body costs nothing.
    #[doc(hidden)]
    fn pass<B>(response: Response<B>, debt: Option<Debt>) -> Response<Self::Of<B>>;
}

/// Bodies cost nothing, and are passed on as they are.
#[derive(Clone, Copy, Debug)]
pub struct Uncharged;

impl Bodies for Uncharged {
    type Of<B> = B;

    #[inline]
    fn pass<B>(response: Response<B>, _: Option<Debt>) -> Response<B> {
        response
    }
}

/// Bodies cost the bytes that are sent, and are [`Counted`].
#[derive(Clone, Copy, Debug)]
pub struct Charged;

impl Bodies for Charged {
    type Of<B> = Counted<B>;

    fn pass<B>(response: Response<B>, debt: Option<Debt>) -> Response<Counted<B>> {
        response.map(|body| Counted { body, debt })
    }
}

pin_project! {
    /// A body whose bytes are counted as they are sent.
    pub struct Counted<B> {
        #[pin]
        body: B,
        debt: Option<Debt>,
    }
}

impl<B> Counted<B> {
    /// The body.
    pub fn get_ref(&self) -> &B {
        &self.body
    }
}

impl<B: fmt::Debug> fmt::Debug for Counted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("body", &self.body).finish_non_exhaustive()
    }
}

impl<B: Body> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(cx));
        match (&frame, this.debt.as_mut()) {
            (Some(Ok(frame)), Some(debt)) => {
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                debt.sum += bytes as f64;
            }
            // The end of the body, or an error, after which nothing comes.
            _ => drop(this.debt.take()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
