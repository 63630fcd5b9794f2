//! A key that is being refused is not forgotten before one that is not.

use crate::store::random::{KINDS, case};
use crate::store::{gcra, is_held_back, mail, remembered, seconds, sends};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::store::{Keyed, Secret};
use ratescope::{MemoryStore, Span, Time};

/// Room for eight.
fn eight() -> Keyed<ratescope::limit::gcra::Gcra> {
    Keyed::new(gcra(), 7)
}

/// Hammering under other names does not free the one that is held back.
#[test]
fn a_refused_key_outlasts_the_calm() {
    let keyed = eight();
    is_held_back(&keyed, 0, Time::ZERO);
    assert!((1..100).all(|key| sends(&keyed, key, seconds(1))));
    assert_eq!(remembered(&keyed), [0, 93, 94, 95, 96, 97, 98, 99]);
    assert!(!sends(&keyed, 0, seconds(59)));
}

/// Once it may come back, it is as forgettable as any.
#[test]
fn a_refusal_that_is_over_protects_no_longer() {
    let keyed = eight();
    is_held_back(&keyed, 0, Time::ZERO);
    assert!((1..=8).all(|key| sends(&keyed, key, seconds(60))));
    assert_eq!(remembered(&keyed), [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Each is asked for itself: refusals that go on hide none that is over.
#[test]
fn every_refusal_is_looked_at() {
    let exim = Exim { limit: "2/1h".parse().unwrap(), mode: Mode::Strict };
    let keyed = Keyed::new(exim, 7);
    // Refused for hours but for the last of them, for minutes.
    for key in 0..6 {
        (0..1000).for_each(|_| {
            sends(&keyed, key, Time::ZERO);
        });
    }
    is_held_back(&keyed, 50, Time::ZERO);
    for key in 90..96 {
        sends(&keyed, key, seconds(3 * 3600));
    }
    assert_eq!(remembered(&keyed), [0, 1, 2, 3, 4, 5, 94, 95]);
}

#[test]
fn when_all_are_refused_the_oldest_goes() {
    let keyed = eight();
    for key in 0..9 {
        is_held_back(&keyed, key, Time::ZERO);
    }
    assert_eq!(remembered(&keyed), (1..9).collect::<Vec<_>>());
}

/// An event that is too large by itself says nothing about the key, so it protects none.
#[test]
fn an_impossible_event_does_not_protect() {
    let keyed = eight();
    sends(&keyed, 0, Time::ZERO);
    assert!(!keyed.check(&0, Time::ZERO, 100.0).is_allowed());
    for key in 1..=8 {
        sends(&keyed, key, Time::ZERO);
    }
    assert_eq!(remembered(&keyed), (1..9).collect::<Vec<_>>());
}

/// One that costs as much as the refused one did ends it.
#[test]
fn protection_ends_when_as_much_passes() {
    let keyed = eight();
    is_held_back(&keyed, 0, Time::ZERO);
    assert!(sends(&keyed, 0, seconds(60)));
    assert!((1..=8).all(|key| sends(&keyed, key, seconds(60))));
    assert!(!remembered(&keyed).contains(&0));
}

/// The dearest of several refusals counts, in whichever order they came; one that passes at a
/// smaller cost leaves it.
#[test]
fn the_dearest_refusal_protects() {
    for costs in [[1.0, 0.25, 0.125], [0.25, 1.0, 0.125], [0.125, 0.25, 1.0]] {
        let keyed = eight();
        assert!(keyed.check(&0, Time::ZERO, 2.0).is_allowed());
        assert!(costs.into_iter().all(|cost| !keyed.check(&0, Time::ZERO, cost).is_allowed()));
        assert!(keyed.check(&0, seconds(30), 0.0625).is_allowed());
        assert!((1..=8).all(|key| sends(&keyed, key, seconds(59))));
        assert!(remembered(&keyed).contains(&0), "{costs:?}");
        assert!((11..=18).all(|key| sends(&keyed, key, seconds(64))));
        assert!(!remembered(&keyed).contains(&0), "{costs:?}");
    }
}

/// By no limiter is it shed by an event that costs little or nothing, or too much.
#[test]
fn protection_is_not_shed_whatever_the_limiter() {
    for kind in KINDS {
        for cost in [0.0, 1e-30, 1e-6, 0.001, 0.9, 1e9, 1e13, f64::INFINITY, f64::NAN, -1.0] {
            let keyed = Keyed::new(case(kind, 5.0, Span::from_secs(60), 5.0).limiter, 7);
            is_held_back(&keyed, 0, Time::ZERO);
            for _ in 0..3 {
                let _ = keyed.check(&0, Time::ZERO, cost);
            }
            (1..40).for_each(|key| assert!(sends(&keyed, key, Time::from_micros(1000))));
            assert!(remembered(&keyed).contains(&0), "{kind}, {cost}");
        }
    }
}

/// Of a cost there is room for 24 bits. The remembered part of one that has more is less than it
/// was, so that it ends no later.
#[test]
fn a_cost_of_many_digits_protects_no_longer() {
    let most = 16_777_219.0;
    let gcra: AnyLimiter = "gcra 16777219/1m burst 16777219".parse().unwrap();
    let keyed = Keyed::new(gcra, 7);
    assert!(keyed.check(&0, Time::ZERO, most).is_allowed());
    assert!(!keyed.check(&0, Time::ZERO, most).is_allowed());
    assert!((1..=8).all(|key| sends(&keyed, key, seconds(59))));
    assert!(remembered(&keyed).contains(&0));
    assert!((11..=18).all(|key| sends(&keyed, key, seconds(60))));
    assert!(!remembered(&keyed).contains(&0));
}

/// A key is refused when its last event was, and not when its next one would be.
#[test]
fn keys_that_were_allowed_are_not_kept_as_refused() {
    let one: AnyLimiter = "gcra 1/1m burst 1".parse().unwrap();
    let keyed = Keyed::new(one, 7);
    for key in 0..9 {
        assert!(sends(&keyed, key, Time::ZERO));
    }
    assert_eq!(remembered(&keyed), (1..9).collect::<Vec<_>>());
}

/// Only the address is being refused, not the names that it tries; and these flush nobody.
#[test]
fn a_name_is_not_refused_for_its_address() {
    let store = MemoryStore::new(
        "gcra 2/1h per ip & gcra 2/1m per user".parse::<ratescope::Policy>().unwrap(),
        7,
    );
    assert!(mail(&store, "ann", "elsewhere", Time::ZERO).is_allowed());
    for i in 0..50 {
        let _ = mail(&store, &format!("name {i}"), "x", Time::ZERO);
    }
    assert_eq!((store.len(), store.evicted()), (2 + 3, 0));
    // Names at other addresses push out the two that passed here, not the address.
    for i in 0..8 {
        assert!(mail(&store, &format!("other {i}"), &format!("ip {i}"), Time::ZERO).is_allowed());
    }
    assert!(!mail(&store, "tom", "x", Time::ZERO).is_allowed());
}

/// Where sets are full of keys that are being refused, they move over. With four fifths of all
/// places taken by such keys, none is forgotten for a hundred thousand others. The secret is fixed,
/// as a rare one loses a key.
#[test]
fn refused_keys_are_kept_where_they_collide() {
    let keyed = Keyed::with_hasher(gcra(), 4000, Secret::from_words([1, 2]));
    let held_back = keyed.capacity() as u32 / 5 * 4;
    (0..held_back).for_each(|key| is_held_back(&keyed, key, Time::ZERO));
    assert_eq!((keyed.len(), keyed.evicted()), (held_back as usize, 0));
    (0..100_000).for_each(|key| assert!(sends(&keyed, 1_000_000 + key, seconds(1))));
    assert_eq!(keyed.len(), keyed.capacity());
    let lost = (0..held_back).filter(|key| keyed.state(key).is_none()).count();
    assert_eq!(lost, 0);
}
