//! Syncs with a real Redis: the events that pass, those that Redis is told of, and faults.

use super::leased::{ANN, ask, calls, counted};
use super::proxy::{Proxy, Trick};
use super::server::{PATIENCE, Server, until};
use super::{check, looked, open, rules};
use core::pin::pin;
use futures_util::future::{join_all, poll_immediate};
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Decision, Details, Part, Reloaded, StateSource, Store};
use ratescope::share::Share;
use ratescope::{Event, Limiter, Retry, Span, Time};
use ratescope_redis::{Options, Redis, RedisStore, TimeSource};
use std::time::{Duration, Instant};

pub(super) fn synced(interval: &str) -> Options {
    let share: Share = format!("synced {interval}").parse().unwrap();
    Options::default().deadline(PATIENCE).share(share)
}

pub(super) fn exact(server: &Server, limits: &str) -> RedisStore {
    open(&server.url(), rules(limits), Options::default().deadline(PATIENCE))
}

/// Decides about an event at once, and returns whether it passes.
pub(super) fn now(store: &RedisStore) -> bool {
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &ANN };
    let decided = store.decide_now(&[Part::count(&event)], Details::ALL);
    let decision = decided.expect("it waits").into_only().unwrap();
    assert_eq!(decision.fault, None);
    assert!(decision.outcomes().all(|one| one.source == StateSource::Here));
    decision.is_allowed()
}

pub(super) fn passed(store: &RedisStore, events: u32) -> u32 {
    (0..events).map(|_| u32::from(now(store))).sum()
}

/// No event waits, not even the first, and Redis is told of all of them in a few calls.
#[tokio::test]
async fn a_process_decides_at_once_and_tells_redis() {
    let Some(server) = Server::start(&[]) else { return };
    let limit = "sliding-log 100000/1h per user";
    let store = open(&server.url(), rules(limit), synced("50ms"));
    let begun = Instant::now();
    let mut sent = 0;
    while begun.elapsed() < Duration::from_millis(300) {
        sent += passed(&store, 20);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let other = exact(&server, limit);
    until("Redis is not told", async || counted(&other).await == f64::from(sent)).await;
    let most = 2.0 + 2.0 * begun.elapsed().as_secs_f64() / 0.0375;
    let told = store.redis().leased();
    assert!(told.told as f64 <= most, "{told:?} in {:?}", begun.elapsed());
    assert_eq!((told.here, told.told_lost), (u64::from(sent), 0));
    // Nothing has changed, so nothing is told.
    let before = calls(&server);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(calls(&server), before);
}

/// Each process admits by itself until it hears of the others; then all refuse.
#[tokio::test]
async fn processes_hear_of_each_other() {
    let Some(server) = Server::start(&[]) else { return };
    for limit in
        ["sliding-log 100/1h per user", "gcra 100/1h per user", "fixed-window 100/24h per user"]
    {
        let new = || open(&server.url(), rules(limit), synced("100ms"));
        let stores = [new(), new(), new()];
        let [a, b, c] = &stores;
        assert_eq!(passed(a, 60), 60, "{limit}");
        until("a has not told", async || a.redis().leased().told > 0).await;
        // It admits all, since it does not know of the other's events yet.
        assert_eq!(passed(b, 30), 30, "{limit}");
        until("b has not told", async || b.redis().leased().told > 0).await;
        assert!(passed(b, 60) <= 11, "{limit}: 60 and 30 were known");
        let mut sum = 100;
        until("c does not hear", async || {
            let one = passed(c, 1);
            sum += one;
            one == 0
        })
        .await;
        let more = passed(a, 100);
        assert!(more <= 41, "{limit}: {more}");
        server.command(&["FLUSHALL"]);
    }
}

/// While Redis is away, a process goes on without a fault; its sums are told when Redis is back.
#[tokio::test]
async fn redis_is_told_when_it_is_back() {
    let Some(mut server) = Server::start(&[]) else { return };
    let limit = "sliding-log 1000/1h per user";
    let store =
        open(&server.url(), rules(limit), synced("20ms").deadline(Duration::from_millis(200)));
    server.kill();
    let mut sent = passed(&store, 300);
    until("nothing waits", async || store.redis().leased().waits > Duration::from_millis(100))
        .await;
    sent += passed(&store, 300);
    assert_eq!(sent, 600);
    server.restart(&[]);
    let other = exact(&server, limit);
    until("Redis is not told", async || counted(&other).await == 600.0).await;
    assert_eq!(store.redis().leased().told_lost, 0);
    until("something waits", async || store.redis().leased().waits == Duration::ZERO).await;
}

/// The events of a log that a process hears of are as old as on Redis: exactly for the next event, and nearly for more.
#[tokio::test]
async fn what_it_hears_keeps_its_age() {
    let Some(server) = Server::start(&[]) else { return };
    let limit = "sliding-log 80/1m per user";
    for (sent, more, cost, passes_after) in [(1, 39, 10.0, 29.0..=35.0), (60, 0, 1.0, 40.0..=42.0)]
    {
        let clock = TimeSource::Event { keep: Span::from_hours(1) };
        let options = Options::default().deadline(PATIENCE).clock(clock);
        let earlier = open(&server.url(), rules(limit), options);
        let begun = Time::from(std::time::SystemTime::now());
        for age in (1..=40).rev() {
            let time = Time::from_micros(begun.as_micros() - age * 1_000_000);
            assert!(check(&earlier, time, 1.0, ANN, Details::default()).await.is_allowed());
        }
        let store = open(&server.url(), rules(limit), synced("20ms"));
        assert_eq!(passed(&store, sent), sent);
        until("it does not hear", async || store.redis().leased().told > 0).await;
        assert_eq!(passed(&store, 60), more);
        let event = Event { time: Time::ZERO, cost, fields: &ANN };
        let decided = store.decide_now(&[Part::count(&event)], Details::ALL);
        let decision = decided.expect("it waits").into_only().unwrap();
        let wait = decision.retry_after().and_then(Retry::wait).expect("it passes");
        let passes = decision.time.after(wait).since(begun);
        assert!(passes_after.contains(&passes), "{sent}: {passes}");
        // Nothing of it is told after the flush.
        store.redis().close().await;
        server.command(&["FLUSHALL"]);
    }
}

/// An answer that is lost: nothing is told twice.
#[tokio::test]
async fn a_lost_answer_is_not_told_again() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limit = "sliding-log 10000/1h per user";
    let store =
        open(&proxy.url(), rules(limit), synced("20ms").deadline(Duration::from_millis(300)));
    let mut sent = passed(&store, 100);
    until("Redis is not told", async || store.redis().leased().told > 0).await;
    for trick in [Trick::Cut(0), Trick::Silence, Trick::Cut(3)] {
        let before = store.redis().leased();
        proxy.play([trick]);
        sent += passed(&store, 100);
        until("nothing is lost", async || store.redis().leased().told_lost > before.told_lost)
            .await;
        // Its next call is on another connection.
        until("it does not go on", async || store.redis().leased().told > before.told).await;
    }
    sent += passed(&store, 100);
    let other = exact(&server, limit);
    // In each of these, Redis has counted before the answer was lost.
    until("Redis is not told", async || counted(&other).await == f64::from(sent)).await;
    assert_eq!(store.redis().leased().told_lost, 300);
}

/// A key that is refused notices a reset elsewhere; a key that is reset is new here, too.
#[tokio::test]
async fn a_reset_is_noticed() {
    let Some(server) = Server::start(&[]) else { return };
    let new = || open(&server.url(), rules("gcra 10/1h per user"), synced("20ms"));
    let (here, there) = (new(), new());
    assert_eq!(passed(&here, 50), 10);
    until("there does not hear", async || passed(&there, 1) == 0).await;
    until("all is told", async || there.redis().leased().waits == Duration::ZERO).await;
    assert!(!now(&here));
    assert_eq!(there.reset_async(&ANN, &|_, _| true).await.unwrap(), 1);
    assert!(now(&there));
    until("it is not noticed", async || passed(&here, 1) == 1).await;
}

/// An event that a limit on Redis refuses is not counted where it is synced, and the other way round.
#[tokio::test]
async fn beside_a_limit_that_is_exact_all_or_none_is_counted() {
    let Some(server) = Server::start(&[]) else { return };
    for (exact_limit, synced_limit) in [(5, 8), (8, 5)] {
        let text = format!(
            "domain: web\ndescriptors:\n- {{key: user, limit: sliding-log {exact_limit}/1h, share: exact}}\n\
             - {{key: ip, limit: sliding-log {synced_limit}/1h, share: synced 50ms}}\n"
        );
        let store = open(&server.url(), rules(&text), synced("50ms"));
        let fields = &[("user", "ann"), ("ip", "192.0.2.7")];
        let mut allowed = 0;
        for _ in 0..20 {
            let decision = check(&store, Time::ZERO, 1.0, fields, Details::ALL).await;
            allowed += u32::from(decision.is_allowed());
        }
        assert_eq!(allowed, 5);
        let left = async |fields| {
            let event = Event { time: Time::ZERO, cost: 0.0, fields };
            store.peek_async(&event, Details::ALL).await.quota().unwrap().remaining
        };
        let (user, ip) = (vec![("user", "ann")], vec![("ip", "192.0.2.7")]);
        assert_eq!(left(&user).await, f64::from(exact_limit - 5));
        until("it is not told", async || left(&ip).await == f64::from(synced_limit - 5)).await;
        server.command(&["FLUSHALL"]);
    }
}

const BOTH: [(&str, &str); 2] = [("user", "ann"), ("ip", "192.0.2.7")];
const IP: [(&str, &str); 1] = [("ip", "192.0.2.7")];

/// A limit of a user on Redis, and one of an address that is synced.
fn mixed(user: u32, ip: u32) -> String {
    format!(
        "domain: web\ndescriptors:\n- {{key: user, limit: sliding-log {user}/1h, share: exact}}\n\
         - {{key: ip, limit: sliding-log {ip}/1h, share: synced 1m}}\n"
    )
}

fn passes_now(store: &RedisStore, fields: &dyn ratescope::event::Fields) -> bool {
    let event = Event { time: Time::ZERO, cost: 1.0, fields };
    let decided = store.decide_now(&[Part::count(&event)], Details::ALL);
    decided.expect("it waits").into_only().unwrap().is_allowed()
}

/// While an event waits for its other limit, nobody passes by its reservation.
#[tokio::test]
async fn what_is_reserved_is_taken() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let store = open(&proxy.url(), rules(&mixed(5, 1)), synced("1m"));
    proxy.play([Trick::Forward; 20].into_iter().chain([Trick::Delay(Duration::from_millis(50))]));
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &BOTH };
    let mut waiting = pin!(store.check_async(&event, Details::ALL));
    assert!(poll_immediate(&mut waiting).await.is_none());
    assert_eq!([passes_now(&store, &IP), passes_now(&store, &IP)], [false, false]);
    assert!(waiting.await.is_allowed());
    assert!(!passes_now(&store, &IP));
}

/// In an outage, events that also have a limit on Redis count in the same limit as all others.
#[tokio::test]
async fn in_an_outage_all_events_count_together() {
    let Some(mut server) = Server::start(&[]) else { return };
    let new = || open(&server.url(), rules(&mixed(50, 8)), synced("1m"));
    let (first, second) = (new(), new());
    server.kill();
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &BOTH };
    for (store, order) in [(first, [true, false]), (second, [false, true])] {
        let mut passed = 0;
        for is_mixed in order {
            for _ in 0..6 {
                let is_allowed = if is_mixed {
                    store.check_async(&event, Details::ALL).await.is_allowed()
                } else {
                    passes_now(&store, &IP)
                };
                passed += u32::from(is_allowed);
            }
        }
        assert_eq!(passed, 8, "{order:?}");
    }
}

/// When a caller hangs up while Redis is told, no event is lost.
#[tokio::test]
async fn a_caller_who_hangs_up_loses_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limit = "sliding-log 100/1h per user";
    let store = open(&proxy.url(), rules(limit), synced("1m"));
    // Connected, so that the call comes next.
    assert_eq!(counted(&store).await, 0.0);
    assert_eq!(passed(&store, 40), 40);
    proxy.play([Trick::Delay(Duration::from_millis(20))]);
    let event = Event { time: Time::ZERO, cost: 0.0, fields: &ANN };
    {
        let mut looks = pin!(store.peek_async(&event, Details::ALL));
        assert!(poll_immediate(&mut looks).await.is_none());
    }
    let other = exact(&server, limit);
    until("Redis is not told", async || counted(&other).await == 40.0).await;
    until("it is not answered", async || store.redis().leased().told == 1).await;
    assert_eq!(store.redis().leased().told_lost, 0);
}

/// An answer from before a reset is not taken over after it.
#[tokio::test]
async fn a_reset_is_not_undone_by_an_answer_on_its_way() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limit = "sliding-log 10/1h per user";
    let store = open(&proxy.url(), rules(limit), synced("50ms"));
    assert_eq!(counted(&store).await, 0.0);
    proxy.play([Trick::Delay(Duration::from_millis(100))]);
    assert_eq!(passed(&store, 20), 10);
    let other = exact(&server, limit);
    until("Redis is not told", async || counted(&other).await == 10.0).await;
    let mut reset = Box::pin(store.reset_async(&ANN, &|_, _| true));
    assert!(poll_immediate(&mut reset).await.is_none());
    // The key is new here, and the answer is on its way.
    assert!(now(&store));
    assert_eq!(reset.await.unwrap(), 1);
    assert_eq!(passed(&store, 20), 9);
}

/// Settled events, looks and events with several at one key ask Redis, which is first told of the events counted here.
#[tokio::test]
async fn what_asks_redis_tells_it_first() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("gcra 100/1h per user"), synced("1m"));
    assert_eq!(passed(&store, 40), 40);
    assert_eq!(counted(&store).await.round(), 40.0);
    let decision = ask(&store).await;
    let event = |cost| Event { time: decision.time, cost, fields: &ANN };
    store.settle_async(&event(19.0), decision.time, Some(&decision)).await.unwrap();
    store.settle_async(&event(-10.0), decision.time, Some(&decision)).await.unwrap();
    assert_eq!(counted(&store).await.round(), 50.0);
    // The process knows of it. The amount given back is rounded, and may be a little less.
    assert!((49..=50).contains(&passed(&store, 100)));
    let two = Event { time: Time::ZERO, cost: 1.0, fields: &ANN };
    let decisions = store.decide(&[Part::count(&two), Part::count(&two)], Details::ALL).await;
    assert!(decisions.iter().all(|decision| !decision.is_allowed()));
}

/// A slow answer says what the time was. The clock of the process does not go back to it.
#[tokio::test]
async fn a_slow_answer_sets_no_clock_back() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let store = open(&proxy.url(), rules("gcra 100/1h per user"), synced("1m"));
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &ANN };
    let time = || {
        let decided = store.decide_now(&[Part::count(&event)], Details::ALL);
        decided.expect("it waits").into_only().unwrap().time
    };
    let asked = looked(&store, ANN).await;
    let (before, begun) = (time(), Instant::now());
    assert!(before >= asked.time);
    // Redis is first told of the event.
    proxy.play([Trick::Delay(Duration::from_millis(300)); 2]);
    let asked = looked(&store, ANN).await;
    let passed = begun.elapsed();
    let after = time();
    assert!(Span::from(passed) <= before.until(after), "{before:?}, {after:?}, {passed:?}");
    assert!(after >= asked.time);
}

/// An event that passed here is given back where Redis counted it: also at a log, which counted it later.
#[tokio::test]
async fn what_passed_here_can_be_given_back() {
    let Some(server) = Server::start(&[]) else { return };
    for limit in ["sliding-log 100/1h", "sliding-window 100/1h", "gcra 100/1h"] {
        let store = open(&server.url(), rules(&format!("{limit} per user")), synced("1m"));
        let give_back = async |decision: &Decision| {
            let back = Event { time: decision.time, cost: -1.0, fields: &ANN };
            store.settle_async(&back, Time::ZERO, Some(decision)).await.unwrap();
        };
        let mut decisions = Vec::new();
        for _ in 0..3 {
            for _ in 0..10 {
                decisions.push(ask(&store).await);
            }
            // A look tells Redis.
            let _ = counted(&store).await;
        }
        decisions.extend([ask(&store).await, ask(&store).await]);
        assert_eq!(store.redis().leased().here, 32);
        let mut left = 32.0;
        for told in [0, 9, 10, 29, 31] {
            give_back(&decisions[told]).await;
            left -= 1.0;
            assert_eq!(counted(&store).await.round(), left, "{limit}: {told}");
        }
        // As long as it is known when they were counted.
        for _ in 0..8 {
            assert!(now(&store));
            let _ = counted(&store).await;
        }
        give_back(&decisions[1]).await;
        let is_bucket = limit.starts_with("gcra");
        let left = left + 8.0 - f64::from(u8::from(is_bucket));
        if !limit.starts_with("sliding-window") {
            assert_eq!(counted(&store).await.round(), left, "{limit}");
        }
        server.command(&["FLUSHALL"]);
    }
}

/// With other numbers, counted events go on counting.
#[tokio::test]
async fn a_reload_keeps_what_is_known() {
    let Some(server) = Server::start(&[]) else { return };
    let text = |n: u32, share: &str| {
        format!("domain: web\nshare: {share}\nlimit: sliding-log {n}/1h per user\n")
    };
    let store = open(&server.url(), rules(&text(50, "synced 1m")), Options::default());
    assert_eq!(passed(&store, 80), 50);
    for (n, more) in [(70, 20), (60, 0), (75, 5)] {
        let text = text(n, "synced 1m");
        assert!(matches!(store.reload("rules.yaml", &text, Time::ZERO), Reloaded::Applied(_)));
        assert_eq!(passed(&store, 80), more, "{n}");
    }
    let text = text(75, "synced 50ms");
    assert!(matches!(store.reload("rules.yaml", &text, Time::ZERO), Reloaded::Applied(_)));
    assert!(!now(&store));
    until("Redis is not told", async || counted(&store).await == 75.0).await;
}

/// EARRRL counts refused events, and the averages of two processes add up.
#[tokio::test]
async fn averages_add_up() {
    let Some(server) = Server::start(&[]) else { return };
    let limit = "earrrl 1000/1h per user";
    let new = || open(&server.url(), rules(limit), synced("50ms"));
    let (a, b, one) = (new(), new(), exact(&server, "earrrl 1000/1h per ip"));
    passed(&a, 1500);
    passed(&b, 700);
    let ip = &[("ip", "192.0.2.7")];
    let _ = check(&one, Time::ZERO, 2200.0, ip, Details::ALL).await;
    until("the average is another", async || {
        let level = counted(&a).await;
        let event = Event { time: Time::ZERO, cost: 0.0, fields: &ip.to_vec() };
        let want = one.peek_async(&event, Details::ALL).await.decided_by().unwrap().outcome.level;
        (level - want).abs() < want * 0.01
    })
    .await;
}

/// A process that shuts down properly tells Redis of its events, however long its interval.
#[tokio::test]
async fn what_is_untold_is_told_at_the_end() {
    let Some(server) = Server::start(&[]) else { return };
    let limit = "sliding-log 100/1h per user";
    let other = exact(&server, limit);
    let store = open(&server.url(), rules(limit), synced("1m"));
    assert_eq!(passed(&store, 40), 40);
    store.redis().close().await;
    assert_eq!(counted(&other).await, 40.0);
    // So does a store that is dropped.
    assert_eq!(passed(&store, 30), 30);
    drop(store);
    until("it is not told", async || counted(&other).await == 70.0).await;
}

/// The end waits for a call that is under way, and tells of the events since.
#[tokio::test]
async fn at_the_end_a_call_under_way_is_awaited() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limit = "sliding-log 100/1h per user";
    let store = open(&proxy.url(), rules(limit), synced("1m"));
    assert_eq!(counted(&store).await, 0.0);
    assert_eq!(passed(&store, 40), 40);
    proxy.play([Trick::Delay(Duration::from_millis(100))]);
    let looks = store.clone();
    let looks = tokio::spawn(async move { looked(&looks, ANN).await });
    let other = exact(&server, limit);
    until("Redis is not told", async || counted(&other).await == 40.0).await;
    assert_eq!(passed(&store, 30), 30);
    store.redis().close().await;
    assert_eq!(looks.await.unwrap().fault, None);
    assert_eq!(counted(&other).await, 70.0);
    assert_eq!(store.redis().leased().waits, Duration::ZERO);
}

/// The end takes no longer than a call may.
#[tokio::test]
async fn a_silent_redis_does_not_hold_up_the_end() {
    let Some(server) = Server::start(&[]) else { return };
    let proxy = Proxy::before(&server);
    let limit = "sliding-log 100/1h per user";
    let store = open(&proxy.url(), rules(limit), synced("1m").deadline(Duration::from_millis(100)));
    assert_eq!(counted(&store).await, 0.0);
    assert_eq!(passed(&store, 40), 40);
    proxy.silence();
    let begun = Instant::now();
    store.redis().close().await;
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    let told = store.redis().leased();
    assert_eq!((told.told, told.told_lost), (0, 40));
}

/// How long the oldest event has waited is that of all stores on a connection.
#[tokio::test]
async fn the_oldest_event_of_all_domains_waits() {
    let Some(server) = Server::start(&[]) else { return };
    let redis = Redis::open(&server.url(), synced("1m")).unwrap();
    let domain = |name: &str, interval: &str| {
        let text = format!(
            "domain: {name}\nshare: synced {interval}\nlimit: sliding-log 100/1h per user\n"
        );
        redis.store(rules(&text)).unwrap()
    };
    let (slow, quick) = (domain("slow", "1m"), domain("quick", "10ms"));
    assert!(now(&slow));
    for told in 1..=3 {
        assert!(now(&quick));
        until("it is not told", async || redis.leased().told == told).await;
        assert!(redis.leased().waits > Duration::ZERO);
    }
    drop(quick);
    assert!(redis.leased().waits > Duration::ZERO);
    let _ = counted(&slow).await;
    assert_eq!(redis.leased().waits, Duration::ZERO);
}

/// An event that passed between these times since the beginning.
pub(super) type Passed = (Duration, Duration);

/// Floods a store with events of ann, until it is enough.
pub(super) async fn flood(
    store: &RedisStore,
    begun: Instant,
    is_enough: impl Fn() -> bool,
) -> Vec<Passed> {
    let mut times = Vec::new();
    while !is_enough() {
        let before = begun.elapsed();
        for _ in 0..8 {
            if now(store) {
                times.push((before, begun.elapsed()));
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    times
}

/// Fails unless the windows that begin from `since` on admit at most as much as is promised for three processes with
/// these delays, and the sums that they told without an answer.
pub(super) fn assert_bounded(
    limiter: &str,
    stores: &[RedisStore],
    interval: Duration,
    all: &[Passed],
    since: Duration,
) {
    let leased = || stores.iter().map(|store| store.redis().leased());
    let slowest = leased().map(|one| one.slowest).max().unwrap();
    let lost: u64 = leased().map(|one| one.told_lost).sum();
    let limiter: AnyLimiter = limiter.parse().unwrap();
    // The process looks once in a quarter of an interval.
    let call = slowest.saturating_sub(interval * 3 / 4);
    let mut begins: Vec<_> = all.iter().map(|one| one.0).filter(|at| *at >= since).collect();
    begins.sort_unstable();
    begins.dedup();
    assert!(begins.len() > 20, "{} of {}", begins.len(), all.len());
    for from in begins.iter().step_by(7) {
        let mut ends: Vec<_> = all.iter().filter(|one| one.0 >= *from).map(|one| one.1).collect();
        ends.sort_unstable();
        for (end, n) in ends.iter().zip(1u32..) {
            let known = limiter.max_admitted(Span::from(*end - *from + call), 1.0);
            let unknown = limiter.max_admitted(Span::from(slowest + call), 1.0);
            let most = known + 2.0 * unknown + lost as f64;
            assert!(f64::from(n) <= most, "{n} in {:?}, at most {most}", *end - *from);
        }
    }
}

/// Three processes behind proxies that hold answers back, flooded: no window admits more than is promised for the
/// delays that there were, and Redis has counted all of it.
async fn history(lasts: Duration) {
    let Some(server) = Server::start(&[]) else { return };
    for delay in [Duration::from_micros(200), Duration::from_millis(5), Duration::from_millis(80)] {
        let text = "gcra 2000/1s burst 1000";
        let proxies = [(); 3].map(|()| Proxy::before(&server));
        let stores: Vec<_> = proxies
            .iter()
            .map(|proxy| {
                proxy.play((0..100_000).map(|_| Trick::Delay(delay)));
                open(&proxy.url(), rules(&format!("{text} per user")), synced("200ms"))
            })
            .collect();
        let begun = Instant::now();
        let each = stores.iter().map(|store| flood(store, begun, || begun.elapsed() >= lasts));
        let all = join_all(each).await.concat();
        assert_bounded(text, &stores, Duration::from_millis(200), &all, Duration::ZERO);
        for store in &stores {
            until("it is not told", async || store.redis().leased().waits == Duration::ZERO).await;
            assert_eq!(store.redis().leased().told_lost, 0);
        }
        server.command(&["FLUSHALL"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_of_real_time_are_bounded() {
    history(Duration::from_millis(700)).await;
}
