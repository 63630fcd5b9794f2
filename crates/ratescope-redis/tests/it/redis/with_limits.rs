//! Numbers of events' own, on Redis and in memory.

use super::equal::{assert_near, assert_same};
use super::server::Server;
use super::{open, patient, rules};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ratescope::rules::{Decision, Details, Intent, MemoryStore, Numbers, Part, Rules, Store};
use ratescope::{Event, Policy, Time};
use std::sync::Arc;

/// Limits of one shape each.
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

/// Numbers for all limits of a store: those of another policy of the same shapes.
fn numbers(rules: &Arc<Rules>, text: &str) -> Numbers {
    let names = rules.limit_names().concat();
    let own: Policy = text.parse().unwrap();
    let of = |name: &str| {
        let place = names.iter().position(|known| known == name)?;
        Some(own.limits().get(place)?.limiter.clone())
    };
    Numbers::new(rules, of).unwrap()
}

/// Several events that are decided together, each with numbers of its own: at the same keys and at others, to be counted,
/// looked at or settled.
#[tokio::test]
async fn both_stores_decide_alike_about_events_with_numbers() {
    let Some(server) = Server::start(&[]) else { return };
    let mut runner = TestRunner::deterministic();
    for (i, texts) in SHAPES.iter().enumerate() {
        let store = open(&server.url(), rules(texts[0]), patient(&format!("several{i}:")));
        let memory = MemoryStore::new(rules(texts[0]), 1000);
        let theirs = texts.map(|text| numbers(&store.rules(), text));
        let ours = texts.map(|text| numbers(&memory.rules(), text));
        let part = (0_usize..3, 0_usize..2, 0_usize..2, 0_u8..4, 0_usize..5);
        let request = (0_i64..20_000_000, prop::collection::vec(part, 1..5));
        let requests = prop::collection::vec(request, 200).new_tree(&mut runner).unwrap().current();
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
            let events: Vec<_> = parts
                .iter()
                .zip(&fields)
                .map(|(&(.., cost, intent), fields)| {
                    // A cost that is given back was counted a while ago.
                    let (time, back) = match intent {
                        1 => (Time::from_micros(now - later / 2), -1.0),
                        _ => (time, 1.0),
                    };
                    Event { time, cost: back * f64::from(cost), fields }
                })
                .collect();
            let several = |numbers| -> Vec<Part<'_>> {
                let of: &[Numbers; 3] = numbers;
                let part = |(part, event)| {
                    let &(which, .., intent): &(usize, usize, usize, u8, usize) = part;
                    let intent = match intent {
                        0 => Intent::Look,
                        1 | 2 => Intent::Settle { now: time, passed: None },
                        _ => Intent::Count,
                    };
                    Part { event, numbers: Some(&of[which]), intent }
                };
                parts.iter().zip(&events).map(part).collect()
            };
            let theirs = store.decide(&several(&theirs), Details::ALL).await;
            let ours = memory.decide(&several(&ours), Details::ALL).await;
            for (i, (theirs, ours)) in theirs.iter().zip(ours.iter()).enumerate() {
                // A settled event has no verdict.
                if matches!(parts[i].4, 1 | 2) {
                    continue;
                }
                let what = || format!("{texts:?}, request {number}: {parts:?}: {theirs}, {ours}");
                let verdict = |decision: &Decision| (decision.is_allowed(), decision.fault.clone());
                assert_eq!(verdict(theirs), verdict(ours), "{}", what());
                for (theirs, ours) in theirs.outcomes().zip(ours.outcomes()) {
                    assert_near(what, theirs.outcome.level, ours.outcome.level);
                }
                // On Redis, the quota beside a look is the one before later parts.
                if parts.len() == 1 {
                    assert_same(what, theirs, ours);
                }
            }
        }
    }
}

/// A state drains by the numbers under which it was counted, also where no reload is seen: nobody waits for longer than
/// the longer of both windows.
#[tokio::test]
async fn a_smaller_bucket_is_empty_when_the_larger_one_would_be() {
    let Some(server) = Server::start(&[]) else { return };
    for kind in ["gcra", "token-bucket"] {
        let open = |n: u32| {
            open(&server.url(), rules(&format!("{kind} {n}/1h burst {n} per user")), patient("s:"))
        };
        let (large, small) = (open(1000), open(10));
        let at = |seconds: i64| Time::from_micros(1_000_000_000_000_000 + seconds * 1_000_000);
        let ann = [("user", kind)];
        let check = async |store: &_, seconds, cost| {
            super::check(store, at(seconds), cost, &ann, Details::ALL).await
        };
        assert!(check(&large, 0, 1000.0).await.is_allowed());
        let refused = check(&small, 0, 1.0).await;
        // Until 9 of the 1000 are left, which is 991/1000 of an hour.
        // The fraction of a millionth that the larger one has left is dropped: 3 microseconds.
        let wait = refused.retry_after().unwrap().wait().unwrap().as_secs_f64();
        assert!((3567.6 - wait).abs() < 4e-6, "{wait}");
        assert!(!check(&small, 3567, 1.0).await.is_allowed());
        assert!(check(&small, 3568, 1.0).await.is_allowed());
    }
}

/// With two sets of numbers on one key, nobody gets more than the larger.
#[tokio::test]
async fn looking_and_refused_events_make_no_room() {
    let Some(server) = Server::start(&[]) else { return };
    for (i, (usual, other)) in [
        ("nginx 1/1s burst 5 nodelay", "nginx 1/1s nodelay"),
        ("nginx 1/1m burst 5 nodelay", "nginx 1/1s burst 1 nodelay"),
        ("gcra 1/1m burst 6", "gcra 1/1s burst 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{usual} per user");
        let store = open(&server.url(), rules(&text), patient(&format!("room{i}:")));
        let small = numbers(&store.rules(), &format!("{other} per user"));
        let event = Event { time: Time::from_micros(1), cost: 1.0, fields: &[("user", "ann")] };
        let mut admitted = 0;
        for _ in 0..50 {
            for numbers in [None, Some(&small)] {
                for part in [Part::look(&event), Part::count(&event)] {
                    let part = Part { numbers, ..part };
                    let decided = store.decide(&[part], Details::default()).await;
                    admitted += usize::from(part.intent.is_count() && decided[0].is_allowed());
                }
            }
        }
        assert_eq!(admitted, 6, "{usual} and {other}");
    }
}

/// While Redis can't be asked, events with numbers of their own are decided by these, too.
#[tokio::test]
async fn a_fallback_decides_by_the_numbers_of_the_event() {
    let Some(mut server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("fixed-window 3/1h per user"), patient("fall:"));
    let large = numbers(&store.rules(), "fixed-window 5/1h per user");
    let now = Time::from_micros(1);
    let ann = [("user", "ann")];
    for _ in 0..3 {
        // With the quotas, this process learns the states.
        let decision = super::check(&store, now, 1.0, &ann, Details::ALL).await;
        assert!(decision.is_allowed() && decision.fault.is_none(), "{decision}");
    }
    server.kill();
    let mut allowed = Vec::new();
    for numbers in [None, Some(&large), None, Some(&large), Some(&large)] {
        let event = Event { time: now, cost: 1.0, fields: &ann };
        let part = Part { numbers, ..Part::count(&event) };
        let decided = store.decide(&[part], Details::ALL).await;
        assert!(decided[0].fault.is_some(), "{}", decided[0]);
        allowed.push(decided[0].is_allowed());
    }
    assert_eq!(allowed, [false, true, false, true, false]);
}

/// Numbers that Redis can't compute are not ignored: this process decides by them, and says so.
#[tokio::test]
async fn numbers_beyond_f64_are_a_fault() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("gcra 7/1m per user"), patient("far:"));
    let far = numbers(&store.rules(), "gcra 7/1m burst 100000000000 per user");
    let event = Event { time: Time::from_micros(1), cost: 8.0, fields: &[("user", "ann")] };
    let part = Part { numbers: Some(&far), ..Part::count(&event) };
    let decided = store.decide(&[part], Details::ALL).await;
    assert!(decided[0].is_allowed());
    let fault = decided[0].fault.as_ref().unwrap().to_string();
    assert!(fault.contains("Redis can't compute gcra 7/1m burst 100000000000"), "{fault}");
}

#[test]
fn public_types_are_send_and_sync() {
    fn are<T: Send + Sync>() {}
    are::<(ratescope_redis::Redis, ratescope_redis::RedisStore, ratescope_redis::Options)>();
}

#[tokio::test]
async fn events_that_count_at_one_key_go_by_the_numbers_of_the_first() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.url(), rules("fixed-window 3/1h per user"), patient("first:"));
    let large = numbers(&store.rules(), "fixed-window 5/1h per user");
    let event = Event { time: Time::from_micros(1), cost: 2.0, fields: &[("user", "ann")] };
    for (first, second, passes) in [(None, Some(&large), false), (Some(&large), None, true)] {
        let parts = [first, second].map(|numbers| Part { numbers, ..Part::count(&event) });
        let decisions = store.decide(&parts, Details::default()).await;
        let found = decisions
            .iter()
            .map(|decision| (decision.is_allowed(), decision.decided_by().unwrap().outcome.level));
        assert_eq!(found.collect::<Vec<_>>(), [(passes, 4.0); 2]);
    }
}
