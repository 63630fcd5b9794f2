//! The vectors of the limiters through a real Envoy, which must answer 429 exactly where they refuse.

use super::common::{self, EXIM, limiters};
use super::real::start_envoy;
use super::servers::program;
use super::shell::Folder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ratescope::clock::FakeClock;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Span, Time};
use ratescope_service::{Grpc, Service, States};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use tokio::net::TcpListener;
use tower_service::Service as _;

/// The number of common events that are sent for each limiter of `limiters.txt`, each as a request.
const EVENTS: usize = 60;

const AT_ONCE: Option<Span> = Some(Span::ZERO);

/// A user with a limiter of its own, and the requests that it sends.
#[derive(Default)]
struct User {
    limiter: String,
    /// The time and the hits of each request, and whether it must be refused.
    requests: Vec<(Time, u64, bool)>,
}

/// The users: those of the vectors that a real Exim and a real Redis decided, and one for each limiter of
/// `limiters.txt`, with the common events.
fn users() -> Vec<User> {
    let mut users = BTreeMap::<String, User>::new();
    for (file, json) in &EXIM[..3] {
        for attempt in common::exim(json) {
            let (limiter, answer) = (attempt.limiter(), attempt.answer.unwrap());
            let user = users.entry(format!("{file} {} {limiter}", attempt.key)).or_default();
            user.limiter = limiter.to_string();
            // Hits in Envoy are whole numbers.
            assert_eq!(attempt.cost.fract(), 0.0);
            let is_refused = answer.over && !limiter.measures_only();
            user.requests.push((attempt.at, attempt.cost as u64, is_refused));
        }
    }
    let mut users: Vec<User> = users.into_values().collect();
    let requests = common::earrrl().into_iter().map(|it| (it.at, 1, it.limited)).collect();
    users.push(User { limiter: "earrrl 1/1s half-life 20s".to_owned(), requests });
    for line in include_str!("../../../../../tests/vectors/limiters.txt").lines() {
        let Ok(limiter) = line.split(": ").next().unwrap().parse::<AnyLimiter>() else { continue };
        let mut state = limiter.initial();
        let decided = |(at, cost): (Time, f64)| {
            let hits = cost.ceil().max(1.0);
            let asked = limiter.peek(&state, at, hits);
            let passes = asked.wait == AT_ONCE;
            // A proxy can't wait: an event that would wait is refused and not recorded.
            if passes || !asked.is_allowed() {
                limiter.record(&mut state, at, hits, passes);
            }
            (at, hits as u64, !passes)
        };
        let requests = limiters::events().into_iter().take(EVENTS).map(decided).collect();
        users.push(User { limiter: limiter.to_string(), requests });
    }
    users
}

/// Serves the limits of these users, by a clock that the test sets; returns the address.
fn serve(users: &[User], clock: FakeClock) -> SocketAddr {
    let rule = |(i, user): (usize, &User)| {
        format!("- {{key: user, value: u{i}, limit: {}}}\n", user.limiter)
    };
    let rules: String = users.iter().enumerate().map(rule).collect();
    let service = Service::new(States::in_memory(1000), clock);
    service.add("rules.yaml", &format!("domain: web\ndescriptors:\n{rules}")).unwrap();
    let calls = Grpc::new(Arc::new(service));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(
            async move {
                let listener = TcpListener::from_std(listener).unwrap();
                let (_, health) = tonic_health::server::health_reporter();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let (calls, health) = (calls.clone(), health.clone());
                    let answer = move |request: http::Request<hyper::body::Incoming>| {
                        let (mut calls, mut health) = (calls.clone(), health.clone());
                        async move {
                            match request.uri().path().starts_with("/grpc.health") {
                                true => health.call(request).await,
                                false => calls.call(request).await,
                            }
                        }
                    };
                    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(answer)));
                }
            },
        );
    });
    at
}

/// Sends a GET on an open connection; returns the status and the head of the answer, which has no body.
fn ask(stream: &mut BufReader<TcpStream>, headers: &str) -> (u16, String) {
    let request = format!("GET / HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "it ended: {head}");
    }
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head)
}

#[test]
fn envoy_refuses_exactly_where_the_vectors_say() {
    let Some(server) = program("ENVOY", "envoy") else { return };
    let (folder, users, clock) = (Folder::new("envoy-vectors"), users(), FakeClock::default());
    let limits = serve(&users, clock.clone());
    let of_user = "descriptor_key: user }\n";
    let hits = "                      hits_addend: { format: \"%REQ(x-hits)%\" }\n";
    let changes =
        [(of_user, format!("{of_user}{hits}")), ("hits_addend: { number: 2 }", String::new())];
    let (_server, at) = start_envoy(&server, (&[limits.port()], "60s"), &changes, &folder);
    let mut stream = BufReader::new(TcpStream::connect(at).unwrap());
    let mut counts = [0, 0];
    for (i, User { limiter, requests }) in users.iter().enumerate() {
        for (n, &(time, hits, is_refused)) in requests.iter().enumerate() {
            clock.set(time);
            let answer = ask(&mut stream, &format!("x-user: u{i}\r\nx-hits: {hits}\r\n"));
            let status = if is_refused { 429 } else { 200 };
            assert_eq!(answer.0, status, "{limiter}, event {n} at {time}: {}", answer.1);
            counts[usize::from(is_refused)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
}
