//! Prints the time that the layer adds to a request, as the table of BENCHMARKS.md: `./scripts/bench middleware`.
//!
//! # How it is measured
//! * As in `benches/limiters`, all rows are measured in turn, many times. Each is compared with the
//!   bare service in the same round, and the table has the medians. Criterion measures one row after
//!   the other, so a slow minute of a shared machine would fall on one row alone.
//! * A request is made with the address of its peer, the service is called, and its response awaited,
//!   which is there at once. The bare service does the same. The added time is the difference.
//! * The requests come from as many addresses as the table says, in a fixed order without a pattern.
//!   All of them pass, or none in the last two rows; that is asserted.
//! * Both layers read a clock for each request, by the cycles of the processor.
//! * The floor is the part that cannot be left out of the layer: it finds the address, reads that clock and asks a
//!   `Keyed`, which hashes with a secret and locks the key. Its limit is fixed, so it knows no rules. The five headers
//!   are constants.
//!
//! # Bias
//! The author of this benchmark wrote most of the code that it measures. `tower_governor` uses an address as
//! its key and not a text, never forgets a key, decides by GCRA only, and writes fewer headers. For
//! each refusal it calibrates its clock again, which is slow on a virtual machine.
//!
//! Without `--bench`, as `cargo test --benches` calls it, everything is done once.

#[allow(dead_code)]
#[path = "../../ratescope/benches/limiters/turns.rs"]
mod turns;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusBuilder;
use ratescope::clock::{Clock, SystemClock};
use ratescope::limit::gcra::Gcra;
use ratescope::rules::{MemoryStore, Rules};
use ratescope::store::Keyed;
use ratescope_live::{Probe, Wanted};
use ratescope_tower::{CycleClock, Headers, RateLimit, RateLimitLayer};
use std::convert::Infallible;
use std::env;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_layer::Layer;
use tower_service::Service;
use turns::{in_turn, median};

/// How many requests are timed at once.
const REQUESTS: usize = 1000;

const ONE: &str = "domain: web\nlimit: gcra 1000/1s burst 1000000 per ip\n";
const TWO: &str = "\
domain: web
limit: gcra 1000/1s burst 1000000 per ip
descriptors:
  - {key: method, limit: exim 1000000/1m leaky per method+ip}
";
const NONE: &str = "domain: web\nlimit: gcra 1/1w per all\n";

fn main() {
    let full = env::args().any(|arg| arg == "--bench");
    let rounds = if full { 501 } else { 1 };
    for addresses in [1, 100_000] {
        print(rounds, addresses);
    }
}

fn print(rounds: usize, addresses: u32) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let passes = StatusCode::OK;
    let free = || GovernorConfigBuilder::default().const_period(MILLI).const_burst_size(1_000_000);
    let rows = [
        ("the bare service", timed(Bare, addresses, passes)),
        ("the floor", timed(Floor::new(false), addresses, passes)),
        ("the floor, and five headers made before", timed(Floor::new(true), addresses, passes)),
        ("skipped", skipped(addresses)),
        ("one rule, no headers", ours(ONE, Headers::NONE, addresses)),
        (
            "one rule, no headers, cloned for each request",
            timed(Cloned(limited(ONE, Headers::NONE)), addresses, passes),
        ),
        ("one rule, no headers, with a probe", seen(false, addresses)),
        ("one rule, no headers, with Live open", seen(true, addresses)),
        (
            "one rule, three headers",
            ours(ONE, Headers::NONE.x_ratelimit(true).always(true), addresses),
        ),
        ("one rule, all headers", ours(ONE, Headers::ALL, addresses)),
        ("one rule, all headers, counted for Prometheus", {
            let mut call = ours(ONE, Headers::ALL, addresses);
            metrics::with_local_recorder(&recorder, || call(0));
            call
        }),
        ("two rules, all headers", ours(TWO, Headers::ALL, addresses)),
        (
            "`tower_governor`",
            timed(GovernorLayer::new(free().finish().unwrap()).layer(Bare), addresses, passes),
        ),
        ("`tower_governor`, cloned for each request", {
            let limited = GovernorLayer::new(free().finish().unwrap()).layer(Bare);
            timed(Cloned(limited), addresses, passes)
        }),
        ("`tower_governor`, three headers", {
            let config = free().use_headers().finish().unwrap();
            timed(GovernorLayer::new(config).layer(Bare), addresses, passes)
        }),
        ("refused: one rule, all headers, a problem as body", refusing(addresses)),
        ("refused: `tower_governor`, four headers", {
            let mut config =
                GovernorConfigBuilder::default().const_period(WEEK).const_burst_size(1);
            let mut config = config
                .use_headers()
                .key_extractor(tower_governor::key_extractor::GlobalKeyExtractor);
            let layer = GovernorLayer::new(config.finish().unwrap());
            timed(layer.layer(Bare), addresses, StatusCode::TOO_MANY_REQUESTS)
        }),
    ];
    let (names, mut calls): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let times = in_turn(rounds, &mut calls);
    println!("| from {} address{} | a request | added |", count(addresses), plural(addresses));
    println!("|---|--:|--:|");
    for (name, each) in names.iter().zip(&times) {
        let added = median(each.iter().zip(&times[0]).map(|(time, bare)| time - bare));
        let added = if added == 0.0 { String::new() } else { format!("{added:.0} ns") };
        println!("| {name} | {:.0} ns | {added} |", median(each.iter().copied()));
    }
    println!();
}

const MILLI: Duration = Duration::from_millis(1);
const WEEK: Duration = Duration::from_secs(604_800);

fn plural(addresses: u32) -> &'static str {
    if addresses == 1 { "" } else { "es" }
}

fn count(addresses: u32) -> String {
    if addresses == 1 { "one".to_owned() } else { format!("{},000", addresses / 1000) }
}

type Call = Box<dyn FnMut(usize) -> usize>;

fn ours(rules: &str, headers: Headers, addresses: u32) -> Call {
    timed(limited(rules, headers), addresses, StatusCode::OK)
}

fn limited(rules: &str, headers: Headers) -> RateLimit<Bare, MemoryStore> {
    let ruled = MemoryStore::new(Rules::read("rules.yaml", rules).unwrap(), 100_000);
    let limit = RateLimitLayer::new(ruled).peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip());
    limit.headers(headers).layer(Bare)
}

/// One rule that no request is limited by.
fn skipped(addresses: u32) -> Call {
    let ruled = MemoryStore::new(Rules::read("rules.yaml", ONE).unwrap(), 100_000);
    let limit = RateLimitLayer::new(ruled).skip(|head| head.uri.path() == "/");
    timed(limit.layer(Bare), addresses, StatusCode::OK)
}

/// One rule without headers and with a probe, whether a viewer is there or not; it is told nothing meanwhile.
fn seen(is_open: bool, addresses: u32) -> Call {
    let rules = Rules::read("rules.yaml", ONE).unwrap();
    let probe = Arc::new(Probe::default());
    let store = probe.observe(MemoryStore::new(rules, 100_000));
    let look = || probe.look(&Wanted::default(), SystemClock.now()).unwrap();
    let viewer = is_open.then(look);
    let limit = RateLimitLayer::new(store).peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip());
    let mut call = timed(limit.headers(Headers::NONE).layer(Bare), addresses, StatusCode::OK);
    Box::new(move |round| {
        black_box(&viewer);
        call(round)
    })
}

fn refusing(addresses: u32) -> Call {
    let ruled = MemoryStore::new(Rules::read("rules.yaml", NONE).unwrap(), 100_000);
    let limit = RateLimitLayer::new(ruled).peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip());
    timed(limit.layer(Bare), addresses, StatusCode::TOO_MANY_REQUESTS)
}

/// Hands requests to a service, which answers all of them so; the first one is not looked at.
fn timed<S>(mut service: S, addresses: u32, status: StatusCode) -> Call
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + 'static,
{
    let (mut next, mut is_first) = (0u32, true);
    Box::new(move |_| {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..REQUESTS {
            // A prime, so that each address has its turn.
            next = (next + 60_013) % addresses;
            let address = Ipv4Addr::from_bits(0x0a00_0000 + next);
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(ConnectInfo(SocketAddr::from((address, 4711))));
            assert!(service.poll_ready(&mut cx).is_ready());
            let future = pin!(service.call(black_box(request)));
            let Poll::Ready(Ok(response)) = future.poll(&mut cx) else { unreachable!() };
            assert!(is_first || response.status() == status);
            is_first = false;
            black_box(response);
        }
        REQUESTS
    })
}

/// The bare service behind the least that limits by address.
struct Floor {
    keyed: Keyed<Gcra>,
    clock: CycleClock,
    headers: HeaderMap,
}

impl Floor {
    fn new(has_headers: bool) -> Self {
        let names = ["x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset"];
        let names = names.into_iter().chain(["ratelimit-policy", "ratelimit"]);
        let header = |name| (HeaderName::from_static(name), HeaderValue::from_static("1000000"));
        let headers = names.filter(|_| has_headers).map(header).collect();
        let limiter = Gcra::new("1000/1s".parse().unwrap(), 1e6).unwrap();
        Floor { keyed: Keyed::new(limiter, 100_000), clock: CycleClock::default(), headers }
    }
}

impl Service<Request<Body>> for Floor {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Bare.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let peer: &ConnectInfo<SocketAddr> = request.extensions().get().unwrap();
        assert!(self.keyed.check(&peer.0.ip(), self.clock.now(), 1.0).is_allowed());
        let mut response = Response::new(Body::from("hello"));
        black_box(request);
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
        ready(Ok(response))
    }
}

/// A service of which each request has a clone of its own, as with the routers of axum.
struct Cloned<S>(S);

impl<S: Service<Request<Body>> + Clone> Service<Request<Body>> for Cloned<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        self.0.clone().call(request)
    }
}

/// The service: answers at once.
#[derive(Clone, Copy)]
struct Bare;

impl Service<Request<Body>> for Bare {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        black_box(request);
        ready(Ok(Response::new(Body::from("hello"))))
    }
}
