//! The queue: requests that a leaky bucket lets pass later.

use crate::middleware::parts::{Far, Hand, Inner, call, get, limit, ruled, send};
use http::{Response, StatusCode};
use ratescope::rules::{BoxFuture, Decisions, Details, MemoryStore, Part, Rules, Store};
use ratescope::{Event, Time};
use ratescope_tower::Clock;
use std::sync::{Arc, Mutex};
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};
use tower_layer::Layer;

/// One a second; four wait at most.
const LEAKY: &str = "domain: web\nlimit: leaky-bucket 1/1s queue 5 per ip\n";

fn status(response: Result<Response<String>, String>) -> u16 {
    response.unwrap().status().as_u16()
}

#[test]
fn requests_go_on_one_by_one() {
    fn at_their_time<S: Store>(store: S) {
        let clock = Hand::default();
        let layer = limit(store, &clock);
        let mut service = layer.layer(Inner::default());
        let seen = Arc::clone(&service.get_ref().seen);
        let send = |path: &str| get(path, "192.0.2.7");
        let mut sent: Vec<Spawn<_>> =
            (0..6).map(|i| spawn(call(&mut service, send(&format!("/{i}"))))).collect();
        let mut done: Vec<Option<u16>> = vec![None; 6];
        let mut step = |seconds: f64| {
            clock.set(seconds);
            // A slow store is polled a few times.
            for _ in 0..4 {
                for (request, done) in sent.iter_mut().zip(&mut done).filter(|(_, d)| d.is_none()) {
                    if let std::task::Poll::Ready(response) = request.poll() {
                        *done = Some(status(response));
                    }
                }
            }
            done.iter().map(|done| done.unwrap_or(0)).collect::<Vec<_>>()
        };
        assert_eq!(step(0.0), [200, 0, 0, 0, 0, 429]);
        assert_eq!(layer.waiting(), 4);
        assert_eq!(step(0.999), [200, 0, 0, 0, 0, 429]);
        assert_eq!(step(1.0), [200, 200, 0, 0, 0, 429]);
        assert_eq!(step(3.5), [200, 200, 200, 200, 0, 429]);
        assert_eq!(layer.waiting(), 1);
        assert_eq!(step(4.0), [200, 200, 200, 200, 200, 429]);
        assert_eq!(layer.waiting(), 0);
        assert_eq!(*seen.paths.lock().unwrap(), ["/0", "/1", "/2", "/3", "/4"]);
    }
    at_their_time(ruled(LEAKY));
    at_their_time(Far::new(LEAKY, 1));
}

#[test]
fn a_full_queue_refuses_and_counts_nothing() {
    let clock = Hand::default();
    let ruled = ruled("domain: web\nlimit: leaky-bucket 1/1s queue 50 per ip\n");
    let layer = limit(ruled.clone(), &clock).queue(2).queue_per_key(2);
    let mut service = layer.layer(Inner::default());
    let mut ask = |ip| spawn(call(&mut service, get("/", ip)));
    assert_eq!(status(assert_ready!(ask("192.0.2.7").poll())), 200);
    let mut waiting = [ask("192.0.2.7"), ask("192.0.2.7")];
    waiting.iter_mut().for_each(|request| assert_pending!(request.poll()));
    let refused = assert_ready_ok!(ask("192.0.2.7").poll());
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "3");
    let body = refused.body();
    assert!(body.contains("Too many requests are waiting; try again in 3 s."), "{body}");
    assert!(body.contains("#temporary-reduced-capacity") && body.contains("\"status\":429"));
    // Who need not wait passes.
    assert_eq!(status(assert_ready!(ask("192.0.2.8").poll())), 200);
    // A place that is given up is free, but its request stays counted.
    let [first, second] = waiting;
    drop(second);
    assert_eq!(layer.waiting(), 1);
    let mut fourth = ask("192.0.2.7");
    assert_pending!(fourth.poll());
    for (mut request, seconds) in [(first, 1.0), (fourth, 3.0)] {
        clock.set(seconds - 0.001);
        assert_pending!(request.poll());
        clock.set(seconds);
        assert_eq!(status(assert_ready!(request.poll())), 200);
    }
    assert_eq!(layer.waiting(), 0);
}

/// A router lays a clone of the layer around each of its routes.
#[test]
fn clones_share_the_queue_and_a_setting_makes_another_layer_of_the_same_store() {
    let (clock, store) = (Hand::default(), ruled(LEAKY));
    let layer = limit(store, &clock).queue(1);
    let mut routes = [layer.clone(), layer.clone()].map(|layer| layer.layer(Inner::default()));
    let mut longer = layer.clone().queue(3).layer(Inner::default());
    assert_eq!(send(&mut routes[0], get("/", "192.0.2.7")).status(), 200);
    let mut waiting = spawn(call(&mut routes[0], get("/", "192.0.2.7")));
    assert_pending!(waiting.poll());
    assert_eq!(layer.waiting(), 1);
    assert_eq!(send(&mut routes[1], get("/", "192.0.2.7")).status(), 429);
    let mut third = spawn(call(&mut longer, get("/", "192.0.2.7")));
    assert_pending!(third.poll());
    clock.set(1.999);
    assert_eq!(status(assert_ready!(waiting.poll())), 200);
    assert_pending!(third.poll());
    clock.set(2.0);
    assert_eq!(status(assert_ready!(third.poll())), 200);
}

#[test]
fn no_queue_at_all() {
    let clock = Hand::default();
    let mut service = limit(ruled(LEAKY), &clock).queue(0).layer(Inner::default());
    let mut status = || send(&mut service, get("/", "192.0.2.7")).status().as_u16();
    assert_eq!([status(), status()], [200, 429]);
    clock.set(1.0);
    assert_eq!([status(), status()], [200, 429]);
}

/// A client's reservations in other limits are given back when it leaves the queue, also before it is polled.
#[test]
fn who_leaves_the_queue_gives_back_what_was_reserved() {
    let clock = Hand::default();
    let ruled = ruled(
        "domain: web\nlimit: [leaky-bucket 10/1m queue 50 per ip, fixed-window 100/1d per all]\n",
    );
    let layer = limit(ruled.clone(), &clock).cost(|_| 10.0).reserve();
    let mut service = layer.layer(Inner::default());
    let left = || {
        let event = Event { time: Time::ZERO, cost: 0.0, fields: &[("ip", "192.0.2.7")] };
        let decision = ruled.peek(&event);
        decision.outcomes().nth(1).unwrap().quota().unwrap().remaining
    };
    let event = Event { time: Time::ZERO, cost: 10.0, fields: &[("ip", "192.0.2.7")] };
    assert!(ruled.check(&event).is_allowed());
    for polled in [false, true] {
        let mut request = spawn(call(&mut service, get("/", "192.0.2.7")));
        if polled {
            assert_pending!(request.poll());
        }
        assert_eq!((layer.waiting(), left()), (1, 80.0), "{polled}");
        drop(request);
        assert_eq!((layer.waiting(), left()), (0, 90.0), "{polled}");
    }
}

/// A client that has gone leaves its place in the bucket, which is counted, but none in the queue.
#[test]
fn a_place_is_given_up_with_the_client() {
    let clock = Hand::default();
    let layer = limit(ruled(LEAKY), &clock);
    let mut service = layer.layer(Inner::default());
    send(&mut service, get("/", "192.0.2.7"));
    for polled in [false, true] {
        let mut request = spawn(call(&mut service, get("/", "192.0.2.7")));
        if polled {
            assert_pending!(request.poll());
        }
        assert_eq!(layer.waiting(), 1);
        drop(request);
        assert_eq!(layer.waiting(), 0);
    }
    clock.set(10.0);
    assert_eq!(service.get_ref().seen.calls(), 1);
}

/// When a hundred come at once, only those that get a slot are counted, wherever the store is.
#[test]
fn a_client_that_gets_no_slot_is_not_counted() {
    fn level<S: Store>(store: S, ruled: &MemoryStore) -> (usize, usize, usize, f64) {
        let clock = Hand::default();
        let layer = limit(store, &clock).queue(5);
        let mut service = layer.layer(Inner::default());
        let mut sent: Vec<Spawn<_>> =
            (0..100).map(|_| spawn(call(&mut service, get("/", "192.0.2.7")))).collect();
        let (mut passed, mut refused) = (0, 0);
        for _ in 0..9 {
            sent.retain_mut(|request| match request.poll() {
                std::task::Poll::Ready(response) => {
                    match status(response) {
                        200 => passed += 1,
                        _ => refused += 1,
                    }
                    false
                }
                std::task::Poll::Pending => true,
            });
        }
        assert_eq!(sent.len(), layer.waiting());
        let event = Event { time: clock.now(), cost: 0.0, fields: &() };
        let level = ruled.peek(&event).decided_by().unwrap().outcome.level;
        (passed, layer.waiting(), refused, level)
    }
    const RULES: &str = "domain: web\nlimit: leaky-bucket 10/1s queue 100 per all\n";
    let near = ruled(RULES);
    assert_eq!(level(near.clone(), &near), (1, 5, 94, 6.0));
    let far = Far::new(RULES, 2);
    let ruled = far.ruled.clone();
    // The first one holds a slot while the store is asked, and finds that it need not wait.
    assert_eq!(level(far, &ruled), (1, 4, 95, 5.0));
}

/// Each of two clients sends nine requests; how many wait then, after each client.
#[test]
fn one_client_does_not_hold_all_slots() {
    fn waiting<S: Store>(store: S, per_key: Option<usize>) -> [usize; 2] {
        let clock = Hand::default();
        let mut limit = limit(store, &clock).queue(6);
        if let Some(places) = per_key {
            limit = limit.queue_per_key(places);
        }
        let layer = limit;
        let mut service = layer.layer(Inner::default());
        let mut sent = Vec::new();
        ["192.0.2.7", "192.0.2.8"].map(|ip| {
            for _ in 0..9 {
                let mut request = spawn(call(&mut service, get("/", ip)));
                if (0..4).all(|_| request.poll().is_pending()) {
                    sent.push(request);
                }
            }
            layer.waiting()
        })
    }
    let per_ip = "domain: web\nlimit: leaky-bucket 1/1s queue 9 per ip\n";
    assert_eq!(waiting(ruled(per_ip), None), [3, 6]);
    assert_eq!(waiting(Far::new(per_ip, 1), None), [3, 6]);
    assert_eq!(waiting(ruled(per_ip), Some(2)), [2, 4]);
    assert_eq!(waiting(ruled(per_ip), Some(9)), [6, 6]);
    // The one key of a limit for all is nobody's own.
    let per_all = "domain: web\nlimit: leaky-bucket 1/1s queue 9 per all\n";
    assert_eq!(waiting(ruled(per_all), None), [6, 6]);
}

type Happening = Box<dyn FnOnce(&MemoryStore) + Send>;

/// A store in which something happens once, after it has said which rules are in force.
#[derive(Clone)]
struct Interrupted {
    ruled: MemoryStore,
    meanwhile: Arc<Mutex<Option<Happening>>>,
}

impl Store for Interrupted {
    fn rules(&self) -> Arc<Rules> {
        let rules = self.ruled.rules();
        let meanwhile = self.meanwhile.lock().unwrap().take();
        meanwhile.into_iter().for_each(|happens| happens(&self.ruled));
        rules
    }

    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        self.ruled.decide_now(parts, details)
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        self.ruled.decide(parts, details)
    }
}

/// The first request learns the rules, and is held up. Meanwhile, others come into force, by which requests wait, and
/// another request is decided by these.
#[test]
fn rules_that_come_during_the_first_request_count_for_those_after_it() {
    let ruled = ruled("domain: web\nlimit: 1000/1s per ip\n");
    let store = Interrupted { ruled, meanwhile: Arc::default() };
    let layer = limit(store.clone(), &Hand::default());
    let mut service = layer.layer(Inner::default());
    let mut other = service.clone();
    *store.meanwhile.lock().unwrap() = Some(Box::new(move |ruled| {
        assert_eq!(ruled.reload("rules.yaml", LEAKY, Time::ZERO).name(), "applied");
        assert_eq!(send(&mut other, get("/", "192.0.2.8")).status(), 200);
    }));
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).status(), 200);
    let mut second = spawn(call(&mut service, get("/", "192.0.2.7")));
    assert_pending!(second.poll());
    assert_eq!(layer.waiting(), 1);
}
