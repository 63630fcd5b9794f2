//! A client of a service that takes two calls a second: its calls wait instead of being refused, and when the
//! service asks for a pause, they wait for its end.
//!
//! `cargo run -p ratescope-tower --example client`

use axum::body::Body;
use axum::http::{Request, StatusCode, header::RETRY_AFTER};
use axum::{Router, extract, routing::get};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use ratescope::Span;
use ratescope::clock::{Clock, SystemClock};
use ratescope::waiting::Waiting;
use ratescope_tower::outgoing::Pace;
use std::error::Error;
use tower_layer::Layer;
use tower_service::Service;

/// Gets six pages, each as soon as it may be called, if that is within a minute. Returns the status of each,
/// and when it came.
async fn pages<C: Clock + Clone>(
    site: &str,
    clock: C,
) -> Result<Vec<(StatusCode, Span)>, Box<dyn Error + Send + Sync>> {
    let waiting = Waiting::DEFAULT.at_most(Span::from_mins(1));
    let pace = Pace::new("gcra 2/1s burst 2")?.waiting(waiting).clock(clock.clone());
    let mut client = pace.layer(Client::builder(TokioExecutor::new()).build_http());
    let begin = clock.now();
    let mut came = Vec::new();
    for page in 1..=6 {
        let request = Request::get(format!("{site}/{page}")).body(Body::empty())?;
        let response = client.call(request).await?;
        came.push((response.status(), begin.until(clock.now())));
    }
    Ok(came)
}

/// A service that asks for a pause of three seconds at the fourth page.
async fn serve() -> Result<String, Box<dyn Error + Send + Sync>> {
    let page = async |extract::Path(page): extract::Path<u32>| match page {
        4 => (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "3")]),
        _ => (StatusCode::OK, [(RETRY_AFTER, "0")]),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/{page}", get(page))).await },
    );
    Ok(format!("http://{address}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    for (page, (status, after)) in pages(&serve().await?, SystemClock).await?.iter().enumerate() {
        println!("/{}: {status} after {:.1} s", page + 1, after.as_secs_f64());
    }
    Ok(())
}

#[tokio::test]
async fn calls_keep_to_the_limit_and_to_the_pause() -> Result<(), Box<dyn Error + Send + Sync>> {
    let clock = ratescope::clock::FakeClock::default();
    let site = serve().await?;
    let calls = tokio::spawn({
        let clock = clock.clone();
        async move { pages(&site, clock).await }
    });
    while !calls.is_finished() {
        clock.advance(Span::from_micros(100_000));
        tokio::task::yield_now().await;
    }
    let came = calls.await??;
    assert_eq!(
        came.iter().map(|(status, _)| status.as_u16()).collect::<Vec<_>>(),
        [200, 200, 200, 429, 200, 200]
    );
    // While the network works, the clock of this test goes on.
    let (third, fourth, fifth) = (came[2].1, came[3].1, came[4].1);
    assert!(third >= Span::from_micros(500_000) && fourth >= Span::from_secs(1), "{came:?}");
    assert!(fifth.as_secs_f64() >= fourth.as_secs_f64() + 3.0 - 0.1, "{came:?}");
    Ok(())
}
