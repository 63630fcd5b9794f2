//! What happens when Redis can't be asked, one fault a test, with a real server.

use super::server::{PATIENCE, Server, free_port};
use super::{check, open, rules, run};
use ratescope::redis_store::{Options, RedisStore};
use ratescope::rules::{Answered, AsyncStore, Details, Fault, Source};
use ratescope::{Event, Time};
use std::time::{Duration, Instant};

/// One rule for each of the three ways to go on.
const RULES: &str = "
domain: d
descriptors:
  - key: open
    limit: 3/1h per user
    on_store_failure: allow
  - key: closed
    limit: 3/1h per user
    on_store_failure: refuse
  - key: local
    limit: 3/1h per user
";

/// A deadline that a busy machine keeps, and rests that are over soon.
fn options() -> Options {
    Options {
        deadline: Duration::from_millis(300),
        rest: Duration::from_millis(20),
        ..Options::default()
    }
}

async fn ask(store: &RedisStore, key: &str) -> Answered {
    check(store, Time::from_micros(1), 1.0, &[(key, "x"), ("user", "ann")], Details::ALL).await
}

/// Asks until Redis answers again.
async fn until_back(store: &RedisStore) {
    let begun = Instant::now();
    loop {
        let fields = [("local", "x"), ("user", "nobody")];
        let event = Event { time: Time::ZERO, cost: 0.0, fields: &fields };
        match store.peek(&event, Details::default()).await.fault {
            None => return,
            Some(fault) => assert!(begun.elapsed() < PATIENCE, "it does not come back: {fault}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many events Redis has counted of the rule `local`, of at most 3.
async fn counted(store: &RedisStore) -> f64 {
    let fields = [("local", "x"), ("user", "ann")];
    let event = Event { time: Time::ZERO, cost: 0.0, fields: &fields };
    let answer = store.peek(&event, Details::ALL).await;
    assert_eq!(answer.fault, None);
    3.0 - answer.standings.unwrap().least().unwrap().remaining
}

/// Fails unless each rule goes on in its own way; whether this process had counted `before`.
async fn assert_goes_on(store: &RedisStore, is_expected: impl Fn(&Fault) -> bool) {
    let expected = |answer: &Answered| {
        let fault = answer.fault.clone().expect("Redis can't be asked");
        assert!(is_expected(&fault) || fault == Fault::Resting, "{fault:?}");
    };
    for _ in 0..5 {
        let answer = ask(store, "open").await;
        expected(&answer);
        assert!(answer.ruling.is_allowed());
        assert_eq!(answer.ruling.decided_by().unwrap().source, Source::Nowhere);
        let answer = ask(store, "closed").await;
        expected(&answer);
        assert!(!answer.ruling.is_allowed() && answer.retry.is_none());
        let said = answer.ruling.to_string();
        assert_eq!(said, "refused by d:closed: its store can't be asked");
    }
    for passes in [true, true, true, false] {
        let answer = ask(store, "local").await;
        expected(&answer);
        assert_eq!(answer.ruling.is_allowed(), passes, "{}", answer.ruling);
        assert_eq!(answer.ruling.decided_by().unwrap().source, Source::Local);
        assert_eq!(answer.retry.is_some(), !passes);
        assert!(answer.standings.is_some());
    }
}

#[test]
fn a_server_that_is_down_and_comes() {
    if Server::start(&[]).is_none() {
        return;
    }
    run(async {
        let port = free_port();
        let store = open(&format!("redis://127.0.0.1:{port}"), rules(RULES), options());
        assert_goes_on(&store, |fault| *fault == Fault::Unreachable).await;
        let Some(_server) = Server::try_start(port, &[]) else { return };
        until_back(&store).await;
        assert_eq!(counted(&store).await, 0.0, "what was decided here counts here");
    });
}

#[test]
fn a_server_that_is_killed_and_comes_back_knows_what_it_knew() {
    let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut server) = Server::start(&arguments) else { return };
    run(async {
        let store = open(&server.url(), rules(RULES), options());
        assert!(ask(&store, "local").await.fault.is_none());
        assert!(ask(&store, "local").await.fault.is_none());
        server.kill();
        assert_goes_on(&store, |fault| matches!(fault, Fault::Unreachable | Fault::Lost)).await;
        server.restart(&arguments);
        until_back(&store).await;
        assert_eq!(counted(&store).await, 2.0);
        assert!(ask(&store, "local").await.ruling.is_allowed());
        assert!(!ask(&store, "local").await.ruling.is_allowed());
    });
}

/// Stopped, it accepts connections and says nothing.
#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let options = Options { rest: Duration::from_secs(3), failures: 3, ..options() };
        let store = open(&server.url(), rules(RULES), options);
        assert!(ask(&store, "local").await.fault.is_none());
        server.signal("STOP");
        let begun = Instant::now();
        let mut faults = Vec::new();
        for _ in 0..50 {
            faults.push(ask(&store, "local").await.fault.unwrap());
        }
        let took = begun.elapsed();
        server.signal("CONT");
        let late = faults.iter().filter(|fault| **fault == Fault::Late).count();
        assert!((3..=4).contains(&late), "then it rests: {faults:?}");
        assert!(faults[late..].iter().all(|fault| *fault == Fault::Resting), "{faults:?}");
        assert!(took < Duration::from_secs(10), "{took:?}");
        until_back(&store).await;
        // What had been sent was counted once it ran on; nothing else was.
        let counted = counted(&store).await;
        assert!((1.0..=3.0).contains(&counted), "{counted}");
    });
}

/// Many at once, most of them in the way of a server that is gone: no storm of connections.
#[test]
fn a_dead_server_meets_few_connections() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    run(async {
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let options = Options { rest: Duration::from_millis(200), ..options() };
        let store = open(&url, rules(RULES), options);
        let mut connections = 0;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            let asked = |_| {
                let store = store.clone();
                tokio::spawn(async move { ask(&store, "local").await.fault })
            };
            let tasks: Vec<_> = (0..100).map(asked).collect();
            for task in tasks {
                assert!(task.await.unwrap().is_some());
            }
            // Whoever comes is turned away.
            while listener.accept().is_ok() {
                connections += 1;
            }
        }
        assert!((1..=20).contains(&connections), "{connections}");
    });
}

#[test]
fn scripts_that_are_forgotten_are_sent_again() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules(RULES), options());
        for expected in [1.0, 2.0, 3.0] {
            server.command(&["SCRIPT", "FLUSH"]);
            let answer = ask(&store, "local").await;
            assert_eq!((answer.fault, answer.ruling.is_allowed()), (None, true));
            assert_eq!(counted(&store).await, expected);
        }
    });
}

#[test]
fn a_replica_that_may_not_write_has_counted_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules(RULES), options());
        assert!(ask(&store, "local").await.fault.is_none());
        server.command(&["REPLICAOF", "127.0.0.1", "1"]);
        // It is asked again and again, on new connections, until there is no more time.
        let read_only = |fault: &Fault| match fault {
            Fault::Failed(said) => said.to_lowercase().contains("read"),
            fault => *fault == Fault::Late,
        };
        assert_goes_on(&store, read_only).await;
        server.command(&["REPLICAOF", "NO", "ONE"]);
        until_back(&store).await;
        assert_eq!(counted(&store).await, 1.0);
    });
}

#[test]
fn a_server_without_memory_has_counted_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules(RULES), options());
        assert!(ask(&store, "local").await.fault.is_none());
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        let full = |fault: &Fault| matches!(fault, Fault::Failed(said) if said.contains("OOM"));
        assert_goes_on(&store, full).await;
        server.command(&["CONFIG", "SET", "maxmemory", "0"]);
        until_back(&store).await;
        assert_eq!(counted(&store).await, 1.0);
    });
}

/// Another program has put a list, or other bytes, at the key: it is left as it is.
#[test]
fn what_is_no_state_is_an_error_and_stays() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules(RULES), options());
        assert!(ask(&store, "local").await.fault.is_none());
        let keys = server.command(&["KEYS", "*"]);
        let key = keys.lines().nth(2).unwrap().to_owned();
        for (name, write) in
            [("LPUSH", ["LPUSH", &key, "x"]), ("SET", ["SET", &key, "\u{7f}\u{7f}"])]
        {
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
    });
}

/// Somebody else's script runs on and on: what was refused for it is asked again, and counts once.
#[test]
fn a_busy_server_is_asked_again() {
    let Some(server) = Server::start(&["--lua-time-limit", "1"]) else { return };
    run(async {
        let options = Options { deadline: PATIENCE, ..options() };
        let store = open(&server.url(), rules(RULES), options);
        assert!(ask(&store, "local").await.fault.is_none());
        let port = server.port;
        let other = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(b"EVAL 'while true do end' 0\r\n").unwrap();
            let mut answer = [0; 100];
            let _ = stream.read(&mut answer);
        });
        let begun = Instant::now();
        while !server.command(&["PING"]).contains("-BUSY") {
            assert!(begun.elapsed() < PATIENCE);
        }
        let asked = tokio::spawn({
            let store = store.clone();
            async move { ask(&store, "local").await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!asked.is_finished());
        server.command(&["SCRIPT", "KILL"]);
        let answer = asked.await.unwrap();
        assert_eq!((answer.fault, answer.ruling.is_allowed()), (None, true));
        assert_eq!(counted(&store).await, 2.0);
        other.join().unwrap();
    });
}

/// Given up at whichever wait, an event counts once or not at all, and the next is decided as ever.
#[test]
fn what_is_given_up_leaves_nothing_behind() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let store = open(&server.url(), rules("fixed-window 100/1h per user"), options());
        let fields = [("user", "ann")];
        let mut polls = 0;
        loop {
            polls += 1;
            let before = level(&store).await;
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
            let after = level(&store).await;
            let count = after - before;
            assert!(count == 1.0 || (count == 0.0 && !ended), "{count} after {polls} polls");
            if ended {
                break;
            }
        }
        assert!(polls > 1, "it waits at least once");
    });
}

async fn level(store: &RedisStore) -> f64 {
    let event = Event { time: Time::ZERO, cost: 0.0, fields: &[("user", "ann")] };
    let answer = store.peek(&event, Details::default()).await;
    assert_eq!(answer.fault, None);
    answer.ruling.decided_by().unwrap().outcome.level
}

/// What is charged afterwards counts here as well, where Redis can't be told.
#[test]
fn charges_count_here_when_redis_cannot_be_told() {
    run(async {
        let url = format!("redis://127.0.0.1:{}", free_port());
        let store = open(&url, rules(RULES), options());
        let fields = [("local", "x"), ("closed", "x"), ("user", "ann")];
        let event = Event { time: Time::ZERO, cost: 3.0, fields: &fields };
        assert_eq!(store.charge(&event, None).await, Err(Fault::Unreachable));
        let answer = ask(&store, "local").await;
        assert_eq!(answer.ruling.to_string(), "refused by d:local: level 4, limit 3");
    });
}
