//! Several threads at once. Here we try the things that loom does not try: real threads, many keys, more
//! limits. Which order they ran in is not known, and need not be: events of one instant in limits
//! that count are admitted in whatever order as long as all have room, so what came out says
//! whether there is an order in which it is right.

use crate::store::MemoryStore;
use proptest::prelude::*;
use ratescope::policy::Per;
use ratescope::{Event, Policy, Time};
use std::collections::BTreeMap;
use std::thread;

/// The user, the address and the path of an event.
type From = [u8; 3];

const FIELDS: [&str; 3] = ["user", "ip", "path"];
const PER: [&str; 6] = ["user", "ip", "path", "user+ip", "ip+path", "all"];
const KINDS: [&str; 4] = ["sliding-log", "fixed-window", "gcra", "token-bucket"];

/// Puts an event to a store.
fn ask<T>(from: From, ask: impl FnOnce(&Event<'_>) -> T) -> T {
    let texts = from.map(|n| n.to_string());
    let fields: Vec<(&str, &String)> = FIELDS.into_iter().zip(&texts).collect();
    ask(&Event { time: Time::ZERO, cost: 1.0, fields: &fields })
}

/// The part of an event that is the key of a limit, computed in the plainest way.
fn key(per: &Per, from: From) -> Vec<u8> {
    let fields = FIELDS.into_iter().zip(from);
    fields.filter(|(name, _)| per.fields().iter().any(|f| f == name)).map(|(_, n)| n).collect()
}

/// Lets each thread send its events, and says which passed.
fn send(store: &MemoryStore, threads: &[Vec<From>]) -> Vec<(From, bool)> {
    let run = |events: &[From]| -> Vec<(From, bool)> {
        let check = |from: &From| (*from, ask(*from, |event| store.check(event)).is_allowed());
        events.iter().map(check).collect()
    };
    thread::scope(|scope| {
        let running: Vec<_> = threads.iter().map(|events| scope.spawn(|| run(events))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// An order in which it is right exists when, for each limit and key, as many passed as fit,
    /// and whatever was refused was refused for a key that is full. The store counted what passed:
    /// exactly as much room is left as that leaves.
    #[test]
    fn there_is_an_order_in_which_it_is_right(
        limits in prop::collection::vec((0..KINDS.len(), 1u32..8, 0..PER.len()), 1..5),
        threads in prop::collection::vec(prop::collection::vec([0..3u8, 0..3u8, 0..2u8], 20..60), 2..5),
        capacity in prop_oneof![Just(1000), Just(100_000)],
    ) {
        let text = |(kind, count, per): &(usize, u32, usize)| {
            format!("{} {count}/1h per {}", KINDS[*kind], PER[*per])
        };
        let policy = limits.iter().map(text).collect::<Vec<_>>().join(" & ");
        let store = MemoryStore::new(policy.parse::<Policy>().unwrap(), capacity);
        let events = send(&store, &threads);

        let counted = |i: usize, from: From| {
            let policy = crate::judged::policy_of(&store);
            let per = &policy.limits()[i].per;
            let same = |(other, passed): &&(From, bool)| *passed && key(per, *other) == key(per, from);
            events.iter().filter(same).count() as u32
        };
        for (from, passed) in &events {
            let room = |i: usize| i64::from(limits[i].1) - i64::from(counted(i, *from));
            let least = (0..limits.len()).map(room).min().unwrap();
            prop_assert!(least >= 0, "{policy}: more passed than fit");
            prop_assert!(*passed || least == 0, "{policy}: refused without a reason");
            let left = |cost| ask(*from, |event| store.peek(&Event { cost, ..*event })).is_allowed();
            prop_assert!(left(least as f64) && !left(least as f64 + 1.0), "{policy}: counted otherwise");
        }
    }
}

/// Threads that come from both sides to the same keys do not wait for each other.
#[test]
fn no_two_wait_for_each_other() {
    let policy = "1000000/1h per user & 1000000/1h per ip & 1000000/1h per user+ip";
    let store = MemoryStore::new(policy.parse::<ratescope::Policy>().unwrap(), 100_000);
    let events = |side: u32| -> Vec<From> {
        let pair =
            |i: u32| [(i >> (3 * side)) % 100, (i >> (3 - 3 * side)) % 100, 0].map(|n| n as u8);
        (0..3000).map(pair).collect()
    };
    let passed = send(&store, &[events(0), events(1), events(0), events(1)]);
    assert!(passed.iter().all(|(_, passed)| *passed));
    let mut users: BTreeMap<u8, f64> = BTreeMap::new();
    passed.iter().for_each(|(from, _)| *users.entry(from[0]).or_default() += 1.0);
    for (user, count) in users {
        let peek = |cost| ask([user, 200, 0], |event| store.peek(&Event { cost, ..*event }));
        assert!(peek(1_000_000.0 - count).is_allowed(), "user {user}");
        assert!(!peek(1_000_001.0 - count).is_allowed(), "user {user}");
    }
}

/// A panic in one thread, such as in a hash of a caller's own, stops nobody else.
#[test]
fn a_panic_elsewhere_is_no_end() {
    struct Bad;
    impl ratescope::event::Fields for Bad {
        fn value(&self, _name: &str) -> Option<&str> {
            panic!("a caller's own code")
        }
    }
    let store = MemoryStore::new("2/1h per user".parse::<ratescope::Policy>().unwrap(), 10);
    let asks = || store.check(&Event { time: Time::ZERO, cost: 1.0, fields: &Bad });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(asks)).is_err());
    assert!(ask([0, 0, 0], |event| store.check(event)).is_allowed());
}
