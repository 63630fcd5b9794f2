//! Loom tries every interleaving of threads: `./scripts/check loom`. `tests/it/store/threads.rs` tests
//! real threads, with more keys and more limits.
#![cfg(loom)]

use crate::event::Event;
use crate::outcome::Retry;
use crate::policy::Policy;
use crate::rules::{Details, MemoryStore, Part};
use crate::time::Time;
use loom::sync::Arc;
use loom::thread;

/// A user and an address.
type From = (&'static str, &'static str);

/// An event of one instant.
fn ask<T>((user, ip): From, cost: f64, ask: impl FnOnce(&Event<'_>) -> T) -> T {
    ask(&Event { time: Time::ZERO, cost, fields: &[("user", user), ("ip", ip)] })
}

fn check(store: &MemoryStore, from: From) -> bool {
    ask(from, 1.0, |event| store.check(event)).is_allowed()
}

fn store(policy: &str) -> Option<Arc<MemoryStore>> {
    Some(Arc::new(MemoryStore::new(policy.parse::<Policy>().ok()?, 1)))
}

/// Charges for an event or, with a cost below 0, gives back.
fn settle(store: &MemoryStore, from: From, cost: f64) -> bool {
    ask(from, cost, |event| store.settle(event, Time::ZERO, None)).is_ok()
}

/// Runs `threads` in every interleaving; the main thread runs the first. `judge` gets each event and
/// whether it passed. Loom also finds deadlocks.
fn every_order(
    policy: &str,
    threads: &'static [&'static [From]],
    judge: fn(&MemoryStore, &[(From, bool)]),
) {
    let policy = policy.to_owned();
    loom::model(move || {
        let Some(store) = store(&policy) else { return assert!(false, "{policy}") };
        let send = |store: &MemoryStore, events: &[From]| -> Vec<(From, bool)> {
            events.iter().map(|from| (*from, check(store, *from))).collect()
        };
        let (first, rest) = threads.split_at(1);
        let running: Vec<_> = rest
            .iter()
            .map(|events| {
                let store = store.clone();
                thread::spawn(move || send(&store, events))
            })
            .collect();
        let mut sent = send(&store, first[0]);
        for thread in running {
            sent.extend(thread.join().unwrap_or_default());
        }
        assert_eq!(sent.len(), threads.iter().map(|events| events.len()).sum::<usize>());
        judge(&store, &sent);
    });
}

/// Judges a limit of one event for each user and for each address: passed events fit, refused events met a full key,
/// and the store counted exactly the passed events.
fn one_each(store: &MemoryStore, sent: &[(From, bool)]) {
    let passed = |same: &dyn Fn(From) -> bool| {
        sent.iter().filter(|(from, passed)| *passed && same(*from)).count()
    };
    for ((user, ip), allowed) in sent {
        let user_has = passed(&|from| from.0 == *user);
        let ip_has = passed(&|from| from.1 == *ip);
        assert!(user_has <= 1 && ip_has <= 1, "more than fits: {sent:?}");
        assert!(*allowed || user_has + ip_has > 0, "refused without a reason: {sent:?}");
        assert_eq!(ask((user, "?"), 1.0, |event| store.peek(event)).is_allowed(), user_has == 0);
        assert_eq!(ask(("?", ip), 1.0, |event| store.peek(event)).is_allowed(), ip_has == 0);
    }
}

const ONE_EACH: &str = "1/1h per user & 1/1h per ip";

#[test]
fn two_threads_that_cross() {
    let crossing: &[&[From]] = &[&[("ann", "x"), ("bob", "y")], &[("bob", "x"), ("ann", "y")]];
    every_order(ONE_EACH, crossing, one_each);
}

#[test]
fn three_threads_for_two_places() {
    every_order(ONE_EACH, &[&[("ann", "x")], &[("ann", "y")], &[("bob", "x")]], one_each);
}

/// All limits have the same key, so all events meet in each of them.
#[test]
fn the_same_keys_everywhere() {
    let policy = "sliding-log 3/1h per all & fixed-window 2/1h per all & gcra 3/1h per all";
    every_order(
        policy,
        &[&[("ann", "x"), ("ann", "x")], &[("bob", "y"), ("bob", "y")]],
        |store, sent| {
            assert_eq!(sent.iter().filter(|(_, passed)| *passed).count(), 2);
            // The first and the third have room for one more: they did not count what the second refused.
            let together = ask(("?", "?"), 1.0, |event| store.peek(event));
            assert_eq!(together.to_string(), "refused by policy: level 3, limit 2");
            assert_eq!(together.decided_by().map(|by| by.at), Some(1));
            let third = ask(("?", "?"), 2.0, |event| store.retry_after(event));
            assert!(matches!(third, Retry::After(_)));
        },
    );
}

/// A charge counts in all limits at once; a look sees all of it or nothing.
#[test]
fn a_charge_beside_looks() {
    loom::model(|| {
        let Some(store) = store("gcra 2/1h per user & gcra 2/1h per ip") else { return };
        let other = store.clone();
        let charge = thread::spawn(move || settle(&other, ("ann", "x"), 2.0));
        // The level of either limit is the same before and after.
        let seen = ask(("ann", "x"), 1.0, |event| store.peek(event));
        let wait = ask(("ann", "x"), 1.0, |event| store.retry_after(event));
        let refused = !seen.is_allowed();
        let level = seen.decided_by().map(|by| by.outcome.level);
        assert_eq!(level, Some(if refused { 3.0 } else { 1.0 }));
        assert!(!refused || wait != Retry::NOW, "what was charged stays charged");
        assert!(charge.join().is_ok());
        assert!(!check(&store, ("ann", "y")) && !check(&store, ("bob", "x")));
    });
}

/// Runs `other` in a second thread beside `this`, in every interleaving, on a limit of one event for each
/// user and for each address. `judge` gets what both returned.
fn beside<A: 'static, B: 'static>(
    before: &'static [From],
    other: fn(&MemoryStore) -> A,
    this: fn(&MemoryStore) -> B,
    judge: fn(&MemoryStore, A, B),
) {
    loom::model(move || {
        let Some(store) = store(ONE_EACH) else { return assert!(false, "{ONE_EACH}") };
        assert!(before.iter().all(|from| check(&store, *from)));
        let shared = store.clone();
        let running = thread::spawn(move || other(&shared));
        let ours = this(&store);
        let Ok(theirs) = running.join() else { return assert!(false, "it panicked") };
        judge(&store, theirs, ours);
    });
}

fn is_free(store: &MemoryStore, from: From) -> bool {
    ask(from, 1.0, |event| store.peek(event)).is_allowed()
}

/// Of two events that wait for one place, one passes, and the other counts nothing.
#[test]
fn two_who_wait_for_one_place() {
    fn pass(store: &MemoryStore, ip: &'static str) -> bool {
        let at_once = Details::default().at_once();
        let passed = ask(("ann", ip), 1.0, |event| store.decide_one(&Part::count(event), at_once));
        passed.is_allowed()
    }
    beside(
        &[],
        |store| pass(store, "x"),
        |store| pass(store, "y"),
        |store, x, y| {
            assert!(x != y, "one of them");
            assert_eq!([is_free(store, ("bob", "x")), is_free(store, ("bob", "y"))], [!x, !y]);
        },
    );
}

/// An event that is taken back makes room in all limits at once, for the next one.
#[test]
fn an_event_is_taken_back_beside_another() {
    fn free(store: &MemoryStore) -> [bool; 2] {
        [is_free(store, ("ann", "?")), is_free(store, ("?", "x"))]
    }
    beside(
        &[("ann", "x")],
        |store| settle(store, ("ann", "x"), -1.0),
        |store| (free(store), check(store, ("ann", "x"))),
        |store, undone, ([user, ip], passed)| {
            assert!(undone);
            assert!(!user || ip && passed, "the user first");
            assert_eq!(free(store), [!passed; 2]);
        },
    );
}

/// The saved bytes are whole, and have the event in each limit once or not at all.
#[test]
fn states_are_saved_beside_an_event() {
    beside(
        &[("bob", "y")],
        |store| check(store, ("ann", "x")),
        |store| store.save(Time::ZERO),
        |store, passed, saved| {
            assert!(passed);
            let restored = MemoryStore::restore((*store.rules()).clone(), 1, &saved);
            let Ok(restored) = restored else { return assert!(false, "it is not whole") };
            assert!(!is_free(&restored, ("bob", "?")) && !is_free(&restored, ("?", "y")));
            let level = |from: From| {
                let peeked = ask(from, 0.0, |event| restored.peek(event));
                peeked.decided_by().map_or(0.0, |by| by.outcome.level)
            };
            assert!(level(("ann", "?")) <= 1.0 && level(("?", "x")) <= 1.0);
        },
    );
}
