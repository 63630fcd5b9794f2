//! Stores: the keys that they forget and keep, the memory of a key, and that threads agree.

mod clock;
mod far_away;
mod forgetting;
mod memory;
mod one_key;
mod refused;
mod saved;
mod threads;
mod waiting;

use crate::far;
use crate::judged::Judged;
use crate::random;
use crate::set_back;
use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::gcra::Gcra;
use ratescope::store::Keyed;
use ratescope::{Event, Limiter, MemoryStore, Outcome, Retry, Span, Time};
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

fn seconds(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

/// Two at once, and one a minute.
fn gcra() -> Gcra {
    Gcra::new("1/1m".parse().unwrap(), 2.0).unwrap()
}

/// The keys from 0 to 99 that are remembered.
fn remembered<L: Limiter<State: PartialEq>>(keyed: &Keyed<L>) -> Vec<u32> {
    (0..100).filter(|key| keyed.state(key).is_some()).collect()
}

/// One event of cost 1.
fn sends<L: Limiter<State: PartialEq>>(keyed: &Keyed<L>, key: u32, now: Time) -> bool {
    keyed.check(&key, now, 1.0).is_allowed()
}

/// Sends until one event is refused.
fn is_held_back<L: Limiter<State: PartialEq>>(keyed: &Keyed<L>, key: u32, now: Time) {
    while sends(keyed, key, now) {}
}

/// One event of cost 1 by a user from an address.
fn mail(store: &MemoryStore, user: &str, ip: &str, now: Time) -> Judged {
    store.check(&Event { time: now, cost: 1.0, fields: &[("user", user), ("ip", ip)] }).into()
}

#[test]
fn each_key_has_its_own_state() {
    let keyed = Keyed::new(gcra(), 10);
    let check = |key: &str| keyed.check(key, Time::ZERO, 1.0).is_allowed();
    assert_eq!([check("a"), check("a"), check("b"), check("a")], [true, true, true, false]);
    assert!(keyed.peek("b", Time::ZERO, 1.0).is_allowed());
    assert!(!keyed.peek("a", Time::ZERO, 1.0).is_allowed());
    assert!(keyed.peek("c", Time::ZERO, 2.0).is_allowed());
    assert_eq!((keyed.len(), keyed.state("c")), (2, None));
    assert_eq!(keyed.retry_after("a", Time::ZERO, 1.0), Retry::After(Span::from_mins(1)));
    assert_eq!(keyed.retry_after("c", Time::ZERO, 1.0), Retry::NOW);
    // Values that hash alike are the same key.
    assert_eq!(keyed.state(&"a".to_owned()), keyed.state("a"));
}

/// With another hash it remembers the same of each key.
#[test]
fn any_hash_will_do() {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let (ours, other) = (Keyed::new(gcra(), 100), Keyed::with_hasher(gcra(), 100, hasher));
    for key in 0..300 {
        let (key, now) = (key % 70, seconds(key));
        assert_eq!(ours.check(&key, now, 1.0), other.check(&key, now, 1.0));
        assert_eq!(ours.state(&key), other.state(&key));
    }
}

/// A cost that was not known before is charged afterwards, also to a key that was never asked about.
#[test]
fn a_charge_is_missing_later() {
    let keyed = Keyed::new(gcra(), 10);
    keyed.charge("a", Time::ZERO, 3.0).unwrap();
    assert_eq!(keyed.retry_after("a", Time::ZERO, 1.0), Retry::After(Span::from_mins(2)));
    let store = MemoryStore::new(
        "gcra 2/1m per user & gcra 3/1m per ip".parse::<ratescope::Policy>().unwrap(),
        10,
    );
    let fields = &[("user", "ann"), ("ip", "x")];
    crate::judged::charge(&store, &Event { time: Time::ZERO, cost: 2.0, fields });
    assert_eq!(mail(&store, "ann", "x", Time::ZERO).to_string(), "refused: level 3, limit 2");
    assert_eq!(mail(&store, "bob", "x", Time::ZERO).to_string(), "allowed: level 3, limit 3");
    assert!(!mail(&store, "bob", "x", Time::ZERO).is_allowed());
}

/// As in a server that clones its state for each request.
#[test]
fn clones_count_in_the_same_states() {
    let store =
        MemoryStore::new("2/1m per user & 3/1m per ip".parse::<ratescope::Policy>().unwrap(), 1000);
    let sent = ["ann", "ann", "ann", "bob", "bob"];
    let passed = sent.map(|user| mail(&store.clone(), user, "x", Time::ZERO).is_allowed());
    assert_eq!(passed, [true, true, false, true, false]);
    assert_eq!((store.len(), store.evicted()), (3, 0));
    let keyed = Keyed::new(gcra(), 10);
    assert_eq!([0; 3].map(|_| sends(&keyed.clone(), 1, Time::ZERO)), [true, true, false]);
    assert!(keyed.clone().reset(&1) && sends(&keyed, 1, Time::ZERO));
}

/// A fork goes its own way, and knows the keys by the same secret.
#[test]
fn a_fork_remembers_the_same() {
    let store = MemoryStore::new("2/1m per user".parse::<ratescope::Policy>().unwrap(), 1000);
    for user in ["ann", "ann", "bob"] {
        assert!(mail(&store, user, "x", Time::ZERO).is_allowed());
    }
    let copy = store.fork();
    assert!(mail(&store, "bob", "x", Time::ZERO).is_allowed());
    let allowed = ["ann", "bob", "bob"].map(|user| mail(&copy, user, "x", Time::ZERO).is_allowed());
    assert_eq!((allowed, copy.len()), ([false, true, false], 2));
}

/// The tightest of all keys and limits; of a limit without keys that of a new one.
#[test]
fn the_tightest_level_of_all_keys() {
    let store = MemoryStore::new(
        "gcra 4/1m per user & gcra 10/1m per ip".parse::<ratescope::Policy>().unwrap(),
        1000,
    );
    let tightest = |now| {
        let outcome = store.tightest(now).unwrap();
        (outcome.level, outcome.limit)
    };
    assert_eq!(tightest(Time::ZERO), (0.0, 10.0));
    let _ = mail(&store, "ann", "x", Time::ZERO);
    let _ = mail(&store, "bob", "x", Time::ZERO);
    let _ = mail(&store, "bob", "x", Time::ZERO);
    assert_eq!(tightest(Time::ZERO), (2.0, 4.0));
    let _ = mail(&store, "eve", "x", Time::ZERO);
    let _ = mail(&store, "tim", "x", Time::ZERO);
    let _ = mail(&store, "tom", "x", Time::ZERO);
    assert_eq!(tightest(Time::ZERO), (6.0, 10.0));
    assert_eq!(tightest(seconds(3600)), (0.0, 10.0));
    // Envoy's limiter refuses to look at no event, which makes it no tighter.
    let store = MemoryStore::new(
        "gcra 2/10s & envoy 100/10s burst 100".parse::<ratescope::Policy>().unwrap(),
        10,
    );
    for _ in 0..2 {
        assert!(mail(&store, "ann", "x", Time::ZERO).is_allowed());
    }
    let Outcome { level, limit, .. } = store.tightest(Time::ZERO).unwrap();
    assert_eq!((level, limit), (2.0, 2.0));
}

/// Entries that logs and windows no longer count are freed, which changes no decision.
#[test]
fn what_no_longer_counts_is_freed() {
    let store =
        MemoryStore::new("sliding-log 1000/1m per user".parse::<ratescope::Policy>().unwrap(), 100);
    let used = allocation_counter::measure(|| {
        for micros in 0..1000 {
            assert!(mail(&store, "ann", "x", Time::from_micros(micros)).is_allowed());
        }
        store.forget(seconds(120));
    });
    assert!(used.bytes_current < 10_000, "{used:?}");
    assert!(mail(&store, "ann", "x", seconds(120)).is_allowed());
}

#[test]
fn so_it_is_in_rules() {
    use ratescope::rules::{MemoryStore, Rules};
    let rules = "domain: d\nlimit: sliding-log 1000/1m per user\n";
    let ruled = MemoryStore::new(Rules::read("rules.yaml", rules).unwrap(), 100);
    let fields = &[("user", "ann")];
    let used = allocation_counter::measure(|| {
        for micros in 0..1000 {
            let event = Event { time: Time::from_micros(micros), cost: 1.0, fields };
            assert!(ruled.check(&event).is_allowed());
        }
        ruled.forget(seconds(120));
    });
    assert!(used.bytes_current < 10_000, "{used:?}");
}

/// Silent keys are freed by the events of others, without anybody asking for it.
#[test]
fn the_events_of_others_free_what_no_longer_counts() {
    let limiter = || -> AnyLimiter { "sliding-log 100/1m".parse().unwrap() };
    let mut keyed = None;
    let full = allocation_counter::measure(|| {
        let senders = Keyed::new(limiter(), 1000);
        for (key, micros) in (0..800).flat_map(|key| (0..100).map(move |micros| (key, micros))) {
            let _ = senders.check(&key, Time::from_micros(micros), 1.0);
        }
        keyed = Some(senders);
    });
    let keyed = keyed.unwrap();
    assert!(full.bytes_current > 800 * 1600, "{full:?}");
    let freed = allocation_counter::measure(|| {
        // The first one frees nothing: that so much time has passed is known only after it.
        for event in 0..8 * 802 {
            let _ = keyed.check("one", seconds(100 + event), 1.0);
        }
    });
    assert!(freed.bytes_current < -800 * 1600, "{freed:?}");
    let is_free =
        |key| matches!(keyed.state(&key), Some(AnyState::SlidingLog(log)) if log.is_empty());
    assert_eq!((0..800).filter(|key| !is_free(*key)).count(), 0);
    assert_eq!(keyed.len(), 801);
    // A clock that is ahead for one event frees nothing that counts.
    let keyed = Keyed::new(limiter(), 10);
    let passes = |key: &str, at| keyed.check(key, at, 100.0).is_allowed();
    assert!(passes("ann", seconds(0)) && passes("bob", seconds(1_000_000)));
    assert_eq!([passes("bob", seconds(1)), passes("ann", seconds(1))], [false, false]);
}

#[test]
fn any_capacity_is_one() {
    let limiter = || -> AnyLimiter { "gcra 1/1m".parse().unwrap() };
    for capacity in [0, 1, usize::MAX / 2, usize::MAX - 1, usize::MAX] {
        let keyed = Keyed::new(limiter(), capacity);
        assert!(keyed.check("ann", Time::ZERO, 1.0).is_allowed());
        assert!(!keyed.check("ann", Time::ZERO, 1.0).is_allowed());
        assert!(keyed.capacity() >= capacity.min(usize::MAX / 2));
    }
}

proptest! {
    /// With room for all, it is a plain map; with less, it never holds more than its capacity, and
    /// all that it remembers is right.
    #[test]
    fn as_a_plain_map(
        events in prop::collection::vec((0u32..60, 0i64..20), 1..400),
        capacity in 1usize..70,
    ) {
        let limiter: AnyLimiter = "token-bucket 1/10s burst 3".parse().unwrap();
        let keyed = Keyed::new(limiter.clone(), capacity);
        let (mut plain, mut now) = (BTreeMap::new(), 0);
        for (key, gap) in events {
            now += gap;
            if keyed.state(&key).is_none() {
                plain.remove(&key);
            }
            let state = plain.entry(key).or_insert_with(|| limiter.initial());
            prop_assert_eq!(
                keyed.check(&key, seconds(now), 1.0),
                limiter.check(state, seconds(now), 1.0)
            );
            prop_assert!(keyed.len() <= keyed.capacity());
            prop_assert_eq!(keyed.state(&key), Some(state.clone()));
        }
    }
}
