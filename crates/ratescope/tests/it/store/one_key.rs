//! Looking at one key, resetting it, and taking its events back.

use crate::store::{gcra, is_held_back, mail, remembered, seconds, sends};
use ratescope::store::Keyed;
use ratescope::{Event, MemoryStore, Span};
use std::hash::Hash;

#[test]
fn a_key_is_looked_at_without_counting() {
    let keyed = Keyed::new(gcra(), 10);
    assert_eq!(
        (keyed.remaining(&1, seconds(0)), keyed.reset_after(&1, seconds(0))),
        (2.0, Span::ZERO)
    );
    assert!(sends(&keyed, 1, seconds(0)));
    assert_eq!(keyed.remaining(&1, seconds(0)), 1.0);
    assert_eq!(keyed.reset_after(&1, seconds(15)), Span::from_secs(45));
    let store = MemoryStore::new(
        "gcra 9/1m per user & gcra 4/1h per ip".parse::<ratescope::Policy>().unwrap(),
        10,
    );
    assert!(mail(&store, "ann", "x", seconds(0)).is_allowed());
    let fields = &[("user", "bob"), ("ip", "x")];
    let event = Event { time: seconds(0), cost: 1.0, fields };
    assert_eq!((store.remaining(&event), store.reset_after(&event)), (3.0, Span::from_mins(15)));
    assert_eq!(store.len(), 2);
}

/// A key that was refused may send again, and is protected no longer.
#[test]
fn a_key_that_is_reset_is_new() {
    let keyed = Keyed::new(gcra(), 7);
    is_held_back(&keyed, 0, seconds(0));
    assert!(keyed.reset(&0) && !keyed.reset(&1));
    assert_eq!(keyed.remaining(&0, seconds(0)), 2.0);
    (100..200).for_each(|key| assert!(sends(&keyed, key, seconds(0))));
    assert!(remembered(&keyed).is_empty());
}

#[test]
fn only_the_chosen_limits_are_reset() {
    let store = MemoryStore::new(
        "gcra 1/1m per user & gcra 3/1m per all".parse::<ratescope::Policy>().unwrap(),
        10,
    );
    assert!(mail(&store, "ann", "x", seconds(0)).is_allowed());
    let of_users =
        |fields: &[(&str, &str)]| store.reset(&fields, |_, per| per.fields() == ["user"]);
    assert_eq!((of_users(&[("user", "ann")]), of_users(&[("user", "bob")])), (1, 0));
    assert!(mail(&store, "ann", "x", seconds(0)).is_allowed());
    assert!(mail(&store, "bob", "x", seconds(0)).is_allowed());
    assert_eq!(mail(&store, "eve", "x", seconds(0)).to_string(), "refused: level 4, limit 3");
}

#[test]
fn events_are_taken_back() {
    let keyed = Keyed::new(gcra(), 10);
    is_held_back(&keyed, 1, seconds(0));
    assert!(keyed.undo(&1, seconds(0), seconds(0), 1.0) && sends(&keyed, 1, seconds(0)));
    assert!(!sends(&keyed, 1, seconds(0)));
    // Of a key that is not known, nothing is left to take back.
    assert!(keyed.undo(&2, seconds(0), seconds(0), 1.0));
    assert_eq!((keyed.len(), keyed.remaining(&2, seconds(0))), (1, 2.0));

    let store = MemoryStore::new(
        "gcra 1/1m per user & exim 1.5/1m leaky per ip".parse::<ratescope::Policy>().unwrap(),
        10,
    );
    assert!(mail(&store, "ann", "x", seconds(0)).is_allowed());
    let event = Event { time: seconds(0), cost: 1.0, fields: &[("user", "ann"), ("ip", "x")] };
    // Exim can't take back an event that it has measured, so the bucket gives nothing back either.
    assert!(!crate::judged::undo(&store, &event, seconds(0)));
    assert!(!mail(&store, "ann", "y", seconds(0)).is_allowed());
}

#[test]
fn rules_reset_a_key_too() {
    use ratescope::rules::{MemoryStore, Rules};
    let text = "{domain: web, descriptors: [{key: user, limit: 1/1m}, {key: ip, limit: 2/1m}]}";
    let ruled = MemoryStore::new(Rules::read("rules.yaml", text).unwrap(), 10);
    let fields = [("user", "ann"), ("ip", "x")];
    let event = Event { time: seconds(0), cost: 1.0, fields: &fields };
    assert!(ruled.check(&event).is_allowed() && !ruled.check(&event).is_allowed());
    assert_eq!(
        ruled.reset(&fields, |rule, per| rule.name() == "web:user" && per.fields() == ["user"]),
        1
    );
    assert!(ruled.check(&event).is_allowed());
    assert_eq!(ruled.check(&event).decided_by().unwrap().rule.name(), "web:user");
}

/// Two numbers of any size are two keys.
#[test]
fn numbers_are_keys_of_their_own() {
    fn are_two<K: Hash>(keys: [K; 2]) {
        let keyed = Keyed::new(gcra(), 10);
        let sends = |key: &K| keyed.check(key, seconds(0), 2.0).is_allowed();
        assert_eq!(keys.map(|key| (sends(&key), sends(&key))), [(true, false); 2]);
    }
    are_two([1u8, 2]);
    are_two([1u16, 2]);
    are_two([1u32, 2]);
    are_two([1u64, 2]);
    are_two([1u128, 2]);
    are_two([1usize, 2]);
    are_two([-1i8, 1]);
    are_two(["a", "b"]);
    are_two([("ab", "c"), ("a", "bc")]);
    are_two([[1u8, 2].as_slice(), &[1]]);
}
