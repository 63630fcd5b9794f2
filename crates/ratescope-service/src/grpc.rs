//! Envoy's protocol by gRPC.

use super::Service;
use super::decide::NoAnswer;
use super::message::{RateLimitRequest, RateLimitResponse};
use core::convert::Infallible;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use http::{Request, Response};
use ratescope::clock::Clock;
use std::sync::Arc;
use tonic::body::Body;
use tonic::server::{Grpc as Server, NamedService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

/// The name of the service of Envoy's protocol.
pub const NAME: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// The path of its only method.
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The longest request in bytes. A request of Envoy has a few hundred.
const LONGEST: usize = 256 << 10;

/// A service as gRPC serves it. A server, such as that of tonic, hands it the requests whose path begins with `/` and
/// [`NAME`].
pub struct Grpc<C = ratescope::clock::SystemClock>(Arc<Service<C>>);

impl<C: Clock> Grpc<C> {
    /// Serves this service.
    pub fn new(service: Arc<Service<C>>) -> Self {
        Grpc(service)
    }
}

impl<C> Clone for Grpc<C> {
    fn clone(&self) -> Self {
        Grpc(Arc::clone(&self.0))
    }
}

impl<C> NamedService for Grpc<C> {
    const NAME: &'static str = NAME;
}

impl<C: Clock, Q> tower_service::Service<Request<Q>> for Grpc<C>
where
    Q: http_body::Body + Send + 'static,
    Q::Data: Send,
    Q::Error: Into<Box<dyn core::error::Error + Send + Sync>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            if request.uri().path() != PATH {
                return Ok(Status::unimplemented("there is only ShouldRateLimit").into_http());
            }
            let mut server = Server::new(ProstCodec::default());
            server = server.max_decoding_message_size(LONGEST);
            Ok(server.unary(service, request).await)
        })
    }
}

impl<C: Clock> UnaryService<RateLimitRequest> for Grpc<C> {
    type Response = RateLimitResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<RateLimitResponse>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<RateLimitRequest>) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = service.should_rate_limit(request.get_ref()).await;
            answer.map(tonic::Response::new).map_err(|error| status(&error))
        })
    }
}

fn status(error: &NoAnswer) -> Status {
    let code = match error {
        NoAnswer::Invalid(_) => Code::InvalidArgument,
        NoAnswer::Unsupported(_) => Code::Unimplemented,
        NoAnswer::Unavailable(_) => Code::Unavailable,
    };
    Status::new(code, error.to_string())
}
