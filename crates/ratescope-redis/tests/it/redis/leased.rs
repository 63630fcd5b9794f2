//! Leases on a real Redis: how much passes, at which cost, and how much is left when something goes wrong.

use super::proxy::{Proxy, Trick};
use super::server::{PATIENCE, Server, until};
use super::{check, level, looked, open, rules};
use futures_util::future::join_all;
use ratescope::rules::{Decision, Details, Part, Reloaded, Store};
use ratescope::share::Share;
use ratescope::{Event, Span, Time};
use ratescope_redis::{Leased, Options, RedisStore};
use std::time::{Duration, Instant};

pub(super) const ANN: &[(&str, &str)] = &[("user", "ann")];

pub(super) fn leased(length: &str) -> Options {
    let share: Share = format!("leased {length}").parse().unwrap();
    Options::default().deadline(PATIENCE).share(share)
}

pub(super) async fn ask(store: &RedisStore) -> Decision {
    let decision = check(store, Time::ZERO, 1.0, ANN, Details::ALL).await;
    assert_eq!(decision.fault, None);
    decision
}

/// How many scripts the server has run.
pub(super) fn calls(server: &Server) -> u64 {
    let stats = server.info("commandstats");
    let each = stats.lines().filter_map(|line| {
        let rest = line.strip_prefix("cmdstat_eval")?;
        rest.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok()
    });
    each.sum()
}

/// Asks until something is lent, and returns how many events passed.
pub(super) async fn until_lent(store: &RedisStore) -> u64 {
    let (begun, before) = (Instant::now(), store.redis().leased().lent);
    let mut passed = 0;
    while store.redis().leased().lent == before || store.held() == 0 {
        passed += u64::from(ask(store).await.is_allowed());
        assert!(begun.elapsed() < PATIENCE, "nothing is lent: {:?}", store.redis().leased());
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    passed
}

/// The level on Redis.
pub(super) async fn counted(store: &RedisStore) -> f64 {
    level(&looked(store, ANN).await).unwrap()
}

#[tokio::test]
async fn a_hot_key_asks_redis_seldom() {
    let Some(server) = Server::start(&[]) else { return };
    let limits = rules("sliding-log 100000/1h per user");
    let store = open(&server.url(), limits, leased("1s"));
    let mut passed = until_lent(&store).await;
    let before = calls(&server);
    for _ in 0..5000 {
        passed += u64::from(ask(&store).await.is_allowed());
    }
    let asked = calls(&server) - before;
    assert!(asked <= 100, "{asked} calls for 5000 events");
    // Without the call, the decision is the same: level, quota and all.
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &ANN };
    let part = [Part::count(&event)];
    until("nothing is left", async || match store.decide_now(&part, Details::ALL) {
        Some(decisions) => {
            passed += 1;
            let decision = &decisions[0];
            let outcome = decision.outcome().unwrap();
            assert_eq!((outcome.level, outcome.limit), (passed as f64, 1e5));
            assert_eq!(decision.quota().unwrap().remaining, 1e5 - passed as f64);
            true
        }
        None => {
            passed += u64::from(ask(&store).await.is_allowed());
            false
        }
    })
    .await;
    // The rest goes back.
    until("it is not given back", async || counted(&store).await == passed as f64).await;
    assert_eq!(store.redis().leased().lost, 0);
}

/// Forty tasks on each of three processes, until all is used: no more passes than the limit, and no less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_a_limit_passes_and_no_more() {
    let Some(server) = Server::start(&[]) else { return };
    let new =
        || open(&server.url(), rules("sliding-log 3000/1h per user & 20000/1h"), leased("200ms"));
    let stores = [new(), new(), new()];
    for store in &stores {
        let _ = check(store, Time::ZERO, 1.0, &[("user", "bob")], Details::ALL).await;
    }
    let run = async |store: &RedisStore| {
        let mut passed = 0;
        for _ in 0..60 {
            passed += u64::from(ask(store).await.is_allowed());
        }
        passed
    };
    let tasks = stores.iter().flat_map(|store| (0..40).map(move |_| run(store)));
    let mut passed: u64 = join_all(tasks).await.iter().sum();
    let sum = |of: fn(&Leased) -> u64| -> u64 {
        stores.iter().map(|store| of(&store.redis().leased())).sum()
    };
    // On a busy machine a lease may be given back too late; its events stay counted.
    until("some of the limit is lost", async || {
        passed += u64::from(ask(&stores[0]).await.is_allowed());
        assert!(passed <= 3000, "{passed}");
        passed + sum(|leased| leased.lost) >= 3000
    })
    .await;
    assert!(passed > 1500, "{passed}");
    assert!(sum(|leased| leased.lent) > 0 && sum(|leased| leased.here) > 0);
}

/// A process that ends with leases loses them, and no more.
#[tokio::test]
async fn a_process_that_dies_loses_its_leases() {
    let Some(server) = Server::start(&[]) else { return };
    let new = || open(&server.url(), rules("sliding-log 3000/1h per user"), leased("200ms"));
    // All tasks of the process end with it.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let lives = new();
    let dies = {
        let _inside = runtime.enter();
        new()
    };
    let asks = dies.clone();
    let mut passed = runtime.spawn(async move { until_lent(&asks).await }).await.unwrap();
    let lost = dies.held();
    assert!(lost > 0);
    runtime.shutdown_background();
    // Nothing was given back before, and lost events stay counted.
    until("it does not end", async || {
        let is_allowed = ask(&lives).await.is_allowed();
        passed += u64::from(is_allowed);
        !is_allowed && lives.held() == 0 && counted(&lives).await == 3000.0
    })
    .await;
    assert!(passed >= 3000 - lost - 2 && passed <= 3000, "{passed} passed, {lost} were lost");
}

/// A process that shuts down properly gives back the rest of its leases, however long they are.
#[tokio::test]
async fn a_process_that_ends_in_order_loses_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let text = |share: &str| {
        format!("domain: web\nshare: leased {share}\nlimit: sliding-log 3000/1h per user\n")
    };
    for is_dropped in [false, true] {
        let new = || {
            let options = Options::default().deadline(PATIENCE);
            open(&server.url(), rules(&text("100ms")), options)
        };
        let (ends, other) = (new(), new());
        let redis = ends.redis().clone();
        let passed = until_lent(&ends).await;
        if is_dropped {
            drop(ends);
        } else {
            redis.close().await;
            assert_eq!(counted(&other).await, passed as f64);
        }
        until("it is not given back", async || counted(&other).await == passed as f64).await;
        assert_eq!(redis.leased().lost, 0);
        server.command(&["FLUSHALL"]);
    }
}

/// An answer that is lost after Redis has counted: the events of that lease are lost, and nothing counts twice.
#[tokio::test]
async fn a_lost_answer_loses_one_lease() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limits = || rules("sliding-log 2000/1h per user");
    let store = open(&proxy.url(), limits(), leased("100ms").deadline(Duration::from_millis(300)));
    let exact = open(&server.url(), limits(), Options::default().deadline(PATIENCE));
    let mut passed = until_lent(&store).await;
    proxy.play([Trick::Cut(0)]);
    let begun = Instant::now();
    loop {
        let decision = check(&store, Time::ZERO, 1.0, ANN, Details::ALL).await;
        if decision.fault.is_some() {
            break;
        }
        passed += u64::from(decision.is_allowed());
        assert!(begun.elapsed() < PATIENCE, "no answer is lost");
    }
    let known = store.redis().leased();
    until("it is given back", async || store.held() == 0).await;
    let level = counted(&exact).await;
    assert!(level >= passed as f64, "{level} counted, {passed} passed, {known:?}");
    while check(&exact, Time::ZERO, 1.0, ANN, Details::ALL).await.is_allowed() {
        passed += 1;
    }
    assert!(passed <= 2000, "{passed}");
}

/// After a flush, nothing of the leases from before is given back to the new states, and Redis lends nothing for a while.
#[tokio::test]
async fn a_flush_forgets_leases() {
    let Some(server) = Server::start(&[]) else { return };
    let limits = || rules("sliding-log 3000/1h per user");
    let store = open(&server.url(), limits(), leased("200ms"));
    let exact = open(&server.url(), limits(), Options::default().deadline(PATIENCE));
    until_lent(&store).await;
    server.command(&["FLUSHALL"]);
    for _ in 0..10 {
        let _ = ask(&exact).await;
    }
    until("nothing is lost", async || store.redis().leased().lost > 0).await;
    assert_eq!((counted(&exact).await, store.held()), (10.0, 0));
    // A key that is reset is new, too.
    until_lent(&store).await;
    assert_eq!(store.reset_async(&ANN, &|_, _| true).await.unwrap(), 1);
    assert_eq!((counted(&exact).await, store.held()), (0.0, 0));
    assert_eq!(store.reset_async(&ANN, &|_, _| true).await.unwrap(), 0);
    // Leases are no keys of a limit.
    until_lent(&store).await;
    assert_eq!(store.keys(10).await.unwrap().len(), 1);
}

/// Other rules: the rest of a lease goes back by the rules that counted it.
#[tokio::test]
async fn a_reload_gives_back() {
    let Some(server) = Server::start(&[]) else { return };
    let text =
        |n: u32| format!("domain: web\nshare: leased 1m\nlimit: sliding-log {n}/1h per user\n");
    let store = open(&server.url(), rules(&text(3000)), Options::default().deadline(PATIENCE));
    // A minute is too long to wait until Redis has learned.
    let _ = ask(&store).await;
    let short = text(3000).replace("1m", "100ms");
    assert!(matches!(store.reload("rules.yaml", &short, Time::ZERO), Reloaded::Applied(_)));
    let passed = 1 + until_lent(&store).await;
    assert!(matches!(store.reload("rules.yaml", &text(2000), Time::ZERO), Reloaded::Applied(_)));
    assert_eq!(store.held(), 0);
    until("it is not given back", async || counted(&store).await == passed as f64).await;
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &ANN };
    assert!(store.decide_now(&[Part::count(&event)], Details::ALL).is_none());
}

/// Callers that hang up while Redis is asked: the events taken for them are there for others, and go back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_hangs_up_takes_no_lease_with_it() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("sliding-log 100000/1h per user"), leased("100ms"));
    let mut passed = until_lent(&store).await;
    let mut gone = 0u64;
    for round in 0..300 {
        let asked = ask(&store);
        if round % 3 == 0 {
            // It is polled once, and dropped.
            match tokio::time::timeout(Duration::ZERO, asked).await {
                Ok(decision) => passed += u64::from(decision.is_allowed()),
                Err(_) => gone += 1,
            }
        } else {
            passed += u64::from(asked.await.is_allowed());
        }
    }
    until("it is not given back", async || {
        let level = counted(&store).await;
        store.held() == 0 && level >= passed as f64 && level <= (passed + gone) as f64
    })
    .await;
    assert_eq!(store.redis().leased().lost, 0);
}

/// A flood of refused events asks Redis once or twice a lease. Limiters that count them are told.
#[tokio::test]
async fn a_flood_is_refused_here() {
    let Some(server) = Server::start(&[]) else { return };
    for limit in ["gcra 5/1h", "sliding-log 5/1h", "exim 5/1h strict", "earrrl 5/1h"] {
        let store = open(&server.url(), rules(&format!("{limit} per user")), leased("500ms"));
        let (begun, before) = (Instant::now(), calls(&server));
        let mut passed = 0;
        for _ in 0..3000 {
            passed += u64::from(ask(&store).await.is_allowed());
        }
        let lasted = begun.elapsed().as_secs_f64();
        let most = 8.0 + 2.0 * (1.0 + lasted / 0.5);
        let asked = calls(&server) - before;
        assert!(passed <= 8 && asked as f64 <= most, "{limit}: {passed} passed, {asked} calls");
        if limit.ends_with("strict") || limit.starts_with("earrrl") {
            until("Redis is not told", async || counted(&store).await > 1500.0).await;
        }
        server.command(&["FLUSHALL"]);
    }
}

/// Of many events at a time of a key that was refused, one asks Redis again after a lease, and the others wait for its
/// answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_many_at_a_time_asks_once_in_a_lease() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("sliding-log 5/1h per user"), leased("100ms"));
    while ask(&store).await.is_allowed() {}
    let (begun, before) = (Instant::now(), calls(&server));
    let run = async || {
        while begun.elapsed() < Duration::from_millis(600) {
            assert!(!ask(&store).await.is_allowed());
            tokio::task::yield_now().await;
        }
    };
    join_all((0..64).map(|_| run())).await;
    // With the lease that has begun, and one more call for each that ended in the midst of another.
    let most = 2.0 * (1.0 + begun.elapsed().as_secs_f64() / 0.1);
    let asked = calls(&server) - before;
    assert!(asked as f64 <= most, "{asked} calls, at most {most}");
}

/// Events that can't be leased ask Redis as before: of another cost, with numbers of their own, several together, of a
/// shadow, or settled.
#[tokio::test]
async fn everything_else_asks_redis() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("sliding-log 1000/1h per user"), leased("50ms"));
    let mut passed = until_lent(&store).await;
    let event = |cost| Event { time: Time::ZERO, cost, fields: &ANN };
    let (two, zero) = (event(2.5), event(0.0));
    let parts = [Part::count(&two), Part::count(&two)];
    assert!(store.decide_now(&parts, Details::ALL).is_none());
    let decisions = store.decide(&parts, Details::ALL).await;
    assert!(decisions.iter().all(Decision::is_allowed));
    assert!(store.decide_now(&[Part::count(&zero)], Details::ALL).is_none());
    // An event that passed by a lease is given back in full while it counts.
    let decision = ask(&store).await;
    passed += 1;
    let back = Event { time: decision.time, cost: -1.0, fields: &ANN };
    store.settle_async(&back, Time::ZERO, Some(&decision)).await.unwrap();
    passed -= 1;
    until("the sum is wrong", async || counted(&store).await == passed as f64 + 5.0).await;
}

/// Buckets, in real time: in any window no more passes than is promised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_of_real_time_are_bounded() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "gcra 2000/1s burst 1000";
    let new = || open(&server.url(), rules(&format!("{text} per user")), leased("200ms"));
    let stores = [new(), new(), new()];
    let begun = Instant::now();
    let run = async |store: &RedisStore| {
        let mut passed = Vec::new();
        while begun.elapsed() < Duration::from_secs(2) {
            // An event passes between these times.
            let before = begun.elapsed();
            if ask(store).await.is_allowed() {
                passed.push((before, begun.elapsed()));
            }
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        passed
    };
    let all = join_all(stores.iter().flat_map(|store| [run(store), run(store)])).await.concat();
    let share = Share::Leased(Span::from_micros(50_000));
    let limiter = text.parse().unwrap();
    let mut begins: Vec<_> = all.iter().map(|(begin, _)| *begin).collect();
    begins.sort_unstable();
    for from in begins.iter().step_by(7) {
        let mut ends: Vec<_> = all.iter().filter(|one| one.0 >= *from).map(|one| one.1).collect();
        ends.sort_unstable();
        for (end, n) in ends.iter().zip(1u32..) {
            let window = Span::from(*end - *from);
            let most = share.max_admitted(&limiter, window, 1.0) + 1.0;
            assert!(f64::from(n) <= most, "{n} in {window}, at most {most}");
        }
    }
    assert!(stores.iter().any(|store| store.redis().leased().here > 0));
}
