//! Back-pressure: the inner service is asked before it is called, and what it gives out by being
//! ready is not kept from others.

use crate::parts::{Far, Hand, Inner, call, finished, get, limit, ruled, send};
use core::task::{Context, Poll};
use http::{Request, Response};
use std::sync::Arc;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready_ok};
use tower::limit::ConcurrencyLimit;
use tower_layer::Layer;
use tower_service::Service;

/// `Inner` panics when it is called and was not ready.
#[test]
fn it_is_ready_when_the_inner_service_is() {
    let inner = Inner { unready: 3, ..Inner::default() };
    let rules = "domain: web\nlimit: 2/1m per ip\n";
    let clock = Hand::default();
    let layer = limit(ruled(rules), &clock).layer();
    let mut service = layer.layer(inner.clone());
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for expected in [false, false, false, true] {
        assert_eq!(service.poll_ready(&mut cx).is_ready(), expected);
    }
    assert_eq!(finished(service.call(get("/", "192.0.2.7"))).unwrap().body(), "/");
    // And the same where the request waits for the store.
    let mut service = limit(Far::new(rules, 2), &clock).layer().layer(inner);
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).body(), "/");
}

#[test]
fn an_error_of_readiness_is_handed_on() {
    #[derive(Clone)]
    struct Gone;
    impl Service<Request<String>> for Gone {
        type Response = Response<String>;
        type Error = &'static str;
        type Future = core::future::Ready<Result<Response<String>, &'static str>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
            Poll::Ready(Err("gone"))
        }

        fn call(&mut self, _: Request<String>) -> Self::Future {
            panic!("called without being ready")
        }
    }
    let clock = Hand::default();
    let mut service = limit(Far::new("domain: d\nlimit: 1/1m\n", 1), &clock).layer().layer(Gone);
    assert_eq!(finished(service.call(get("/", "192.0.2.7"))).unwrap_err(), "gone");
}

/// Two requests at a time may run. One that waits in the queue is none of them.
#[test]
fn what_waits_takes_no_place_of_the_inner_service() {
    let clock = Hand::default();
    let inner = ConcurrencyLimit::new(Inner::default(), 1);
    let layer =
        limit(ruled("domain: web\nlimit: leaky-bucket 1/1s queue 2 per ip\n"), &clock).layer();
    let mut service = layer.layer(inner);
    send(&mut service, get("/", "192.0.2.7"));
    let mut waits = spawn(call(&mut service, get("/waits", "192.0.2.7")));
    assert_pending!(waits.poll());
    // The only place is free for another client.
    assert_eq!(send(&mut service, get("/other", "192.0.2.8")).body(), "/other");
    drop(service);
    clock.set(1.0);
    assert_eq!(assert_ready_ok!(waits.poll()).body(), "/waits");
}

/// Clones share the limits and nothing else.
#[test]
fn clones_are_limited_together() {
    let clock = Hand::default();
    let layer = limit(ruled("domain: web\nlimit: 3/1m per ip\n"), &clock).layer();
    let mut first = layer.layer(Inner::default());
    let mut clone = first.clone();
    let mut elsewhere = layer.clone().layer(Inner::default());
    let mut status = [&mut first, &mut clone, &mut elsewhere]
        .map(|service| send(service, get("/", "192.0.2.7")).status().as_u16())
        .to_vec();
    status.push(send(&mut clone, get("/", "192.0.2.7")).status().as_u16());
    assert_eq!(status, [200, 200, 200, 429]);
}

#[test]
fn it_may_be_sent_and_shared() {
    fn sent<T: Send + 'static>(_: &T) {}
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let layer = limit(Arc::new(ruled("domain: d\nlimit: 1/1m\n")), &Hand::default()).layer();
    shared(&layer);
    let mut service = layer.layer(Inner::default());
    shared(&service);
    sent(&call(&mut service, get("/", "192.0.2.7")));
}
