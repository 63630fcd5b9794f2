//! Costs of requests, known before them or after.

use crate::middleware::doubling::{assert_linear, sizes};
use crate::middleware::parts::{Far, Hand, Inner, get, limit, ruled, send};
use http::HeaderMap;
use ratescope::Event;
use ratescope::rules::{Fault, MemoryStore, Store};
use ratescope_tower::{Clock, ResponseHead};
use tower_layer::Layer;

const TEN: &str = "domain: web\nlimit: token-bucket 10/1h per ip\n";

#[test]
fn a_cost_from_the_request() {
    let clock = Hand::default();
    let bytes = |path: &str| path.len() as f64;
    let limit = limit(ruled(TEN), &clock).cost(move |head| bytes(head.uri.path()));
    let mut service = limit.layer(Inner::default());
    let mut status = |path| send(&mut service, get(path, "192.0.2.7")).status().as_u16();
    assert_eq!([status("/45678"), status("/6789"), status("/234")], [200, 429, 200]);
}

#[test]
fn what_is_no_number_does_not_pass() {
    for cost in [f64::NAN, -1.0, f64::INFINITY] {
        let limit = limit(ruled(TEN), &Hand::default()).cost(move |_| cost);
        let response = send(&mut limit.layer(Inner::default()), get("/", "192.0.2.7"));
        assert_eq!(response.status().as_u16(), 429, "{cost}");
    }
}

fn length(response: ResponseHead<'_>) -> f64 {
    let length = response.headers.get("content-length").and_then(|value| value.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0.0)
}

/// A charge is missing later, in a store that answers at once and in a slow one.
#[test]
fn a_charge_from_the_response() {
    fn statuses<S: Store>(store: S) -> Vec<(u16, u16)> {
        let clock = Hand::default();
        let limit = limit(store, &clock).charge(length);
        let mut headers = HeaderMap::new();
        headers.insert("content-length", "13".parse().unwrap());
        let layer = limit;
        let mut service = layer.layer(Inner { headers, ..Inner::default() });
        let mut ask = |seconds| {
            clock.set(seconds);
            let [ann, bob] = ["192.0.2.7", "192.0.2.8"].map(|ip| send(&mut service, get("/", ip)));
            (ann.status().as_u16(), bob.status().as_u16())
        };
        // Of 10 tokens 14 are used. The fifth is there after 30 min: 4 of debt, and 1 to pass.
        vec![ask(0.0), ask(1799.0), ask(1800.0)]
    }
    let expected = [(200, 200), (429, 429), (200, 200)];
    assert_eq!(statuses(ruled(TEN)), expected);
    assert_eq!(statuses(Far::new(TEN, 2)), expected);
}

#[test]
fn a_charge_is_for_the_fields_of_its_request() {
    let clock = Hand::default();
    let ruled = ruled("domain: web\ndescriptors:\n  - {key: path, limit: gcra 5/1h}\n");
    let limit = limit(ruled.clone(), &clock)
        .charge(|response| if response.extensions.get::<()>().is_none() { 4.0 } else { 0.0 });
    let mut service = limit.layer(Inner::default());
    let mut status = |path| send(&mut service, get(path, "192.0.2.7")).status().as_u16();
    assert_eq!([status("/a"), status("/a"), status("/b")], [200, 429, 200]);
}

/// The work for n requests under n rules grows with n, not with its square.
#[test]
fn a_charge_takes_no_longer_with_many_rules() {
    let service = |rules: usize| {
        let rule = |i| format!("  - {{key: path, value: /{i}, limit: gcra 1G/1s}}\n");
        let text: String = (0..rules).map(rule).collect();
        let ruled = ruled(&format!("domain: web\ndescriptors:\n{text}"));
        let service = limit(ruled, &Hand::default()).charge(|_| 1.0).layer(Inner::default());
        (service, rules)
    };
    let send_many = |(service, requests): &(_, usize)| {
        let mut service = Clone::clone(service);
        for i in 0..*requests {
            assert_eq!(
                send(&mut service, get(&format!("/{i}"), "192.0.2.7")).status().as_u16(),
                200
            );
        }
    };
    assert_linear(&sizes(300).map(service), send_many);
}

/// If it could refuse, the requests that it would refuse would cost nothing afterwards either.
#[test]
fn a_shadow_is_charged_for_what_it_would_let_pass() {
    const RULES: &str = "
domain: web
descriptors:
  - {key: ip, limit: gcra 2/1h, shadow: true}
  - {key: path, limit: gcra 100/1h}
";
    fn levels<S: Store>(store: S, ruled: &MemoryStore) -> Vec<(f64, f64)> {
        let clock = Hand::default();
        let layer = limit(store, &clock).charge(|_| 1.0);
        let mut service = layer.layer(Inner::default());
        let mut ask = || {
            assert_eq!(send(&mut service, get("/", "192.0.2.7")).status().as_u16(), 200);
            let fields = [("ip", "192.0.2.7"), ("path", "/")];
            let now = ruled.peek(&Event { time: clock.now(), cost: 0.0, fields: &fields });
            let levels: Vec<f64> = now.outcomes().map(|one| one.outcome.level).collect();
            (levels[0], levels[1])
        };
        (0..3).map(|_| ask()).collect()
    }
    // The first request counts twice in both, and then the shadow is full.
    let expected = [(2.0, 2.0), (2.0, 4.0), (2.0, 6.0)];
    let near = ruled(RULES);
    assert_eq!(levels(near.clone(), &near), expected);
    let far = Far::new(RULES, 2);
    let ruled = far.ruled.clone();
    assert_eq!(levels(far, &ruled), expected);
}

/// A request that the service fails to answer costs as much as was known before.
#[test]
fn an_error_is_not_charged() {
    let clock = Hand::default();
    let ruled = ruled(TEN);
    let limit = limit(ruled.clone(), &clock).charge(|_| 9.0);
    let mut service = limit.layer(Inner::default());
    let broken = crate::middleware::parts::call(&mut service, get("/broken", "192.0.2.7"));
    assert_eq!(crate::middleware::parts::finished(broken).unwrap_err(), "broken");
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).headers()["x-ratelimit-remaining"], "8");
}

#[test]
fn a_charge_that_fails_does_not_cost_the_response() {
    let clock = Hand::default();
    let mut store = Far::new(TEN, 1);
    store.fault = Some(Fault::unreachable("gone"));
    let mut service = limit(store, &clock).charge(|_| 1.0).layer(Inner::default());
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).status().as_u16(), 200);
}

/// A charge counts as one from 0 to 1e12, or is logged and lost.
#[test]
fn a_charge_that_is_no_cost_is_lost_and_counted() {
    for (cost, lost) in [(f64::NAN, true), (-1.0, true), (f64::NEG_INFINITY, true), (0.0, false)] {
        let lines = crate::middleware::meters::counted(|_| {
            let limit = limit(ruled(TEN), &Hand::default()).charge(move |_| cost);
            let mut service = limit.layer(Inner::default());
            for left in ["9", "8"] {
                let response = send(&mut service, get("/", "192.0.2.7"));
                assert_eq!(response.headers()["x-ratelimit-remaining"], left, "{cost}");
            }
        });
        let line = "ratescope_charges_lost_total{reason=\"cost\"} 2";
        assert_eq!(lines.iter().any(|counted| counted == line), lost, "{cost}: {lines:?}");
    }
    for cost in [f64::INFINITY, f64::MAX, 1e13] {
        let limit = limit(ruled(TEN), &Hand::default()).charge(move |_| cost);
        let mut service = limit.layer(Inner::default());
        let mut status = || send(&mut service, get("/", "192.0.2.7")).status().as_u16();
        assert_eq!([status(), status()], [200, 429], "{cost}");
    }
}
