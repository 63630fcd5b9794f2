//! Live as routes of a service that has the crate inside.

use super::viewers::told;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use ratescope::Span;
use ratescope::clock::{Clock, FakeClock};
use ratescope::rules::{MemoryStore, Rules};
use ratescope_live::{Probe, Routes, VIEWERS};
use ratescope_tower::RateLimitLayer;
use std::net::SocketAddr;
use std::sync::Arc;
use tower_service::Service;

const TOKEN: &str = "0123456789abcdef";

/// A service that allows each user two calls an hour, with Live under /scope.
fn service(live: impl FnOnce(Routes) -> Routes) -> (Router, Routes, FakeClock) {
    let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 2/1h per user\n").unwrap();
    let (probe, clock) = (Arc::new(Probe::default()), FakeClock::default());
    let store = probe.observe(MemoryStore::new(rules, 100));
    let limit = RateLimitLayer::new(store)
        .clock(clock.clone())
        .header("user", HeaderName::from_static("x-user"));
    let routes = live(Routes::new(probe).clock(clock.clone()));
    let router = Router::new()
        .route("/", get(|| async {}))
        .layer(limit)
        .nest_service("/scope", routes.clone());
    (router, routes, clock)
}

async fn ask(router: &mut Router, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    ask_from("192.0.2.1:9", router, path, headers).await
}

async fn ask_from(
    peer: &str,
    router: &mut Router,
    path: &str,
    headers: &[(&str, &str)],
) -> Response<Body> {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    if let Ok(peer) = peer.parse::<SocketAddr>() {
        request.extensions_mut().insert(ConnectInfo(peer));
    }
    router.call(request).await.unwrap()
}

/// The next piece of a stream.
async fn next(answer: &mut Response<Body>) -> Option<String> {
    let frame = answer.body_mut().frame().await?.unwrap();
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}

fn by_axum(live: Routes) -> Routes {
    live.peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip())
}

#[tokio::test]
async fn whoever_has_the_token_sees_what_the_layer_decides() {
    let (mut router, live, clock) = service(|live| live.token(TOKEN).unwrap());
    for status in [200, 200, 429] {
        assert_eq!(ask(&mut router, "/", &[("x-user", "ann")]).await.status(), status);
    }
    // Everybody gets the page, with headers that keep other sites from using it.
    let page = ask(&mut router, "/scope/live.html", &[]).await;
    assert_eq!(page.status(), 200);
    assert!(page.headers().contains_key("content-security-policy"));
    let file = String::from_utf8(page.into_body().collect().await.unwrap().to_bytes().to_vec());
    assert!(file.unwrap().contains("live.js"));
    assert_eq!(ask(&mut router, "/scope/nothing", &[]).await.status(), 404);

    let bearer = format!("Bearer {TOKEN}");
    for wrong in ["", "Bearer ", "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0", TOKEN] {
        let answer = ask(&mut router, "/scope/live/events", &[("authorization", wrong)]).await;
        assert_eq!(answer.status(), 401, "{wrong}");
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    }
    let known = [("authorization", bearer.as_str()), ("host", "limits.example")];
    let mut answer = ask(&mut router, "/scope/live/events", &known).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let (said, last) = told(&next(&mut answer).await.unwrap());
    assert_eq!(said["sums"].as_array().unwrap()[1..], [2, 1, 0]);
    drop(answer);
    // The stream continues where it was cut off.
    clock.advance(Span::from_secs(10));
    ask(&mut router, "/", &[("x-user", "bob")]).await;
    let last = last.unwrap();
    let known = [known[0], ("last-event-id", last.as_str())];
    let mut answer = ask(&mut router, "/scope/live/events", &known).await;
    let (said, _) = told(&next(&mut answer).await.unwrap());
    let micros = clock.now().as_micros();
    assert_eq!(said["sums"], serde_json::json!([micros, 3, 1, 0]));
    // A server that ends gracefully does not wait for viewers.
    live.end();
    assert_eq!(next(&mut answer).await, None);
    let mut late = ask(&mut router, "/scope/live/events", &known).await;
    assert_eq!(next(&mut late).await, None);
}

#[tokio::test]
async fn without_a_token_only_this_machine_is_told() {
    let (mut router, ..) = service(by_axum);
    for (peer, host, status) in [
        ("127.0.0.1:9", "localhost:3000", 200),
        ("[::1]:9", "[::1]:3000", 200),
        ("[::ffff:127.0.0.1]:9", "127.0.0.1", 200),
        // A foreign host name that leads here.
        ("127.0.0.1:9", "limits.example", 421),
        ("127.0.0.1:9", "localhost.example:3000", 421),
        // Another machine, whatever host it names, and an unknown one.
        ("192.0.2.1:9", "localhost", 403),
        ("[::ffff:192.0.2.1]:9", "localhost", 403),
        ("unknown", "localhost", 403),
    ] {
        let answer = ask_from(peer, &mut router, "/scope/live/events", &[("host", host)]).await;
        assert_eq!(answer.status(), status, "{peer} {host}");
    }
    // A server that does not tell who is connected.
    let (mut router, ..) = service(|live| live);
    let host = [("host", "localhost")];
    let answer = ask_from("127.0.0.1:9", &mut router, "/scope/live/events", &host).await;
    assert_eq!(answer.status(), 403);
}

#[tokio::test]
async fn viewers_are_bounded_and_only_look() {
    let (mut router, live, _) = service(by_axum);
    let host = [("host", "localhost")];
    let mut look = async || ask_from("127.0.0.1:9", &mut router, "/scope/live/events", &host).await;
    // These viewers never read.
    let mut viewers = Vec::new();
    for _ in 0..VIEWERS {
        viewers.push(look().await);
    }
    assert_eq!(look().await.status(), 503);
    viewers.pop();
    assert_eq!(look().await.status(), 200);
    for path in ["/live/events", "/live.html"] {
        let request = Request::builder().method(Method::POST).uri(path).header("host", "localhost");
        let mut request = request.body(()).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>("127.0.0.1:9".parse().unwrap()));
        let refused = live.answer(&request).status();
        assert!(
            matches!(refused, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND),
            "{refused}"
        );
    }
}

/// Who reads nothing for a minute keeps nobody out; who reads keeps its place.
#[tokio::test]
async fn viewers_that_read_nothing_make_room() {
    let (mut router, _, clock) = service(by_axum);
    let host = [("host", "localhost")];
    let mut look = async || ask_from("127.0.0.1:9", &mut router, "/scope/live/events", &host).await;
    let (mut reads, mut idle) = (look().await, look().await);
    let mut others = Vec::new();
    for _ in 2..VIEWERS {
        others.push(look().await);
    }
    clock.advance(Span::from_secs(59));
    assert!(next(&mut reads).await.is_some());
    assert_eq!(look().await.status(), 503);
    clock.advance(Span::from_secs(1));
    // All but the one that reads make room.
    for _ in 1..VIEWERS {
        let viewer = look().await;
        assert_eq!(viewer.status(), 200);
        others.push(viewer);
    }
    assert_eq!(look().await.status(), 503);
    assert_eq!(next(&mut idle).await, None);
    assert!(next(&mut reads).await.is_some());
    // That connection ends now, which frees the place of nobody else.
    drop(idle);
    assert_eq!(look().await.status(), 503);
}

#[test]
fn a_token_that_could_be_guessed_is_refused_and_none_is_told() {
    let live = || Routes::new(Arc::new(Probe::default()));
    let short = live().token("0123456789abcde").unwrap_err().to_string();
    assert_eq!(short, "the length of a token cannot be 15: it must be at least 16 characters");
    assert!(!format!("{:?}", live().token(TOKEN).unwrap()).contains(TOKEN));
}

/// Several tokens open the routes, and tell who came.
#[tokio::test]
async fn each_token_has_a_name() {
    let other = "fedcba9876543210";
    let (mut router, live, _) = service(|live| {
        live.named_token("ann", TOKEN).unwrap().named_token("robot", other).unwrap()
    });
    for (token, who) in [(TOKEN, Some("ann")), (other, Some("robot")), ("0123456789abcdeg", None)] {
        let bearer = format!("Bearer {token}");
        let request = Request::builder().header("authorization", &bearer).body(()).unwrap();
        assert_eq!(live.who(&request), who);
        let answer = ask(&mut router, "/scope/live/events", &[("authorization", &bearer)]).await;
        assert_eq!(answer.status(), if who.is_some() { 200 } else { 401 });
    }
    assert!(!format!("{live:?}").contains(other));
}
