//! The layer with its states on a real Redis: two services share them, and go on without it.

use crate::middleware::parts::{Hand, Inner, call, get, limit};
use crate::middleware::server::{PATIENCE, Server};
use core::future::poll_fn;
use ratescope::rules::{Details, Rules, Store};
use ratescope::{Event, Span, Time};
use ratescope_redis::{Options, RedisStore, TimeSource};
use ratescope_tower::{RateLimit, RateLimitLayer};
use std::time::Instant;
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

const RULES: &str = "
domain: web
descriptors:
  - {key: ip, limit: gcra 3/1h}
  - {key: path, value: /closed, limit: gcra 100/1h, on_store_failure: refuse}
  - {key: path, value: /open, limit: gcra 1/1h, on_store_failure: allow}
";

async fn status<S, A, C>(
    service: &mut RateLimit<Inner, S, A, C>,
    path: &str,
    ip: &str,
) -> (u16, String)
where
    RateLimit<Inner, S, A, C>:
        Service<http::Request<String>, Response = http::Response<String>, Error = String>,
{
    poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
    let response = service.call(get(path, ip)).await.unwrap();
    let retry = response.headers().get("retry-after").map(|retry| retry.to_str().unwrap());
    assert_eq!(retry.is_some(), response.status().as_u16() >= 400);
    // When the store is back is not known, but that is rarely long.
    assert!(response.status().as_u16() != 503 || retry == Some("1"), "{retry:?}");
    let left = response.headers().get("x-ratelimit-remaining");
    let left = left.map_or("", |left| left.to_str().unwrap()).to_owned();
    (response.status().as_u16(), left)
}

#[tokio::test]
async fn services_share_a_redis_and_go_on_without_it() {
    let Some(mut server) = Server::start(&[]) else { return };
    let mut services = [(); 2].map(|()| {
        let rules = Rules::read("rules.yaml", RULES).unwrap();
        let options = Options::default().deadline(PATIENCE);
        let store = RedisStore::open(&server.url(), rules, options).unwrap();
        RateLimitLayer::new(store).layer(Inner::default())
    });
    let rules = Rules::read("rules.yaml", "domain: task\nlimit: 1/3600w per user\n").unwrap();
    let store =
        RedisStore::open(&server.url(), rules, Options::default().deadline(PATIENCE)).unwrap();
    // A task keeps an event while it waits for the store.
    let task = tokio::spawn(async move {
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
        let first = store.check_async(&event, Details::default()).await;
        let second = store.check_async(&event, Details::default()).await;
        [first, second].map(|decision| decision.is_allowed())
    });
    assert_eq!(task.await.unwrap(), [true, false]);
    let [one, other] = &mut services;
    let told = |status: u16, left: &str| (status, left.to_owned());
    assert_eq!(status(one, "/", "192.0.2.7").await, told(200, "2"));
    assert_eq!(status(other, "/", "192.0.2.7").await, told(200, "1"));
    assert_eq!(status(one, "/", "192.0.2.7").await, told(200, "0"));
    assert_eq!(status(other, "/", "192.0.2.7").await, told(429, "0"));
    server.kill();
    // Where Redis was, and as the rule says.
    assert_eq!(status(one, "/", "192.0.2.7").await, told(429, "0"));
    assert_eq!(status(one, "/closed", "192.0.2.8").await.0, 503);
    // Nobody knows how much is left of the limit that allows, so it is not told.
    assert_eq!(status(other, "/open", "192.0.2.8").await, told(200, "2"));
}

/// When a hundred come at once, Redis has counted those that pass or have a slot, and no others.
#[tokio::test]
async fn a_client_that_gets_no_slot_is_not_counted() {
    let Some(server) = Server::start(&[]) else { return };
    let rules = "domain: web\nlimit: leaky-bucket 10/1s queue 100 per all\n";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let clock = TimeSource::Event { keep: Span::from_hours(1) };
    let options = Options::default().deadline(PATIENCE).clock(clock);
    let store = RedisStore::open(&server.url(), rules, options).unwrap();
    let layer = limit(store.clone(), &Hand::default()).queue(5);
    let mut service = layer.layer(Inner::default());
    let mut sent = JoinSet::new();
    for _ in 0..100 {
        sent.spawn(call(&mut service, get("/", "192.0.2.7")));
    }
    let (begun, mut passed) = (Instant::now(), 0);
    loop {
        while let Some(response) = sent.try_join_next() {
            passed += usize::from(response.unwrap().unwrap().status().is_success());
        }
        let event = Event { time: Time::ZERO, cost: 0.0, fields: &() };
        let decision = store.peek_async(&event, Details::default()).await;
        assert_eq!(decision.fault, None);
        let level = decision.decided_by().unwrap().outcome.level;
        // Who waits for Redis may have a slot, and not be counted yet.
        let is_decided = sent.len() == layer.waiting();
        if is_decided && level == (passed + layer.waiting()) as f64 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{passed} passed, {} wait: {level}", sent.len());
    }
    assert!(passed >= 1 && layer.waiting() >= 1);
}

/// The later cost of a request is charged to the key that it passed by, also where that is the hash of a secret.
#[tokio::test]
async fn a_secret_is_charged_by_its_hash() {
    let Some(server) = Server::start(&[]) else { return };
    let rules = "domain: web\ndescriptors:\n- {key: client, limit: gcra 5/1h}\n";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let options = Options::default().deadline(PATIENCE);
    let store = RedisStore::open(&server.url(), rules, options).unwrap();
    let limit = RateLimitLayer::new(store).header("client", http::header::AUTHORIZATION);
    let mut service = limit.charge(|_| 2.0).layer(Inner::default());
    for left in [Some("4"), Some("1")] {
        let mut request = get("/", "192.0.2.7");
        request.headers_mut().insert("authorization", "Basic 5ecret".parse().unwrap());
        poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        let response = service.call(request).await.unwrap();
        let said = response.headers().get("x-ratelimit-remaining");
        assert_eq!(said.map(|said| said.to_str().unwrap()), left);
    }
    let keys = server.command(&["KEYS", "*"]);
    assert!(keys.starts_with("*1\r\n") && !keys.contains("5ecret"), "{keys}");
}
