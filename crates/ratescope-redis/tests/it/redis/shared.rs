//! Leases and syncs while a replica takes over, and when Redis is flushed: the events that pass, and the counts on
//! Redis.

use super::leased::{ANN, calls, counted, leased, until_lent};
use super::nodes::Cluster;
use super::server::{PATIENCE, Server, until};
use super::synced::{assert_bounded, exact, flood, passed, synced};
use super::watched::Watched;
use super::{check, looked, open, rules};
use futures_util::future::join_all;
use ratescope::Time;
use ratescope::rules::Details;
use ratescope_redis::RedisStore;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than a test, so that no replica takes over unless it is told to, however busy the machine is.
const NEVER: Duration = Duration::from_secs(600);

const BUCKET: &str = "gcra 2000/1s burst 1000";

/// A bucket, and a window that tells how much was counted.
fn bucket_and_window() -> String {
    format!("{BUCKET} per user & sliding-window 1000000/1h per user")
}

/// The level of the window.
async fn all_counted(store: &RedisStore) -> f64 {
    let decision = looked(store, ANN).await;
    assert_eq!(decision.fault, None);
    decision.outcomes().last().unwrap().outcome.level
}

/// Three stores at a URL, flooded until the work of a thread is done, and a while longer.
async fn flooded(
    stores: &[RedisStore],
    happens: impl FnOnce() + Send + 'static,
) -> (Vec<super::synced::Passed>, Duration) {
    let begun = Instant::now();
    let happened = std::sync::OnceLock::new();
    let is_enough = || {
        let at: Option<&Duration> = happened.get();
        at.is_some_and(|at| begun.elapsed() > *at + Duration::from_millis(700))
    };
    let each = join_all(stores.iter().map(|store| flood(store, begun, is_enough)));
    let happens = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::spawn_blocking(happens).await.unwrap();
        let _ = happened.set(begun.elapsed());
    };
    let (all, ()) = futures_util::future::join(each, happens).await;
    (all.concat(), *happened.get().unwrap())
}

/// Looks until each store asks the new master.
async fn until_followed(watched: &Watched, stores: &[RedisStore]) {
    for store in stores {
        until("it is not followed", async || {
            let before = calls(&watched.servers[1]);
            let _ = looked(store, &[("user", "bob")]).await;
            calls(&watched.servers[1]) > before
        })
        .await;
    }
}

async fn until_all_is_told(stores: &[RedisStore]) {
    for store in stores {
        until("it is not told", async || store.redis().leased().waits == Duration::ZERO).await;
    }
}

/// A replica takes over in a cluster: no window admits more than is promised for the time that the calls took, and
/// Redis has counted all that it answered, and nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synced_windows_are_bounded_while_a_replica_takes_over() {
    let Some(cluster) = Cluster::steady() else { return };
    let cluster = Arc::new(cluster);
    let new = || open(&cluster.url(), rules(&bucket_and_window()), synced("100ms"));
    let stores = [new(), new(), new()];
    let fails_over = Arc::clone(&cluster);
    let happens = move || fails_over.fail_over(&fails_over.slot("{user=ann}"));
    let (all, _) = flooded(&stores, happens).await;
    until_all_is_told(&stores).await;
    assert_bounded(BUCKET, &stores, Duration::from_millis(100), &all, Duration::ZERO);
    let lost: u64 = stores.iter().map(|store| store.redis().leased().told_lost).sum();
    let (level, sum) = (all_counted(&stores[0]).await, all.len() as f64);
    assert!(level <= sum && level >= sum - lost as f64, "{level} of {sum}, {lost} were lost");
}

/// After a flush, windows that begin then are bounded as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synced_windows_after_a_flush_are_bounded() {
    let Some(server) = Server::start(&[]) else { return };
    let new = || open(&server.url(), rules(&bucket_and_window()), synced("100ms"));
    let stores = [new(), new(), new()];
    let server = Arc::new(server);
    let flushes = Arc::clone(&server);
    let (all, flushed) = flooded(&stores, move || _ = flushes.command(&["FLUSHALL"])).await;
    until_all_is_told(&stores).await;
    assert_bounded(BUCKET, &stores, Duration::from_millis(100), &all, flushed);
    // Events that were told before are forgotten, and no others.
    let level = all_counted(&stores[0]).await;
    let after = all.iter().filter(|one| one.0 >= flushed).count() as f64;
    assert!((after..all.len() as f64).contains(&level), "{level} of {}, {after}", all.len());
    assert!(stores.iter().all(|store| store.redis().leased().told_lost == 0));
}

/// Sentinels name another master, which has all that was told: two processes admit the limit, and one of them what the
/// other had just admitted.
#[tokio::test]
async fn synced_limits_go_on_at_the_master_that_sentinels_name() {
    let Some(watched) = Watched::start(1, NEVER) else { return };
    let new = || open(&watched.url(), rules("sliding-log 100/1h per user"), synced("50ms"));
    let stores = [new(), new()];
    let mut sum = 0;
    let step = async |store: &RedisStore| {
        let some = passed(store, 10);
        until("it is not told", async || store.redis().leased().waits == Duration::ZERO).await;
        some
    };
    for store in [&stores[0], &stores[1], &stores[0]] {
        sum += step(store).await;
    }
    assert_eq!(sum, 30);
    watched.until_replicated();
    watched.fail_over();
    until_followed(&watched, &stores).await;
    let begun = Instant::now();
    for store in stores.iter().cycle() {
        let some = step(store).await;
        sum += some;
        if some == 0 && sum >= 100 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{sum} passed");
    }
    assert!((100..=110).contains(&sum), "{sum}");
}

/// Asks in some tasks of each store until a condition holds, and returns how many events passed.
async fn leased_until(stores: &[RedisStore], is_enough: impl Fn(bool) -> bool) -> u64 {
    let run = async |store: &RedisStore| {
        let mut passed = 0;
        loop {
            let decision = check(store, Time::ZERO, 1.0, ANN, Details::ALL).await;
            passed += u64::from(decision.is_allowed());
            if is_enough(decision.is_allowed()) {
                return passed;
            }
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
    };
    join_all(stores.iter().flat_map(|store| [run(store), run(store)])).await.iter().sum()
}

/// An event of which nobody knows whether Redis has counted it is refused.
fn leased_rules(limit: u32) -> String {
    format!(
        "domain: web\ndescriptors:\n- {{key: user, limit: sliding-log {limit}/1h, on_store_failure: refuse}}\n"
    )
}

/// While a replica takes over, no more passes than the limit and the lost events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_while_a_replica_takes_over() {
    let Some(cluster) = Cluster::steady() else { return };
    let cluster = Arc::new(cluster);
    let new = || open(&cluster.url(), rules(&leased_rules(20_000)), leased("50ms"));
    let stores = [new(), new(), new()];
    let mut passed = 0;
    for store in &stores {
        passed += until_lent(store).await;
    }
    let fails_over = Arc::clone(&cluster);
    let taken_over = tokio::task::spawn_blocking(move || {
        fails_over.fail_over(&fails_over.slot("{user=ann}"));
    });
    passed += leased_until(&stores, |_| taken_over.is_finished()).await;
    taken_over.await.unwrap();
    assert!(passed < 20_000, "all of the limit is used before");
    // The new master lends, too.
    passed += until_lent(&stores[0]).await;
    until("some of the limit is left", async || {
        passed += leased_until(&stores, |is_allowed| !is_allowed).await;
        stores.iter().all(|store| store.held() == 0) && counted(&stores[0]).await == 20_000.0
    })
    .await;
    // A tenth is lent at most.
    assert!((18_000..=20_000).contains(&passed), "{passed}");
}

/// Sentinels name another master, which knows the leases. Events that are given back to the old one after that are
/// lost.
#[tokio::test]
async fn leases_go_on_at_the_master_that_sentinels_name() {
    let Some(watched) = Watched::start(1, NEVER) else { return };
    let new = || open(&watched.url(), rules(&leased_rules(3000)), leased("500ms"));
    let stores = [new(), new()];
    let mut passed = 0;
    for store in &stores {
        passed += until_lent(store).await;
    }
    watched.until_replicated();
    watched.fail_over();
    until_followed(&watched, &stores).await;
    until("some of the limit is left", async || {
        passed += leased_until(&stores, |is_allowed| !is_allowed).await;
        stores.iter().all(|store| store.held() == 0) && counted(&stores[0]).await == 3000.0
    })
    .await;
    // A tenth is lent at most.
    assert!((2700..=3000).contains(&passed), "{passed}");
}

/// After a flush, at most the limit passes again, and the rest of leases: a tenth of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_after_a_flush_are_bounded() {
    let Some(server) = Server::start(&[]) else { return };
    let limit = "sliding-log 3000/1h per user";
    let new = || open(&server.url(), rules(limit), leased("100ms"));
    let stores = [new(), new(), new()];
    let mut before = 0;
    for store in &stores {
        before += until_lent(store).await;
    }
    server.command(&["FLUSHALL"]);
    let other = exact(&server, limit);
    let mut passed = 0;
    until("some of the limit is left", async || {
        passed += leased_until(&stores, |is_allowed| !is_allowed).await;
        stores.iter().all(|store| store.held() == 0) && counted(&other).await == 3000.0
    })
    .await;
    let lost: u64 = stores.iter().map(|store| store.redis().leased().lost).sum();
    assert!(
        before < 3000 && (3000..=3300).contains(&(passed + lost)),
        "{passed}, {lost} were lost"
    );
    assert!(passed <= 3300, "{passed}");
}
