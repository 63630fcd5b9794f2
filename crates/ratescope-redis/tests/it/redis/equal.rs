//! Redis decides as memory does: random limiters and events through both.

use super::random::{self, KINDS};
use super::server::Server;
use super::{check, open, patient, rules};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Decision, Details, Fault, MemoryStore, Store};
use ratescope::{Event, Retry, Time};
use ratescope_redis::RedisStore;
use tokio::task::{JoinSet, LocalSet};

/// How many events of each algorithm: few, as each is a call of Redis. `./scripts/test million` sets it
/// to a million.
pub(crate) fn events() -> usize {
    let said = std::env::var("RATESCOPE_EVENTS").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(2_000)
}

/// Fails unless both say the same: verdicts, waits and bits of rates; levels of counts to 1e-12,
/// since they are divided at another place.
#[track_caller]
pub(crate) fn assert_same(what: impl Fn() -> String, theirs: &Decision, ours: &Decision) {
    assert_eq!(theirs.fault, None, "{}", what());
    assert_eq!(theirs.wait(), ours.wait(), "{}: {}", what(), ours);
    let both = theirs.outcomes().zip(ours.outcomes());
    for (theirs, ours) in both {
        assert_eq!(theirs.outcome.wait, ours.outcome.wait, "{}", what());
        assert_eq!(theirs.outcome.limit, ours.outcome.limit, "{}", what());
        assert_eq!(theirs.exceeds, ours.exceeds, "{}", what());
        assert_near(&what, theirs.outcome.level, ours.outcome.level);
    }
    assert_eq!(theirs.retry_after().map(rounded), ours.retry_after().map(rounded), "{}", what());
    let quotas = |decision: &Decision| -> Vec<_> {
        decision.outcomes().filter_map(|one| one.quota()).collect()
    };
    assert_eq!(quotas(theirs), quotas(ours), "{}", what());
}

#[track_caller]
pub(crate) fn assert_near(what: impl Fn() -> String, theirs: f64, ours: f64) {
    let near = theirs == ours || (theirs - ours).abs() <= 1e-12 * ours.abs();
    assert!(near || (theirs.is_nan() && ours.is_nan()), "{}: {theirs}, not {ours}", what());
}

/// To the microsecond, but beyond 285 years to 15 digits.
fn rounded(retry: Retry) -> Option<String> {
    let seconds = retry.wait()?.as_secs_f64();
    Some(if seconds > 9e9 { format!("{seconds:.14e}") } else { seconds.to_string() })
}

/// Puts events to both, with everything asked, and now and then a look, a charge or a refund between.
pub(crate) async fn both(text: &str, store: &RedisStore, events: &[(Time, f64)]) {
    both_of(text, store, &MemoryStore::new(rules(text), 1000), "ann", events).await;
}

/// The events of a user, who shares the store with others.
pub(crate) async fn both_of(
    text: &str,
    store: &RedisStore,
    memory: &MemoryStore,
    user: &str,
    events: &[(Time, f64)],
) {
    let mut before = None;
    for (i, (time, cost)) in events.iter().copied().enumerate() {
        let fields = [("user", user), ("ip", if i % 3 == 0 { "192.0.2.7" } else { "192.0.2.8" })];
        let what = || format!("{text}, {user}, event {i} at {time}, cost {cost}");
        let event = Event { time, cost, fields: &fields };
        if i % 11 == 3 {
            // By the decision about the event before, if anything.
            let (theirs, ours) = before.take().unzip();
            let theirs = store.settle_async(&event, time, theirs.as_ref()).await;
            assert_eq!(theirs, memory.settle(&event, time, ours.as_ref()).map_err(Fault::from));
        }
        if i % 7 == 2 {
            let theirs = store.peek_async(&event, Details::ALL).await;
            let ours = Store::peek_async(memory, &event, Details::ALL).await;
            assert_same(what, &theirs, &ours);
        }
        if i % 5 == 4 {
            // More than was counted, too, now or some time ago. By the decision before, it is a part of a cost.
            let (theirs, ours) = before.as_ref().map(|(theirs, ours)| (theirs, ours)).unzip();
            let ago = events.get(i.saturating_sub(i % 4)).map_or(time, |(at, _)| *at);
            let back = Event { time: ago, cost: -cost, fields: &fields };
            let theirs = store.settle_async(&back, time, theirs).await;
            assert_eq!(theirs, memory.settle(&back, time, ours).map_err(Fault::from), "{}", what());
        }
        // The details that are asked for change no decision. An event that can't wait is not counted if it had to.
        let told = if i % 2 == 0 { Details::ALL } else { Details::default() };
        let details = if i % 3 == 1 { told.at_once() } else { told };
        let theirs = check(store, time, cost, &fields, details).await;
        let ours = check(memory, time, cost, &fields, details).await;
        assert_same(what, &theirs, &ours);
        before = (i % 2 == 0).then_some((theirs, ours));
    }
}

/// How many users there are at once: so many calls are under way on one connection.
const USERS: usize = 64;

/// The times and costs of a user's events.
type Deeds = Vec<(Time, f64)>;

/// A limiter and the events of each user, the same each time.
fn drawn(
    kinds: &'static [&'static str],
    runner: &mut TestRunner,
) -> Option<(AnyLimiter, Vec<Deeds>)> {
    let case = random::cases(kinds).new_tree(runner).unwrap().current();
    case.limiter.in_f64().ok()?;
    let events = |_| {
        let steps = random::steps(true).new_tree(runner).unwrap().current();
        let events = case.events(&steps).into_iter();
        events.filter(|(at, _)| at.as_micros() >= 0).collect()
    };
    let events = (0..USERS).map(events).collect();
    Some((case.limiter, events))
}

/// Each of these kinds in turn, until there were enough events.
async fn assert_alike(kinds: &[usize]) {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    let tasks = LocalSet::new();
    let decided = async {
        let (mut seen, mut number) = (0, 0);
        while seen < events() {
            number += 1;
            let kind = kinds[number % kinds.len()];
            let Some((limiter, users)) = drawn(&KINDS[kind..=kind], &mut runner) else { continue };
            let text = format!("{limiter} per user");
            let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
            let mut tasks = JoinSet::new();
            for (user, events) in users.into_iter().enumerate() {
                seen += events.len();
                let (text, store) = (text.clone(), store.clone());
                // Each has a time of its own, which in one memory would be that of all.
                let memory = MemoryStore::new(rules(&text), 4);
                tasks.spawn_local(async move {
                    both_of(&text, &store, &memory, &user.to_string(), &events).await;
                });
            }
            tasks.join_all().await;
            // The server's memory is not to grow with the events.
            server.command(&["FLUSHALL"]);
        }
    };
    tasks.run_until(decided).await;
}

/// A test for each of these, by their places in [`KINDS`].
macro_rules! decides_alike {
    ($($name:ident $kinds:expr;)*) => {
        mod decides_alike {$(
            #[tokio::test]
            async fn $name() {
                super::assert_alike(&$kinds).await;
            }
        )*}
    };
}

decides_alike! {
    token_buckets [0];
    gcra [1];
    leaky_buckets [2];
    fixed_windows [3];
    windows_from [4, 5];
    sliding_windows [6];
    sliding_counters [7];
    sliding_logs [8];
    exim [12, 15];
    adaptive_limiters [13, 18];
    earrrl [16, 17];
    nginx [9, 10, 22];
    haproxy [11, 20];
    envoy [21];
    fail2ban [23];
    attempts [24, 25];
    by_hour [14, 19];
}

/// A charge afterwards is a debt, which a bucket takes without limit.
#[tokio::test]
async fn debts_are_kept_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let text = "gcra 1000/1s burst 100000 per user & leaky-bucket 7/3s queue 20 per user";
    let store = open(&server.url(), rules(text), patient("debts:"));
    let memory = MemoryStore::new(rules(text), 1000);
    let fields = [("user", "ann")];
    let at = |seconds: f64| Time::try_from_secs_f64(seconds + 1e9).unwrap();
    for _ in 0..10 {
        let event = Event { time: at(0.0), cost: 1e7, fields: &fields };
        store.settle_async(&event, event.time, None).await.unwrap();
        memory.settle(&event, event.time, None).unwrap();
    }
    // 10^8 events less those that fit, at 7 in 3 s; the clock is set back by 10 s, and then for good.
    let owed = (1e8 - 19.0) * 3.0 / 7.0;
    for (seconds, passes) in
        [(0.0, false), (-5.0, false), (-9e5, false), (owed - 9e5 - 1.0, false), (owed, true)]
    {
        let ours = check(&memory, at(seconds), 1.0, &fields, Details::ALL).await;
        let theirs = check(&store, at(seconds), 1.0, &fields, Details::ALL).await;
        assert_eq!(ours.is_allowed(), passes, "{seconds}: {}", ours);
        assert_same(|| format!("at {seconds}"), &theirs, &ours);
    }
}

/// Costs that can't be counted are refused and counted nowhere, and the smallest count.
#[tokio::test]
async fn odd_costs_are_decided_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let costs = [1.0, f64::NAN, -1.0, 0.0, f64::INFINITY, 1e-9, 1e13, 1e12, 0.3, -0.0, 1.0, 2.5];
    for (number, kind) in KINDS.iter().enumerate() {
        let case = random::case(kind, 3.0, ratescope::Span::from_mins(1), 3.0);
        let text = format!("{} per user", case.limiter);
        let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
        let event = |i: i64| (Time::from_micros(i * 700_000 + 5), costs[i as usize % costs.len()]);
        both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
        // Several are asked by another frame.
        let text = format!("{text} & fixed-window 5/1m per ip");
        let store = open(&server.url(), rules(&text), patient(&format!("{number}+:")));
        both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
        let text = format!("{} per user & fixed-window 5/1m per user", case.limiter);
        let store = open(&server.url(), rules(&text), patient(&format!("{number}++:")));
        both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
    }
}

/// A clock that is set back lengthens a wait by a period at most.
#[tokio::test]
async fn nobody_waits_until_the_clock_has_caught_up() {
    use super::random::{COUNTING, RATES};
    let Some(server) = Server::start(&[]) else { return };
    for kind in COUNTING.iter().chain(RATES) {
        let limiter = random::case(kind, 2.0, ratescope::Span::from_secs(1), 2.0).limiter;
        let text = format!("{limiter} per user");
        let store = open(&server.url(), rules(&text), patient(&format!("{text}:")));
        super::set_back::assert_followed(&store).await;
    }
}
