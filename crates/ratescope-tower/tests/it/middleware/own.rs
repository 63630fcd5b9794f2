//! Limits of a request's own: other numbers for customers who pay for more.

use crate::middleware::parts::{Far, Hand, Inner, finished, get, limit, ruled, send};
use crate::middleware::reports::told;
use crate::middleware::server::{PATIENCE, Server};
use core::future::poll_fn;
use http::{Request, Response};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::gcra::Gcra;
use ratescope::rules::{Decision, Observed, Observer, Reloaded, Rules, Store};
use ratescope::{Event, MemoryStore, Policy, Time};
use ratescope_redis::{Options, RedisStore};
use ratescope_tower::{Problem, RateLimitLayer, Reservation};
use std::sync::{Arc, Mutex};
use tower_layer::Layer;
use tower_service::Service;

const RULES: &str = "domain: web\nlimit: [gcra 2/1h per user as calls, 100000/1h per all]\n";

#[derive(Clone)]
struct Customer {
    name: String,
    limiter: Option<AnyLimiter>,
}

/// A request of a customer, who has the limiter of the rules if the text is empty.
fn by(name: &str, limiter: &str) -> Request<String> {
    let mut request = get("/", "192.0.2.7");
    let limiter = (!limiter.is_empty()).then(|| limiter.parse().unwrap());
    request.extensions_mut().insert(Customer { name: name.to_owned(), limiter });
    request
}

fn own<S: Store>(store: S) -> RateLimitLayer<S, Problem, Hand> {
    limit(store, &Hand::default())
        .user(|customer: &Customer| &customer.name)
        .limit_of("calls", |head| head.extensions.get::<Customer>()?.limiter.clone())
}

/// The status, the quota and the rest of it.
fn told_in(response: &Response<String>) -> (u16, &str, &str) {
    let header = |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap());
    (response.status().as_u16(), header("x-ratelimit-limit"), header("x-ratelimit-remaining"))
}

#[test]
fn each_customer_has_its_own_numbers() {
    fn counts<S: Store>(store: S) {
        let mut service = own(store).layer(Inner::default());
        let mut are = |name, limiter, expected: &[(u16, &str, &str)]| {
            for expected in expected {
                assert_eq!(told_in(&send(&mut service, by(name, limiter))), *expected);
            }
        };
        are("ann", "", &[(200, "2", "1"), (200, "2", "0"), (429, "2", "0")]);
        // Her requests stay counted when she pays for more, and when she no longer does.
        are("ann", "gcra 5/1h", &[(200, "5", "2"), (200, "5", "1")]);
        are("ann", "gcra 5/1h", &[(200, "5", "0"), (429, "5", "0")]);
        are("ann", "", &[(429, "2", "0")]);
        are("bob", "gcra 3/1h", &[(200, "3", "2")]);
        are("eve", "gcra 3/1h", &[(200, "3", "2")]);
        are("bob", "", &[(200, "2", "0")]);
    }
    counts(ruled(RULES));
    counts(Arc::new(ruled(RULES)));
    counts(Observed::new(Box::new(ruled(RULES)) as Box<dyn Store>));
    counts(Far::new(RULES, 2));
}

/// A customer without access is told to ask again in a day.
#[test]
fn a_customer_may_have_nothing() {
    let mut service = own(ruled(RULES)).layer(Inner::default());
    let refused = send(&mut service, by("eve", &Gcra::none().to_string()));
    assert_eq!(told_in(&refused), (429, "0", "0"));
    assert_eq!(refused.headers()["x-ratelimit-reset"], "86400");
    assert_eq!(refused.headers().get("retry-after"), None, "no wait is long enough");
}

/// Observers see the rules that are in force, and the limits with the numbers that decided.
#[test]
fn observers_see_the_numbers_of_a_request() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<[String; 2]>>);

    impl Observer for Seen {
        fn decided(&self, _: &Event<'_>, decision: &Decision) {
            let usual = decision.rules().rules()[0].limits()[0].limiter.to_string();
            let decided = decision.decided_by().unwrap().limit.limiter.to_string();
            self.0.lock().unwrap().push([decided, usual]);
        }
    }

    let seen = Arc::new(Seen::default());
    let store = Observed::new(ruled(RULES)).with(seen.clone());
    let mut service = own(store).layer(Inner::default());
    for limiter in ["", "gcra 5/1h"] {
        assert_eq!(send(&mut service, by("ann", limiter)).status(), 200);
    }
    let [usual, own] = ["gcra 2/1h burst 2", "gcra 5/1h burst 5"];
    assert_eq!(*seen.0.lock().unwrap(), [[usual, usual], [own, usual]]);
}

/// Only the latest are kept, and the others are made again.
#[test]
fn any_number_of_numbers_is_exact() {
    let store = ruled(RULES);
    let mut service = own(store.clone()).layer(Inner::default());
    for round in 1..=2 {
        for n in 2..700 {
            let response = send(&mut service, by(&n.to_string(), &format!("gcra {n}/1h")));
            let (quota, left) = (n.to_string(), (n - round).to_string());
            assert_eq!(told_in(&response), (200, &*quota, &*left));
        }
    }
    assert_eq!(store.len(), 699);
}

#[test]
fn forty_at_once_pass_as_often_as_the_limit_says() {
    let layer = own(ruled(RULES));
    let ask = || {
        let mut service = layer.layer(Inner::default());
        send(&mut service, by("ann", "gcra 7/1h")).status() == 200
    };
    let passed = std::thread::scope(|scope| {
        let threads = [(); 40].map(|()| scope.spawn(ask));
        let passed = threads.into_iter().map(|thread| thread.join().unwrap());
        passed.filter(|passed| *passed).count()
    });
    assert_eq!(passed, 7);
}

/// A limiter of another shape would lose the counted requests.
#[test]
fn where_numbers_do_not_fit_the_rules_decide() {
    let lines = told(|| {
        let mut service = own(ruled(RULES)).layer(Inner::default());
        let each = ["gcra 9/1h", "9/1h", "9/1h", "gcra 9/1h"];
        let each = each.map(|limiter| send(&mut service, by("ann", limiter)).status().as_u16());
        assert_eq!(each, [200, 200, 429, 200]);
    });
    let mismatch = "WARN ratescope: the limits of a request's own do not fit, and those of the rules decide: \
                  rules.yaml:1:1: calls: fixed-window 9/1h can't stand in for gcra 2/1h burst 2: its \
                  algorithm differs, so it has other states passed_over=0";
    assert_eq!(lines[0], mismatch);
    assert!(
        lines[1].starts_with("INFO ratescope: refused by web: level 3, limit 2"),
        "{}",
        lines[1]
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_name_that_no_limit_has_is_a_mistake() {
    let missing = own(ruled(RULES)).limit_of("daily", |_| None::<AnyLimiter>).check_sources();
    let problem = "no limit is named daily; the first are calls, web#2";
    assert_eq!(missing.unwrap_err().to_string(), problem);
    let lines = told(|| {
        let policy: Policy = "gcra 2/1h per user".parse().unwrap();
        let store = MemoryStore::new(policy, 100);
        let mut service = own(store).layer(Inner::default());
        let each = [(); 3].map(|()| send(&mut service, by("ann", "gcra 9/1h")).status().as_u16());
        assert_eq!(each, [200, 200, 429]);
    });
    assert_eq!(lines[0], "WARN ratescope: no limit is named calls; the first are policy");
}

#[test]
fn own_numbers_go_on_after_a_reload() {
    let store = ruled(RULES);
    let mut service = own(store.clone()).layer(Inner::default());
    let mut ask = |limiter| {
        let response = send(&mut service, by("ann", limiter));
        let (status, quota, left) = told_in(&response);
        format!("{status} {left} of {quota}")
    };
    assert_eq!(ask("gcra 5/1h"), "200 4 of 5");
    let rules = "domain: web\nlimit: gcra 3/1h per user as calls\n";
    assert!(matches!(store.reload("rules.yaml", rules, Time::ZERO), Reloaded::Applied(_)));
    assert_eq!([ask("gcra 5/1h"), ask("")], ["200 3 of 5", "200 0 of 3"]);
    // Nothing has the name now.
    let rules = "domain: web\nlimit: gcra 4/1h per user\n";
    assert!(matches!(store.reload("rules.yaml", rules, Time::ZERO), Reloaded::Applied(_)));
    assert_eq!(ask("gcra 5/1h"), "200 0 of 4");
}

/// The later cost of a request counts by its own numbers: under those of the rules the bucket would be empty.
#[test]
fn later_costs_count_by_the_same_numbers() {
    fn settled<S: Store>(store: S) {
        let limit = own(store).cost(|_| 6.0).reserve();
        let left_after = |settled: f64| {
            let mut request = by("ann", "token-bucket 20/1h");
            let passed = finished(limit.check::<_, String>(&mut request)).unwrap();
            let mut response = Response::new(String::new());
            finished(limit.finish(passed, &mut response));
            request.extensions().get::<Reservation>().unwrap().settle(settled);
            response.headers()["x-ratelimit-remaining"].to_str().unwrap().to_owned()
        };
        assert_eq!([left_after(1.0), left_after(8.0), left_after(6.0)], ["14", "13", "5"]);
    }
    let rules = "domain: web\nlimit: token-bucket 2/1h per user as calls\n";
    settled(ruled(rules));
}

#[tokio::test]
async fn own_numbers_hold_in_all_processes_on_redis() {
    let Some(server) = Server::start(&[]) else { return };
    let mut services = [(); 2].map(|()| {
        let rules = Rules::read("rules.yaml", RULES).unwrap();
        let store = RedisStore::open(&server.url(), rules, Options::default().deadline(PATIENCE));
        own(store.unwrap()).layer(Inner::default())
    });
    for (limiter, expected) in [
        ("", (200, "2", "1")),
        ("gcra 4/1h", (200, "4", "2")),
        ("gcra 4/1h", (200, "4", "1")),
        ("", (429, "2", "0")),
        ("gcra 4/1h", (200, "4", "0")),
        ("gcra 4/1h", (429, "4", "0")),
    ] {
        services.reverse();
        let [service, _] = &mut services;
        poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        let response = service.call(by("ann", limiter)).await.unwrap();
        assert_eq!(told_in(&response), expected, "{limiter}");
    }
}
