//! Envoy's protocols by gRPC.

use super::decide::NoAnswer;
use super::message::{RateLimitRequest, RateLimitResponse};
use super::meters::Protocol;
use super::rlqs::{self, RENEWAL};
use super::{QuotaStream, RateLimitQuotaResponse, RateLimitQuotaUsageReports, Service};
use bytes::{Buf, Bytes};
use core::convert::Infallible;
use core::future::{Future, Ready, ready};
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context, Poll};
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use http::{Request, Response};
use http_body_util::Full;
use prost::Message;
use ratescope::clock::Clock;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout_at;
use tonic::body::Body;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic::server::{Grpc as Server, NamedService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};
use tonic_prost::{ProstCodec, ProstEncoder};

/// The name of the service of Envoy's protocol.
pub const NAME: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// The path of its only method.
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The name of Envoy's rate limit quota service.
pub const QUOTA_NAME: &str = "envoy.service.rate_limit_quota.v3.RateLimitQuotaService";

/// The path of its only method.
const QUOTA_PATH: &str =
    "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas";

/// The longest request in bytes. Envoy's have a few hundred.
const LONGEST: usize = 256 << 10;

/// The room that is made for a request before its length is known, in bytes.
const ROOM: usize = 512;

/// A service by gRPC, for a server such as that of tonic, which routes paths that begin with `/` and [`NAME`] or
/// [`QUOTA_NAME`] to it.
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
            match request.uri().path() {
                PATH => {}
                QUOTA_PATH => {
                    let mut server = Server::new(ProstCodec::default());
                    server = server.max_decoding_message_size(rlqs::LONGEST);
                    return Ok(server.streaming(service, request).await);
                }
                _ => {
                    let why = "there are only ShouldRateLimit and StreamRateLimitQuotas";
                    return Ok(Status::unimplemented(why).into_http());
                }
            }
            let begun = Instant::now();
            let mut server = Server::new(Messages { instead: None });
            server = server.max_decoding_message_size(LONGEST);
            let mut answer = server.unary(service.clone(), request).await;
            if let Some(why) = unread(&answer) {
                // Stands for a message that can't be read.
                let empty = Request::new(Full::new(Bytes::from_static(&[0; 5])));
                let mut server = Server::new(Messages { instead: Some(why) });
                answer = server.unary(service.clone(), empty).await;
            }
            service.0.meters().answered(Protocol::Grpc, begun.elapsed());
            Ok(answer)
        })
    }
}

/// Why the message of a call was not read whole, by the status code, which the service itself never answers.
fn unread(answer: &Response<Body>) -> Option<&'static str> {
    match Status::from_header_map(answer.headers())?.code() {
        Code::OutOfRange => Some("it has more than 256 KiB"),
        Code::ResourceExhausted => Some("too many requests at once are not whole yet"),
        _ => None,
    }
}

/// Reads and writes messages.
struct Messages {
    /// Why no message can be read.
    instead: Option<&'static str>,
}

/// A request, or why it can't be read.
type Read = Result<RateLimitRequest, String>;

impl Codec for Messages {
    type Encode = RateLimitResponse;
    type Decode = Read;
    type Encoder = ProstEncoder<RateLimitResponse>;
    type Decoder = Reader;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        Reader { instead: self.instead }
    }
}

struct Reader {
    instead: Option<&'static str>,
}

impl Decoder for Reader {
    type Item = Read;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Read>, Status> {
        let read = match self.instead {
            Some(why) => Err(why.to_owned()),
            None => RateLimitRequest::decode(&mut *bytes).map_err(|error| error.to_string()),
        };
        // The rest of a message would be read as the next message.
        bytes.advance(bytes.remaining());
        Ok(Some(read))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(ROOM, LONGEST)
    }
}

impl<C: Clock> UnaryService<Read> for Grpc<C> {
    type Response = RateLimitResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<RateLimitResponse>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Read>) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = match request.get_ref() {
                Ok(request) => service.should_rate_limit(request).await,
                Err(why) => Ok(service.refuse_unread(why, 0)),
            };
            answer.map(tonic::Response::new).map_err(|error| status(&error))
        })
    }
}

impl<C: Clock> StreamingService<RateLimitQuotaUsageReports> for Grpc<C> {
    type Response = RateLimitQuotaResponse;
    type ResponseStream = BoxStream<'static, Result<RateLimitQuotaResponse, Status>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(
        &mut self,
        reports: tonic::Request<Streaming<RateLimitQuotaUsageReports>>,
    ) -> Self::Future {
        let quotas = Quotas {
            service: Arc::clone(&self.0),
            reports: reports.into_inner(),
            stream: QuotaStream::new(Arc::clone(&self.0)),
            renewal: pause_from_now(),
        };
        let answers = try_unfold(quotas, |mut quotas| async {
            Ok(quotas.next().await?.map(|answer| (answer, quotas)))
        });
        ready(Ok(tonic::Response::new(answers.boxed())))
    }
}

/// A stream of the quota service. It takes reports only while its answers are read.
struct Quotas<C: Clock> {
    service: Arc<Service<C>>,
    reports: Streaming<RateLimitQuotaUsageReports>,
    stream: QuotaStream<C>,
    /// When the buckets get new assignments.
    renewal: tokio::time::Instant,
}

impl<C: Clock> Quotas<C> {
    /// The next answer; `None` when the stream ends.
    async fn next(&mut self) -> Result<Option<RateLimitQuotaResponse>, Status> {
        loop {
            if self.service.is_ending.load(Ordering::Relaxed) {
                return Err(Status::unavailable("the service ends"));
            }
            // A timeout would never pass while there is always a report.
            let is_due = self.renewal <= tokio::time::Instant::now();
            let reports = if is_due {
                None
            } else {
                timeout_at(self.renewal, self.reports.message()).await.ok()
            };
            let answer = match reports {
                Some(Ok(Some(reports))) => {
                    let answer = self.stream.report(reports).await;
                    answer.map_err(|error| status(&error))?
                }
                Some(end) => return end.map(|_| None),
                None => {
                    self.renewal = pause_from_now();
                    self.stream.renew().await
                }
            };
            if !answer.bucket_action.is_empty() {
                return Ok(Some(answer));
            }
        }
    }
}

fn pause_from_now() -> tokio::time::Instant {
    tokio::time::Instant::now() + core::time::Duration::from_secs_f64(RENEWAL.as_secs_f64())
}

fn status(error: &NoAnswer) -> Status {
    let code = match error {
        NoAnswer::Invalid(_) => Code::InvalidArgument,
        NoAnswer::Unsupported(_) => Code::Unimplemented,
        NoAnswer::Unavailable(_) => Code::Unavailable,
    };
    Status::new(code, error.to_string())
}
