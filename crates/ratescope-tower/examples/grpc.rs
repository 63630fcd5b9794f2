//! A gRPC service by tonic, whose clients are limited: who calls too often gets the status
//! `RESOURCE_EXHAUSTED`, and is told when to come back.
//!
//! `cargo run -p ratescope-tower --example grpc`

use ratescope::Policy;
use ratescope::rules::MemoryStore;
use ratescope_tower::{Clock, GrpcStatus, RateLimitLayer, SystemClock};
use std::error::Error;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::transport::Endpoint;
use tonic::transport::server::{Server, TcpConnectInfo, TcpIncoming};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

/// Serves gRPC's health, which stands for any service here. Each client may call three times a minute.
async fn serve(clock: impl Clock) -> Result<String, Box<dyn Error>> {
    let policy: Policy = "gcra 3/1m per ip".parse()?;
    let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
        .peer(|peer: &TcpConnectInfo| peer.remote_addr().map(|address| address.ip()))
        .answer(GrpcStatus)
        .clock(clock);
    let (_, health) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let site = format!("http://{}", listener.local_addr()?);
    let server = Server::builder().layer(limit.check_sources()?).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    Ok(site)
}

/// Calls a service `n` times, and returns the result of each call.
async fn call(site: &str, n: usize) -> Result<Vec<Result<(), Status>>, Box<dyn Error>> {
    let mut client = HealthClient::new(Endpoint::new(site.to_owned())?.connect().await?);
    let mut answers = Vec::new();
    for _ in 0..n {
        answers.push(client.check(HealthCheckRequest::default()).await.map(drop));
    }
    Ok(answers)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for answer in call(&serve(SystemClock).await?, 4).await? {
        match answer {
            Ok(()) => println!("served"),
            Err(status) => println!("{}: {}", status.code(), status.message()),
        }
    }
    Ok(())
}

#[tokio::test]
async fn who_calls_too_often_is_told_when_to_come_back() -> Result<(), Box<dyn Error>> {
    let clock = ratescope::clock::FakeClock::default();
    let site = serve(clock.clone()).await?;
    let answers = call(&site, 4).await?;
    assert!(answers[..3].iter().all(Result::is_ok), "{answers:?}");
    let Err(status) = &answers[3] else { panic!("it passes") };
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    assert_eq!(status.message(), "There were too many requests; try again in 20 s.");
    assert_eq!(status.metadata().get("retry-after").and_then(|s| s.to_str().ok()), Some("20"));
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "20000");
    // A `google.rpc.Status` of code 8, its message, and a `google.rpc.RetryInfo` with a delay of 20 s.
    let mut details = b"\x08\x08\x12\x30".to_vec();
    details.extend(status.message().as_bytes());
    details.extend(
        b"\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x04\x0a\x02\x08\x14",
    );
    assert_eq!(status.details(), details);
    // Another connection is the same client.
    assert!(call(&site, 1).await?[0].is_err());
    clock.advance(ratescope::Span::from_secs(20));
    let again = call(&site, 2).await?;
    assert!(again[0].is_ok() && again[1].is_err(), "{again:?}");
    Ok(())
}
