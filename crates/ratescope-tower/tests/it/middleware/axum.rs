//! The layer in a router of axum.

use crate::middleware::parts::{Hand, ruled};
use axum::Router;
use axum::extract::ConnectInfo;
use axum::extract::connect_info::MockConnectInfo;
use axum::routing::get;
use http::Request;
use ratescope_tower::RateLimitLayer;
use std::net::SocketAddr;
use tower::ServiceExt;

const RULES: &str = "domain: web\nlimit: gcra 2/1h per ip+route\n";

fn app(rules: &str) -> Router {
    let limit = RateLimitLayer::new(ruled(rules)).clock(Hand::default()).axum().unwrap();
    let user = || async { "hello" };
    Router::new().route("/users/{id}", get(user)).route("/free", get(user)).layer(limit)
}

async fn status(app: &Router, path: &str, peer: Option<[u8; 4]>) -> u16 {
    let mut request = Request::get(path).body(axum::body::Body::empty()).unwrap();
    if let Some(ip) = peer {
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from((ip, 1234))));
    }
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn finds_the_peer_and_the_route() {
    let app = app(RULES);
    let ann = Some([192, 0, 2, 1]);
    assert_eq!(status(&app, "/users/1", ann).await, 200);
    assert_eq!(status(&app, "/users/2", ann).await, 200);
    assert_eq!(status(&app, "/users/3", ann).await, 429, "all users have one route");
    assert_eq!(status(&app, "/free", ann).await, 200, "another route");
    assert_eq!(status(&app, "/users/3", Some([192, 0, 2, 2])).await, 200, "another peer");
}

#[tokio::test]
async fn tests_make_up_the_peer() {
    let app = app(RULES).layer(MockConnectInfo(SocketAddr::from(([192, 0, 2, 1], 1))));
    let all = [status(&app, "/free", None).await, status(&app, "/free", None).await];
    assert_eq!(all, [200; 2]);
    assert_eq!(status(&app, "/free", None).await, 429);
}

/// One client could otherwise use up the limit of all.
#[tokio::test]
async fn nobody_shares_a_key_for_want_of_a_peer() {
    assert_eq!(status(&app(RULES), "/free", None).await, 500);
    let by_path =
        "domain: web\ndescriptors:\n- {key: path, value: /free, limit: gcra 1/1h per ip}\n";
    let app = app(by_path);
    assert_eq!(status(&app, "/free", None).await, 500);
    assert_eq!(status(&app, "/users/1", None).await, 200, "no rule is about it");
}

#[test]
fn it_does_not_start_without_a_source() {
    let rules = "domain: web\nlimit: gcra 2/1h per user\n";
    let layer = || RateLimitLayer::new(ruled(rules));
    assert_eq!(layer().axum().unwrap_err().fields, ["user"]);
    assert!(layer().user(|name: &String| name).axum().is_ok());
}

/// Sources that were set before stay.
#[tokio::test]
async fn own_sources_stay() {
    let limit = RateLimitLayer::new(ruled(RULES)).clock(Hand::default());
    let limit =
        limit.peer(|ip: &std::net::IpAddr| *ip).routes(["/{*all}"]).unwrap().axum().unwrap();
    let app = Router::new().route("/a", get("")).route("/b", get("")).layer(limit);
    let mut statuses = Vec::new();
    for path in ["/a", "/b", "/a"] {
        let ip: std::net::IpAddr = [192, 0, 2, 9].into();
        let request = Request::get(path).extension(ip).body(axum::body::Body::empty()).unwrap();
        statuses.push(app.clone().oneshot(request).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429]);
}
