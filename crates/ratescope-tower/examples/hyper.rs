//! A service of plain hyper, without tower: each address may send a request a second, and a few more at once.
//!
//! `cargo run -p ratescope-tower --example hyper`, and then, until it answers with 429: `curl -i http://127.0.0.1:3000`

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ratescope::rules::{MemoryStore, Store};
use ratescope::{ParseError, Policy};
use ratescope_tower::{Clock, RateLimitLayer, SystemClock};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;

type Limit<S, C> = RateLimitLayer<S, ratescope_tower::Problem, C>;

pub(crate) fn store() -> Result<MemoryStore, ParseError> {
    let policy: Policy = "gcra 1/1s burst 5 per ip".parse()?;
    Ok(MemoryStore::new(policy, 100_000))
}

async fn answer<S: Store, C: Clock>(
    limit: Limit<S, C>,
    peer: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<String>, Infallible> {
    request.extensions_mut().insert(peer);
    let passed = match limit.check(&mut request).await {
        Ok(passed) => passed,
        Err(refusal) => return Ok(refusal),
    };
    let mut response = Response::new(format!("hello from {}\n", request.uri().path()));
    limit.finish(passed, &mut response).await;
    Ok(response)
}

/// Serves until accepting a connection fails.
pub(crate) async fn serve(
    listener: TcpListener,
    store: impl Store,
    clock: impl Clock,
) -> io::Result<()> {
    let limit = RateLimitLayer::new(store).clock(clock);
    loop {
        let (stream, peer) = listener.accept().await?;
        let limit = limit.clone();
        let service = service_fn(move |request| answer(limit.clone(), peer, request));
        // With a timer, a client can't take forever to send its headers.
        let http = http1::Builder::new().timer(TokioTimer::new()).clone();
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    Ok(serve(listener, store()?, SystemClock).await?)
}
