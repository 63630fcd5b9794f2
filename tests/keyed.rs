//! The bounded map of keys: what it forgets, what it keeps, and what a key costs.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use ratescope::keyed::{Keyed, LOOK};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::limit::gcra::Gcra;
use ratescope::{Limiter, Time};
use std::collections::BTreeMap;
use std::hash::Hash;

fn seconds(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

fn gcra() -> Gcra {
    Gcra::new("1/1m".parse().unwrap(), 2.0).unwrap()
}

/// The keys from 0 to 99 that are remembered.
fn remembered<L: Limiter>(keyed: &Keyed<u32, L>) -> Vec<u32> {
    (0..100).filter(|key| keyed.state(key).is_some()).collect()
}

#[test]
fn each_key_has_its_own_state() {
    let mut keyed: Keyed<String, _> = Keyed::new(gcra(), 10);
    let mut check = |key: &str| keyed.check(key, Time::ZERO, 1.0).is_allowed();
    assert_eq!([check("a"), check("a"), check("b"), check("a")], [true, true, true, false]);
    assert!(keyed.peek("b", Time::ZERO, 1.0).is_allowed());
    assert!(!keyed.peek("a", Time::ZERO, 1.0).is_allowed());
    assert!(keyed.peek("c", Time::ZERO, 2.0).is_allowed());
    assert_eq!((keyed.len(), keyed.state("c").is_some()), (2, false));
}

#[test]
fn the_least_recently_used_is_forgotten() {
    let mut keyed = Keyed::new(gcra(), 3);
    for key in [1, 2, 3, 1, 4, 2] {
        let _ = keyed.check(&key, Time::ZERO, 1.0);
    }
    assert_eq!(remembered(&keyed), [1, 2, 4]);
    assert_eq!((keyed.len(), keyed.capacity(), keyed.forgotten()), (3, 3, 2));
}

/// Hammering under other names does not free the one that is held back.
#[test]
fn a_refused_key_outlasts_the_calm() {
    let mut keyed = Keyed::new(gcra(), 4);
    for _ in 0..3 {
        let _ = keyed.check(&0, Time::ZERO, 1.0);
    }
    for key in 1..100 {
        assert!(keyed.check(&key, seconds(1), 1.0).is_allowed());
    }
    assert_eq!(remembered(&keyed), [0, 97, 98, 99]);
    assert!(!keyed.check(&0, seconds(59), 1.0).is_allowed());
}

/// Once it may come back, it is as forgettable as any.
#[test]
fn a_refusal_that_is_over_protects_no_longer() {
    let mut keyed = Keyed::new(gcra(), 4);
    for _ in 0..3 {
        let _ = keyed.check(&0, Time::ZERO, 1.0);
    }
    for key in 1..=4 {
        let _ = keyed.check(&key, seconds(60), 1.0);
    }
    assert_eq!(remembered(&keyed), [1, 2, 3, 4]);
}

/// A refusal without end at the front of the refused hides the ones behind it only so far.
#[test]
fn some_of_the_refused_are_looked_at() {
    let exim = Exim { limit: "2/1h".parse().unwrap(), mode: Mode::Strict };
    let mut keyed = Keyed::new(exim, LOOK + 4);
    let mut refuse = |key: u32, events: u32| {
        for _ in 0..events {
            let _ = keyed.check(&key, Time::ZERO, 1.0);
        }
    };
    // Refused for hours but for one of them, for minutes.
    for key in 0..LOOK as u32 - 1 {
        refuse(key, 1000);
    }
    refuse(50, 3);
    for key in 90..96 {
        let _ = keyed.check(&key, seconds(3 * 3600), 1.0);
    }
    let now = remembered(&keyed);
    assert_eq!(now[..LOOK - 1], (0..LOOK as u32 - 1).collect::<Vec<_>>());
    assert_eq!(now[LOOK - 1..], [91, 92, 93, 94, 95]);
}

#[test]
fn when_all_are_refused_the_oldest_goes() {
    let mut keyed = Keyed::new(gcra(), 2);
    for key in [1, 1, 1, 2, 2, 2, 3, 3, 3] {
        let _ = keyed.check(&key, Time::ZERO, 1.0);
    }
    assert_eq!(remembered(&keyed), [2, 3]);
}

/// An event that is too large by itself says nothing about the key.
#[test]
fn an_impossible_event_does_not_protect() {
    let mut keyed = Keyed::new(gcra(), 2);
    assert!(!keyed.check(&0, Time::ZERO, 100.0).is_allowed());
    for key in [1, 2] {
        let _ = keyed.check(&key, Time::ZERO, 1.0);
    }
    assert_eq!(remembered(&keyed), [1, 2]);
}

proptest! {
    /// With room for all, it is a plain map; with less, it never holds more than its capacity, and
    /// what it remembers it remembers rightly.
    #[test]
    fn as_a_plain_map(
        events in prop::collection::vec((0u32..20, 0i64..20), 1..200),
        capacity in 1usize..25,
    ) {
        let limiter: AnyLimiter = "token-bucket 1/10s burst 3".parse().unwrap();
        let mut keyed = Keyed::new(limiter.clone(), capacity);
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
            prop_assert!(keyed.len() <= capacity);
            prop_assert_eq!(keyed.state(&key), Some(&*state));
        }
    }
}

/// The bytes of a key where the table is as full as it gets, 7/8 of 2^17 slots.
fn bytes_per_key<K, L>(limiter: L, key: impl Fn(u32) -> K) -> f64
where
    K: Hash + Eq + Clone,
    L: Limiter,
{
    let keys = (1 << 17) / 8 * 7;
    let mut keyed = Keyed::new(limiter, keys as usize);
    let used = allocation_counter::measure(|| {
        for i in 0..keys {
            let _ = keyed.check(&key(i), Time::ZERO, 1.0);
        }
    });
    assert_eq!(keyed.len(), keys as usize);
    used.bytes_current as f64 / f64::from(keys)
}

/// What the documentation says, measured: the key, the state, 32, and 9 for each 8/7 slots.
#[test]
fn the_bytes_of_a_key_are_as_documented() {
    let any = |text: &str| text.parse::<AnyLimiter>().unwrap();
    let text = |i| format!("user-{i:07}");
    let (owned, table) = (size_of::<String>() + text(0).len(), 9.0 * 8.0 / 7.0);
    // A log is in a box of 40 bytes, and has room for the first four events.
    let log = size_of::<usize>() * 5 + 4 * 16;
    for (measured, counted) in [
        (bytes_per_key(gcra(), u64::from), 8 + 16 + 32),
        (bytes_per_key(any("gcra 1/1m"), u64::from), 8 + 32 + 32),
        (bytes_per_key(any("gcra 1/1m"), text), owned + 32 + 32),
        (bytes_per_key(any("sliding-log 1/1m"), u64::from), 8 + 32 + 32 + log),
    ] {
        let counted = counted as f64 + table;
        assert!((measured - counted).abs() < 0.1, "{measured}, should be {counted}");
    }
}
