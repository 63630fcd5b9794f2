//! The headers and bodies of responses.

use crate::middleware::parts::{Hand, Inner, call, get, head, limit, ruled, send};
use crate::middleware::server::{PATIENCE, Port};
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, Response, StatusCode};
use ratescope::rules::{MemoryStore, Rules};
use ratescope::{Policy, Span};
use ratescope_redis::{Options, RedisStore};
use ratescope_tower::{GrpcStatus, Headers, RateLimitLayer, Refused};
use serde_json::{Value, json};
use sfv::{BareItem, List, ListEntry, Parser};
use tower::ServiceExt;
use tower_http::cors::{Any, CorsLayer};
use tower_layer::Layer;

const TWO: &str = "domain: web\nlimit: gcra 2/1m per ip\n";

#[test]
fn a_refusal_says_when_to_come_back() {
    let clock = Hand::default();
    let mut service = limit(ruled(TWO), &clock).layer(Inner::default());
    let first = send(&mut service, get("/", "192.0.2.7"));
    assert_eq!((first.status(), first.body().as_str()), (StatusCode::OK, "/"));
    let headers = [
        "ratelimit-policy: \"web\";q=2;w=60",
        "ratelimit: \"web\";r=1;t=30",
        "x-ratelimit-limit: 2",
        "x-ratelimit-remaining: 1",
        "x-ratelimit-reset: 30",
    ];
    assert_eq!(head(&first), headers);
    send(&mut service, get("/", "192.0.2.7"));

    clock.set(0.1);
    let third = send(&mut service, get("/", "192.0.2.7"));
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    let headers = [
        "content-type: application/problem+json",
        "ratelimit-policy: \"web\";q=2;w=60",
        "ratelimit: \"web\";r=0;t=30",
        // 29.9 s, and a client that comes a moment too soon is refused again.
        "retry-after: 30",
        "x-ratelimit-limit: 2",
        "x-ratelimit-remaining: 0",
        "x-ratelimit-reset: 30",
        "x-ratelimit-retry-after: 30",
    ];
    assert_eq!(head(&third), headers);
    let problem: Value = serde_json::from_str(third.body()).unwrap();
    let expected = json!({
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Request cannot be satisfied as assigned quota has been exceeded",
        "status": 429,
        "detail": "There were too many requests; try again in 30 s.",
        "violated-policies": ["web"],
        "retry_after": 30,
    });
    assert_eq!(problem, expected);
    // ARCHITECTURE.md shows all of it.
    let mut shown = "HTTP/1.1 429 Too Many Requests\n".to_owned();
    for (name, value) in third.headers() {
        shown += &format!("{name}: {}\n", value.to_str().unwrap());
    }
    shown += &format!("\n{}", third.body());
    let paper =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md"))
            .unwrap();
    assert!(paper.contains(&shown), "ARCHITECTURE.md should show this:\n{shown}");
    assert!(include_str!("../../../src/ten_lines.md").contains(TWO), "{TWO}");
    // And means it.
    clock.set(30.0);
    assert_eq!(send(&mut service, get("/", "192.0.2.7")).status(), StatusCode::OK);
}

#[test]
fn a_herd_is_told_to_come_back_at_different_times_and_never_too_early() {
    let told = |most: Span| {
        let clock = Hand::default();
        let layer = limit(ruled(TWO), &clock).retry_jitter(most);
        let mut service = layer.layer(Inner::default());
        for _ in 0..2 {
            send(&mut service, get("/", "192.0.2.7"));
        }
        let seconds = |_| {
            let response = send(&mut service, get("/", "192.0.2.7"));
            let problem: Value = serde_json::from_str(response.body()).unwrap();
            let seconds = problem["retry_after"].as_u64().unwrap();
            // Headers and body say the same.
            let detail = format!("There were too many requests; try again in {seconds} s.");
            assert_eq!(problem["detail"], detail);
            for name in ["retry-after", "x-ratelimit-retry-after"] {
                assert_eq!(response.headers()[name], seconds.to_string());
            }
            seconds
        };
        (0..200).map(seconds).collect::<Vec<_>>()
    };
    assert!(told(Span::ZERO).iter().all(|seconds| *seconds == 30));
    let mut spread = told(Span::from_secs(20));
    spread.sort_unstable();
    assert!(spread.iter().all(|seconds| (30..=50).contains(seconds)), "{spread:?}");
    // Of 20 seconds, 200 who were refused leave hardly one out; a chance of 1 in 10^20 for half of them.
    spread.dedup();
    assert!(spread.len() >= 10, "{spread:?}");
}

#[test]
fn what_never_passes_is_not_told_to_come_back() {
    let clock = Hand::default();
    let limit = limit(ruled(TWO), &clock).cost(|_| 3.0);
    let response = send(&mut limit.layer(Inner::default()), get("/", "192.0.2.7"));
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!response.headers().contains_key("retry-after"));
    let problem: Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(problem["detail"], "The request costs more than is ever allowed.");
    assert_eq!(problem.get("retry_after"), None);
}

/// The items of a list in a header: of each the name and the parameters.
fn items(response: &Response<String>, name: &str) -> Vec<String> {
    let list: List = Parser::new(response.headers()[name].as_bytes()).parse().unwrap();
    let item = |entry: ListEntry| {
        let ListEntry::Item(item) = entry else { panic!("a list within") };
        let BareItem::String(name) = item.bare_item else { panic!("not a string") };
        let parameters = item.params.iter().map(|(key, value)| {
            let BareItem::Integer(value) = value else { panic!("not an integer") };
            format!("{key}={value}")
        });
        format!("{} {}", name.as_str(), parameters.collect::<Vec<_>>().join(" "))
    };
    list.into_iter().map(item).collect()
}

#[test]
fn all_limits_that_apply_stand_in_the_structured_fields() {
    let rules = "\
domain: web
limit: [gcra 5/1s burst 100, 1000/1d]
descriptors:
  - {key: method, name: \"says \\\"hé\\\" \\\\\", limit: exim 3/1m strict per ip, throttle: soft 100%}
  - {key: path, limit: gcra 1/1h, shadow: true}
";
    let clock = Hand::default();
    let mut service = limit(ruled(rules), &clock).layer(Inner::default());
    let response = send(&mut service, get("/", "192.0.2.7"));
    // A bucket that is filled in 20 s, and the relaxed limit, which is in force. The shadow is not
    // told.
    let policies = ["web q=100 w=20", "web#2 q=1000 w=86400", "says \"h%C3%A9\" \\ q=6 w=60"];
    assert_eq!(items(&response, "ratelimit-policy"), policies);
    let limits = items(&response, "ratelimit");
    assert_eq!(limits[..2], ["web r=99 t=1", "web#2 r=999 t=86400"]);
    assert!(limits[2].starts_with("says \"h%C3%A9\" \\ r=5 t="), "{}", limits[2]);
    // The other headers are about the one with the least left.
    assert_eq!(response.headers()["x-ratelimit-limit"], "6");
    assert_eq!(response.headers()["x-ratelimit-remaining"], "5");
}

/// Its own name, if nothing else has it.
#[test]
fn a_limit_with_a_name_is_told_by_it() {
    let rules = "domain: web
limit: [gcra 5/1s burst 100 as täglich, 1000/1d, 50/1h as twice]
descriptors:
  - {key: method, name: twice, limit: 30/1h}
  - {key: path, limit: 7/1m as often, throttle: soft 100%}
";
    let mut service = limit(ruled(rules), &Hand::default()).layer(Inner::default());
    let response = send(&mut service, get("/", "192.0.2.7"));
    let named = ["t%C3%A4glich q=100 w=20", "often q=14 w=60"];
    let [daily, often] = named;
    let usual = ["web#2 q=1000 w=86400", "web#3 q=50 w=3600", "web:method q=30 w=3600"];
    let policies = [daily, usual[0], usual[1], usual[2], often];
    assert_eq!(items(&response, "ratelimit-policy"), policies);
    assert_eq!(items(&response, "ratelimit")[4], "often r=13 t=60");
    let policy: Policy = "gcra 1/1m & fixed-window 9/1d as daily".parse().unwrap();
    let store = MemoryStore::new(policy, 100);
    let mut service = limit(store, &Hand::default()).layer(Inner::default());
    let response = send(&mut service, get("/", "192.0.2.7"));
    assert_eq!(items(&response, "ratelimit-policy"), ["policy q=1 w=60", "daily q=9 w=86400"]);
    let refused: Value =
        serde_json::from_str(send(&mut service, get("/", "192.0.2.7")).body()).unwrap();
    assert_eq!(refused["violated-policies"], json!(["policy"]));
}

/// Requests with one limit in common are told of their own others, whichever came first.
#[test]
fn each_request_is_told_of_its_own_limits() {
    let rules = "domain: web
descriptors:
  - {key: path, value: /a, limit: 1/1h}
  - {key: path, value: /b, limit: 20/1h}
  - {key: ip, limit: 300/1h}
";
    let clock = Hand::default();
    let mut service = limit(ruled(rules), &clock).layer(Inner::default());
    let ip = "web:ip q=300 w=3600";
    for _ in 0..2 {
        for (path, own) in [("/a", "web:path=/a q=1 w=3600"), ("/b", "web:path=/b q=20 w=3600")] {
            let response = send(&mut service, get(path, "192.0.2.7"));
            assert_eq!(items(&response, "ratelimit-policy"), [own, ip]);
        }
        let response = send(&mut service, get("/", "192.0.2.7"));
        assert_eq!(items(&response, "ratelimit-policy"), [ip]);
    }
}

/// A client finds the policy that it violated by its name.
#[test]
fn each_limit_has_one_name_everywhere() {
    let rules = "domain: web
descriptors:
  - {key: method, name: \"hé\", limit: gcra 0.5/1m burst 1 per ip}
  - {key: path, name: twice, limit: 1/1h}
  - {key: ip, name: twice, limit: 2/1h}
";
    let clock = Hand::default();
    let mut service = limit(ruled(rules), &clock).layer(Inner::default());
    send(&mut service, get("/", "192.0.2.7"));
    let refused = send(&mut service, get("/", "192.0.2.7"));
    let policies = items(&refused, "ratelimit-policy");
    let names: Vec<_> = policies.iter().map(|item| item.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["h%C3%A9", "web:path", "web:ip"]);
    let problem: Value = serde_json::from_str(refused.body()).unwrap();
    assert_eq!(problem["violated-policies"], json!(["h%C3%A9", "web:path"]));
}

#[test]
fn headers_are_a_choice() {
    let clock = Hand::default();
    let sent = |headers: Headers| {
        let limit = limit(ruled("domain: web\nlimit: gcra 1/1m\n"), &clock).headers(headers);
        let mut service = limit.layer(Inner::default());
        let mut names = || {
            let response = send(&mut service, get("/", "192.0.2.7"));
            head(&response).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect()
        };
        let (passed, refused): (Vec<String>, Vec<String>) = (names(), names());
        (passed.join(" "), refused.join(" "))
    };
    let (passed, refused) = sent(Headers::NONE);
    assert_eq!((passed.as_str(), refused.as_str()), ("", "content-type"));
    let (passed, refused) = sent(Headers::NONE.retry_after(true).ratelimit(true));
    assert_eq!(passed, "");
    assert_eq!(refused, "content-type ratelimit-policy ratelimit retry-after");
    let (passed, refused) = sent(Headers::NONE.x_ratelimit(true).always(true));
    assert_eq!(passed, "x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset");
    assert_eq!(refused, format!("content-type {passed}"));
    let limit = limit(ruled("domain: web\nlimit: gcra 1000/1m\n"), &clock).cost(|_| 100.0);
    let limit = limit.headers(Headers::ALL.unit("content-bytes"));
    let response = send(&mut limit.layer(Inner::default()), get("/", "192.0.2.7"));
    let policy = "\"web\";q=1000;qu=\"content-bytes\";w=60";
    assert_eq!(response.headers()["ratelimit-policy"], policy);
    assert_eq!(response.headers()["ratelimit"], "\"web\";r=900;t=6");
}

#[test]
fn what_is_not_limited_has_no_headers() {
    let clock = Hand::default();
    let rules = "domain: web\ndescriptors:\n  - {key: path, value: /login, limit: 1/1m}\n";
    let mut service = limit(ruled(rules), &clock).layer(Inner::default());
    assert_eq!(head(&send(&mut service, get("/", "192.0.2.7"))), [""; 0]);
    assert_eq!(head(&send(&mut service, get("/login", "192.0.2.7"))).len(), 5);
}

/// A limit of 0 refuses everything, and nobody is told to come again at once; or it only measures, and then has nothing
/// to say to a client.
#[test]
fn limits_of_zero() {
    let clock = Hand::default();
    let headers = |limits: &str| {
        let rules = ruled(&format!("domain: web\nlimit: {limits}\n"));
        let mut service = limit(rules, &clock).layer(Inner::default());
        [0; 2].map(|_| head(&send(&mut service, get("/", "192.0.2.7"))))
    };
    for limits in
        ["0/1m per ip", "sliding-log 0/1m", "sliding-counter 0/1m", "haproxy 0/1m allowed"]
    {
        let refused = [
            "content-type: application/problem+json",
            "ratelimit-policy: \"web\";q=0;w=60",
            "ratelimit: \"web\";r=0;t=60",
            "x-ratelimit-limit: 0",
            "x-ratelimit-remaining: 0",
            "x-ratelimit-reset: 60",
        ];
        assert_eq!(headers(limits), [refused; 2], "{limits}");
    }
    assert_eq!(headers("exim 0/1m per ip"), [[""; 0]; 2]);
    assert_eq!(
        headers("exim 0/1m strict & gcra 2/1m"),
        headers("gcra 2/1m").map(|head| {
            head.into_iter().map(|line| line.replace("\"web\"", "\"web#2\"")).collect::<Vec<_>>()
        })
    );
}

/// A client of two layers is told of the limits of both.
#[test]
fn layers_within_layers() {
    let clock = Hand::default();
    let within = limit(ruled("domain: within\nlimit: gcra 1/1m\n"), &clock);
    let mut service = limit(ruled(TWO), &clock).layer(within.layer(Inner::default()));
    let policies = |response: &Response<String>| {
        let values = response.headers().get_all("ratelimit-policy").iter();
        values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let both = ["\"within\";q=1;w=60", "\"web\";q=2;w=60"];
    let passed = send(&mut service, get("/", "192.0.2.7"));
    assert_eq!(policies(&passed), both);
    let refused = send(&mut service, get("/", "192.0.2.7"));
    assert_eq!(
        (refused.status().as_u16(), policies(&refused)),
        (429, both.map(String::from).to_vec())
    );
    assert_eq!(refused.headers()["x-ratelimit-limit"], "1", "the one that refused");
    assert_eq!(refused.headers()["retry-after"], "60");
}

/// The three headers are about the limit with the least remaining, of whichever layer or service.
#[test]
fn the_least_of_all_layers_is_told() {
    let least = |outer: &str, inner: &str| {
        let clock = Hand::default();
        let rules = |limit: &str| ruled(&format!("domain: web\nlimit: {limit}\n"));
        let inner = limit(rules(inner), &clock).layer(Inner::default());
        let mut service = limit(rules(outer), &clock).layer(inner);
        let response = send(&mut service, get("/", "192.0.2.7"));
        let mut lines = head(&response);
        lines.retain(|line| line.starts_with("x-"));
        lines.join(", ")
    };
    let of = |limit, remaining, reset| {
        format!(
            "x-ratelimit-limit: {limit}, x-ratelimit-remaining: {remaining}, \
             x-ratelimit-reset: {reset}"
        )
    };
    assert_eq!(least("gcra 9/1m", "gcra 5/1m"), of(5, 4, 12));
    assert_eq!(least("gcra 2/1m", "gcra 5/1m"), of(2, 1, 30));
    assert_eq!(least("gcra 5/1m", "gcra 5/1h"), of(5, 4, 720), "the inner one is nearer");
}

#[test]
fn a_service_may_say_that_less_is_left() {
    let told = |remaining: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-remaining", remaining.parse().unwrap());
        let inner = Inner { headers, ..Inner::default() };
        let mut service = limit(ruled(TWO), &Hand::default()).layer(inner);
        let mut lines = head(&send(&mut service, get("/", "192.0.2.7")));
        lines.retain(|line| line.starts_with("x-"));
        lines.join(", ")
    };
    assert_eq!(told("0"), "x-ratelimit-remaining: 0");
    let ours = "x-ratelimit-limit: 2, x-ratelimit-remaining: 1, x-ratelimit-reset: 30";
    assert_eq!(told("7"), ours);
    assert_eq!(told("many"), ours);
}

#[test]
fn an_answer_of_the_services_own() {
    let clock = Hand::default();
    let limit = limit(ruled("domain: web\nlimit: gcra 1/1m per ip\n"), &clock);
    let limit = limit.answer(|refused: &Refused<'_>| {
        let violated: Vec<&str> = refused.violated().collect();
        let mut response = Response::new(format!(
            "{} {} {violated:?} {}",
            refused.head.uri,
            refused.decision,
            refused.retry_after().unwrap()
        ));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    });
    let mut service = limit.layer(Inner::default());
    send(&mut service, get("/tea", "192.0.2.7"));
    let response = send(&mut service, get("/tea", "192.0.2.7"));
    assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(response.body(), "/tea refused by web: level 2, limit 1 [\"web\"] 1m");
    // The headers are added to whatever it is.
    assert_eq!(response.headers()["retry-after"], "60");
}

#[test]
fn grpc_is_answered_in_its_own_way() {
    let clock = Hand::default();
    let limit = limit(ruled("domain: web\nlimit: gcra 1/1m per ip\n"), &clock).answer(GrpcStatus);
    let mut service = limit.layer(Inner::default());
    send(&mut service, get("/pkg.Service/Method", "192.0.2.7"));
    let response = send(&mut service, get("/pkg.Service/Method", "192.0.2.7"));
    assert_eq!((response.status(), response.body().as_str()), (StatusCode::OK, ""));
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert_eq!(response.headers()["grpc-status"], "8");
    let message = "There were too many requests; try again in 60 s.";
    assert_eq!(response.headers()["grpc-message"], message);
    assert_eq!(response.headers()["grpc-retry-pushback-ms"], "60000");
}

#[test]
fn grpc_waits_are_in_milliseconds_and_those_for_ever_are_minus_one() {
    let refused = |wait: &str, cost: f64| {
        let rules = format!("domain: web\nlimit: gcra 1/{wait} per ip\n");
        let limit = limit(ruled(&rules), &Hand::default()).answer(GrpcStatus);
        let mut service = limit.cost(move |_| cost).layer(Inner::default());
        send(&mut service, get("/", "192.0.2.7"));
        let response = send(&mut service, get("/", "192.0.2.7"));
        let text =
            |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        [text("grpc-retry-pushback-ms"), text("grpc-status-details-bin")]
    };
    let [pushback, details] = refused("1.5ms", 1.0);
    assert_eq!(pushback.as_deref(), Some("2"), "rounded up");
    assert!(details.is_some_and(|details| !details.contains('=')));
    // 90 days are more than 32 bits have room for.
    assert_eq!(refused("90d", 1.0)[0].as_deref(), Some("2147483647"));
    assert_eq!(refused("1s", 2.0), [Some("-1".to_owned()), None]);
}

/// A client that sent nothing too much is not told that it did.
#[tokio::test]
async fn a_store_that_fails_closed_is_not_the_clients_fault() {
    let nobody = Port::hold();
    let rules = "domain: web\nlimit: gcra 1/1m per ip\non_store_failure: refuse\n";
    let rules = Rules::read("rules.yaml", rules).unwrap();
    let options = Options::default().deadline(PATIENCE);
    let store = RedisStore::open(&format!("redis://{nobody}"), rules, options).unwrap();
    let mut service = limit(store, &Hand::default()).layer(Inner::default());
    let response = call(&mut service, get("/", "192.0.2.7")).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let problem: Value = serde_json::from_str(response.body()).unwrap();
    let expected = json!({
        "type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
        "title": "Request cannot be satisfied due to temporary server capacity constraints",
        "status": 503,
        "detail": "The limits can't be checked at the moment; try again in 1 s.",
        "violated-policies": [],
        "retry_after": 1,
    });
    assert_eq!(problem, expected);
}

/// Also where something remains, and costs less than the request.
#[test]
fn a_limit_that_refuses_is_reset_when_to_come_back() {
    let rules = "domain: web\nlimit: [gcra 10/1m, fixed-window 1000/1d]\n";
    let limit = limit(ruled(rules), &Hand::default()).cost(|head| head.uri.path().len() as f64);
    let mut service = limit.layer(Inner::default());
    send(&mut service, get("/234567", "192.0.2.7"));
    let refused = send(&mut service, get("/2345", "192.0.2.7"));
    // Of 10, 3 remain. The other two are there in 12 s, and all 10 in 42 s.
    let expected =
        [("retry-after", "12"), ("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "12")];
    for (name, value) in expected {
        assert_eq!(refused.headers()[name], value, "{name}");
    }
    assert_eq!(items(&refused, "ratelimit"), ["web r=3 t=12", "web#2 r=993 t=86400"]);
}

/// A page of another origin reads a refusal, and what its browser asks before is not counted.
#[tokio::test]
async fn pages_of_other_origins_read_the_headers() {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods(Any)
        .expose_headers(ratescope_tower::headers::ALL_NAMES);
    let limit = RateLimitLayer::new(ruled("domain: web\nlimit: fixed-window 1/3600w\n"));
    let app = Router::new().route("/", axum::routing::get(|| async {})).layer(limit).layer(cors);
    let ask = async |method: &str| {
        let request = Request::builder().method(method).header("origin", "https://a.example");
        let request = request.header("access-control-request-method", "GET").body(Body::empty());
        app.clone().oneshot(request.unwrap()).await.unwrap()
    };
    for _ in 0..3 {
        assert_eq!(ask("OPTIONS").await.status(), StatusCode::OK);
    }
    assert_eq!(ask("GET").await.status(), StatusCode::OK);
    let refusal = ask("GET").await;
    assert_eq!(refusal.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refusal.headers()["access-control-allow-origin"], "*");
    let exposed = refusal.headers()["access-control-expose-headers"].to_str().unwrap();
    let limits = refusal.headers().keys().map(|name| name.as_str());
    for name in limits.filter(|name| name.contains("ratelimit") || *name == "retry-after") {
        assert!(exposed.split(',').any(|known| known == name), "{name} is not in {exposed}");
    }
    // With that of a request that passes softly.
    assert_eq!(exposed.split(',').count(), 8);
}

/// A client sees that its request passes only since the limit is soft, and which limit it exceeds.
#[tokio::test]
async fn a_soft_pass_is_seen_by_the_client() {
    let text = "domain: web\ndescriptors:\n- {key: user, limit: fixed-window 1/3600w, throttle: soft 100%}\n";
    let limit = RateLimitLayer::new(ruled(text))
        .header("user", axum::http::HeaderName::from_static("x-user"));
    let app = Router::new().route("/", axum::routing::get(|| async {})).layer(limit);
    let ask = async || {
        let request = Request::get("/").header("x-user", "ann").body(Body::empty()).unwrap();
        let answer = app.clone().oneshot(request).await.unwrap();
        let soft = answer.headers().get("x-ratelimit-soft");
        (answer.status().as_u16(), soft.map(|soft| soft.to_str().unwrap().to_owned()))
    };
    assert_eq!(ask().await, (200, None));
    assert_eq!(ask().await, (200, Some("\"web:user\"".to_owned())));
    assert_eq!(ask().await, (429, None));
}
