//! The calls of reqwest, to a server on this machine.

use core::future::Future;
use core::task::{Context, Poll, Waker};
use http::Response;
use hyper_util::rt::TokioIo;
use ratescope::Span;
use ratescope::clock::FakeClock;
use ratescope::waiting::Waiting;
use ratescope_tower::outgoing::Pace;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::pin::pin;
use std::time::Duration;

/// A server that answers each connection once, with these statuses in turn and `Retry-After: 30`.
async fn server(statuses: Vec<u16>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/items", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for status in statuses {
            let (stream, _) = listener.accept().await.unwrap();
            let answer = move |_| async move {
                let response = Response::builder().status(status).header("retry-after", "30");
                response.header("connection", "close").body(String::new())
            };
            let service = hyper::service::service_fn(answer);
            let served = hyper::server::conn::http1::Builder::new();
            served.serve_connection(TokioIo::new(stream), service).await.unwrap();
        }
    });
    uri
}

fn client(pace: Pace<FakeClock>) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::builder().no_proxy().build().unwrap()).with(pace).build()
}

fn is_pending(call: core::pin::Pin<&mut impl Future>) -> bool {
    matches!(call.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

#[tokio::test]
async fn a_call_waits_for_its_limit_and_for_its_host() {
    let clock = FakeClock::default();
    let uri = server(vec![200, 429, 200]).await;
    let client = client(Pace::new("gcra 1/1s").unwrap().clock(clock.clone()));
    assert_eq!(client.get(&uri).send().await.unwrap().status(), 200);

    let mut second = pin!(client.get(&uri).send());
    assert!(is_pending(second.as_mut()), "one a second");
    clock.advance(Span::from_secs(1));
    assert_eq!(second.await.unwrap().status(), 429);

    let mut third = pin!(client.get(&uri).send());
    clock.advance(Span::from_secs(29));
    assert!(is_pending(third.as_mut()), "the host asked for a pause");
    clock.advance(Span::from_secs(1));
    assert_eq!(third.await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_call_gives_up_with_the_reason() {
    let uri = server(vec![200]).await;
    let soon = Waiting::DEFAULT.at_most(Duration::from_secs(9));
    let pace = Pace::new("gcra 1/1m").unwrap().clock(FakeClock::default()).waiting(soon);
    let client = client(pace);
    assert_eq!(client.get(&uri).send().await.unwrap().status(), 200);
    let error = client.get(&uri).send().await.unwrap_err().to_string();
    assert!(error.contains("the event would have to wait for 1m"), "{error}");
}
