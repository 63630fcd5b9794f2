//! A request is one decision: all of its descriptors are counted, or none is, in any order, however many requests
//! come at once, and whoever hangs up.

use super::nodes::Cluster;
use super::requests::{descriptor, request};
use super::server::{PATIENCE, Server};
use core::pin::Pin;
use core::task::{Context, Poll};
use ratescope::Event;
use ratescope::clock::SystemClock;
use ratescope::rules::{BoxFuture, Decisions, Details, MemoryStore, Part, Rules, Store};
use ratescope_redis::Options;
use ratescope_service::{
    Code, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, Service, States, Unit,
};
use std::sync::{Arc, Mutex};

/// A limit of each user, and one that all share. By the year, so that nothing drains while the test runs.
const RULES: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 5/52w burst 5}
- {key: tenant, limit: gcra 1000/5200w burst 1000}
";

fn options(one_node: bool) -> Options {
    Options::default().deadline(PATIENCE).one_node(one_node)
}

fn service(states: States) -> Arc<Service<SystemClock>> {
    let service = Service::new(states, SystemClock);
    service.add("rules.yaml", RULES).unwrap();
    Arc::new(service)
}

/// The descriptors in either order.
fn orders() -> [RateLimitRequest; 2] {
    let [user, all] = [("user", "ann"), ("tenant", "x")].map(|entry| descriptor(&[entry]));
    [request(vec![user.clone(), all.clone()]), request(vec![all, user])]
}

/// How much the shared limit has left, by a look.
async fn left(service: &Service<SystemClock>) -> u32 {
    let look = RateLimitDescriptor { hits_addend: Some(0), ..descriptor(&[("tenant", "x")]) };
    let answer = service.should_rate_limit(&request(vec![look])).await.unwrap();
    answer.statuses[0].limit_remaining
}

/// Forty requests at once, in both orders: the shared limit has counted the allowed ones.
async fn assert_exact(service: Arc<Service<SystemClock>>) {
    let one = |i: usize| {
        let service = Arc::clone(&service);
        let request = orders()[i % 2].clone();
        tokio::spawn(async move {
            service.should_rate_limit(&request).await.unwrap().overall_code() == Code::Ok
        })
    };
    let asked: Vec<_> = (0..40).map(one).collect();
    let mut allowed = 0;
    for task in asked {
        allowed += usize::from(task.await.unwrap());
    }
    assert_eq!((allowed, left(&service).await), (5, 995));
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_at_once_spend_what_is_allowed() {
    assert_exact(service(States::in_memory(1000))).await;
    let Some(redis) = Server::start(&[]) else { return };
    assert_exact(service(States::on_redis(&redis.url(), options(false)).unwrap())).await;
    let Some(cluster) = Cluster::steady() else { return };
    assert_exact(service(States::on_redis(&cluster.url(), options(true)).unwrap())).await;
}

/// Hangs up when the answer has had to be waited for so many times.
struct HangsUp<F> {
    inner: Pin<Box<F>>,
    left: usize,
}

impl<F: Future> Future for HangsUp<F> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        if self.inner.as_mut().poll(context).is_ready() {
            return Poll::Ready(false);
        }
        self.left -= 1;
        if self.left == 0 { Poll::Ready(true) } else { Poll::Pending }
    }
}

#[tokio::test]
async fn who_hangs_up_spends_nothing_that_others_share() {
    let Some(redis) = Server::start(&[]) else { return };
    let service = service(States::on_redis(&redis.url(), options(false)).unwrap());
    for _ in 0..5 {
        let answer = service.should_rate_limit(&orders()[0]).await.unwrap();
        assert_eq!(answer.overall_code(), Code::Ok);
    }
    for request in orders() {
        for left in 1.. {
            let asked = Box::pin(service.should_rate_limit(&request));
            if !(HangsUp { inner: asked, left }).await {
                break;
            }
        }
    }
    assert_eq!(left(&service).await, 995);
}

/// A descriptor that is refused twice in one request is counted nowhere.
#[tokio::test]
async fn a_descriptor_twice_counts_twice_or_not_at_all() {
    let service = service(States::in_memory(1000));
    let of = |hits: u64| {
        let one = RateLimitDescriptor { hits_addend: Some(hits), ..descriptor(&[("user", "eve")]) };
        request(vec![one.clone(), one])
    };
    for (hits, code, left) in [(2, Code::Ok, 1), (1, Code::OverLimit, 1), (1, Code::OverLimit, 1)] {
        let answer = service.should_rate_limit(&of(hits)).await.unwrap();
        let told: Vec<_> =
            answer.statuses.iter().map(|one| (one.code(), one.limit_remaining)).collect();
        assert_eq!(told, [(code, left); 2]);
    }
}

/// A store in which so much is counted, or given back, right before an event is counted.
struct Races(MemoryStore, Arc<Mutex<f64>>);

impl Store for Races {
    fn rules(&self) -> Arc<Rules> {
        MemoryStore::rules(&self.0)
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        if let Some(part) = parts.iter().find(|part| part.intent.is_count()) {
            let cost = core::mem::take(&mut *self.1.lock().unwrap());
            self.0.settle(&Event { cost, ..*part.event }, part.now(), None).unwrap();
        }
        Store::decide(&self.0, parts, details)
    }
}

/// A limit that a request brings along has a store of its own. If another request comes between the look and the count, all
/// is counted or nothing.
#[tokio::test]
async fn a_race_between_two_stores_counts_nothing_in_part() {
    let between = Arc::new(Mutex::new(0.0));
    let shared = Arc::clone(&between);
    let states = States::new(move |rules| {
        let is_own = rules.domain() == "override";
        let store = MemoryStore::new(rules, 1000);
        let races = Races(store.clone(), Arc::clone(&shared));
        Ok(if is_own { Arc::new(races) as Arc<dyn Store> } else { Arc::new(store) })
    });
    let service = service(states);
    let year = Unit::Year.into();
    let limit = RateLimitOverride { requests_per_unit: 5, unit: year, unit_multiplier: None };
    let own = |hits| RateLimitDescriptor {
        limit: Some(limit),
        hits_addend: Some(hits),
        ..descriptor(&[("user", "ann")])
    };
    let tenant = || descriptor(&[("tenant", "x")]);
    let ask = async |descriptors| service.should_rate_limit(&request(descriptors)).await.unwrap();
    let own_left = async || ask(vec![own(0)]).await.statuses[0].limit_remaining;
    for descriptors in [[tenant(), own(1)], [own(1), tenant()]] {
        // It has room when it is looked at, and is full when it counts; and the other way round.
        for (change, is_left) in [(5.0, 0), (-5.0, 5)] {
            *between.lock().unwrap() = change;
            let answer = ask(descriptors.to_vec()).await;
            assert_eq!(answer.overall_code(), Code::OverLimit, "{change}");
            assert_eq!((own_left().await, left(&service).await), (is_left, 1000), "{change}");
        }
    }
    assert_eq!(ask(vec![tenant(), own(1)]).await.overall_code(), Code::Ok);
    assert_eq!((own_left().await, left(&service).await), (4, 999));
}
