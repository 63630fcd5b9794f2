//! Several limits, for several keys: all or none, on Redis as in memory.

use super::equal::{both, events};
use super::random::{self, KINDS, is_server};
use super::server::{PATIENCE, Server};
use super::{check, open, patient, rules};
use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratescope::rules::{Details, MemoryStore, Rules, Store};
use ratescope::{Event, Span, Time};
use ratescope_redis::redis::Client;
use ratescope_redis::{self, Options, Redis, RedisStore, TimeSource};
use std::sync::Arc;
use tokio::runtime::Runtime;

const PER: [&str; 4] = ["user", "ip", "user+ip", "all"];

/// Times and costs.
type Events = Vec<(Time, f64)>;

/// Two to four limits of any kind for any key, and the events of the first.
fn drawn(runner: &mut TestRunner) -> Option<(Vec<String>, Events)> {
    let limit =
        ((0..KINDS.len()).prop_flat_map(|kind| random::cases(&KINDS[kind..=kind])), 0..PER.len());
    let strategy = (prop::collection::vec(limit, 2..5), random::steps(true));
    let (limits, steps) = strategy.new_tree(runner).unwrap().current();
    if limits.iter().any(|(case, _)| case.limiter.in_f64().is_err()) {
        return None;
    }
    let texts = limits.iter().map(|(case, per)| format!("{} per {}", case.limiter, PER[*per]));
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.dedup();
    let events = limits[0].0.events(&steps);
    let events = events.into_iter().filter(|(at, _)| at.as_micros() >= 0);
    Some((texts, events.collect()))
}

/// Only the chosen limits of one sender, also in this process, where they count if Redis is gone.
#[tokio::test]
async fn a_key_is_reset() {
    let Some(mut server) = Server::start(&[]) else { return };
    let text = rules("gcra 1/1m per user & exim 1.5/1m strict per user & gcra 3/1m per ip");
    let options = patient("reset:");
    let store = open(&server.url(), text, options);
    let any = Arc::new(store.clone()) as Arc<dyn Store>;
    let passes = async |user| {
        let fields = [("user", user), ("ip", "x")];
        check(&store, Time::ZERO, 1.0, &fields, Details::default()).await.is_allowed()
    };
    assert!(passes("ann").await && passes("bob").await && !passes("ann").await);
    let of_users = async |user| {
        let fields = [("user", user)];
        any.reset_async(&fields, &|_, per| per.fields() == ["user"]).await
    };
    assert_eq!(of_users("ann").await, Ok(1), "both limits are at one key");
    assert_eq!(of_users("eve").await, Ok(0));
    assert!(passes("ann").await, "it is new");
    assert!(!passes("bob").await && !passes("eve").await, "the others are not");

    server.kill();
    assert!(passes("ann").await && !passes("ann").await);
    assert!(of_users("ann").await.is_err());
    assert!(passes("ann").await);
}

#[tokio::test]
async fn policies_decide_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    for number in 0..150 {
        let Some((limits, events)) = drawn(&mut runner) else { continue };
        let text = limits.join(" & ");
        let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
        both(&text, &store, &events).await;
    }
}

/// The same limits in rules: shadows, soft ones, and with a cost of their own.
#[tokio::test]
async fn rules_decide_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    let settings = ["", "    shadow: true\n", "    throttle: soft 10%\n", "    cost: 1\n"];
    for number in 0..150 {
        let Some((limits, events)) = drawn(&mut runner) else { continue };
        // Servers and habits can't be relaxed, and a rule must let an event of cost 1 pass.
        let plain = |limit: &String| {
            let admits = limit.parse::<ratescope::policy::Limit>().is_ok();
            admits && !limit.starts_with("adaptive") && !is_server(limit)
        };
        let limits: Vec<_> = limits.into_iter().filter(plain).collect();
        let mut text = String::from("domain: d\ndescriptors:\n");
        for (i, (limit, key)) in limits.iter().zip(["user", "ip", "path", "host"]).enumerate() {
            let setting = settings[(number + i) % settings.len()];
            text += &format!("  - key: {key}\n    limit:\n      - {limit}\n{setting}");
        }
        let read = Rules::read("", &text);
        if limits.is_empty() || read.is_ok_and(|rules| rules.exact_in_f64().is_err()) {
            continue;
        }
        let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
        both(&text, &store, &events).await;
    }
}

const ELASTIC: &str = "
domain: d
descriptors:
  - key: user
    limit: gcra 10/1m burst 3
    throttle: elastic up to 2x while load < 70%
";

#[tokio::test]
async fn elastic_rules_follow_the_load() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules(ELASTIC), patient("e:"));
    let memory = MemoryStore::new(rules(ELASTIC), 100);
    for i in 0..200 {
        let load = (i / 7 % 2 == 0).then(|| "42%".parse().unwrap());
        store.set_load(load);
        memory.set_load(load);
        let (time, fields) = (Time::from_micros(i * 900_000), [("user", "ann")]);
        let theirs = check(&store, time, 1.0, &fields, Details::ALL).await;
        let ours = check(&memory, time, 1.0, &fields, Details::ALL).await;
        assert_eq!(theirs.to_string(), ours.to_string(), "event {i}");
        assert_eq!(theirs.is_soft(), ours.is_soft(), "event {i}");
    }
}

/// A million decisions from eight tasks on three connections, or as many as are said: exactly the limit is admitted.
#[tokio::test]
async fn many_tasks_admit_exactly_the_limit() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "fixed-window 5000/1h per user & sliding-window 3000/1h precision 1h per ip";
    let stores = [0; 3].map(|_| open(&server.url(), rules(text), patient("m:")));
    let mut tasks = Vec::new();
    for task in 0..8 {
        let store = stores[task % 3].clone();
        tasks.push(tokio::spawn(async move {
            let mut passed = [0, 0];
            for i in 0..events().max(10_000) / 8 {
                let ip = (task + i) % 2;
                let fields = [("user", "ann"), ("ip", ["192.0.2.7", "192.0.2.8"][ip])];
                let time = Time::from_micros(1_234_567);
                let answer = check(&store, time, 1.0, &fields, Details::default()).await;
                assert_eq!(answer.fault, None);
                passed[ip] += usize::from(answer.is_allowed());
            }
            passed
        }));
    }
    let mut passed = [0, 0];
    for task in tasks {
        let some = task.await.unwrap();
        passed = [passed[0] + some[0], passed[1] + some[1]];
    }
    assert_eq!(passed[0] + passed[1], 5_000);
    assert!(passed[0] <= 3_000 && passed[1] <= 3_000, "{passed:?}");
}

/// Subjects are told apart, whatever they contain; long ones and none have keys, too.
#[tokio::test]
async fn keys_are_without_ambiguity() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "fixed-window 1/1h per user+ip & fixed-window 100/1h per all";
    let long = "x".repeat(10_000);
    let store = open(&server.url(), rules(text), patient("k:"));
    let pairs = [("a", "b,ip=c"), ("a,ip=b", "c"), ("{a}", "}"), ("", ""), (&long, "")];
    for (user, ip) in pairs {
        for passes in [true, false] {
            let fields = [("user", user), ("ip", ip)];
            let answer = check(&store, Time::ZERO, 1.0, &fields, Details::default()).await;
            assert_eq!((answer.is_allowed(), answer.fault), (passes, None), "{user}");
        }
    }
    assert_eq!(server.keys(), pairs.len() + 1);
    let keys = server.command(&["KEYS", "*"]);
    assert!(keys.lines().all(|key| key.len() < 300), "{keys}");
    assert!(keys.contains("k:{user=a,ip=b%2Cip%3Dc}"), "{keys}");
    assert_eq!(store.redis().clear().await, Ok(pairs.len() as u64 + 1));
    assert_eq!(server.keys(), 0);
}

fn number(answer: &str) -> i64 {
    answer.trim_start_matches(':').trim().parse().unwrap()
}

/// The clock of the server.
fn milliseconds(server: &Server) -> i64 {
    let now = "local now = redis.call('TIME') return now[1] * 1000 + math.floor(now[2] / 1000)";
    number(&server.command(&["EVAL", now, "0"]))
}

/// A key goes when it is of no more use, and not before.
#[tokio::test]
async fn keys_expire_when_they_are_of_no_more_use() {
    let Some(server) = Server::start(&[]) else { return };
    for (limit, from, to) in [
        ("gcra 10/1m burst 10", 6_000, 8_000),
        ("fixed-window 10/1h", 1, 7_200_001),
        ("sliding-log 10/1h", 3_600_000, 3_602_000),
        ("exim 10/1m leaky", 28 * 60_000, 29 * 60_000),
        // Keys that must never be forgiven by their age never expire.
        ("exim 10/1m strict", 999, -1),
        ("earrrl 10/1m half-life 1m", 999, -1),
    ] {
        let options = Options::default().deadline(PATIENCE);
        let store = open(&server.url(), rules(&format!("{limit} per user")), options);
        let fields = [("user", "ann")];
        let before = milliseconds(&server);
        let answer = check(&store, Time::ZERO, 1.0, &fields, Details::ALL).await;
        assert_eq!(answer.fault, None, "{limit}");
        let after = milliseconds(&server);
        let keys = server.command(&["KEYS", "rs:{user=ann}*"]);
        let key = keys.lines().nth(2).unwrap();
        // When it goes, from when it came.
        let (then, left) = (milliseconds(&server), number(&server.command(&["PTTL", key])));
        let now = milliseconds(&server);
        match left {
            -1 => assert_eq!(to, -1, "{limit}: it stays"),
            _ => {
                let (least, most) = (then + left - after, now + left - before);
                assert!(from <= most && least <= to, "{limit}: {least} to {most} ms");
            }
        }
        assert_eq!(store.redis().clear().await, Ok(1));
    }
}

/// All futures can be tasks that move between threads, with the errors that they return.
#[tokio::test]
async fn what_waits_can_be_spawned() {
    fn of(_: impl Future<Output: Send> + Send) {}
    let store = open("redis://127.0.0.1:1", rules("1/1s per user"), patient("rs:"));
    let any = Arc::new(store.clone()) as Arc<dyn Store>;
    let fields = [("user", "ann")];
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
    of(store.check_async(&event, Details::ALL));
    of(store.peek_async(&event, Details::ALL));
    of(store.settle_async(&event, Time::ZERO, None));
    of(store.reset_async(&fields, &|_, _| true));
    of(store.redis().clear());
    of(store.keys(9));
    of(any.check_async(&event, Details::ALL));
    of(any.reset_async(&fields, &|_, _| true));
    {
        use ratescope::clock::SystemClock;
        use ratescope::waiting::{Waiting, until_allowed};
        of(until_allowed(&any, &fields, &SystemClock, Waiting::DEFAULT));
    }
}

/// The connections are tasks of a runtime. Without one there is an error, and no panic.
#[test]
fn without_a_runtime_there_are_errors() {
    fn at_once<T>(asked: impl Future<Output = T>) -> T {
        asked.now_or_never().unwrap()
    }
    for url in ["redis://127.0.0.1:1", "redis-cluster://127.0.0.1:1"] {
        let open = || RedisStore::open(url, rules("1/1s"), Default::default());
        let error = open().unwrap_err().to_string();
        assert!(error.starts_with("not within a Tokio runtime"), "{error}");
        let fault = at_once(ratescope_redis::clear(url, "rs:")).unwrap_err().to_string();
        assert!(fault.contains(&error), "{fault}");
        let store = Runtime::new().unwrap().block_on(async { open().unwrap() });
        let fault = at_once(store.redis().clear()).unwrap_err().to_string();
        assert!(fault.contains(&error), "{fault}");
        let answer = at_once(check(&store, Time::ZERO, 1.0, &[], Details::default()));
        assert!(answer.fault.unwrap().to_string().contains(&error));
    }
}

/// Rules that Redis can't compute are refused when they are read.
#[tokio::test]
async fn what_redis_cannot_compute_is_refused() {
    let text = "domain: d\ndescriptors:\n  - key: user\n    limit: gcra 10/1s burst 3000000000\n";
    let error = RedisStore::open("redis://127.0.0.1:1", rules(text), Default::default());
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("rules.yaml:4:12: "), "{error}");
    assert!(error.contains("not exact where only f64 exists"), "{error}");
    let store = open("redis://127.0.0.1:1", rules("domain: d\nlimit: 1/1s\n"), patient(""));
    let reloaded = store.reload("rules.yaml", text, Time::ZERO);
    assert_eq!(reloaded.name(), "rejected");
    assert_eq!(
        Store::rules(&store).rules()[0].limits()[0].to_string(),
        "fixed-window 1/1s per all"
    );
}

/// The clock of a host counts as long as it is near that of Redis.
#[tokio::test]
async fn a_host_is_believed_as_far_as_its_skew() {
    let Some(server) = Server::start(&[]) else { return };
    let clock = TimeSource::Host { most_skew: Span::from_hours(1) };
    let options = patient("h:").clock(clock);
    let store = open(&server.url(), rules("fixed-window 1/1000w per user"), options);
    let reset = async |micros: i64| {
        let time = Time::from_micros(micros);
        let details = Details::default().with_quotas();
        let fields = [("user", "ann")];
        let answer = check(&store, time, 1.0, &fields, details).await;
        assert_eq!(answer.fault, None);
        answer.quota().unwrap().reset.as_secs_f64()
    };
    let now = server.command(&["TIME"]);
    let now: i64 = now.lines().nth(2).unwrap().parse().unwrap();
    let (near, early) = (reset((now + 1_800) * 1_000_000).await, reset(1).await);
    assert!((early - near - 1_800.0).abs() < 60.0, "half an hour ahead: {near}, {early}");
    let late = reset((now + 10_000) * 1_000_000).await;
    assert!((early - late).abs() < 60.0, "too far ahead: {early}, {late}");
}

/// A rule that changes its numbers goes on with its counts.
#[tokio::test]
async fn states_go_on_after_a_reload() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "domain: d\nlimit: gcra 3/1h per user\n";
    let store = open(&server.url(), rules(text), patient("r:"));
    let fields = [("user", "ann")];
    let ask = async || {
        let answer = check(&store, Time::ZERO, 1.0, &fields, Details::default()).await;
        answer.to_string()
    };
    assert_eq!(ask().await, "allowed by d: level 1, limit 3");
    let reloaded = store.reload("rules.yaml", &text.replace("3/1h", "5/1h"), Time::ZERO);
    assert_eq!(reloaded.name(), "applied");
    assert_eq!(ask().await, "allowed by d: level 2, limit 5");
    assert_eq!(
        store.reload("rules.yaml", "domain: d\nlimt: 1/1s\n", Time::ZERO).name(),
        "rejected"
    );
    assert_eq!(ask().await, "allowed by d: level 3, limit 5");
    // The same as a store whose kind is chosen at run time.
    let any = Arc::new(store.clone()) as Arc<dyn Store>;
    assert_eq!(
        any.reload("rules.yaml", &text.replace("3/1h", "9/1h"), Time::ZERO).name(),
        "applied"
    );
    assert_eq!(ask().await, "allowed by d: level 4, limit 9");
}

/// A service's own client chooses the address, the user and the database.
#[tokio::test]
async fn a_client_of_the_service_is_handed_over() {
    let Some(server) = Server::start(&[]) else { return };
    server.command(&["ACL", "SETUSER", "service", "on", ">secret", "~*", "+@all", "-ping"]);
    let url = server.url().replace("redis://", "redis://service:secret@") + "/3";
    let client = Client::open(url).unwrap();
    let store =
        Redis::from_client(&client, patient("of:")).unwrap().store(rules("1/1h per user")).unwrap();
    let ask = async || check(&store, Time::ZERO, 1.0, &[], Details::default()).await;
    assert_eq!(ask().await.fault, None);
    assert_eq!(store.redis().ping().await, Ok(()), "it may not PING, and need not");
    let clients = server.command(&["CLIENT", "LIST"]);
    assert!(clients.lines().any(|line| line.contains(" db=3 ") && line.contains(" user=service ")));
    // The store has a connection of its own, and makes another where that ends.
    server.command(&["CLIENT", "KILL", "USER", "service"]);
    let _ = ask().await;
    assert_eq!(ask().await.fault, None);
}
