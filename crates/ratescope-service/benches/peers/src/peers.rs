//! The peers, and the messages that all are asked.

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::uri::PathAndQuery;
use limitador::RateLimiter;
use limitador::limit::{Context, Limit};
use prost::Message;
use ratescope::rules::{MemoryStore, Rules};
use ratescope_service::{Code, Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse};
use ratescope_tower::{Headers, RateLimitLayer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::server::{Grpc as Calls, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// The path of the only call.
pub const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The calls of the filling that wait at once.
const AT_ONCE: u32 = 64;

type Answer = dyn Fn(&RateLimitRequest) -> RateLimitResponse + Send + Sync;

/// Serves a peer on a free port, which it prints, until it is killed. The peer `echo` always gives the answer in `file`.
pub fn serve(name: &str, file: Option<&str>) -> Result<(), Box<dyn Error>> {
    let answer: Arc<Answer> = match (name, file) {
        ("limitador", _) => limitador()?,
        ("echo", Some(file)) => {
            let answer = RateLimitResponse::decode(fs::read(file)?.as_slice())?;
            Arc::new(move |_: &RateLimitRequest| answer.clone())
        }
        _ => Arc::new(|_: &RateLimitRequest| only(Code::Ok)),
    };
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let constant = Router::new().route("/check", get(|| async { "OK" }));
        match name {
            "constant" => return Ok(axum::serve(listener, constant).await?),
            "layer" => {
                let limited = constant.layer(layer()?);
                let limited = limited.into_make_service_with_connect_info::<SocketAddr>();
                return Ok(axum::serve(listener, limited).await?);
            }
            _ => {}
        }
        // As tonic sets it by itself. With Nagle's algorithm, short answers are gathered, and the end of a long one waits
        // for an acknowledgement.
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(name != "nagle"));
        let server = Server::builder().add_service(Service(answer));
        Ok(server.serve_with_incoming(incoming).await?)
    })
}

/// Our layer with one limit for addresses, which is never met, and all headers.
fn layer() -> Result<RateLimitLayer<MemoryStore>, Box<dyn Error>> {
    let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 1000000000/1h per ip\n")?;
    let limit = RateLimitLayer::new(MemoryStore::new(rules, 100_000)).headers(Headers::ALL);
    Ok(limit.peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip()))
}

/// Limitador with one limit for users, as its server asks it.
fn limitador() -> Result<Arc<Answer>, Box<dyn Error>> {
    let limiter = RateLimiter::new(1_000_000);
    let user = "descriptors[0].user".try_into().map_err(|_| "the variable is wrong")?;
    limiter.add_limit(Limit::new("web", 1_000_000_000, 3600, [], [user]));
    Ok(Arc::new(move |request: &RateLimitRequest| {
        let map = |descriptor: &RateLimitDescriptor| -> HashMap<String, String> {
            let entries = descriptor.entries.iter();
            entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
        };
        let mut context = Context::default();
        let all = request.descriptors.iter().map(map).collect();
        context.list_binding("descriptors".to_owned(), all);
        let namespace = request.domain.clone().into();
        let hits = u64::from(request.hits_addend.max(1));
        only(match limiter.check_rate_limited_and_update(&namespace, &context, hits) {
            Ok(answer) if answer.limited => Code::OverLimit,
            // A limit that was not met is no comparison.
            Ok(answer) if answer.counters.is_empty() => Code::Unknown,
            Ok(_) => Code::Ok,
            Err(_) => Code::Unknown,
        })
    }))
}

/// An answer without anything else.
fn only(code: Code) -> RateLimitResponse {
    RateLimitResponse { overall_code: code.into(), ..Default::default() }
}

/// A service of tonic around an answer.
#[derive(Clone)]
struct Service(Arc<Answer>);

impl NamedService for Service {
    const NAME: &'static str = ratescope_service::NAME;
}

impl tower_service::Service<http::Request<Body>> for Service {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Poller<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let mut calls = Calls::new(ProstCodec::default());
            Ok(calls.unary(service, request).await)
        })
    }
}

impl UnaryService<RateLimitRequest> for Service {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: Request<RateLimitRequest>) -> Self::Future {
        ready(Ok(Response::new((self.0)(request.get_ref()))))
    }
}

/// The request of a user, with as many descriptors as there are rules.
pub fn question(user: u32, rules: usize) -> RateLimitRequest {
    let of = |key: &str| {
        let entry = Entry { key: key.to_owned(), value: format!("{user:06}") };
        RateLimitDescriptor { entries: vec![entry], ..Default::default() }
    };
    let descriptors = ["user", "ip", "path"].into_iter().take(rules).map(of).collect();
    RateLimitRequest { domain: "web".to_owned(), descriptors, hits_addend: 1 }
}

/// A request of somebody who is over the limit.
pub fn over() -> RateLimitRequest {
    let entry = Entry { key: "over".to_owned(), value: "ann".to_owned() };
    let descriptors = vec![RateLimitDescriptor { entries: vec![entry], ..Default::default() }];
    RateLimitRequest { domain: "web".to_owned(), descriptors, hits_addend: 1 }
}

/// A message as it is on the wire.
pub fn frame(question: &RateLimitRequest) -> Vec<u8> {
    let message = prost::Message::encode_to_vec(question);
    let length = (message.len() as u32).to_be_bytes();
    [&[0], &length[..], &message].concat()
}

/// A client that asks for many users.
pub struct Caller(Runtime);

impl Caller {
    pub fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Caller(Builder::new_current_thread().enable_all().build()?))
    }

    /// Sends a request, which has to pass.
    pub fn ask(
        &self,
        at: SocketAddr,
        question: RateLimitRequest,
    ) -> Result<RateLimitResponse, Box<dyn Error>> {
        self.0.block_on(async {
            let channel = Endpoint::from_shared(format!("http://{at}"))?.connect().await?;
            Ok(ask(&channel, question).await?)
        })
    }

    /// Sends a request for each user; all have to pass.
    pub fn fill(&self, at: SocketAddr, users: u32, rules: usize) -> Result<(), Box<dyn Error>> {
        self.0.block_on(async {
            if users == 0 {
                return Ok(());
            }
            let channel = Endpoint::from_shared(format!("http://{at}"))?.connect().await?;
            let mut all = JoinSet::new();
            for first in 0..AT_ONCE {
                let channel = channel.clone();
                all.spawn(async move {
                    for user in (first..users).step_by(AT_ONCE as usize) {
                        ask(&channel, question(user, rules)).await?;
                    }
                    Ok::<(), Status>(())
                });
            }
            while let Some(each) = all.join_next().await {
                each??;
            }
            Ok(())
        })
    }
}

async fn ask(channel: &Channel, question: RateLimitRequest) -> Result<RateLimitResponse, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let codec = ProstCodec::<RateLimitRequest, RateLimitResponse>::default();
    let path = PathAndQuery::from_static(PATH);
    let answer = client.unary(Request::new(question), path, codec).await?.into_inner();
    match answer.overall_code() {
        Code::Ok => Ok(answer),
        other => Err(Status::internal(format!("it answered {other:?}"))),
    }
}
