//! The store behind sentinels, which follows the master that they name.

use super::faults::{RULES, ask, counted, options, until_back};
use super::proxy::Proxy;
use super::server::{Port, Server, until};
use super::watched::Watched;
use super::{open, patient, rules};
use ratescope::rules::Fault;
use ratescope_redis::Redis;
use ratescope_redis::redis::{Client, RedisConnectionInfo};
use std::time::Duration;

/// Longer than a test, so that no replica takes over unless it is told to, however busy the machine is.
const NEVER: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_master_that_is_replaced_is_followed_with_its_states() {
    let Some(watched) = Watched::start(1, NEVER) else { return };
    let store = open(&watched.url(), rules(RULES), options());
    until_back(&store).await;
    for _ in 0..2 {
        assert_eq!(ask(&store, "local").await.fault, None);
    }
    watched.until_replicated();
    watched.fail_over();
    let new = &watched.servers[1];
    // Nothing fails: the old master goes on for some seconds, until a sentinel tells it that it is none.
    let asked = |server: &Server| server.info("commandstats").contains("cmdstat_evalsha");
    until("it is not followed", async || {
        until_back(&store).await;
        asked(new)
    })
    .await;
    assert_eq!(counted(&store).await, 2.0);
    assert!(ask(&store, "local").await.is_allowed());
    assert!(!ask(&store, "local").await.is_allowed());
    // Counters are removed on the master that the sentinels name.
    assert_eq!(store.redis().clear().await, Ok(1));
    assert_eq!(new.keys(), 0);
}

/// Killed, it is missed by two of three sentinels, and the third has been killed with it.
#[tokio::test]
async fn a_master_that_dies_is_followed_with_its_states() {
    let Some(mut watched) = Watched::start(3, Duration::from_secs(2)) else { return };
    let store = open(&watched.url(), rules(RULES), options());
    until_back(&store).await;
    // Whichever is the master by now: a busy machine may have been taken for a dead one.
    for _ in 0..2 {
        assert_eq!(ask(&store, "local").await.fault, None);
    }
    let is_master = |server: &Server| server.info("replication").contains("role:master");
    let master = watched.servers.iter().position(is_master).unwrap();
    watched.until_replicated();
    watched.servers[master].kill();
    watched.sentinels[0].kill();
    let answer = ask(&store, "closed").await;
    assert!(answer.fault.is_some() && !answer.is_allowed(), "{:?}", answer.fault);
    until_back(&store).await;
    assert_eq!(counted(&store).await, 2.0);
    assert!(ask(&store, "local").await.is_allowed());
    assert!(!ask(&store, "local").await.is_allowed());
}

/// A master that can't hear its sentinels goes on as if nothing were, so they are asked again and again.
#[tokio::test]
async fn most_sentinels_are_believed_and_nothing_has_to_fail_before() {
    let Some(watched) = Watched::start(3, NEVER) else { return };
    let Some(other) = Server::start(&[]) else { return };
    watched.rename(0, &other);
    for _ in 0..20 {
        let store = open(&watched.url(), rules(RULES), options());
        until_back(&store).await;
        assert_eq!(ask(&store, "local").await.fault, None);
    }
    assert_eq!((watched.servers[0].keys(), other.keys()), (1, 0));
    let store = open(&watched.url(), rules(RULES), options());
    until_back(&store).await;
    watched.rename(1, &other);
    until("it is not followed", async || {
        assert_eq!(ask(&store, "local").await.fault, None);
        other.keys() > 0
    })
    .await;
}

/// Sentinels are needed to find the master, and not to go on with it.
#[tokio::test]
async fn sentinels_that_are_gone_are_missed_only_at_the_beginning() {
    let Some(mut watched) = Watched::start(1, NEVER) else { return };
    let proxy = Proxy::before(&watched.sentinels[0]);
    let free = Port::hold();
    let nobody = format!("redis-sentinel://{free}");
    let options = patient("rs:");
    let store = open(&format!("{nobody}/main-1"), rules(RULES), options.clone());
    let fault = ask(&store, "closed").await.fault;
    assert!(matches!(fault, Some(Fault::Unreachable(_))), "{fault:?}");
    let store = open(
        &format!("{}/other", proxy.url().replace("redis", "redis-sentinel")),
        rules(RULES),
        options.clone(),
    );
    let said = ask(&store, "closed").await.fault.unwrap().to_string();
    assert!(said.ends_with("watches no master called other"), "{said}");

    // One of those that are named is enough.
    let url = format!("{nobody},127.0.0.1:{}/main-1", proxy.port);
    let store = open(&url, rules(RULES), options.clone());
    assert_eq!(ask(&store, "local").await.fault, None);
    // The same by a client of the sentinel, with a database of its own.
    let client = Client::open(proxy.url()).unwrap();
    let login = RedisConnectionInfo::default().set_db(3);
    let other = Redis::from_sentinels(&[client], "main-1", login, options);
    assert_eq!(ask(&other.unwrap().store(rules(RULES)).unwrap(), "local").await.fault, None);
    let told = watched.servers[0].info("keyspace");
    assert!(told.contains("db0:keys=1") && told.contains("db3:keys=1"), "{told}");

    watched.sentinels[0].kill();
    let before = proxy.connections();
    until("nobody asks", async || {
        assert_eq!(ask(&store, "local").await.fault, None);
        proxy.connections() >= before + 2
    })
    .await;
}
