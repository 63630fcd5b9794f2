//! Rules shared between threads, while they are exchanged.

use super::ruled;
use ratescope::rules::{Reloaded, Rules};
use ratescope::{Event, Time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// In whatever order rules lock their keys, none waits for another, and exactly the limit passes: a
/// reload that keeps the limits loses no count.
#[test]
fn exactly_the_limit_passes_while_rules_change_places() {
    let [a, b, c] = ["a, limit: gcra 500/1h", "b, limit: gcra 900/1h", "c, limit: gcra 700/1h"]
        .map(|limit| format!("  - {{key: {limit}}}\n"));
    let [forwards, backwards] =
        [[&a, &b, &c], [&c, &b, &a]].map(|[x, y, z]| format!("domain: d\ndescriptors:\n{x}{y}{z}"));
    let ruled = ruled(&forwards);
    let passed = AtomicUsize::new(0);
    let applied = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let events: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for i in 0..1000 {
                        // The rules are exchanged between these events, however late the other thread begins.
                        while i == 500 && applied.load(Ordering::Relaxed) == 0 {
                            thread::yield_now();
                        }
                        let fields = [("a", "x"), ("b", "x"), ("c", "x")];
                        let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
                        let decision = ruled.check(&event);
                        assert_eq!(decision.outcomes().count(), 3);
                        passed.fetch_add(usize::from(decision.is_allowed()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for text in [&backwards, &forwards] {
                    let reloaded = ruled.reload("rules.yaml", text, Time::ZERO);
                    // Before anything that may fail, so that nobody waits for ever.
                    applied.fetch_add(1, Ordering::Relaxed);
                    let Reloaded::Applied(changes) = reloaded else { panic!("{reloaded}") };
                    assert_eq!((changes.kept.len(), changes.new.len()), (3, 0));
                }
            }
        });
        events.into_iter().for_each(|thread| thread.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert!(applied.into_inner() > 0);
    assert_eq!(passed.into_inner(), 500);
}

/// An event is decided by the old rules or by the new ones, never by some of both.
#[test]
fn rules_change_at_once() {
    let file = |name: &str| {
        let text = format!(
            "domain: {name}\ndescriptors:\n  - {{key: a, limit: 1/1s}}\n  - {{key: b, limit: 1/1s}}"
        );
        Rules::read(name, &text).unwrap()
    };
    let ruled = ratescope::rules::MemoryStore::new(file("old"), 10);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..500 {
                for name in ["new", "old"] {
                    let _ = ruled.replace(file(name), Time::ZERO);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut seen = 0;
        while !done.load(Ordering::Relaxed) || seen == 0 {
            let fields = [("a", "x"), ("b", "x")];
            let decision = ruled.check(&Event { time: Time::ZERO, cost: 1.0, fields: &fields });
            let names: Vec<&str> = decision.outcomes().map(|o| o.rule.name()).collect();
            assert!(names == ["old:a", "old:b"] || names == ["new:a", "new:b"], "{names:?}");
            seen += 1;
        }
    });
}

/// Threads can share these types.
#[test]
fn it_is_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<ratescope::rules::MemoryStore>();
    shared::<ratescope::rules::Decision>();
    shared::<Rules>();
}
