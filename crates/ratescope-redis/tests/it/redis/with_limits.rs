//! One store under several limits, on Redis and in memory.

use super::equal::{assert_near, assert_same, both_of};
use super::server::Server;
use super::{open, patient, rules};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratescope::rules::{Decision, Details, Intent, MemoryStore, Part, Store};
use ratescope::{Event, Time};

/// Limits of one shape each. Their rates count fractions in the same units, so that nothing is rounded.
const SHAPES: [[&str; 3]; 5] = [
    [
        "gcra 7/1m burst 5 per user",
        "gcra 11/1m burst 2 per user",
        "leaky-bucket 13/1m queue 9 per user",
    ],
    ["exim 7/1m strict per user", "exim 3/1m leaky per user", "exim 9/1m strict per user"],
    [
        "fixed-window 3/1m per user & sliding-counter 9/1h per ip",
        "fixed-window 5/1m per user & sliding-counter 20/1h per ip",
        "fixed-window 2/1m per user & sliding-counter 5/1h per ip",
    ],
    [
        "gcra 7/1m burst 5 per user & earrrl 9/1m per user",
        "gcra 1/1m burst 9 per user & earrrl 5/1m per user",
        "gcra 11/1m burst 3 per user & earrrl 20/1m per user",
    ],
    [
        "nginx 10/1s burst 5 per user",
        "nginx 10/1s burst 20 per user",
        "nginx 10/1s burst 9 per user",
    ],
];

#[tokio::test]
async fn both_stores_decide_alike_under_limits_that_take_turns() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    for (i, texts) in SHAPES.iter().enumerate() {
        let store = open(&server.url(), rules(texts[0]), patient(&format!("own{i}:")));
        let memory = MemoryStore::new(rules(texts[0]), 1000);
        let with = |text: &&'static str| {
            let own = (store.with_limits(rules(text)), memory.with_limits(rules(text)));
            (*text, own.0.unwrap(), own.1.unwrap())
        };
        let all: Vec<_> = texts.iter().map(with).collect();
        let turns =
            prop::collection::vec((0_usize..3, 0_i64..20_000_000, 0_u8..4, 1_usize..5), 150);
        let mut now = 1;
        for (which, later, cost, count) in turns.new_tree(&mut runner).unwrap().current() {
            let (text, store, memory) = &all[which];
            let events: Vec<_> = (0..count)
                .map(|_| {
                    now += later;
                    (Time::from_micros(now), cost.into())
                })
                .collect();
            both_of(text, store, memory, "ann", &events).await;
        }
    }
}

/// The events, each for the store of that place.
fn several<'a, S: Store>(
    stores: &'a [S; 3],
    chosen: &[(usize, Intent)],
    events: &'a [Event<'a>],
) -> Vec<Part<'a>> {
    let part =
        |(&(place, intent), event)| Part { store: &stores[place] as &dyn Store, event, intent };
    chosen.iter().zip(events).map(part).collect()
}

/// Several events that are decided together, each by some store: at the same keys and at others, to be counted, looked
/// at or given back.
#[tokio::test]
async fn both_stores_decide_alike_about_several_events() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    for (i, texts) in SHAPES.iter().enumerate() {
        let usual = open(&server.url(), rules(texts[0]), patient(&format!("several{i}:")));
        let usual_memory = MemoryStore::new(rules(texts[0]), 1000);
        let stores = texts.map(|text| usual.with_limits(rules(text)).unwrap());
        let memory = texts.map(|text| usual_memory.with_limits(rules(text)).unwrap());
        let part = (0_usize..3, 0_usize..2, 0_usize..2, 0_u8..4, 0_usize..4);
        let request = (0_i64..20_000_000, prop::collection::vec(part, 1..5));
        let requests = prop::collection::vec(request, 150).new_tree(&mut runner).unwrap().current();
        let mut now = 1;
        for (number, (later, parts)) in requests.into_iter().enumerate() {
            now += later;
            let time = Time::from_micros(now);
            let fields: Vec<_> = parts
                .iter()
                .map(|&(_, user, ip, ..)| {
                    [("user", ["ann", "bob"][user]), ("ip", ["192.0.2.7", "192.0.2.8"][ip])]
                })
                .collect();
            let costs = parts.iter().map(|&(.., cost, _)| f64::from(cost));
            let events: Vec<_> =
                costs.zip(&fields).map(|(cost, fields)| Event { time, cost, fields }).collect();
            let chosen: Vec<_> = parts
                .iter()
                .zip(&events)
                .map(|(part, event)| match part.4 {
                    0 => (part.0, Intent::Look),
                    1 if memory[0].can_give_back(event) => (part.0, Intent::GiveBack),
                    _ => (part.0, Intent::Count),
                })
                .collect();
            let theirs =
                Store::check_all(&usual, &several(&stores, &chosen, &events), Details::ALL).await;
            let ours =
                Store::check_all(&memory[0], &several(&memory, &chosen, &events), Details::ALL)
                    .await;
            let is_alike = |of: &(usize, Intent)| of.0 == chosen[0].0 && of.1 != Intent::Look;
            let are_alike = chosen.iter().all(is_alike);
            for (theirs, ours) in theirs.iter().zip(&ours) {
                let what = || format!("{texts:?}, request {number}: {parts:?}: {theirs}, {ours}");
                let verdict = |decision: &Decision| (decision.is_allowed(), decision.fault.clone());
                assert_eq!(verdict(theirs), verdict(ours), "{}", what());
                for (theirs, ours) in theirs.outcomes().zip(ours.outcomes()) {
                    assert_near(what, theirs.outcome.level, ours.outcome.level);
                }
                // On Redis, the quota beside a look is the one before later parts, with the numbers of its own store.
                if are_alike {
                    assert_same(what, theirs, ours);
                }
            }
        }
    }
}

#[tokio::test]
async fn other_shapes_are_errors() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("gcra 7/1m per user"), patient("shape:"));
    let error = store.with_limits(rules("exim 7/1m per user")).unwrap_err().to_string();
    assert!(error.contains("with limits of these shapes"), "{error}");
    assert!(store.with_limits(rules("gcra 9/1m per user")).is_ok());
}

/// While Redis can't be asked, the states of this process have been counted by whichever limit came last.
#[tokio::test]
async fn a_fallback_decides_by_its_own_numbers() {
    let Some(mut server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("fixed-window 3/1h per user"), patient("fall:"));
    let large = store.with_limits(rules("fixed-window 5/1h per user")).unwrap();
    let now = Time::from_micros(1);
    let ann = [("user", "ann")];
    for _ in 0..3 {
        // With the quotas, this process learns the states.
        let decision = super::check(&store, now, 1.0, &ann, Details::ALL).await;
        assert!(decision.is_allowed() && decision.fault.is_none(), "{decision}");
    }
    server.kill();
    let mut allowed = Vec::new();
    for store in [&store, &large, &store, &large, &large] {
        let decision = super::check(store, now, 1.0, &ann, Details::ALL).await;
        assert!(decision.fault.is_some(), "{decision}");
        allowed.push(decision.is_allowed());
    }
    assert_eq!(allowed, [false, true, false, true, false]);
}

#[test]
fn public_types_are_send_and_sync() {
    fn are<T: Send + Sync>() {}
    are::<(ratescope_redis::Redis, ratescope_redis::RedisStore, ratescope_redis::Options)>();
}

#[tokio::test]
async fn events_that_count_at_one_key_go_by_the_numbers_of_the_first() {
    let Some(server) = Server::start(&[]) else { return };
    let usual = open(&server.url(), rules("fixed-window 3/1h per user"), patient("first:"));
    let large = usual.with_limits(rules("fixed-window 5/1h per user")).unwrap();
    let event = Event { time: Time::from_micros(1), cost: 2.0, fields: &[("user", "ann")] };
    for (first, second, passes) in [(&usual, &large, false), (&large, &usual, true)] {
        let parts = [first, second].map(|store| Part {
            store: store as &dyn Store,
            event: &event,
            intent: Intent::Count,
        });
        let decisions = Store::check_all(first, &parts, Details::default()).await;
        let found = decisions
            .iter()
            .map(|decision| (decision.is_allowed(), decision.decided_by().unwrap().outcome.level));
        assert_eq!(found.collect::<Vec<_>>(), [(passes, 4.0); 2]);
    }
}
