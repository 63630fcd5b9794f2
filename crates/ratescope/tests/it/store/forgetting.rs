//! The keys that a store forgets, and those that it never keeps.

use crate::store::random::{ALLOWED_ONLY, case};
use crate::store::{gcra, mail, remembered, seconds, sends};
use ratescope::limit::any::AnyLimiter;
use ratescope::store::Keyed;
use ratescope::{MemoryStore, Span, Time};

/// Up to two sets, which are both sets of every key, the order of use is exact.
#[test]
fn the_least_recently_used_is_forgotten() {
    for (capacity, slots) in [(1, 8), (7, 8), (8, 16), (14, 16)] {
        let keyed = Keyed::new(gcra(), capacity);
        assert_eq!((keyed.capacity(), keyed.is_empty()), (slots, true));
        let all = slots as u32;
        let used = (0..all).chain([0, 2]).chain(all..all + 2);
        used.for_each(|key| assert!(sends(&keyed, key, Time::ZERO)));
        let kept: Vec<u32> = (0..all + 2).filter(|key| ![1, 3].contains(key)).collect();
        assert_eq!(remembered(&keyed), kept);
        assert_eq!((keyed.len(), keyed.evicted(), keyed.is_empty()), (slots, 2, false));
    }
}

/// A store adds up the keys of its limits, and has room for as many as the smallest of them.
#[test]
fn a_store_says_how_many_keys_it_has() {
    let store = MemoryStore::new(
        "gcra 1/1m per user & gcra 9/1m per ip".parse::<ratescope::Policy>().unwrap(),
        1,
    );
    assert!(store.is_empty());
    assert_eq!((store.len(), store.capacity(), store.evicted()), (0, 1, 0));
    let user = |i: usize| mail(&store, &i.to_string(), "192.0.2.1", Time::ZERO);
    assert!(user(0).is_allowed() && !store.is_empty());
    assert_eq!((store.len(), store.evicted()), (2, 0));
    assert!((1..=8).all(|i| user(i).is_allowed()));
    assert_eq!((store.len(), store.evicted()), (9, 1));
}

/// A look does not use a key, so it does not keep it.
#[test]
fn a_look_is_no_use() {
    let keyed = Keyed::new(gcra(), 1);
    for key in 0..8 {
        sends(&keyed, key, Time::ZERO);
        let _ = keyed.peek(&0, Time::ZERO, 1.0);
    }
    sends(&keyed, 8, Time::ZERO);
    assert_eq!(remembered(&keyed), (1..9).collect::<Vec<_>>());
}

/// Of as many keys as were asked for, fewer than one in a thousand is forgotten, at every size.
#[test]
fn there_is_room_for_as_many_as_were_asked_for() {
    for (capacity, times) in [(20, 500), (100, 100), (1000, 20), (5000, 8), (60_000, 1)] {
        let (mut lost, mut places) = (0, 0);
        for _ in 0..times {
            let keyed = Keyed::new(gcra(), capacity);
            (0..capacity as u32).for_each(|key| assert!(sends(&keyed, key, Time::ZERO)));
            assert_eq!(keyed.len() + keyed.evicted() as usize, capacity);
            lost += keyed.evicted();
            places = keyed.capacity();
        }
        let share = lost as f64 / (capacity * times) as f64;
        assert!(share < 0.001, "{share} of {capacity}");
        assert!(places <= capacity * 9 / 8 + 8 * 32, "{places} for {capacity}");
    }
}

/// A state that equals the initial one takes no entry: that of a key that was always refused, of one that
/// another limit refused, and of a `peek`.
#[test]
fn nothing_to_remember_takes_no_room() {
    let keyed = Keyed::new(gcra(), 100);
    assert!(!keyed.check(&0, Time::ZERO, 100.0).is_allowed());
    assert!(keyed.check(&1, Time::ZERO, 0.0).is_allowed());
    assert!(keyed.is_empty());
    for kind in ALLOWED_ONLY {
        let limit = case(kind, 100.0, Span::from_mins(1), 100.0).limiter;
        let store = MemoryStore::new(
            format!("2/1h per ip & {limit} per user").parse::<ratescope::Policy>().unwrap(),
            100,
        );
        for user in ["ann", "bob", "eve", "tim", "tom"] {
            let _ = mail(&store, user, "x", seconds(1000));
        }
        assert_eq!(store.len(), 1 + 2, "{limit}");
    }
}

/// An attempt is something to remember for those that count attempts.
#[test]
fn attempts_are_remembered_where_they_count() {
    for limit in ["exim 100/1m strict", "earrrl 100/1m"] {
        let store = MemoryStore::new(
            format!("2/1h per ip & {limit} per user").parse::<ratescope::Policy>().unwrap(),
            100,
        );
        for user in ["ann", "bob", "eve", "tim", "tom"] {
            let _ = mail(&store, user, "x", seconds(1000));
        }
        assert_eq!(store.len(), 1 + 5, "{limit}");
    }
}

/// Logs are forgotten as any, and their memory with them.
#[test]
fn states_of_any_kind_are_forgotten() {
    let limiter: AnyLimiter = "sliding-log 100/1m".parse().unwrap();
    let keyed = Keyed::new(limiter, 20);
    let used = allocation_counter::measure(|| {
        for key in 0..5000 {
            sends(&keyed, key, Time::ZERO);
        }
    });
    assert_eq!(keyed.len(), keyed.capacity());
    assert!(used.bytes_current < 8000, "{used:?}");
}
