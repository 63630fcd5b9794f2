//! The contract of tower's services: what is reserved by being ready is used or given back, whoever
//! clones, reuses or drops a service or its futures, and whenever.

use crate::middleware::parts::{Far, Hand, Inner, call, finished, get, limit, ruled, send};
use core::task::{Context, Poll, Waker};
use http::{Request, Response};
use proptest::prelude::*;
use ratescope::rules::Store;
use ratescope_tower::{Problem, RateLimit, RateLimitLayer};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};
use tower::buffer::Buffer;
use tower::limit::ConcurrencyLimit;
use tower_layer::Layer;
use tower_service::Service;
use tower_test::mock;

/// One request a second; others wait.
const LEAKY: &str = "domain: web\nlimit: leaky-bucket 1/1s queue 100 per ip\n";
const ONE: &str = "domain: web\nlimit: 1/1m per ip\n";

type Requests = mock::Handle<Request<String>, Response<String>>;
type OverMock<S> = RateLimit<mock::Mock<Request<String>, Response<String>>, S, Problem, Hand>;

/// A service over tower's mock, which panics if it is called without being ready.
fn over_mock<S: Store>(layer: &RateLimitLayer<S, Problem, Hand>) -> (OverMock<S>, Requests) {
    let (inner, requests) = mock::pair();
    (layer.layer(inner), requests)
}

fn is_ready<S: Service<Request<String>>>(service: &mut S) -> bool {
    service.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn readiness_is_that_of_the_inner_service() {
    let (mut service, mut requests) = over_mock(&limit(ruled(ONE), &Hand::default()));
    requests.allow(0);
    assert!(!is_ready(&mut service));
    requests.allow(1);
    assert!(is_ready(&mut service) && is_ready(&mut service));
    let mut response = spawn(service.call(get("/", "192.0.2.7")));
    assert_pending!(response.poll());
    let Poll::Ready(Some((request, answer))) = requests.poll_request() else {
        panic!("not called")
    };
    assert_eq!(request.uri().path(), "/");
    answer.send_response(Response::new("done".to_owned()));
    assert_eq!(assert_ready!(response.poll()).unwrap().body(), "done");
    // The only request that was allowed is used up.
    assert!(!is_ready(&mut service));
}

#[test]
fn a_request_that_waited_asks_for_readiness_again() {
    let clock = Hand::default();
    let layer = limit(ruled(LEAKY), &clock);
    let (mut service, mut requests) = over_mock(&layer);
    assert!(is_ready(&mut service));
    let first = service.call(get("/first", "192.0.2.7"));
    assert!(is_ready(&mut service));
    let mut second = spawn(service.call(get("/second", "192.0.2.7")));
    assert_pending!(second.poll());
    requests.allow(0);
    clock.set(1.0);
    assert_pending!(second.poll());
    assert_eq!(layer.waiting(), 0, "it waits for the inner service, and not in the queue");
    requests.allow(1);
    assert!(second.is_woken());
    assert_pending!(second.poll());
    drop(first);
    for path in ["/first", "/second"] {
        let Poll::Ready(Some((request, _))) = requests.poll_request() else { panic!("{path}") };
        assert_eq!(request.uri().path(), path);
    }
    // An error on the way there is the response.
    assert!(!is_ready(&mut service));
    requests.allow(9);
    assert!(is_ready(&mut service));
    let mut third = spawn(service.call(get("/third", "192.0.2.7")));
    assert_pending!(third.poll());
    clock.set(9.0);
    requests.send_error("gone");
    let error = assert_ready!(third.poll()).unwrap_err();
    assert_eq!(error.to_string(), "gone");

    // The same where the request waits for the store.
    let (mut service, mut requests) = over_mock(&limit(Far::new(ONE, 1), &clock));
    let mut response = spawn(service.call(get("/", "192.0.2.7")));
    assert_pending!(response.poll());
    requests.send_error("gone");
    assert_eq!(assert_ready!(response.poll()).unwrap_err().to_string(), "gone");
}

/// Without a queue nothing waits, so also a limit that may delay is asked before the response is polled.
#[test]
fn without_a_queue_each_request_is_decided_at_once() {
    let layer = limit(ruled(LEAKY), &Hand::default()).queue(0);
    let (mut service, mut requests) = over_mock(&layer);
    assert!(is_ready(&mut service));
    let _passed = service.call(get("/", "192.0.2.7"));
    assert!(requests.poll_request().is_ready());
    assert!(is_ready(&mut service));
    let mut refused = spawn(service.call(get("/", "192.0.2.7")));
    requests.allow(0);
    assert_eq!(assert_ready_ok!(refused.poll()).status(), 429);
}

/// A service that is used again after each response, as `Buffer` does it.
#[test]
fn one_service_serves_many_requests() {
    fn serves<S: Store>(store: S) {
        let clock = Hand::default();
        let inner = ConcurrencyLimit::new(Inner { slow: 2, ..Inner::default() }, 1);
        let mut service = limit(store, &clock).charge(|_| 0.0).layer(inner);
        for path in ["/1", "/2", "/3"] {
            assert_eq!(send(&mut service, get(path, "192.0.2.7")).body(), path);
        }
    }
    let rules = "domain: web\nlimit: 9/1m per ip\n";
    serves(ruled(rules));
    serves(Far::new(rules, 2));
}

#[tokio::test(start_paused = true)]
async fn a_buffer_over_the_layer_never_hangs() {
    async fn serves<S: Store>(store: S) {
        let clock = Hand::default();
        let inner = ConcurrencyLimit::new(Inner::default(), 1);
        let limited = limit(store, &clock).charge(|_| 0.0).layer(inner);
        let buffer = Buffer::new(limited, 4);
        // Some pass, some wait, and some are refused.
        let mut sent = Vec::new();
        for i in 0..8 {
            let mut service = buffer.clone();
            sent.push(tokio::spawn(async move {
                std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
                let ip = format!("192.0.2.{}", i % 3);
                service.call(get("/", &ip)).await.unwrap().status().as_u16()
            }));
        }
        let mut statuses = Vec::new();
        for (i, response) in sent.into_iter().enumerate() {
            clock.set(i as f64);
            // Time is paused: it only passes if nothing else can be done.
            let response = tokio::time::timeout(Duration::from_secs(3600), response);
            statuses.push(response.await.expect("it hangs").unwrap());
        }
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 6, "{statuses:?}");
    }
    let rules = "domain: web\nlimit: leaky-bucket 1/1s queue 2 per ip\n";
    serves(ruled(rules)).await;
    serves(Far::new(rules, 2)).await;
}

/// An idle service keeps no place from others after one of its requests was refused or waits.
#[test]
fn an_idle_service_holds_nothing() {
    let clock = Hand::default();
    for rules in [ONE, LEAKY] {
        let inner = ConcurrencyLimit::new(Inner::default(), 1);
        let mut service = limit(ruled(rules), &clock).layer(inner);
        let mut clone = service.clone();
        send(&mut service, get("/", "192.0.2.7"));
        let _second = spawn(call(&mut service, get("/", "192.0.2.7")));
        assert!(is_ready(&mut clone), "{rules}");
        let other = clone.call(get("/other", "192.0.2.8"));
        assert_eq!(finished(other).unwrap().body(), "/other");
    }
}

#[test]
fn a_service_that_is_dropped_ready_gives_its_place_back() {
    let inner = ConcurrencyLimit::new(Inner::default(), 1);
    let mut service = limit(ruled(ONE), &Hand::default()).layer(inner);
    let mut clone = service.clone();
    assert!(is_ready(&mut service) && !is_ready(&mut clone));
    drop(service);
    assert!(is_ready(&mut clone));
}

type Limited<S> = RateLimit<ConcurrencyLimit<Inner>, S, Problem, Hand>;
type Sent<S> = Spawn<<Limited<S> as Service<Request<String>>>::Future>;

/// The next thing that happens, to the clone or the request of this number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send { clone: usize, ip: usize },
    Poll(usize),
    Drop(usize),
    Clone(usize),
    DropClone(usize),
    Later(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = 0..64usize;
    let step = prop_oneof![
        4 => (number.clone(), 0..2usize).prop_map(|(clone, ip)| Step::Send { clone, ip }),
        6 => number.clone().prop_map(Step::Poll),
        2 => number.clone().prop_map(Step::Drop),
        1 => number.clone().prop_map(Step::Clone),
        1 => number.prop_map(Step::DropClone),
        2 => (0..4u8).prop_map(Step::Later),
    ];
    prop::collection::vec(step, 0..80)
}

/// Takes the steps. At no time more requests run than may; in the end all that were not dropped are
/// answered while all clones are still there; and nothing is left.
fn holds<S: Store>(store: S, places: usize, steps: &[Step]) {
    let (clock, token) = (Hand::default(), Arc::new(1.0));
    let held = Arc::clone(&token);
    let layer = limit(store, &clock).charge(move |_| *held).queue(3);
    let inner = Inner { slow: 2, unready: 1, ..Inner::default() };
    let seen = Arc::clone(&inner.seen);
    let mut clones: Vec<Limited<S>> = vec![layer.layer(ConcurrencyLimit::new(inner, places))];
    let mut sent: Vec<Sent<S>> = Vec::new();
    let (mut now, mut decision) = (0.0, 0);
    let mut poll = |sent: &mut Vec<Sent<S>>, at: usize| {
        if let Poll::Ready(response) = sent[at].poll() {
            let status = response.unwrap().status().as_u16();
            assert!(matches!(status, 200 | 429), "{status}");
            decision += 1;
            drop(sent.swap_remove(at));
        }
    };
    for step in steps {
        match *step {
            Step::Send { clone, ip } => {
                let at = clone % clones.len();
                // The inner service says once that it is not ready.
                if (0..2).any(|_| is_ready(&mut clones[at])) {
                    let ip = ["192.0.2.7", "192.0.2.8"][ip];
                    sent.push(spawn(clones[at].call(get("/", ip))));
                } else {
                    // It would stand in the line for a place.
                    clones[at] = clones[at].clone();
                }
            }
            Step::Poll(at) if !sent.is_empty() => {
                let at = at % sent.len();
                poll(&mut sent, at);
            }
            Step::Drop(at) if !sent.is_empty() => drop(sent.swap_remove(at % sent.len())),
            Step::Clone(at) if clones.len() < 8 => clones.push(clones[at % clones.len()].clone()),
            Step::DropClone(at) if clones.len() > 1 => {
                drop(clones.swap_remove(at % clones.len()));
            }
            Step::Later(seconds) => {
                now += f64::from(seconds) / 2.0;
                clock.set(now);
            }
            _ => {}
        }
        assert!(seen.running.load(Ordering::SeqCst) <= places);
        assert!(layer.waiting() <= 3);
    }
    for second in 1..40 * (sent.len() + 1) {
        clock.set(now + second as f64);
        for at in (0..sent.len()).rev() {
            poll(&mut sent, at);
        }
    }
    assert_eq!(sent.len(), 0, "of {} requests some hang", decision + sent.len());
    assert_eq!((layer.waiting(), seen.running.load(Ordering::SeqCst)), (0, 0));
    // All places are free.
    let all: Vec<_> = (0..places).map(|_| clones[0].clone()).collect();
    for mut clone in all.iter().cloned() {
        assert!((0..2).any(|_| is_ready(&mut clone)));
    }
    drop((all, clones, layer));
    assert_eq!(Arc::strong_count(&token), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_use_of_any_clones_leaves_nothing(places in 1..3usize, steps in steps()) {
        let rules = "domain: web\nlimit: leaky-bucket 2/1s queue 5 per ip\n";
        holds(ruled(rules), places, &steps);
        holds(Far::new(rules, 2), places, &steps);
    }
}

/// Clones share the limits and nothing else.
#[test]
fn clones_are_limited_together() {
    let layer = limit(ruled("domain: web\nlimit: 3/1m per ip\n"), &Hand::default());
    let mut first = layer.layer(Inner::default());
    let (mut clone, mut elsewhere) = (first.clone(), layer.clone().layer(Inner::default()));
    let status = |service: &mut _| send(service, get("/", "192.0.2.7")).status().as_u16();
    let statuses = [&mut first, &mut clone, &mut elsewhere].map(status);
    assert_eq!((statuses, status(&mut clone)), ([200; 3], 429));
}

#[test]
fn it_may_be_sent_and_shared() {
    fn sent<T: Send + 'static>(_: &T) {}
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let layer = limit(ruled("domain: d\nlimit: 1/1m\n"), &Hand::default());
    shared(&layer);
    let mut service = layer.layer(Inner::default());
    shared(&service);
    sent(&call(&mut service, get("/", "192.0.2.7")));
}

#[test]
fn it_is_ready_after_a_refusal() {
    let (mut service, mut requests) = over_mock(&limit(ruled(ONE), &Hand::default()));
    requests.allow(1);
    assert!(is_ready(&mut service));
    let first = service.call(get("/", "192.0.2.7"));
    requests.allow(1);
    // A refusal takes nothing from allowed requests.
    for _ in 0..3 {
        assert!(is_ready(&mut service));
        let refused = assert_ready_ok!(spawn(service.call(get("/", "192.0.2.7"))).poll());
        assert_eq!(refused.status().as_u16(), 429);
    }
    assert!(is_ready(&mut service));
    drop((first, service.call(get("/other", "192.0.2.8"))));
    assert!(!is_ready(&mut service));
}

/// Servers share layers, and move services and responses between threads.
#[test]
fn public_types_are_send_and_sync() {
    fn are<T: Send + Sync>() {}
    fn can_be_sent<T: Send>() {}
    type Store = ratescope::rules::MemoryStore;
    are::<ratescope_tower::RateLimitLayer<Store>>();
    are::<(ratescope_tower::RateLimit<(), Store>, ratescope_tower::outgoing::Pace)>();
    are::<(ratescope_tower::Refused<'static>, ratescope_tower::Reservation)>();
    are::<(ratescope_tower::Headers, ratescope_tower::Proxies, ratescope_tower::Unidentified)>();
    can_be_sent::<(ratescope_tower::Ticket, ratescope_tower::watch::Watch)>();
    can_be_sent::<ratescope_tower::ResponseFuture<core::future::Ready<()>, String, String>>();
}
