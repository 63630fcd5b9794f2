//! The decision, as handlers see it.

use crate::middleware::parts::{Far, Hand, call, finished, get, limit, ruled};
use core::task::{Context, Poll};
use http::{Request, Response};
use ratescope::rules::{Answered, AsyncStore};
use ratescope_tower::{Problem, RateLimit};
use tower_layer::Layer;
use tower_service::Service;

/// Answers with what is left of each limit, and whether a soft limit was exceeded.
#[derive(Clone)]
struct Left;

impl Service<Request<String>> for Left {
    type Response = Response<String>;
    type Error = String;
    type Future = core::future::Ready<Result<Response<String>, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let text =
            request.extensions().get::<Answered>().map_or("nothing".to_owned(), |answered| {
                let ruling = &answered.ruling;
                let left: Vec<f64> = ruling.standings().map(|stands| stands.remaining).collect();
                format!("{left:?} {}", ruling.is_soft())
            });
        core::future::ready(Ok(Response::new(text)))
    }
}

fn bodies<S: AsyncStore>(limit: RateLimit<S, Problem, Hand>) -> Vec<String> {
    let mut service = limit.layer().layer(Left);
    let mut body = || finished(call(&mut service, get("/", "192.0.2.7"))).unwrap().into_body();
    (0..3).map(|_| body()).collect()
}

#[test]
fn they_see_it_if_the_layer_tells_them() {
    let rules = "domain: web\nlimit: gcra 2/1m per ip\nthrottle: soft 50%\n";
    let told = ["[2.0] false", "[1.0] false", "[0.0] true"];
    let clock = Hand::default();
    assert_eq!(bodies(limit(ruled(rules), &clock).tell_handlers()), told);
    assert_eq!(bodies(limit(Far::new(rules, 1), &clock).tell_handlers()), told);
    assert_eq!(bodies(limit(ruled(rules), &clock)), ["nothing"; 3]);
    // Also if the client is told nothing.
    let silent = ratescope_tower::Headers::NONE;
    assert_eq!(bodies(limit(ruled(rules), &clock).headers(silent).tell_handlers()), told);
}
