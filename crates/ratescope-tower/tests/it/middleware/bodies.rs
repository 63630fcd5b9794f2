//! The sent part of a body is charged once it has ended or is dropped.

use crate::middleware::parts::{Far, Hand, Inner, call, finished, get, limit, ruled, send};
use bytes::Bytes;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use http::{HeaderMap, Response};
use http_body::{Body, Frame};
use ratescope::rules::{MemoryStore, Store};
use ratescope_tower::{Charged, Counted, Problem, RateLimitLayer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tower_layer::Layer;
use tower_service::Service;

const HUNDRED: &str = "domain: web\nlimit: gcra 100/1h per ip\n";

/// A body of pieces; where one is `None`, it breaks.
struct Pieces(Vec<Option<&'static str>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match self.0.remove(0) {
            Some("trailers") => Ok(Frame::trailers(HeaderMap::new())),
            Some(text) => Ok(Frame::data(Bytes::from_static(text.as_bytes()))),
            None => Err("broken"),
        }))
    }
}

/// Answers with such a body.
#[derive(Clone)]
struct Streams(Vec<Option<&'static str>>);

impl Service<http::Request<String>> for Streams {
    type Response = Response<Pieces>;
    type Error = String;
    type Future = core::future::Ready<Result<Response<Pieces>, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<String>) -> Self::Future {
        core::future::ready(Ok(Response::new(Pieces(self.0.clone()))))
    }
}

impl From<String> for Pieces {
    fn from(_: String) -> Self {
        Pieces(vec![Some("refused")])
    }
}

type Charging<S> = RateLimitLayer<S, Problem, Hand, Charged>;

fn per_byte<S: Store>(store: S) -> Charging<S> {
    limit(store, &Hand::default()).charge_body(|bytes| bytes as f64)
}

fn begin<S: Store>(
    layer: &Charging<S>,
    pieces: &[Option<&'static str>],
) -> Response<Counted<Pieces>> {
    let mut service = layer.layer(Streams(pieces.to_vec()));
    finished(call(&mut service, get("/", "192.0.2.7"))).unwrap()
}

/// Takes so many frames; how many bytes there were.
fn take(body: &mut Counted<Pieces>, frames: usize) -> usize {
    let mut bytes = 0;
    for _ in 0..frames {
        let frame = match pin!(&mut *body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => frame,
            _ => break,
        };
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
    bytes
}

/// The number that the client has left.
fn left(ruled: &MemoryStore) -> String {
    let layer = limit(ruled.clone(), &Hand::default()).cost(|_| 0.0);
    let response = send(&mut layer.layer(Inner::default()), get("/", "192.0.2.7"));
    response.headers()["x-ratelimit-remaining"].to_str().unwrap().to_owned()
}

#[test]
fn a_body_costs_what_is_sent_of_it() {
    let body = [Some("12345"), Some("678"), Some("trailers")];
    for (frames, sent) in [(0, 0), (1, 5), (2, 8), (3, 8), (9, 8)] {
        let ruled = ruled(HUNDRED);
        let mut response = begin(&per_byte(ruled.clone()), &body);
        assert_eq!(response.headers()["x-ratelimit-remaining"], "99");
        assert_eq!(take(response.body_mut(), frames), sent);
        // At its end at once, and otherwise when the client has gone.
        let at_end = if frames == 9 { 99 - sent } else { 99 };
        assert_eq!(left(&ruled), at_end.to_string(), "after {frames} frames");
        drop(response);
        assert_eq!(left(&ruled), (99 - sent).to_string(), "{frames} frames and gone");
    }
}

#[test]
fn what_breaks_costs_what_was_sent() {
    let ruled = ruled(HUNDRED);
    let mut response = begin(&per_byte(ruled.clone()), &[Some("12345"), None, Some("678")]);
    assert_eq!(take(response.body_mut(), 3), 5);
    assert_eq!(left(&ruled), "94");
    drop(response);
    assert_eq!(left(&ruled), "94", "not twice");
}

#[test]
fn a_refusal_costs_nothing() {
    let ruled = ruled(HUNDRED);
    let layer = per_byte(ruled.clone());
    let long = "x".repeat(150).leak();
    assert_eq!(take(begin(&layer, &[Some(long)]).body_mut(), 9), 150);
    let mut refused = begin(&layer, &[Some(long)]);
    assert_eq!(refused.status().as_u16(), 429);
    // 52 are missing, at 36 s each.
    assert_eq!(refused.headers()["retry-after"], (52 * 36).to_string().as_str());
    assert_eq!(take(refused.body_mut(), 9), "refused".len());
    drop(refused);
    assert_eq!(begin(&layer, &[]).headers()["retry-after"], (52 * 36).to_string().as_str());
}

/// The charge has to wait; who has gone does not.
#[test]
fn a_store_that_is_far_is_told_by_a_task() {
    let store = Far::new(HUNDRED, 3);
    let (ruled, layer) = (store.ruled.clone(), per_byte(store.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut response = begin(&layer, &[Some("12345")]);
        assert_eq!(take(response.body_mut(), 1), 5);
        drop(response);
        tokio::task::yield_now().await;
    });
    assert_eq!(left(&ruled), "94");
    let references = Arc::strong_count(&store.asked);
    // Without a runtime nobody is there to tell it; nothing panics and nothing stays.
    drop(begin(&layer, &[Some("12345")]));
    assert_eq!(Arc::strong_count(&store.asked), references);
}

/// The charges that were counted as lost, by their reason.
fn lost(done: impl FnOnce()) -> Vec<String> {
    let lines = crate::middleware::meters::counted(|_| done());
    let lost = lines.iter().filter_map(|line| line.strip_prefix("ratescope_charges_lost_total"));
    lost.map(str::to_owned).collect()
}

#[test]
fn a_body_that_is_dropped_anywhere_never_panics() {
    let sleeps = || Far { sleeps: true, ..Far::new(HUNDRED, 0) };
    let sent = || begin(&per_byte(sleeps()), &[Some("12345")]);
    let nowhere = lost(|| drop(sent()));
    assert_eq!(nowhere, ["{reason=\"runtime\"} 1"]);
    // While a panic unwinds, another one would abort the process.
    let unwinding = lost(|| {
        let panics = AssertUnwindSafe(|| {
            let _body = sent();
            panic!("a handler");
        });
        assert!(catch_unwind(panics).is_err());
    });
    assert_eq!(unwinding, ["{reason=\"runtime\"} 1"]);
    let a_bad_cost = lost(|| {
        let layer = limit(ruled(HUNDRED), &Hand::default());
        let layer = layer.charge_body(|_| panic!("a cost of the service's own"));
        drop(begin(&layer, &[Some("12345")]));
    });
    assert_eq!(a_bad_cost, ["{reason=\"dropped\"} 1"]);
    // A runtime without time makes the task panic, and one that ends drops it.
    for with_time in [false, true] {
        let at_the_end = lost(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            if with_time {
                runtime.enable_time();
            }
            runtime.build().unwrap().block_on(async {
                drop(sent());
                tokio::task::yield_now().await;
            });
        });
        assert_eq!(at_the_end, ["{reason=\"dropped\"} 1"], "with time: {with_time}");
    }
}
