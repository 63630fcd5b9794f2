//! Servers that are there and refuse: their answers prove that they counted nothing.

use super::faults::{RULES, ask, assert_goes_on, counted, options, until_back};
use super::hostile::until;
use super::proxy::{Proxy, Trick};
use super::server::{self, PATIENCE, Server, wait_until};
use super::{open, patient, rules};
use ratescope::Span;
use ratescope::rules::Fault;
use ratescope_redis::{Redis, RedisStore, TimeSource};
use std::io::{Read, Write};
use std::thread::JoinHandle;
use std::time::Duration;

#[tokio::test]
async fn a_replica_that_may_not_write_has_counted_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    // It is asked again and again, on new connections, until there is no more time.
    let read_only = |fault: &Fault| match fault {
        Fault::Failed(said) => said.to_lowercase().contains("read"),
        fault => *fault == Fault::Late,
    };
    assert_goes_on(&store, 1, read_only).await;
    server.command(&["REPLICAOF", "NO", "ONE"]);
    until_back(&store).await;
    assert_eq!(counted(&store).await, 1.0);
}

/// Redis refuses times that are no whole number of milliseconds.
#[tokio::test]
async fn keys_are_kept_for_any_time() {
    let Some(server) = Server::start(&[]) else { return };
    for (i, keep) in [90.0005, 0.0001, 1e-6, 0.0, 9e9, 9e11].into_iter().enumerate() {
        let clock = TimeSource::Event { keep: Span::try_from_secs_f64(keep).unwrap() };
        let options = patient(&format!("{i}:")).clock(clock);
        let store = open(&server.url(), rules(RULES), options);
        assert_eq!(ask(&store, "local").await.fault, None, "{keep} s");
    }
}

#[tokio::test]
async fn a_server_without_memory_has_counted_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = |fault: &Fault| matches!(fault, Fault::Failed(said) if said.contains("OOM"));
    assert_goes_on(&store, 1, full).await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    until_back(&store).await;
    assert_eq!(counted(&store).await, 1.0);
}

/// A script that runs until the server has refused a question of the store, which is an EVALSHA.
const UNTIL_ASKED: &str = r#"
    while not redis.call("INFO", "commandstats"):find("cmdstat_evalsha:[^\n]*rejected_calls=[1-9]") do
        for _ = 1, 1000 do end
    end"#;

/// Has the server run somebody else's script, from now on.
fn busy(server: &Server, script: &str) -> JoinHandle<()> {
    let (port, script) = (server.port, script.to_owned());
    let other = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(format!("EVAL '{script}' 0\r\n").as_bytes()).unwrap();
        let _ = stream.read(&mut [0; 100]);
    });
    wait_until("it is busy", || server.command(&["PING"]).contains("-BUSY"));
    other
}

/// Somebody else's script runs: a call that was refused for it is sent again, and counts once.
#[tokio::test]
async fn a_busy_server_is_asked_again() {
    let Some(server) = Server::start(&["--lua-time-limit", "1"]) else { return };
    let options = options().deadline(PATIENCE);
    let store = open(&server.url(), rules(RULES), options);
    assert!(ask(&store, "local").await.fault.is_none());
    let other = busy(&server, &UNTIL_ASKED.replace('\n', " "));
    let answer = ask(&store, "local").await;
    assert_eq!((answer.is_allowed(), answer.fault), (true, None));
    assert_eq!(counted(&store).await, 2.0);
    other.join().unwrap();
}

/// A script that runs on is waited for on the connection that is there, however old that is, and then left alone.
#[tokio::test]
async fn a_busy_server_is_left_alone_on_its_connection() {
    let Some(server) = Server::start(&["--lua-time-limit", "1"]) else { return };
    let proxy = Proxy::before(&server);
    // It is asked after pauses of 1 ms, 2 ms and so on to 1,024 ms, and has the other half of the time for its last answer.
    let options = options().deadline(Duration::from_secs(4)).rest(PATIENCE).failures(1);
    let store = open(&proxy.url(), rules(RULES), options);
    assert!(ask(&store, "local").await.fault.is_none());
    let (before, other) = (proxy.connections(), busy(&server, "while true do end"));
    let fault = ask(&store, "local").await.fault.unwrap();
    assert!(fault.to_string().contains("BUSY"), "{fault}");
    assert_eq!(ask(&store, "local").await.fault, Some(Fault::Resting));
    assert_eq!(proxy.connections(), before);
    server.command(&["SCRIPT", "KILL"]);
    other.join().unwrap();
}

/// How many connections a server has accepted.
fn connections(server: &Server) -> u64 {
    let stats = server.command(&["INFO", "stats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    line.unwrap().parse().unwrap()
}

/// A hundred checks one by one: the server is asked as often as it may fail, and then left alone.
async fn assert_left_alone(server: &Server) {
    // No second attempt falls into the test.
    let rest = Duration::from_secs(3600);
    let store = open(&server.url(), rules(RULES), options().rest(rest));
    let before = connections(server);
    let mut faults = Vec::new();
    for _ in 0..100 {
        faults.push(ask(&store, "local").await.fault.unwrap());
    }
    let asked = faults.iter().position(|fault| *fault == Fault::Resting).unwrap();
    assert_eq!(asked, 5, "{faults:?}");
    assert!(faults[asked..].iter().all(|fault| *fault == Fault::Resting), "{faults:?}");
    // One call may replace its connection once, and one that fell silent.
    let made = connections(server) - before;
    assert!(made <= 2 * asked as u64 + 2, "{made} connections");
}

#[tokio::test]
async fn a_replica_is_left_alone() {
    let Some(server) = Server::start(&["--replicaof", "127.0.0.1 1"]) else { return };
    assert_left_alone(&server).await;
}

/// All callers give up long before the deadline: while they wait to ask again, or for an answer.
#[tokio::test]
async fn a_replica_is_left_alone_though_nobody_waits_for_it() {
    let Some(server) = Server::start(&["--replicaof", "127.0.0.1 1"]) else { return };
    let slow = Proxy::before(&server);
    slow.play([Trick::Delay(Duration::from_millis(50)); 1_000]);
    for url in [server.url(), slow.url()] {
        let options = options().rest(PATIENCE);
        let store = open(&url, rules("fixed-window 1000/3600w per user"), options);
        until(&store, Some(Fault::Resting)).await;
    }
}

#[tokio::test]
async fn a_node_without_slots_is_left_alone() {
    let Some(server) = Server::start(&["--cluster-enabled", "yes"]) else { return };
    assert_left_alone(&server).await;
}

/// A server loads its file slowly until it is told to hurry: it is left alone, and an event that waits for
/// it counts once.
#[tokio::test]
async fn a_loading_server_is_left_alone_and_asked_again() {
    let Some(mut server) = Server::start(&["--rdbcompression", "no"]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    assert!(ask(&store, "local").await.fault.is_none());
    let value = "x".repeat(4096);
    for i in 0..2_000 {
        server.command(&["SET", &format!("other{i}"), &value]);
    }
    server.command(&["SAVE"]);
    server.kill();
    let slow = ["--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024"];
    server.restart_loading(&slow);
    assert_left_alone(&server).await;
    let options = options().deadline(PATIENCE);
    server.command(&["CONFIG", "RESETSTAT"]);
    let patient = RedisStore::open(&server.url(), rules(RULES), options).unwrap();
    let asked = tokio::spawn({
        let store = patient.clone();
        async move { ask(&store, "local").await }
    });
    // It is asked while the server still loads.
    while !server.command(&["INFO", "errorstats"]).contains("LOADING") {
        tokio::task::yield_now().await;
    }
    server.command(&["CONFIG", "SET", "key-load-delay", "0"]);
    assert_eq!(asked.await.unwrap().fault, None);
    assert_eq!(counted(&patient).await, 2.0);
}

/// Pings until Redis is fine: a server takes a moment to notice a command.
async fn until_fine(redis: &Redis) {
    server::until("it stays as it is", async || redis.ping().await.is_ok()).await;
}

/// A Redis that answers but takes no writes is no healthy one.
#[tokio::test]
async fn a_ping_fails_where_nothing_can_be_counted() {
    let Some(server) = Server::start(&["--user", "service", "on", ">secret", "~*", "+@all"]) else {
        return;
    };
    let url = server.url().replace("redis://", "redis://service:secret@");
    let store = open(&url, rules(RULES), options());
    let redis = store.redis();
    let causes: [(&[&str], &str, &[&str]); 5] = [
        (&["CONFIG", "SET", "maxmemory", "1"], "OOM", &["CONFIG", "SET", "maxmemory", "0"]),
        (&["REPLICAOF", "127.0.0.1", "1"], "read only", &["REPLICAOF", "NO", "ONE"]),
        (
            &["CONFIG", "SET", "min-replicas-to-write", "1"],
            "NOREPLICAS",
            &["CONFIG", "SET", "min-replicas-to-write", "0"],
        ),
        (
            &["ACL", "SETUSER", "service", "-@write"],
            "can't run this command",
            &["ACL", "SETUSER", "service", "+@all"],
        ),
        (
            &["ACL", "SETUSER", "service", "resetkeys", "~other:*"],
            "key",
            &["ACL", "SETUSER", "service", "~rs:*"],
        ),
    ];
    assert_eq!(redis.ping().await, Ok(()));
    for (harm, word, cure) in causes {
        let done = server.command(harm);
        assert!(done.starts_with("+OK"), "{harm:?}: {done}");
        let fault = redis.ping().await.expect_err(word);
        assert!(matches!(&fault, Fault::Failed(said) if said.contains(word)), "{harm:?}: {fault}");
        server.command(cure);
        until_fine(redis).await;
    }
    server::until("the key of a ping stays", async || store.keys(10).await.unwrap().is_empty())
        .await;
}

/// A wrong value at one key stops only the events of this key. The next ping tells of it, and the one after that does
/// not.
#[tokio::test]
async fn a_ping_tells_of_a_call_that_was_refused() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(RULES), options());
    let redis = store.redis();
    assert_eq!(ask(&store, "local").await.fault, None);
    let keys = server.command(&["KEYS", "*"]);
    let key = keys.lines().nth(2).unwrap().to_owned();
    let others: [(&[&str], &str); 2] =
        [(&["LPUSH", &key, "x"], "WRONGTYPE"), (&["SET", &key, "x"], "script")];
    for (write, word) in others {
        server.command(&["DEL", &key]);
        server.command(write);
        assert_eq!(redis.ping().await, Ok(()), "nobody has asked");
        let refused = ask(&store, "local").await.fault.unwrap();
        assert!(refused.to_string().contains(word), "{refused}");
        assert_eq!(redis.ping().await, Err(refused));
        assert_eq!(redis.ping().await, Ok(()));
    }
}

/// The text between the first braces of a key chooses the node of a cluster, so a prefix has none.
#[tokio::test]
async fn a_prefix_with_braces_is_refused() {
    for prefix in ["{", "}", "{rs}:"] {
        let options = ratescope_redis::Options::default().prefix(prefix);
        let error = Redis::open("redis://127.0.0.1:1", options).err().unwrap();
        assert!(error.to_string().contains("must have no braces"), "{error}");
    }
}
