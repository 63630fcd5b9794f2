//! Costs that are reserved, and settled when they are known.

use crate::middleware::parts::{Far, Hand, call, finished, get, limit, ruled};
use crate::middleware::server::{PATIENCE, Server};
use crate::tokens;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http::Response;
use http_body::Body as _;
use http_body_util::BodyExt;
use ratescope::rules::{MemoryStore, Rules, Store};
use ratescope::{Event, Time};
use ratescope_redis::{Options, RedisStore};
use ratescope_tower::{Problem, RateLimitLayer, Reservation};
use std::cell::Cell;
use std::panic;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower::{ServiceExt, service_fn};
use tower_layer::Layer;
use tower_service::Service;

const TEN: &str = "domain: web\nlimit: token-bucket 10/1h per ip\n";

type Reservations = Arc<Mutex<Vec<Reservation>>>;

/// A service that keeps the reservation of each request, if there is one.
fn keeper(
    kept: &Reservations,
) -> impl Service<Request<String>, Response = Response<String>, Error = String, Future: Send>
+ Clone
+ Send
+ 'static {
    let kept = Arc::clone(kept);
    service_fn(move |request: Request<String>| {
        kept.lock().unwrap().extend(request.extensions().get::<Reservation>().cloned());
        core::future::ready(Ok(Response::new(String::new())))
    })
}

/// The reservation of a request of cost 6.
fn reserve<S: Store>(limit: RateLimitLayer<S, Problem, Hand>) -> Reservation {
    let kept = Reservations::default();
    let mut service = limit.cost(|_| 6.0).reserve().layer(keeper(&kept));
    let response = finished(call(&mut service, get("/", "192.0.2.7"))).unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1);
    kept.pop().unwrap()
}

fn left(store: &MemoryStore) -> f64 {
    let event = Event { time: Time::ZERO, cost: 0.0, fields: &[("ip", "192.0.2.7")] };
    store.peek(&event).quota().unwrap().remaining
}

/// The rest of 10 after a reservation of 6 that `settle` settles.
fn left_after(settle: impl FnOnce(Reservation)) -> f64 {
    let store = ruled(TEN);
    let reservation = reserve(limit(store.clone(), &Hand::default()));
    assert_eq!((reservation.reserved(), left(&store)), (6.0, 4.0));
    settle(reservation);
    left(&store)
}

#[test]
fn a_request_costs_what_it_is_settled_at() {
    assert_eq!(left_after(|reservation| reservation.settle(2.0)), 8.0);
    assert_eq!(left_after(|reservation| reservation.settle(6.0)), 4.0);
    assert_eq!(left_after(|reservation| reservation.settle(9.0)), 1.0);
    assert_eq!(left_after(|reservation| reservation.settle(0.0)), 10.0);
}

#[test]
fn without_being_settled_it_costs_what_was_added() {
    assert_eq!(left_after(drop), 10.0);
    let add = |reservation: Reservation| [1.0, 2.0].iter().for_each(|cost| reservation.add(*cost));
    assert_eq!(left_after(add), 7.0);
    // While a clone lives, the rest is not given back.
    let mut kept = None;
    assert_eq!(left_after(|reservation| kept = Some(reservation.clone())), 4.0);
    // The first one that settles counts, and the additions no longer do.
    assert_eq!(
        left_after(|reservation| {
            reservation.add(5.0);
            reservation.clone().settle(3.0);
            reservation.settle(8.0);
            reservation.add(4.0);
        }),
        7.0
    );
}

#[test]
fn what_is_no_cost_leaves_what_was_reserved() {
    for cost in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        assert_eq!(left_after(|reservation| reservation.settle(cost)), 4.0, "{cost}");
        assert_eq!(left_after(|reservation| reservation.add(cost)), 4.0, "{cost}");
    }
}

/// A panic of the handler drops the reservation.
#[test]
fn a_handler_that_panics_gives_back() {
    let settle = |reservation: Reservation| {
        let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let _kept = reservation;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
    };
    assert_eq!(left_after(settle), 10.0);
}

#[test]
fn a_refused_request_has_none_and_a_layer_that_does_not_reserve_neither() {
    let kept = Reservations::default();
    let limit = || limit(ruled(TEN), &Hand::default());
    let mut refused = limit().cost(|_| 11.0).reserve().layer(keeper(&kept));
    assert_eq!(finished(call(&mut refused, get("/", "192.0.2.7"))).unwrap().status(), 429);
    let mut other = limit().layer(keeper(&kept));
    assert_eq!(finished(call(&mut other, get("/", "192.0.2.7"))).unwrap().status(), 200);
    assert!(kept.lock().unwrap().is_empty());
}

/// A limiter that can't give back keeps the reservation, and is charged for more.
#[test]
fn a_limiter_that_measures_a_rate_keeps_what_was_reserved() {
    let rules = "domain: web\nlimit: exim 10/1h strict per ip\n";
    for (cost, expected) in [(0.0, 4.0), (8.0, 2.0)] {
        let store = ruled(rules);
        reserve(limit(store.clone(), &Hand::default())).settle(cost);
        assert!((left(&store) - expected).abs() < 1e-6, "{cost}: {}", left(&store));
    }
}

/// A task tells it.
#[tokio::test]
async fn a_store_that_has_to_be_waited_for() {
    for (cost, expected) in [(9.0, 1.0), (2.0, 8.0)] {
        let far = Far::new(TEN, 2);
        let store = far.ruled.clone();
        reserve(limit(far, &Hand::default())).settle(cost);
        while left(&store) != expected {
            tokio::task::yield_now().await;
        }
    }
}

/// The number of panics in this thread while something is done, also of those that are caught.
fn panics(done: impl FnOnce()) -> usize {
    thread_local!(static PANICS: Cell<usize> = const { Cell::new(0) });
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.set(PANICS.get() + 1);
        before(info);
    }));
    done();
    PANICS.get()
}

/// Nothing can be given back, so the reserved cost stays counted; and nothing panics.
#[test]
fn a_store_that_has_to_be_waited_for_outside_of_a_runtime() {
    let far = Far { sleeps: true, ..Far::new(TEN, 0) };
    let store = far.ruled.clone();
    let reservation = reserve(limit(far, &Hand::default()));
    assert_eq!(panics(|| reservation.settle(2.0)), 0);
    assert_eq!(left(&store), 4.0);
}

fn ask(user: &str, tokens: u32) -> Request<Body> {
    let request = Request::get(format!("/{tokens}")).header("x-user", user);
    request.body(Body::empty()).unwrap()
}

/// The service of `examples/tokens.rs` with this store.
async fn tokens_are_settled<S: Store + Clone>(store: S) {
    let app = tokens::app(store.clone(), Hand::default());
    let status = async |user: &str, tokens: u32| {
        let response = app.clone().oneshot(ask(user, tokens)).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(status != 200 || body.split(|b| *b == b' ').count() as u32 == tokens + 1);
        status
    };
    let left = async |user: &str, tokens: f64| {
        let fields = &[("user", user), ("path", "/")];
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        let start = Instant::now();
        loop {
            let peeked = store.peek_async(&event, ratescope::rules::Details::ALL).await;
            let quotas: Vec<f64> =
                peeked.outcomes().map(|one| one.quota().unwrap().remaining).collect();
            if (quotas[0] - tokens).abs() < 5.0 {
                return quotas[2];
            }
            assert!(start.elapsed() < PATIENCE, "{user}: {quotas:?}, not {tokens}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    // Ten answers of 100 tokens reserve 10,000, and cost 1000.
    for answer in 1..=10 {
        assert_eq!(status("ann", 100).await, 200);
        left("ann", 2000.0 - 100.0 * f64::from(answer)).await;
    }
    assert_eq!(status("ann", 600).await, 200);
    left("ann", 400.0).await;
    assert_eq!(status("ann", 1).await, 429, "the most that it may have is not left");
    // A request that fails costs a request, and no tokens.
    assert_eq!(status("bob", 0).await, 400);
    assert!((left("bob", 2000.0).await - 19.0).abs() < 0.1);
    // A client that hangs up has cost the tokens that were sent.
    let mut body = app.clone().oneshot(ask("eve", 900)).await.unwrap().into_body();
    for _ in 0..300 {
        body.frame().await.unwrap().unwrap();
    }
    assert!(!body.is_end_stream());
    left("eve", 1000.0).await;
    drop(body);
    left("eve", 1700.0).await;
}

#[tokio::test]
async fn tokens_in_memory() {
    let rules = Rules::read("rules.yaml", tokens::RULES).unwrap();
    tokens_are_settled(MemoryStore::new(rules, 100)).await;
}

#[tokio::test]
async fn tokens_on_redis() {
    let Some(server) = Server::start(&[]) else { return };
    // Buckets that fill so slowly that a slow machine does not see it.
    let rules = tokens::RULES.replace("/1m", "/1d");
    let rules = Rules::read("rules.yaml", &rules).unwrap();
    let options = Options::default().deadline(PATIENCE);
    tokens_are_settled(RedisStore::open(&server.url(), rules, options).unwrap()).await;
}

/// Reservations that are held open are no credit: of a cost only that is given back which certainly still counts.
#[test]
fn what_is_held_open_for_long_is_no_credit() {
    let ann = [("ip", "192.0.2.7")];
    for rules in [
        "token-bucket 2000/2s",
        "gcra 2000/2s",
        "fixed-window 2000/2s",
        "sliding-window 2000/2s precision 1s",
        "sliding-log 2000/2s",
        "sliding-counter 2000/2s",
    ] {
        let store = ruled(&format!("domain: web\nlimit: {rules} per ip\n"));
        let clock = Hand::default();
        let kept = Reservations::default();
        let layer = limit(store.clone(), &clock).cost(|_| 1000.0).reserve();
        let mut service = layer.layer(keeper(&kept));
        for second in (1000..1060).step_by(2) {
            clock.set(f64::from(second));
            for _ in 0..9 {
                let _ = finished(call(&mut service, get("/", "192.0.2.7")));
            }
        }
        assert!(kept.lock().unwrap().len() >= 30, "{rules}");
        // All are closed at once, and none has used anything.
        kept.lock().unwrap().drain(..).for_each(drop);
        let event =
            |cost| Event { time: Time::try_from_secs_f64(1058.0).unwrap(), cost, fields: &ann };
        let passed = (0..9).filter(|_| store.check(&event(1000.0)).is_allowed()).count();
        assert!(passed <= 2, "{rules}: {passed} thousand pass at once, of 2000");
    }
}

/// Two layers that reserve: the reservation of the inner one settles that of the outer one, too.
#[test]
fn two_layers_that_reserve_settle_both() {
    let kept = Reservations::default();
    let [outer, inner] = [(); 2].map(|()| ruled(TEN));
    let reserving =
        |store: &MemoryStore| limit(store.clone(), &Hand::default()).cost(|_| 6.0).reserve();
    let mut service = reserving(&outer).layer(reserving(&inner).layer(keeper(&kept)));
    let response = finished(call(&mut service, get("/", "192.0.2.7"))).unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!([left(&outer), left(&inner)], [4.0; 2]);
    kept.lock().unwrap().pop().unwrap().settle(2.0);
    assert_eq!([left(&outer), left(&inner)], [8.0; 2]);
    // So it is with additions, and with a second check of one request.
    let response = finished(call(&mut service, get("/", "192.0.2.7"))).unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    kept.lock().unwrap().pop().unwrap().add(3.0);
    assert_eq!([left(&outer), left(&inner)], [5.0; 2]);
    let layer = limit(outer.clone(), &Hand::default()).cost(|_| 2.0).reserve();
    let mut head = get("/", "192.0.2.7");
    for _ in 0..2 {
        assert!(finished(layer.check::<_, String>(&mut head)).is_ok());
    }
    assert_eq!(left(&outer), 1.0);
    head.extensions_mut().remove::<Reservation>().unwrap().settle(1.0);
    assert_eq!(left(&outer), 3.0);
}

/// The debt of a request belongs to no store of one generation: after a reload it counts by the rules then in force.
#[test]
fn a_debt_survives_a_reload() {
    let store = ruled(TEN);
    let reservation = reserve(limit(store.clone(), &Hand::default()));
    let more = TEN.replace("10/1h", "20/1h");
    assert_eq!(store.reload("rules.yaml", &more, Time::ZERO).name(), "applied");
    assert_eq!(left(&store), 14.0);
    reservation.settle(1.0);
    assert_eq!(left(&store), 19.0);
}
