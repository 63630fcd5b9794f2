//! The decision, as handlers see it.

use crate::middleware::parts::{Far, Hand, call, finished, get, limit, ruled};
use http::{Request, Response};
use ratescope::rules::{Decision, Store};
use ratescope_tower::{Problem, RateLimitLayer};
use tower::service_fn;
use tower_layer::Layer;

/// Answers with the rest of each limit, and whether a soft limit was exceeded.
async fn left(request: Request<String>) -> Result<Response<String>, String> {
    let text = request.extensions().get::<Decision>().map_or("nothing".to_owned(), |decision| {
        let left: Vec<f64> =
            decision.outcomes().filter_map(|one| Some(one.quota()?.remaining)).collect();
        format!("{left:?} {}", decision.is_soft())
    });
    Ok(Response::new(text))
}

fn bodies<S: Store>(limit: RateLimitLayer<S, Problem, Hand>) -> Vec<String> {
    let mut service = limit.layer(service_fn(left));
    let mut body = || finished(call(&mut service, get("/", "192.0.2.7"))).unwrap().into_body();
    (0..3).map(|_| body()).collect()
}

#[test]
fn they_see_it_if_the_layer_tells_them() {
    let rules = "domain: web\nlimit: gcra 2/1m per ip\nthrottle: soft 50%\n";
    let told = ["[2.0] false", "[1.0] false", "[0.0] true"];
    let clock = Hand::default();
    assert_eq!(bodies(limit(ruled(rules), &clock).insert_decision()), told);
    assert_eq!(bodies(limit(Far::new(rules, 1), &clock).insert_decision()), told);
    assert_eq!(bodies(limit(ruled(rules), &clock)), ["nothing"; 3]);
    // Also if the client is told nothing.
    let silent = ratescope_tower::Headers::NONE;
    assert_eq!(bodies(limit(ruled(rules), &clock).headers(silent).insert_decision()), told);
}

/// A limiter is the state of a router, which clones it for each request.
#[tokio::test]
async fn a_limiter_as_the_state_of_a_router() {
    use axum::extract::State;
    use axum::routing::get;
    use ratescope::limit::gcra::Gcra;
    use ratescope::store::Keyed;
    use ratescope::{Event, MemoryStore, Time};
    use tower::ServiceExt;

    #[derive(Clone)]
    struct Limits(Keyed<Gcra>, MemoryStore);

    async fn handler(State(Limits(keyed, store)): State<Limits>) -> String {
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
        let keyed = keyed.check("ann", Time::ZERO, 1.0).is_allowed();
        format!("{keyed} {}", store.check(&event).is_allowed())
    }

    let keyed = Keyed::new(Gcra::new("2/1m".parse().unwrap(), 2.0).unwrap(), 100);
    let store = MemoryStore::new(
        "gcra 1/1m per user & gcra 9/1m per all".parse::<ratescope::Policy>().unwrap(),
        100,
    );
    let app = axum::Router::new().route("/", get(handler)).with_state(Limits(keyed, store));
    let mut said = Vec::new();
    for _ in 0..3 {
        let request = Request::new(axum::body::Body::empty());
        let response = app.clone().oneshot(request).await.unwrap();
        let body = axum::body::to_bytes(response.into_body(), 99).await.unwrap();
        said.push(String::from_utf8(body.to_vec()).unwrap());
    }
    assert_eq!(said, ["true true", "true false", "false false"]);
}
