//! Faults of Redis, one a test, with a real server.

use super::proxy::Proxy;
use super::server::{PATIENCE, Port, Server};
use super::{check, level, looked, open, rules, until_looked};
use ratescope::rules::{Decision, Details, Fault, StateSource, Store};
use ratescope::{Event, Time};
use ratescope_redis::{Options, RedisStore};
use std::error::Error;
use std::time::Duration;

/// One rule for each of the three ways to go on.
pub(super) const RULES: &str = "
domain: d
descriptors:
  - key: open
    limit: 3/3600w per user
    on_store_failure: allow
  - key: closed
    limit: 3/3600w per user
    on_store_failure: refuse
  - key: local
    limit: 3/3600w per user
";

/// Longer than a test.
const NEVER: Duration = Duration::from_secs(3600);

/// A deadline that a busy machine keeps, and rests that are over soon.
pub(super) fn options() -> Options {
    Options::default().deadline(Duration::from_secs(2)).rest(Duration::from_millis(20))
}

pub(super) async fn ask(store: &RedisStore, key: &str) -> Decision {
    check(store, Time::from_micros(1), 1.0, &[(key, "x"), ("user", "ann")], Details::ALL).await
}

/// Asks until Redis answers again.
pub(super) async fn until_back(store: &RedisStore) {
    let _ = until_looked(store, &[("local", "x"), ("user", "nobody")]).await;
}

/// How many events Redis has counted of the rule `local`.
pub(super) async fn counted(store: &RedisStore) -> f64 {
    level(&looked(store, &[("local", "x"), ("user", "ann")]).await).unwrap()
}

/// Fails unless each rule goes on in its own way; by the rule `local`, Redis has counted `before`.
pub(super) async fn assert_goes_on(
    store: &RedisStore,
    before: usize,
    is_expected: impl Fn(&Fault) -> bool,
) {
    let expected = |answer: &Decision| {
        let fault = answer.fault.clone().expect("Redis can't be asked");
        assert!(is_expected(&fault) || fault == Fault::Resting, "{fault:?}");
    };
    for _ in 0..5 {
        let answer = ask(store, "open").await;
        expected(&answer);
        assert!(answer.is_allowed());
        assert_eq!(answer.decided_by().unwrap().source, StateSource::Unknown);
        let answer = ask(store, "closed").await;
        expected(&answer);
        assert!(!answer.is_allowed() && answer.retry_after().is_none());
        let said = answer.to_string();
        assert_eq!(said, "refused by d:closed: its store can't be asked");
    }
    for n in before..4 {
        let (answer, passes) = (ask(store, "local").await, n < 3);
        expected(&answer);
        assert_eq!(answer.is_allowed(), passes, "{}", answer);
        assert_eq!(answer.decided_by().unwrap().source, StateSource::Fallback);
        assert_eq!(answer.retry_after().is_some(), !passes);
        assert!(answer.quota().is_some());
    }
}

#[tokio::test]
async fn a_server_that_is_down_and_comes() {
    if Server::start(&[]).is_none() {
        return;
    }
    let port = Port::hold();
    let store = open(&format!("redis://{port}"), rules(RULES), options());
    assert_goes_on(&store, 0, |fault| matches!(fault, Fault::Unreachable(_))).await;
    let _server = Server::at(port, &[]);
    until_back(&store).await;
    assert_eq!(counted(&store).await, 0.0, "what was decided here counts here");
}

/// Nothing was counted, and the cause is told.
#[tokio::test]
async fn a_server_that_cannot_be_reached_is_told_with_its_cause() {
    // Without the feature there is no TLS, which is told at once.
    if cfg!(not(feature = "tls")) {
        let tls = RedisStore::open("rediss://127.0.0.1:6379", rules(RULES), options());
        let error = tls.unwrap_err();
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains("can't connect with TLS, the feature is not enabled"), "{cause}");
        assert!(error.to_string().ends_with(&cause), "{error}");
    }

    let nobody = Port::hold();
    let refused = format!("redis://{nobody}");
    for (url, cause) in [(refused.as_str(), "refused"), ("redis://nowhere.invalid:6379", "")] {
        let options = options().deadline(PATIENCE);
        let store = open(url, rules(RULES), options);
        let fault = ask(&store, "open").await.fault.unwrap();
        assert_eq!(fault.name(), "unreachable", "{url}: {fault:?}");
        let source = fault.source().unwrap().to_string();
        assert!(source.contains(cause) && !source.is_empty(), "{source}");
    }
}

#[tokio::test]
async fn a_server_that_is_killed_and_comes_back_knows_what_it_knew() {
    let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut server) = Server::start(&arguments) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    assert!(ask(&store, "local").await.fault.is_none());
    server.kill();
    assert_goes_on(&store, 2, |fault| matches!(fault, Fault::Unreachable(_) | Fault::Lost)).await;
    server.restart(&arguments);
    until_back(&store).await;
    assert_eq!(counted(&store).await, 2.0);
    assert!(ask(&store, "local").await.is_allowed());
    assert!(!ask(&store, "local").await.is_allowed());
}

/// Stopped, it accepts connections and says nothing.
#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options().rest(NEVER).failures(3));
    assert!(ask(&store, "local").await.fault.is_none());
    server.signal("STOP");
    let mut faults = Vec::new();
    for _ in 0..50 {
        faults.push(ask(&store, "local").await.fault.unwrap());
    }
    server.signal("CONT");
    // The silent connection is replaced, by one that is not made.
    let asked = faults.iter().filter(|fault| **fault != Fault::Resting).count();
    assert!((3..=4).contains(&asked), "then it rests: {faults:?}");
    assert_eq!(faults[0], Fault::Late);
    assert!(matches!(faults[1], Fault::Unreachable(_)), "{faults:?}");
    assert!(faults[asked..].iter().all(|fault| *fault == Fault::Resting), "{faults:?}");
    // Only the events that had been sent were counted, when it ran on.
    let other = options().deadline(PATIENCE);
    let counted = counted(&open(&server.url(), rules(RULES), other)).await;
    assert!((1.0..=3.0).contains(&counted), "{counted}");
}

/// Many at once, most of them in the way of a server that is gone: no storm of connections.
#[tokio::test]
async fn a_dead_server_meets_few_connections() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let store = open(&url, rules(RULES), options().rest(NEVER));
    let mut connections = 0;
    for _ in 0..20 {
        let asked = |_| {
            let store = store.clone();
            tokio::spawn(async move { ask(&store, "local").await.fault })
        };
        let tasks: Vec<_> = (0..100).map(asked).collect();
        for task in tasks {
            assert!(task.await.unwrap().is_some());
        }
        // All connections are turned away.
        while listener.accept().is_ok() {
            connections += 1;
        }
    }
    assert!((1..=10).contains(&connections), "{connections}");
}

#[tokio::test]
async fn scripts_that_are_forgotten_are_sent_again() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    for expected in [1.0, 2.0, 3.0] {
        server.command(&["SCRIPT", "FLUSH"]);
        let answer = ask(&store, "local").await;
        assert_eq!((answer.is_allowed(), answer.fault), (true, None));
        assert_eq!(counted(&store).await, expected);
    }
}

/// Another program has put a list, or other bytes, at the key: it is left as it is.
#[tokio::test]
async fn what_is_no_state_is_an_error_and_stays() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    let keys = server.command(&["KEYS", "*"]);
    let key = keys.lines().nth(2).unwrap().to_owned();
    for (name, write) in [("LPUSH", ["LPUSH", &key, "x"]), ("SET", ["SET", &key, "\u{7f}\u{7f}"])] {
        server.command(&["DEL", &key]);
        server.command(&write);
        let before = server.command(&["DUMP", &key]);
        for _ in 0..3 {
            let answer = ask(&store, "local").await;
            if name == "LPUSH" {
                let said = answer.fault.unwrap().to_string();
                assert!(said.contains("WRONGTYPE"), "{said}");
            }
        }
        if name == "LPUSH" {
            assert_eq!(server.command(&["DUMP", &key]), before);
        }
    }
    server.command(&["SET", &key, "\u{ff}"]);
    let said = ask(&store, "local").await.fault.unwrap();
    assert_eq!(said.name(), "failed");
}

/// Given up at whichever wait, an event counts once or not at all, and the next is decided as ever.
#[tokio::test]
async fn what_is_given_up_leaves_nothing_behind() {
    let Some(server) = Server::start(&[]) else { return };
    // No event is refused, however many are given up after they were sent.
    let store = open(&server.url(), rules("fixed-window 1000000/3600w per user"), options());
    let fields = [("user", "ann")];
    let mut polls = 0;
    loop {
        polls += 1;
        let before = level(&looked(&store, &fields).await).unwrap();
        let mut asked = Box::pin(check(&store, Time::ZERO, 1.0, &fields, Details::default()));
        let mut ended = false;
        for _ in 0..polls {
            let once = core::future::poll_fn(|context| {
                core::task::Poll::Ready(asked.as_mut().poll(context).is_ready())
            });
            ended = once.await;
            if ended {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(asked);
        let after = level(&looked(&store, &fields).await).unwrap();
        let count = after - before;
        assert!(count == 1.0 || (count == 0.0 && !ended), "{count} after {polls} polls");
        if ended {
            break;
        }
    }
    assert!(polls > 1, "it waits at least once");
}

/// A charge afterwards counts in this process if Redis can't be told.
#[tokio::test]
async fn charges_count_here_when_redis_cannot_be_told() {
    let nobody = Port::hold();
    let store = open(&format!("redis://{nobody}"), rules(RULES), options());
    let fields = [("local", "x"), ("closed", "x"), ("user", "ann")];
    let event = Event { time: Time::ZERO, cost: 3.0, fields: &fields };
    let charged = store.settle_async(&event, event.time, None).await;
    assert!(matches!(charged, Err(Fault::Unreachable(_))), "{charged:?}");
    let answer = ask(&store, "local").await;
    assert_eq!(answer.to_string(), "refused by d:local: level 4, limit 3");
}

/// A connection that falls silent, as after a failover of the network, is replaced; questions asked on
/// it was never answered and may have been counted.
#[tokio::test]
async fn a_silent_connection_is_replaced() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let store = open(&proxy.url(), rules(RULES), options());
    until_back(&store).await;
    for round in 1..=3 {
        assert!(ask(&store, "local").await.fault.is_none());
        let before = proxy.connections();
        proxy.silence();
        assert_eq!(ask(&store, "open").await.fault, Some(Fault::Late));
        until_back(&store).await;
        assert!(proxy.connections() > before, "round {round}");
        assert_eq!(counted(&store).await, f64::from(round));
    }
}
