//! Requests that are limited without a layer around a service.

use crate::middleware::parts::{Far, Hand, Inner, finished, get, head, limit, ruled, send};
use crate::{actix_example, hyper_example};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use proptest::prelude::*;
use ratescope::Span;
use ratescope::rules::{Decision, Store};
use ratescope_tower::{Clock, FakeClock, RateLimitLayer, Reservation, SystemClock};
use std::sync::Arc;
use tower_layer::Layer;

const RULES: &str = "
domain: web
descriptors:
  - {key: ip, limit: [gcra 6/1m burst 3, fixed-window 5/1m]}
  - {key: path, value: /login, limit: exim 2/1m strict per ip}
  - {key: path, value: /report, throttle: soft 50%, limit: token-bucket 2/1m}
";

type Limit<S> = RateLimitLayer<S, ratescope_tower::Problem, Hand>;

/// The response of a service that answers with the path.
async fn respond<S: Store>(limit: &Limit<S>, mut request: Request<String>) -> Response<String> {
    match limit.check(&mut request).await {
        Err(refusal) => refusal,
        Ok(passed) => {
            let mut response = Response::new(request.uri().path().to_owned());
            limit.finish(passed, &mut response).await;
            response
        }
    }
}

proptest! {
    /// Whether the store answers at once or has to be waited for.
    #[test]
    fn the_responses_are_those_of_the_layer(
        requests in prop::collection::vec((0_u32..40, 0_usize..3, 0_usize..2), 1..40),
        polls in 0_usize..3,
    ) {
        let clock = Hand::default();
        let of = || {
            let store: Arc<dyn Store> = match polls {
                0 => Arc::new(ruled(RULES)),
                polls => Arc::new(Far::new(RULES, polls)),
            };
            limit(store, &clock).charge(|response| response.headers.len() as f64 / 4.0)
        };
        let (mut layered, by_hand) = (of().layer(Inner::default()), of());
        let mut now = 0;
        for (later, path, from) in requests {
            now += later;
            clock.set(now.into());
            let (path, ip) = (["/", "/login", "/report"][path], ["192.0.2.1", "192.0.2.2"][from]);
            let expected = send(&mut layered, get(path, ip));
            let found = finished(respond(&by_hand, get(path, ip)));
            prop_assert_eq!(found.status(), expected.status());
            prop_assert_eq!(head(&found), head(&expected));
            prop_assert_eq!(found.body(), expected.body());
        }
    }
}

#[test]
fn handlers_find_the_decision_and_the_reservation() {
    let store = ruled("domain: web\nlimit: token-bucket 10/1h per ip\n");
    let limit = limit(store.clone(), &Hand::default()).cost(|_| 6.0).reserve().insert_decision();
    let (limit, mut request) = (limit, get("/", "192.0.2.1"));
    let passed = finished(limit.check::<_, String>(&mut request)).unwrap();
    assert_eq!(request.extensions().get::<Decision>().unwrap().quota().unwrap().remaining, 4.0);
    request.extensions().get::<Reservation>().unwrap().settle(2.0);
    let mut response = Response::new(());
    finished(limit.finish(passed, &mut response));
    assert_eq!(response.headers()["x-ratelimit-limit"], "10");

    let fields = &[("ip", "192.0.2.1")];
    let event = ratescope::Event { time: ratescope::Time::ZERO, cost: 0.0, fields };
    assert_eq!(store.peek(&event).quota().unwrap().remaining, 8.0);
}

#[test]
fn a_request_waits_in_the_queue() {
    let clock = FakeClock::default();
    let store = ruled("domain: web\nlimit: leaky-bucket 1/1s queue 5 per ip\n");
    let limit = RateLimitLayer::new(store).clock(clock.clone());
    let _ = finished(limit.check::<_, String>(&mut get("/", "192.0.2.1"))).unwrap();
    let mut second = get("/", "192.0.2.1");
    let mut check = pin!(limit.check::<_, String>(&mut second));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(check.as_mut().poll(context).is_pending());
    assert_eq!(limit.waiting(), 1);
    clock.advance(Span::from_secs(1));
    assert!(matches!(check.as_mut().poll(context), Poll::Ready(Ok(_))));
    assert_eq!(limit.waiting(), 0);
}

/// Servers spawn their work on a request.
#[test]
fn the_futures_can_be_sent() {
    fn is_send<T: Send>(future: T) -> T {
        future
    }
    let limit = limit(ruled(RULES), &Hand::default());
    assert_eq!(finished(is_send(respond(&limit, get("/", "192.0.2.1")))).status(), 200);
}

#[tokio::test]
async fn a_server_of_plain_hyper() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/greeting", listener.local_addr().unwrap());
    let clock = FakeClock::default();
    clock.set(SystemClock.now());
    let server = tokio::spawn(hyper_example::serve(
        listener,
        hyper_example::store().unwrap(),
        clock.clone(),
    ));
    let client = Client::builder(TokioExecutor::new()).build_http::<String>();
    let get = async || {
        let response = client.get(uri.parse().unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let left = head.headers["x-ratelimit-remaining"].to_str().unwrap().to_owned();
        (head.status.as_u16(), left, String::from_utf8(body.to_vec()).unwrap())
    };
    for left in (0..5).rev() {
        assert_eq!(get().await, (200, left.to_string(), "hello from /greeting\n".to_owned()));
    }
    let (status, left, body) = get().await;
    assert_eq!((status, left.as_str()), (429, "0"));
    assert!(body.contains("\"retry_after\":1"), "{body}");
    clock.advance(Span::from_secs(1));
    assert_eq!(get().await.0, 200);
    server.abort();
}

#[actix_web::test]
async fn an_application_of_actix_web() {
    use actix_web::{App, test, web};
    let clock = FakeClock::default();
    let limit = actix_example::limit(clock.clone()).unwrap();
    let app = App::new().wrap(limit).route("/{path:.*}", web::get().to(actix_example::hello));
    let app = test::init_service(app).await;
    let get = async |ip: &str| {
        let request = test::TestRequest::get().uri("/greeting");
        let request = request.peer_addr(format!("{ip}:1234").parse().unwrap()).to_request();
        let response = test::call_service(&app, request).await;
        let header =
            |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let left = header("x-ratelimit-remaining").unwrap();
        let kind = header("content-type").unwrap();
        let status = response.status().as_u16();
        let body = test::read_body(response).await;
        (status, left, kind, String::from_utf8(body.to_vec()).unwrap())
    };
    let text = "text/plain; charset=utf-8".to_owned();
    for left in (0..5).rev() {
        let hello = "hello from /greeting\n".to_owned();
        assert_eq!(get("192.0.2.1").await, (200, left.to_string(), text.clone(), hello));
    }
    let (status, left, kind, body) = get("192.0.2.1").await;
    assert_eq!((status, left.as_str(), kind.as_str()), (429, "0", "application/problem+json"));
    assert!(body.contains("\"retry_after\":1"), "{body}");
    assert_eq!(get("192.0.2.2").await.0, 200, "another address");
    clock.advance(Span::from_secs(1));
    assert_eq!(get("192.0.2.1").await.0, 200);
}
