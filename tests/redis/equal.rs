//! Redis decides as memory does: random limiters and events through both.

use super::random::{self, Case, KINDS, Step};
use super::server::Server;
use super::{check, open, patient, rules, run};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratescope::redis_store::RedisStore;
use ratescope::rules::{Answered, AsyncStore, Details, Ruled};
use ratescope::{Event, Retry, Time};

/// How many events of each kind: a million, if RATESCOPE_EVENTS says so.
fn events() -> usize {
    let said = std::env::var("RATESCOPE_EVENTS").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(6_000)
}

/// Fails unless both say the same: verdicts, waits and bits of rates; levels of counts to 1e-12,
/// since they are divided at another place.
#[track_caller]
fn assert_same(what: &str, theirs: &Answered, ours: &Answered) {
    assert_eq!(theirs.fault, None, "{what}");
    assert_eq!(theirs.ruling.decision(), ours.ruling.decision(), "{what}: {}", ours.ruling);
    let both = theirs.ruling.opinions().zip(ours.ruling.opinions());
    for (theirs, ours) in both {
        assert_eq!(theirs.outcome.decision, ours.outcome.decision, "{what}");
        assert_eq!(theirs.outcome.limit, ours.outcome.limit, "{what}");
        assert_eq!(theirs.exceeds, ours.exceeds, "{what}");
        let (theirs, ours) = (theirs.outcome.level, ours.outcome.level);
        let near = theirs == ours || (theirs - ours).abs() <= 1e-12 * ours.abs();
        assert!(near || (theirs.is_nan() && ours.is_nan()), "{what}: {theirs}, not {ours}");
    }
    assert_eq!(theirs.retry.map(rounded), ours.retry.map(rounded), "{what}");
    assert_eq!(theirs.standings.is_some(), ours.standings.is_some(), "{what}");
    if let (Some(theirs), Some(ours)) = (&theirs.standings, &ours.standings) {
        for (theirs, ours) in theirs.iter().zip(ours.iter()) {
            assert_eq!(theirs.remaining, ours.remaining, "{what}");
            assert_eq!(theirs.reset_after, ours.reset_after, "{what}");
        }
    }
}

/// To the microsecond, but beyond 285 years to 15 digits.
fn rounded(retry: Retry) -> Option<String> {
    let seconds = retry.wait()?.secs();
    Some(if seconds > 9e9 { format!("{seconds:.14e}") } else { seconds.to_string() })
}

/// Puts events to both, with everything asked, and now and then a look or a charge between.
pub(crate) async fn both(text: &str, store: &RedisStore, events: &[(Time, f64)]) {
    let memory = Ruled::new(rules(text), 1000);
    for (i, (time, cost)) in events.iter().copied().enumerate() {
        let fields = [("user", "ann"), ("ip", if i % 3 == 0 { "192.0.2.7" } else { "192.0.2.8" })];
        let what = format!("{text}, event {i} at {time}, cost {cost}");
        let event = Event { time, cost, fields: &fields };
        if i % 11 == 3 {
            store.charge(&event).await.unwrap();
            Ruled::charge(&memory, &event);
        }
        if i % 7 == 2 {
            let theirs = store.peek(&event, Details::ALL).await;
            let ours = AsyncStore::peek(&memory, &event, Details::ALL).await;
            assert_same(&what, &theirs, &ours);
        }
        // What is asked for changes nothing.
        let details = if i % 2 == 0 { Details::ALL } else { Details::default() };
        let theirs = check(store, time, cost, &fields, details).await;
        let ours = check(&memory, time, cost, &fields, details).await;
        assert_same(&what, &theirs, &ours);
    }
}

/// Cases and steps, the same each time.
fn drawn(kinds: &'static [&'static str], runner: &mut TestRunner) -> Option<(Case, Vec<Step>)> {
    let strategy = (random::cases(kinds), random::steps(true));
    let drawn = strategy.new_tree(runner).unwrap().current();
    drawn.0.limiter.exact_in_f64().is_ok().then_some(drawn)
}

/// Each kind, many cases at once on connections of their own.
fn assert_alike(kind: usize) {
    let kinds = &KINDS[kind..=kind];
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    run(async {
        let (mut seen, mut number) = (0, 0);
        while seen < events() {
            let Some((case, steps)) = drawn(kinds, &mut runner) else { continue };
            let text = format!("{} per user", case.limiter);
            let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
            let events = case.events(&steps);
            let events: Vec<_> = events.into_iter().filter(|(at, _)| at.as_micros() >= 0).collect();
            both(&text, &store, &events).await;
            seen += events.len();
            number += 1;
        }
    });
}

#[test]
fn token_buckets_decide_alike() {
    assert_alike(0);
}

#[test]
fn gcra_decides_alike() {
    assert_alike(1);
}

#[test]
fn leaky_buckets_decide_alike() {
    assert_alike(2);
}

#[test]
fn fixed_windows_decide_alike() {
    assert_alike(3);
}

#[test]
fn sliding_windows_decide_alike() {
    assert_alike(4);
}

#[test]
fn sliding_counters_decide_alike() {
    assert_alike(5);
}

#[test]
fn sliding_logs_decide_alike() {
    assert_alike(6);
}

#[test]
fn exim_decides_alike() {
    assert_alike(10);
    assert_alike(13);
}

#[test]
fn adaptive_limiters_decide_alike() {
    assert_alike(11);
    assert_alike(16);
}

#[test]
fn earrrl_decides_alike() {
    assert_alike(14);
    assert_alike(15);
}

#[test]
fn what_servers_decide_is_decided_alike() {
    [7, 8, 20].into_iter().for_each(assert_alike);
    [9, 18].into_iter().for_each(assert_alike);
    assert_alike(19);
}

/// Costs that can't be counted are refused and counted nowhere, and the smallest count.
#[test]
fn odd_costs_are_decided_alike() {
    let Some(server) = Server::start(&[]) else { return };
    let costs = [1.0, f64::NAN, -1.0, 0.0, f64::INFINITY, 1e-9, 1e13, 1e12, 0.3, -0.0, 1.0, 2.5];
    run(async {
        for (number, kind) in KINDS.iter().enumerate().filter(|(_, kind)| !kind.contains("by hour"))
        {
            let case = random::case(kind, 3.0, ratescope::Span::minutes(1), 3.0);
            let text = format!("{} per user", case.limiter);
            let store = open(&server.url(), rules(&text), patient(&format!("{number}:")));
            let event =
                |i: i64| (Time::from_micros(i * 700_000 + 5), costs[i as usize % costs.len()]);
            both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
            // Several are asked by another frame.
            let text = format!("{text} & fixed-window 5/1m per ip");
            let store = open(&server.url(), rules(&text), patient(&format!("{number}+:")));
            both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
            let text = format!("{} per user & fixed-window 5/1m per user", case.limiter);
            let store = open(&server.url(), rules(&text), patient(&format!("{number}++:")));
            both(&text, &store, &(0..60).map(event).collect::<Vec<_>>()).await;
        }
    });
}
