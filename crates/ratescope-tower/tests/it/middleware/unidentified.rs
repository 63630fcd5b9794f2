//! Requests that lack a field that they must have.

use crate::middleware::meters::counted;
use crate::middleware::parts::{Far, Hand, Inner, get, head, limit, ruled, send};
use crate::middleware::reports::told;
use http::{HeaderValue, Request, Response, StatusCode};
use ratescope::rules::Store;
use ratescope_tower::{GrpcStatus, Head, Problem, RateLimitLayer, Refused, Unidentified};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tower_layer::Layer;

const USER: &str = "domain: web\nlimit: [3/1h per user, 9/1h per ip]\n";

/// The user of a request: whoever it says, nobody for `guest`, and an error for anything wrong.
fn user(request: Head<'_>) -> Result<Option<Cow<'_, str>>, Unidentified> {
    let Some(name) = request.headers.get("x-user") else {
        let why = Unidentified::new(StatusCode::UNAUTHORIZED, "Who are \"you\"?");
        return Err(why.with_challenge(HeaderValue::from_static("Name")));
    };
    let why = |_| Unidentified::new(StatusCode::BAD_REQUEST, "This is no name.");
    let name = name.to_str().map_err(why)?;
    Ok((name != "guest").then_some(Cow::Borrowed(name)))
}

fn by_user<S: Store>(store: S, clock: &Hand) -> RateLimitLayer<S, Problem, Hand> {
    limit(store, clock).key("user", user)
}

/// A request by a user, if there is one.
fn by(path: &str, user: &str) -> Request<String> {
    let mut request = get(path, "192.0.2.7");
    if !user.is_empty() {
        request.headers_mut().insert("x-user", HeaderValue::from_bytes(user.as_bytes()).unwrap());
    }
    request
}

fn statuses<const N: usize>(rules: &str, requests: [Request<String>; N]) -> [u16; N] {
    let mut service = by_user(ruled(rules), &Hand::default()).layer(Inner::default());
    requests.map(|request| send(&mut service, request).status().as_u16())
}

#[test]
fn a_request_without_its_key_is_refused_and_counted_nowhere() {
    let store = Far::new(USER, 1);
    let (ruled, asked) = (store.ruled.clone(), Arc::clone(&store.asked));
    let inner = Inner::default();
    let seen = Arc::clone(&inner.seen);
    let mut service = by_user(store, &Hand::default()).layer(inner);
    let response = send(&mut service, by("/", ""));
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let headers = ["content-type: application/problem+json", "www-authenticate: Name"];
    assert_eq!(head(&response), headers);
    let problem: Value = serde_json::from_str(response.body()).unwrap();
    let expected = json!({
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "Who are \"you\"?",
    });
    assert_eq!(problem, expected);
    let wrong = send(&mut service, by("/", "\u{fc}"));
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    assert_eq!(head(&wrong), headers[..1]);
    assert_eq!((asked.load(Ordering::SeqCst), ruled.len(), seen.calls()), (0, 0, 0));
    assert_eq!(send(&mut service, by("/", "ann")).status(), StatusCode::OK);
    assert_eq!((asked.load(Ordering::SeqCst), ruled.len(), seen.calls()), (1, 2, 1));
}

#[test]
fn the_key_that_is_found_is_limited() {
    let users = ["ann", "ann", "", "ann", "bob", "", "ann"].map(|user| by("/", user));
    assert_eq!(statuses(USER, users), [200, 200, 401, 200, 200, 401, 429]);
    // Who has no such field, and need not, is no matter of rules for it.
    let rules = "domain: web\ndescriptors:\n  - {key: user, limit: 1/1h}\n";
    let users = ["guest", "guest", "ann", "ann", ""].map(|user| by("/", user));
    assert_eq!(statuses(rules, users), [200, 200, 200, 429, 401]);
}

/// Nobody has to log in where no rule is about the user.
#[test]
fn only_where_a_rule_needs_it() {
    let calls = |rules: &str, path: &str| {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let limit = limit(ruled(rules), &Hand::default()).key("user", move |request| {
            counted.fetch_add(1, Ordering::SeqCst);
            user(request)
        });
        let status = send(&mut limit.layer(Inner::default()), by(path, "")).status();
        (status.as_u16(), calls.load(Ordering::SeqCst))
    };
    assert_eq!(calls("domain: web\nlimit: 9/1h per ip\n", "/api"), (200, 0));
    assert_eq!(calls("domain: web\nlimit: 9/1h per ip+user\n", "/api"), (401, 1));
    let within = "\
domain: web
limit: 9/1h per ip
descriptors:
  - {key: path, value: /api, descriptors: [{key: user, limit: 9/1h}]}
  - {key: path, value: /mail, limit: 9/1h per user}
";
    for (path, expected) in [("/api", (401, 1)), ("/mail", (401, 1)), ("/health", (200, 0))] {
        assert_eq!(calls(within, path), expected, "{path}");
    }
    // A rule on trial changes nothing.
    let shadow = "domain: web\nlimit: 9/1h per user\nshadow: true\n";
    assert_eq!(calls(shadow, "/api").0, 200);
}

/// A reload may bring a rule for the field; from then on each request must have it.
#[test]
fn rules_that_are_read_anew() {
    let ruled = ruled("domain: web\nlimit: 9/1h per ip\n");
    let mut service = by_user(ruled.clone(), &Hand::default()).layer(Inner::default());
    assert_eq!(send(&mut service, by("/", "")).status(), StatusCode::OK);
    assert_eq!(ruled.reload("r", USER, Default::default()).name(), "applied");
    let keys = ruled.len();
    assert_eq!(send(&mut service, by("/", "")).status(), StatusCode::UNAUTHORIZED);
    assert_eq!(ruled.len(), keys);
    let reloaded = ruled.reload("r", "domain: web\nlimit: 9/1h per ip\n", Default::default());
    assert_eq!(reloaded.name(), "applied");
    assert_eq!(send(&mut service, by("/", "")).status(), StatusCode::OK);
}

#[test]
fn an_answer_of_the_services_own() {
    let answer = |refused: &Refused<'_>| {
        let why = refused.unidentified.unwrap();
        assert!(!refused.is_queue_full() && !refused.is_unavailable() && refused.retry.is_none());
        assert_eq!((refused.violated().count(), refused.decision.outcomes().count()), (0, 0));
        let mut response = Response::new(why.to_string());
        *response.status_mut() = refused.status();
        response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Other"));
        response
    };
    let limit = by_user(ruled(USER), &Hand::default()).answer(answer);
    let response = send(&mut limit.layer(Inner::default()), by("/", ""));
    assert_eq!(
        (response.status().as_u16(), response.body().as_str()),
        (401, "401: Who are \"you\"?")
    );
    assert_eq!(head(&response), ["www-authenticate: Other"]);
}

#[test]
fn grpc_has_a_status_for_each() {
    let codes = [(401, "16"), (403, "7"), (400, "3"), (503, "14")].map(|(status, code)| {
        let why = Unidentified::new(StatusCode::from_u16(status).unwrap(), "No such tenant");
        let limit = limit(ruled(USER), &Hand::default()).answer(GrpcStatus);
        let limit = limit.key("user", move |_| Err(why.clone()));
        let response = send(&mut limit.layer(Inner::default()), by("/", ""));
        assert_eq!(response.headers()["grpc-message"], "No such tenant");
        (response.headers()["grpc-status"] == code).then_some(response.status().as_u16())
    });
    assert_eq!(codes, [Some(200); 4]);
}

#[test]
fn a_status_that_is_no_error_counts_as_one() {
    for (given, status) in [(200, 400), (304, 400), (422, 422), (503, 503)] {
        let why = Unidentified::new(StatusCode::from_u16(given).unwrap(), "no");
        assert_eq!(why.status().as_u16(), status);
    }
}

/// Nothing that it says of itself takes a place from others.
#[test]
fn it_takes_no_slot_in_the_queue() {
    let rules = "domain: web\nlimit: leaky-bucket 1/1s queue 9 per user\n";
    let layer = by_user(ruled(rules), &Hand::default()).queue(1);
    let mut service = layer.layer(Inner::default());
    send(&mut service, by("/", "ann"));
    let _waits = crate::middleware::parts::call(&mut service, by("/", "ann"));
    assert_eq!(send(&mut service, by("/", "")).status(), StatusCode::UNAUTHORIZED);
    assert_eq!(layer.waiting(), 1);
}

#[test]
fn it_is_counted_and_logged() {
    let mut lines = Vec::new();
    let counted = counted(|_| {
        lines = told(|| {
            let mut service =
                by_user(ruled(USER), &Hand::default()).name("api").layer(Inner::default());
            for user in ["", "ann", ""] {
                send(&mut service, by("/", user));
            }
        });
    });
    let requests: Vec<&String> =
        counted.iter().filter(|line| line.starts_with("ratescope_requests")).collect();
    let expected = [
        "ratescope_requests_total{outcome=\"allowed\",layer=\"api\"} 1",
        "ratescope_requests_total{outcome=\"unidentified\",layer=\"api\"} 2",
    ];
    assert_eq!(requests, expected);
    let line = "INFO ratescope: refused before the limits were asked layer=\"api\" field=\"user\" \
                status=401 reason=\"Who are \\\"you\\\"?\" passed_over=0";
    assert_eq!(lines, [line; 2]);
}
