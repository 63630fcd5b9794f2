//! The store on a cluster, in good times and bad.

use super::hostile::until;
use super::nodes::Cluster;
use super::proxy::Proxy;
use super::server::{PATIENCE, Server};
use super::{check, level, looked, open, patient, rules, until_looked};
use ratescope::Time;
use ratescope::rules::{Decision, Details, Fault, MemoryStore};
use ratescope_redis::redis::Client;
use ratescope_redis::{Options, Redis, RedisStore};
use std::time::{Duration, Instant};

fn open_at(cluster: &Cluster, text: &str, options: Options) -> RedisStore {
    open(&cluster.url(), rules(text), options)
}

async fn ask(store: &RedisStore, user: &str) -> Decision {
    check(store, Time::ZERO, 1.0, &[("user", user)], Details::default()).await
}

/// The level of a user.
async fn counted(store: &RedisStore, user: &str) -> Option<f64> {
    level(&looked(store, &[("user", user)]).await)
}

async fn until_counted(store: &RedisStore, user: &str) -> f64 {
    level(&until_looked(store, &[("user", user)]).await).unwrap()
}

/// Redis decides by its clock. No window of 3600 weeks ends before 2038, so no test sees the end of one.
const LIMIT: &str = "fixed-window 1000000/3600w per user";

fn quick() -> Options {
    Options::default().deadline(Duration::from_secs(2)).rest(Duration::from_millis(20)).failures(50)
}

/// The longest time that can be written is no deadline.
#[tokio::test]
async fn a_deadline_may_be_as_long_as_a_duration() {
    let (Some(server), Some(cluster)) = (Server::start(&[]), Cluster::steady()) else { return };
    let options = || Options::default().deadline(Duration::MAX);
    for store in [open(&server.url(), rules(LIMIT), options()), open_at(&cluster, LIMIT, options())]
    {
        assert_eq!(ask(&store, "ann").await.fault, None);
    }
}

#[tokio::test]
async fn a_cluster_decides_as_memory_does() {
    let Some(cluster) = Cluster::steady() else { return };
    let text = "gcra 10/1m burst 3 per user & sliding-window 5/1m precision 5s per user";
    let store = open_at(&cluster, text, patient("rs:"));
    let memory = MemoryStore::new(rules(text), 1000);
    for i in 0..600 {
        let user = format!("user{}", i % 40);
        let (time, fields) = (Time::from_micros(i * 100_000), [("user", user.as_str())]);
        let theirs = check(&store, time, 1.0, &fields, Details::ALL).await;
        let ours = check(&memory, time, 1.0, &fields, Details::ALL).await;
        assert_eq!(theirs.fault, None);
        assert_eq!(theirs.to_string(), ours.to_string(), "event {i}");
    }
    // Users are on all masters.
    cluster.until("masters and replicas have keys", |node| node.keys() > 0);

    // A user and an address are on two nodes, or all keys on one. Exim's limiter counts events that it or another
    // refuses.
    let two =
        "10/1m per user & 20/1m per ip & exim 9/1m strict per user+ip & sliding-log 30/1m per all";
    let node = Client::open(cluster.nodes[0].url()).unwrap();
    let apart = Redis::from_cluster(&[node], patient("two:")).unwrap().store(rules(two)).unwrap();
    let store = open_at(&cluster, two, patient("one:").one_node(true));
    for store in [&apart, &store] {
        let memory = MemoryStore::new(rules(two), 1000);
        let mut outcomes = [0, 0];
        for i in 0..300 {
            let (user, ip) = (format!("u{}", i % 7), format!("192.0.2.{}", i % 3));
            let fields = [("user", user.as_str()), ("ip", ip.as_str())];
            let time = Time::from_micros(i * 400_000);
            let theirs = check(store, time, 1.0, &fields, Details::ALL).await;
            let ours = check(&memory, time, 1.0, &fields, Details::ALL).await;
            assert_eq!(theirs.fault, None);
            assert_eq!(theirs.to_string(), ours.to_string(), "event {i}");
            assert_eq!(theirs.retry_after(), ours.retry_after(), "event {i}");
            outcomes[usize::from(theirs.is_allowed())] += 1;
        }
        assert!(outcomes[0] > 50 && outcomes[1] > 50, "{outcomes:?}");
    }
    // It lists its own keys on all nodes, and no others; and so it clears them.
    let keys = store.keys(1000).await.unwrap();
    let subjects: Vec<&str> = keys.iter().map(|key| key.subject.as_str()).collect();
    let users = || (0..7).map(|i| format!("user=u{i}"));
    let addresses = || (0..3).map(|i| format!("ip=192.0.2.{i}"));
    let both = users().flat_map(|user| addresses().map(move |ip| format!("{user},{ip}")));
    let mut expected: Vec<String> = users().chain(addresses()).chain(both).collect();
    expected.push("all".to_owned());
    expected.sort_unstable();
    assert_eq!(subjects, expected);
    assert_eq!(open_at(&cluster, text, patient("rs:")).keys(1000).await.unwrap().len(), 40);
    assert_eq!(store.redis().clear().await, Ok(32), "seven users, three addresses, both, and all");
    assert_eq!(ratescope_redis::clear(&cluster.url(), "rs:").await, Ok(80));
    // On a single Redis nothing is apart.
    let _ = open(&cluster.nodes[0].url(), rules(two), patient("single:"));
}

/// While its slot moves to another master: every event counts once, and none is lost.
#[tokio::test]
async fn a_slot_that_moves_loses_nothing() {
    let Some(cluster) = Cluster::steady() else { return };
    let store = open_at(&cluster, LIMIT, quick());
    let mut sent = 0.0;
    let mut count = async |n: usize| {
        for _ in 0..n {
            assert_eq!(ask(&store, "ann").await.fault, None);
            sent += 1.0;
        }
        assert_eq!(counted(&store, "ann").await, Some(sent));
    };
    count(10).await;
    let slot = cluster.slot("{user=ann}");
    let from = cluster.master(&slot);
    let other = cluster.master(if slot.parse::<u32>().unwrap() < 8192 { "16000" } else { "1" });
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[other]);
    let (source_id, target_id) = (cluster.id(from), cluster.id(other));
    target.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]);
    source.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]);
    // The key is still there.
    count(10).await;
    let keys = source.command(&["CLUSTER", "GETKEYSINSLOT", &slot, "10"]);
    let key = keys.lines().nth(2).unwrap().to_owned();
    let port = target.port.to_string();
    let moved = source.command(&["MIGRATE", "127.0.0.1", &port, &key, "0", "5000"]);
    assert!(moved.starts_with("+OK"), "{moved}");
    // Now it is at the other, which has to be asked for it (ASK), also with the script's text.
    count(10).await;
    target.command(&["SCRIPT", "FLUSH"]);
    count(10).await;
    for node in [target, source] {
        node.command(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]);
    }
    // And now the other has the slot (MOVED).
    count(10).await;
}

/// A replica becomes master by hand, and then a master dies: answered events are counted, and no
/// event counts twice.
#[tokio::test]
async fn failovers_count_nothing_twice() {
    let Some(mut cluster) = Cluster::start() else { return };
    let store = open_at(&cluster, LIMIT, quick());
    for _ in 0..20 {
        assert_eq!(ask(&store, "ann").await.fault, None);
    }
    let slot = cluster.slot("{user=ann}");
    let master = cluster.master(&slot);
    let replica = cluster.replica(master);
    let (mut decision, mut sent) = (20.0, 20.0);
    let taken = cluster.nodes[replica].command(&["CLUSTER", "FAILOVER"]);
    assert!(taken.starts_with("+OK"), "{taken}");
    let begun = Instant::now();
    while cluster.master(&slot) != replica || sent < 200.0 {
        let answer = ask(&store, "ann").await;
        sent += 1.0;
        decision += f64::from(u8::from(answer.fault.is_none()));
        assert!(begun.elapsed() < PATIENCE, "it takes over");
        assert!(answer.is_allowed());
    }
    let level = until_counted(&store, "ann").await;
    assert!((decision..=sent).contains(&level), "{decision} to {sent}: {level}");

    // One on another master goes on as before.
    let others = ["bob", "eve", "joe", "sue", "tim", "zoe"];
    let far = |user: &&&str| {
        let key = format!("{{user={user}}}");
        cluster.master(&cluster.slot(&key)) != replica
    };
    let other = *others.iter().find(far).unwrap();
    assert_eq!(ask(&store, other).await.fault, None);
    let before = until_counted(&store, "ann").await;
    cluster.nodes[replica].kill();
    let (mut faults, mut decision, mut sent) = (0, before, before);
    let begun = Instant::now();
    loop {
        let answer = ask(&store, "ann").await;
        assert!(answer.is_allowed(), "decided here");
        sent += 1.0;
        match answer.fault {
            None => decision += 1.0,
            Some(_) => faults += 1,
        }
        if faults > 0 && answer_is_back(&store).await {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the replica takes over");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let level = until_counted(&store, "ann").await;
    // The events that the dead master had not yet told its replica are lost; none counts twice.
    assert!(level <= sent && level >= decision - 2.0, "{decision} to {sent}: {level}");
    // A script that a node has forgotten is sent to that node, whichever others are dead.
    for node in &cluster.nodes {
        let _ = node.try_command(&["SCRIPT", "FLUSH"]);
    }
    assert_eq!(ask(&store, other).await.fault, None);
    assert_eq!(ask(&store, "ann").await.fault, None);
}

async fn answer_is_back(store: &RedisStore) -> bool {
    looked(store, &[("user", "ann")]).await.fault.is_none()
}

/// A node whose connection falls silent gets a new one, and no other node is waited for meanwhile.
#[tokio::test]
async fn a_silent_node_is_reached_anew_and_the_others_go_on() {
    let Some(cluster) = Cluster::behind_proxies() else { return };
    let options = quick().deadline(Duration::from_secs(5));
    let store = open_at(&cluster, LIMIT, options);
    let users: Vec<String> = (0..30).map(|i| format!("user{i}")).collect();
    for user in &users {
        assert_eq!(ask(&store, user).await.fault, None);
    }
    let master = |user: &str| cluster.master(&cluster.slot(&format!("{{user={user}}}")));
    for (silent, proxy) in cluster.proxies.iter().enumerate() {
        let (own, others): (Vec<String>, Vec<String>) =
            users.iter().cloned().partition(|user| master(user) == silent);
        let (user, before) = (own[0].clone(), proxy.connections());
        let level = counted(&store, &user).await.unwrap();
        proxy.silence();
        let waits = tokio::spawn({
            let (store, user) = (store.clone(), user.clone());
            async move { ask(&store, &user).await }
        });
        for other in others.iter().cycle().take(300) {
            assert_eq!(ask(&store, other).await.fault, None);
        }
        assert_eq!(waits.await.unwrap().fault, Some(Fault::Late));
        assert_eq!(until_counted(&store, &user).await, level);
        assert!(proxy.connections() > before);
        for other in others {
            assert_eq!(ask(&store, &other).await.fault, None);
        }
    }
    // Nor does it take a caller who waits until the deadline.
    let store = open_at(&cluster, LIMIT, quick());
    assert_eq!(ask(&store, "ann").await.fault, None);
    cluster.proxies.iter().for_each(Proxy::silence);
    until(&store, None).await;
}

/// A node that stands still takes connections and says nothing. It delays no event of another, nor the first one of a
/// store, which does not know the slots yet.
#[tokio::test]
async fn a_node_that_stands_still_delays_no_other() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    for node in &cluster.nodes {
        node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let users = (0..30).map(|i| format!("user{i}"));
    let is_still = |user: &String| cluster.master(&cluster.slot(&format!("{{user={user}}}"))) == 0;
    let (still, others): (Vec<String>, Vec<String>) = users.partition(is_still);
    let options = || quick().deadline(Duration::from_secs(5));
    let known = open_at(&cluster, LIMIT, options());
    assert_eq!(ask(&known, &still[0]).await.fault, None);
    cluster.nodes[0].signal("STOP");
    for store in [known, open_at(&cluster, LIMIT, options())] {
        let waits = tokio::spawn({
            let (store, user) = (store.clone(), still[0].clone());
            async move { ask(&store, &user).await }
        });
        for other in &others {
            assert_eq!(ask(&store, other).await.fault, None);
        }
        assert!(waits.await.unwrap().fault.is_some());
    }
    cluster.nodes[0].signal("CONT");
}

/// A ping writes on each master that has keys of ours, wherever the slots are by then.
#[tokio::test]
async fn a_ping_writes_on_each_master() {
    let Some(cluster) = Cluster::of_masters(3) else { return };
    let each = open_at(&cluster, LIMIT, quick());
    let one = open_at(&cluster, LIMIT, quick().prefix("one:").one_node(true));
    let owner = cluster.master(&cluster.slot("{one:}"));
    for (i, node) in cluster.nodes.iter().enumerate() {
        assert_eq!(each.redis().ping().await, Ok(()));
        node.command(&["CONFIG", "SET", "maxmemory", "1"]);
        let is_full = |ping: Result<(), Fault>| matches!(ping, Err(Fault::Failed(said)) if said.contains("OOM"));
        assert!(is_full(each.redis().ping().await), "node {i}");
        assert_eq!(is_full(one.redis().ping().await), i == owner, "node {i}");
        node.command(&["CONFIG", "SET", "maxmemory", "0"]);
    }
    // The node that had all slots of a range has none of them.
    for slot in 0..10 {
        cluster.move_slot(&slot.to_string());
        assert_eq!(each.redis().ping().await, Ok(()));
    }
}
