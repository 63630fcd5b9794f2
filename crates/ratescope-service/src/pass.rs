//! A service that lets every request pass.

use bytes::Bytes;
use core::convert::Infallible;
use core::future::{Ready, ready};
use core::task::{Context, Poll};
use http::{Request, Response};
use http_body_util::Full;

/// The service behind the layer of `/auth`, which lets everything pass.
#[derive(Clone, Copy)]
pub(super) struct Pass;

impl tower_service::Service<Request<()>> for Pass {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Full<Bytes>>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<()>) -> Self::Future {
        ready(Ok(Response::default()))
    }
}
