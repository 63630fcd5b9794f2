//! Attacks on costs that are settled later: events held open while numbers change, rules are read again, and the clock
//! jumps.

use crate::random::{COUNTING, cases, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Decision, Details, MemoryStore, Numbers, Part};
use ratescope::{Event, Limiter, Policy, Span, Time};

/// Something that happens to a key.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Count,
    /// With numbers of its own.
    CountLarger,
    /// Settles the open event of this place at nothing, and forgets it.
    GiveBack(prop::sample::Index),
    /// Settles it as a client would that ends it twice.
    GiveBackAgain(prop::sample::Index),
    Reload,
}

fn deed() -> impl Strategy<Value = Deed> {
    let open = any::<prop::sample::Index>;
    prop_oneof![
        3 => Just(Deed::Count),
        2 => Just(Deed::CountLarger),
        3 => open().prop_map(Deed::GiveBack),
        1 => open().prop_map(Deed::GiveBackAgain),
        1 => Just(Deed::Reload),
    ]
}

fn policy(limiter: &AnyLimiter) -> Policy {
    format!("{limiter} per user as own").parse().unwrap()
}

const ANN: [(&str, &str); 1] = [("user", "ann")];

fn left(store: &MemoryStore, time: Time) -> f64 {
    store.remaining(&Event { time, cost: 0.0, fields: &ANN })
}

proptest! {
    /// Whatever happens between a decision and its end, a refund adds no more than was counted, and a key
    /// never has more left than a new one.
    #[test]
    fn nobody_gains_by_what_happens_in_between(
        case in cases(COUNTING),
        (steps, deeds) in (steps(true), prop::collection::vec(deed(), 60)),
    ) {
        let Ok(larger) = case.limiter.relaxed(150.0) else { return Ok(()) };
        let store = MemoryStore::new(policy(&case.limiter), 10);
        let new = |limiter: &AnyLimiter| limiter.remaining(&limiter.initial(), Time::ZERO);
        let mut in_force = case.limiter.clone();
        let mut open: Vec<(f64, Decision)> = Vec::new();
        for ((now, cost), deed) in case.events(&steps).into_iter().zip(deeds) {
            match deed {
                Deed::Count | Deed::CountLarger => {
                    let rules = store.rules();
                    let own = Numbers::new(&rules, |_| Some(larger.clone())).unwrap();
                    let event = Event { time: now, cost, fields: &ANN };
                    let numbers = matches!(deed, Deed::CountLarger).then_some(&own);
                    let part = Part { numbers, ..Part::count(&event) };
                    let decision = store.decide_one(&part, Details::default());
                    if decision.is_allowed() {
                        open.push((cost, decision));
                    }
                }
                Deed::GiveBack(at) | Deed::GiveBackAgain(at) if !open.is_empty() => {
                    let at = at.index(open.len());
                    let before = left(&store, now);
                    let (cost, decision) = &open[at];
                    let back = Event { time: decision.time, cost: -cost, fields: &ANN };
                    let numbers = decision.numbers();
                    let part = Part { numbers, ..Part::settle(&back, now, Some(decision)) };
                    let _ = store.decide_one(&part, Details::default());
                    let after = left(&store, now);
                    let most = (before + cost) * (1.0 + 1e-9) + 3e-6;
                    prop_assert!(after <= most, "{in_force}: {before}, {cost} back, {after}");
                    prop_assert!(after >= before - 3e-6, "{in_force}: {before}, {cost} back, {after}");
                    if matches!(deed, Deed::GiveBack(_)) {
                        let _ = open.swap_remove(at);
                    }
                }
                Deed::Reload => {
                    let next = if in_force == larger { &case.limiter } else { &larger };
                    in_force = next.clone();
                    let _ = store.replace(policy(&in_force).into(), now);
                }
                _ => {}
            }
            prop_assert!(left(&store, now) <= new(&in_force));
        }
    }
}

/// A day later, nothing of it counts any more, and nothing is given back.
#[test]
fn what_is_held_for_a_day_is_gone() {
    let at = |hours: u64| Time::ZERO.after(Span::from_hours(hours));
    for limiter in [
        "token-bucket 10/1h",
        "gcra 10/1h",
        "fixed-window 10/1h",
        "fixed-window 10/1h from first",
        "sliding-window 10/1h",
        "sliding-counter 10/1h",
        "sliding-log 10/1h",
    ] {
        let store = MemoryStore::new(policy(&limiter.parse().unwrap()), 10);
        let event = |time, cost| Event { time, cost, fields: &ANN };
        let held = store.check(&event(at(0), 10.0));
        assert!(held.is_allowed() && store.check(&event(at(24), 10.0)).is_allowed(), "{limiter}");
        for (time, now) in [(held.time, at(24)), (held.time, at(0)), (at(25), at(24))] {
            store.settle(&event(time, -10.0), now, Some(&held)).unwrap();
            assert_eq!(left(&store, at(24)), 0.0, "{limiter} at {now}");
        }
    }
}
