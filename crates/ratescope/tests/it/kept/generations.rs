//! Two generations of rules on one store.

use crate::kept::{Step, magnitude, steps, times};
use proptest::prelude::*;
use ratescope::event::Event;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Policy, Span, Time};
use std::collections::HashMap;

/// The least that a shared store has to do: states as bytes, under the key of the sender and the
/// name of the state. A state that an event does not change is not written.
#[derive(Default)]
struct Shared(HashMap<String, Vec<u8>>);

impl Shared {
    fn check(&mut self, policy: &Policy, event: &Event<'_>) -> bool {
        let limits = policy.limits().iter().zip(policy.state_names());
        let mut held: Vec<(&AnyLimiter, AnyState, String)> = limits
            .map(|(limit, name)| {
                let key = format!("{{{}}}{name}", limit.per.key(event));
                let kept = self.0.get(&key).map(|bytes| Kept::from_bytes(bytes).unwrap());
                let state = kept.map(|kept| limit.limiter.restore(&kept).unwrap());
                (&limit.limiter, state.unwrap_or_else(|| limit.limiter.initial()), key)
            })
            .collect();
        let mut each = held.iter();
        let allowed = each
            .all(|(limiter, state, _)| limiter.peek(state, event.time, event.cost).is_allowed());
        for (limiter, state, key) in &mut held {
            let before = state.clone();
            limiter.record(state, event.time, event.cost, allowed);
            if *state != before {
                self.0.insert(key.clone(), limiter.keep(state, event.time).to_bytes());
            }
        }
        allowed
    }
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn event(time: Time, step: Step) -> Event<'static> {
    Event { time, cost: step.cost, fields: &[("user", "ann"), ("ip", "192.0.2.7")] }
}

/// Policies whose limits have no shape in common.
const STRANGERS: [[&str; 2]; 6] = [
    ["exim 10/1m per user", "exim 10/10s per user"],
    ["gcra 10/1m per user", "exim 10/1m per user"],
    ["sliding-window 10/1m precision 1s per user", "sliding-window 10/1m precision 2s per user"],
    ["sliding-log 10/1m per user", "sliding-log 100/1h per user"],
    [
        "fixed-window 10/1m per user & 100/1h per user",
        "sliding-counter 10/1m per user & 10/30s per user",
    ],
    ["gcra 10/1m per user & exim 100/1h per ip", "gcra 10/1m per ip & exim 100/1h per user"],
];

/// Limits of the same shape, with the same states in memory.
const ALIKE: [[&str; 2]; 10] = [
    ["exim 10/1m strict", "exim 20/1m leaky"],
    ["earrrl 10/1m half-life 1m", "earrrl 10/30s half-life 1m"],
    ["token-bucket 10/1m burst 10", "leaky-bucket 10/1m queue 20"],
    ["gcra 10/1m burst 10", "gcra 10/1m burst 15"],
    ["fixed-window 10/1m", "fixed-window 20/1m"],
    ["sliding-window 10/1m precision 7s", "sliding-window 20/1m precision 7s"],
    ["sliding-counter 10/1m", "sliding-counter 20/1m"],
    ["sliding-log 10/1m", "sliding-log 20/1m"],
    ["adaptive x3 decay 1m floor 5", "adaptive x2 decay 1m floor 10 strict"],
    ["adaptive x3 decay 1m floor 5 by hour", "adaptive x2 decay 1m floor 10 by hour strict"],
];

proptest! {
    /// Rules of another shape have states of their own: each generation decides as if it were
    /// alone.
    #[test]
    fn strangers_leave_each_other_alone(
        pair in prop::sample::select(&STRANGERS[..]),
        steps in steps(),
        turns in prop::collection::vec(0..2usize, 50),
    ) {
        let policies = pair.map(policy);
        let (mut together, mut alone) = (Shared::default(), [(); 2].map(|()| Shared::default()));
        for ((time, step), turn) in times(&steps, Span::from_secs(10), Time::ZERO).into_iter().zip(turns) {
            let (policy, event) = (&policies[turn], event(time, step));
            prop_assert_eq!(together.check(policy, &event), alone[turn].check(policy, &event));
        }
    }

    /// Rules of the same shape go on with each other's states: each sees the events of the other.
    /// (Time runs forwards: how far back it must run to be a clock that was set back is a matter
    /// of the limit.)
    #[test]
    fn the_alike_share(
        pair in prop::sample::select(&ALIKE[..]),
        steps in steps(),
        turns in prop::collection::vec(0..2usize, 50),
    ) {
        let policies = pair.map(|text| policy(&format!("{text} per user")));
        let forwards: Vec<Step> = steps.iter().map(|s| Step { gap: s.gap.abs(), ..*s }).collect();
        let (steps, mut store) = (forwards, Shared::default());
        for ((time, step), turn) in times(&steps, Span::from_secs(10), Time::ZERO).into_iter().zip(turns) {
            let level = |store: &Shared, policy: &Policy| {
                let limiter = &policy.limits()[0].limiter;
                let kept = store.0.values().next().map(|bytes| Kept::from_bytes(bytes).unwrap());
                let state = kept.map(|kept| limiter.restore(&kept).unwrap());
                let level = limiter.peek(&state.unwrap_or_else(|| limiter.initial()), time, 0.0).level;
                // EARRRL's is in the period of its rate.
                if let AnyLimiter::Earrrl(earrrl) = limiter { level / earrrl.limit().per().as_secs_f64() } else { level }
            };
            store.check(&policies[turn], &event(time, step));
            let [one, other] = [0, 1].map(|i| level(&store, &policies[i]));
            prop_assert!((one - other).abs() <= 1e-6 + 1e-12 * one, "{one} and {other}");
        }
        prop_assert!(store.0.len() <= 1);
    }

    /// However two buckets alternate, together they admit no more than the larger burst and
    /// the higher rate would.
    #[test]
    fn two_buckets_are_no_more_than_the_larger(
        sizes in (10u32..20, 10u32..20),
        rates in (1u32..30, 1u32..30),
        gaps in prop::collection::vec((prop_oneof![1 => Just(0.0), 3 => magnitude(-3.0, 1.5)], 0..2usize), 1..200),
    ) {
        let policies = [(rates.0, sizes.0), (rates.1, sizes.1)]
            .map(|(rate, size)| policy(&format!("gcra {rate}/1m burst {size} per user")));
        let (mut store, mut now, mut admitted) = (Shared::default(), 0.0, 0.0);
        for (gap, turn) in gaps {
            now += gap;
            let time = Time::try_from_secs_f64(now).unwrap();
            admitted += f64::from(store.check(&policies[turn], &Event { time, cost: 1.0, fields: &[("user", "ann")] }));
            let (size, rate) = (sizes.0.max(sizes.1), rates.0.max(rates.1));
            let most = f64::from(size) + f64::from(rate) * now / 60.0;
            prop_assert!(admitted <= most + 1e-6 * admitted, "{admitted} of {most}");
        }
    }
}

/// A bucket of ten leaves one of a hundred alone for as long as that is in use.
#[test]
fn a_small_bucket_does_not_reset_a_large_one() {
    let [small, large] =
        ["gcra 10/1m", "gcra 100/1m"].map(|text| policy(&format!("{text} per user")));
    let (mut store, mut admitted) = (Shared::default(), 0);
    for i in 0..60_000i64 {
        let step =
            Event { time: Time::from_micros(i * 10_000), cost: 1.0, fields: &[("user", "ann")] };
        admitted += u32::from(store.check(if i % 2 == 0 { &small } else { &large }, &step));
    }
    // Ten minutes: the hundred of the beginning and a hundred a minute.
    assert_eq!(admitted, 1099);
}

#[test]
fn states_have_names() {
    let names = |text| policy(text).state_names().join(" ");
    assert_eq!(names("exim 10/1m per user"), "exim/1m");
    assert_eq!(names("exim 99/1m strict per user"), "exim/1m");
    assert_eq!(names("gcra 9/1s per user & token-bucket 9/1h per user"), "bucket bucket#2");
    assert_eq!(
        names("gcra 9/1s per user & gcra 9/1s per ip & gcra 9/1h per user"),
        "bucket bucket bucket#2"
    );
    assert_eq!(names("240/1h precision 1m & 240/1h"), "sliding-window/1h/1m fixed-window/1h");
    assert_eq!(names("earrrl 1/1s half-life 20s"), "earrrl/20s");
    assert_eq!(
        names("sliding-counter 9/90s & sliding-log 9/90s"),
        "sliding-counter/1m30s sliding-log/1m30s"
    );
    assert_eq!(names("adaptive x3 decay 1m floor 5"), "adaptive/1m/1h");
    assert_eq!(names("adaptive x3 decay 1m floor 5 by hour"), "adaptive-by-hour/1m/1w/1d");
}
