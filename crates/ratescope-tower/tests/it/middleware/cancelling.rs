//! A client may go at any moment: anything that waits then is dropped, and leaves nothing.

use crate::middleware::parts::{Far, Hand, Inner, call, finished, get, limit, send};
use core::task::Poll;
use ratescope_tower::{Problem, RateLimitLayer};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_test::task::spawn;
use tower_layer::Layer;

/// The second request of a client waits for the store, then in the queue, then for the service to be
/// ready, then for its response, then for the charge.
const RULES: &str = "domain: web\nlimit: leaky-bucket 1/1s queue 10 per ip\n";

struct Setting {
    clock: Hand,
    layer: RateLimitLayer<Far, Problem, Hand>,
    store: Far,
    inner: Inner,
}

impl Setting {
    fn new() -> Self {
        let (clock, store) = (Hand::default(), Far::new(RULES, 2));
        let layer = limit(store.clone(), &clock).charge(|_| 1.0);
        let inner = Inner { unready: 2, slow: 2, ..Inner::default() };
        Setting { clock, layer, store, inner }
    }

    /// Polls the second request so often, or until it is done; how often it was. The clock goes on by
    /// half a second with each.
    fn run(&self, polls: usize) -> (usize, bool) {
        let mut service = self.layer.layer(self.inner.clone());
        send(&mut service, get("/first", "192.0.2.7"));
        let mut request = spawn(call(&mut service, get("/second", "192.0.2.7")));
        for polled in 0..polls {
            if let Poll::Ready(response) = request.poll() {
                assert_eq!(response.unwrap().status().as_u16(), 200);
                return (polled + 1, true);
            }
            self.clock.set(polled as f64 / 2.0);
        }
        (polls, false)
    }

    fn references(&self) -> (usize, usize) {
        (Arc::strong_count(&self.store.asked), Arc::strong_count(&self.inner.seen))
    }
}

#[test]
fn dropped_at_every_await_nothing_is_left() {
    let (whole, done) = Setting::new().run(1000);
    assert!(done && whole > 8, "{whole}");
    let mut reached = Vec::new();
    for polls in 0..whole {
        let setting = Setting::new();
        let before = setting.references();
        assert_eq!(setting.run(polls), (polls, false));
        assert_eq!(setting.layer.waiting(), 0, "a place in the queue after {polls} polls");
        let running = setting.inner.seen.running.load(Ordering::SeqCst);
        assert_eq!(running, 0, "a response after {polls} polls");
        assert_eq!(setting.references(), before, "memory after {polls} polls");
        reached.push(setting.inner.seen.calls());
        // The next one is served as ever, when the bucket has run dry.
        setting.clock.set(100.0);
        let mut service = setting.layer.layer(setting.inner.clone());
        let next = send(&mut service, get("/next", "192.0.2.7"));
        assert_eq!(next.status().as_u16(), 200);
    }
    // Some were given up before the service was asked, and some after.
    assert!(reached.contains(&1) && reached.contains(&2), "{reached:?}");
}

/// The store counts each request that it was asked about once, whether its client waited or not.
#[test]
fn a_dropped_request_is_counted_once_or_not_at_all() {
    for polls in 0..6 {
        let setting = Setting::new();
        setting.run(polls);
        let asked = setting.store.asked.load(Ordering::SeqCst);
        assert_eq!(asked, if polls == 0 { 1 } else { 2 }, "after {polls} polls");
    }
}

#[test]
fn a_service_that_is_dropped_with_its_requests() {
    let setting = Setting::new();
    let mut service = setting.layer.layer(setting.inner.clone());
    let request = call(&mut service, get("/", "192.0.2.7"));
    drop(service);
    assert_eq!(finished(request).unwrap().body(), "/");
}
