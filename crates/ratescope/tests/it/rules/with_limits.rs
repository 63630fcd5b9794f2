//! One store under several limits: the same keys and states, other numbers.

use super::stores::now;
use super::{passed, read, ruled};
use proptest::prelude::*;
use ratescope::rules::{Details, Intent, MemoryStore, Part, Store};
use ratescope::{Event, Limiter, Policy, Retry, Time};

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn store(text: &str) -> MemoryStore {
    MemoryStore::new(policy(text), 1000)
}

fn ann(seconds: u32, cost: f64) -> Event<'static> {
    Event { time: Time::from_secs(seconds.into()).unwrap(), cost, fields: &[("user", "ann")] }
}

#[test]
fn what_one_counts_the_others_count() {
    let usual = store("fixed-window 3/1h per user");
    let large = usual.with_limits(policy("fixed-window 5/1h per user")).unwrap();
    let small = large.with_limits(policy("fixed-window 1/1h per user")).unwrap();
    let fields = [("user", "ann")];
    assert_eq!(passed(&usual, 9, 0.0, &fields), 3);
    assert_eq!(passed(&large, 9, 0.0, &fields), 2);
    assert_eq!(passed(&small, 9, 0.0, &fields), 0);
    assert_eq!((usual.len(), large.len(), small.len()), (1, 1, 1));

    // Every method goes by the numbers of the store that it is called on.
    let quota = |store: &MemoryStore| {
        let quota = store.peek(&ann(0, 0.0)).quota().unwrap();
        (quota.limit.unwrap().count(), quota.remaining)
    };
    assert_eq!([&usual, &large, &small].map(quota), [(3.0, 0.0), (5.0, 0.0), (1.0, 0.0)]);
    assert!(large.give_back(&ann(0, 1.0), None));
    assert_eq!([&usual, &large, &small].map(quota), [(3.0, 0.0), (5.0, 1.0), (1.0, 0.0)]);
    assert_eq!(large.charge(&ann(0, 3.0), None), Ok(()));
    assert_eq!(large.retry_after(&ann(0, 1.0)).wait().unwrap().to_string(), "1h");
    assert_eq!(small.reset(&[("user", "ann")], |_, _| true), 1);
    assert_eq!([&usual, &large, &small].map(quota), [(3.0, 3.0), (5.0, 5.0), (1.0, 1.0)]);
}

#[test]
fn what_a_bucket_lacks_comes_back_at_the_rate_of_each() {
    let usual = store("gcra 60/1h burst 10 per user");
    let fast = usual.with_limits(policy("gcra 60/1m burst 10 per user")).unwrap();
    assert!(usual.check(&ann(0, 10.0)).is_allowed());
    assert_eq!(usual.retry_after(&ann(0, 4.0)).wait().unwrap().to_string(), "4m");
    assert_eq!(fast.retry_after(&ann(0, 4.0)).wait().unwrap().to_string(), "4s");
    assert!(!usual.check(&ann(4, 4.0)).is_allowed() && fast.check(&ann(4, 4.0)).is_allowed());
    // A key that is new to the store begins by the numbers of whoever asks first.
    let bob = Event { fields: &[("user", "bob")], ..ann(0, 11.0) };
    assert_eq!(fast.retry_after(&bob), Retry::Never);
    let larger = usual.with_limits(policy("gcra 60/1h burst 11 per user")).unwrap();
    assert!(
        larger.check(&bob).is_allowed() && !usual.peek(&Event { cost: 1.0, ..bob }).is_allowed()
    );
}

#[test]
fn rules_with_several_limits_and_a_stretched_one() {
    let rules = |n: u32| {
        read(&format!(
            "
domain: web
descriptors:
- {{key: user, limit: [gcra {n}/1h burst {n}, fixed-window {n}0/1d], throttle: soft 50%}}
- {{key: path, value: /login, limit: exim {n}/1h strict per ip}}
"
        ))
    };
    let usual = MemoryStore::new(rules(2), 1000);
    let large = usual.with_limits(rules(4)).unwrap();
    let fields = [("user", "ann"), ("path", "/"), ("ip", "::1")];
    assert_eq!(passed(&usual, 9, 0.0, &fields), 3);
    assert_eq!(passed(&large, 9, 0.0, &fields), 3);
    let login = [("user", "bob"), ("path", "/login"), ("ip", "::1")];
    assert_eq!(passed(&large, 9, 0.0, &login), 4);
    assert_eq!(passed(&usual, 9, 0.0, &login), 0);
}

#[test]
fn other_shapes_and_rules_are_errors() {
    let usual = store("gcra 3/1h per user & fixed-window 9/1d per ip");
    let with = |text: &str| usual.with_limits(policy(text)).map(drop);
    assert!(with("token-bucket 5/1m per user & fixed-window 1/1d per ip").is_ok());
    for other in [
        "gcra 3/1h per user",
        "gcra 3/1h per user & fixed-window 9/1h per ip",
        "gcra 3/1h per ip & fixed-window 9/1d per ip",
        "exim 3/1h per user & fixed-window 9/1d per ip",
        "gcra 3/1h per user & fixed-window 9/1d per ip & gcra 1/1s per user",
    ] {
        let error = with(other).unwrap_err().to_string();
        assert!(error.contains("with limits of these shapes"), "{error}");
    }
    let named = ruled("domain: web\nlimit: gcra 3/1h per user\n");
    let error = named.with_limits(read("domain: api\nlimit: gcra 5/1h per user\n")).unwrap_err();
    assert!(error.to_string().contains("the store has no rule api with"), "{error}");
    let soft = "domain: web\nlimit: gcra 3/1h per user\nthrottle: soft 10%\n";
    assert!(named.with_limits(read(soft)).is_err());
    assert!(ruled(soft).with_limits(read("domain: web\nlimit: gcra 5/1h per user\n")).is_err());
}

#[test]
fn states_are_saved_and_a_reload_goes_on_with_them() {
    let usual = store("gcra 3/1h per user");
    let large = usual.with_limits(policy("gcra 8/1h per user")).unwrap();
    assert!(large.check(&ann(0, 6.0)).is_allowed());
    let restored =
        MemoryStore::restore(policy("gcra 8/1h per user"), 1000, &usual.save(Time::ZERO)).unwrap();
    assert_eq!(restored.peek(&ann(0, 0.0)).quota().unwrap().remaining, 2.0);
    let _ = usual.replace(policy("gcra 10/1h per user").into(), Time::ZERO);
    assert_eq!(usual.peek(&ann(0, 0.0)).quota().unwrap().remaining, 4.0);
}

proptest! {
    /// A store under two limits decides as a limiter with one state that is converted whenever the limit changes.
    #[test]
    fn the_limits_take_turns(
        events in prop::collection::vec((0_u32..100, 0_usize..3, 0_u8..4), 1..80),
        kind in 0_usize..3,
    ) {
        let texts = [
            ["gcra 7/1m burst 5", "gcra 11/1m burst 2", "gcra 13/1m burst 9"],
            ["exim 7/1m strict", "exim 3/1m leaky", "exim 9/1m strict"],
            ["sliding-counter 7/1m", "sliding-counter 3/1m", "sliding-counter 9/1m"],
        ][kind];
        let limiters = texts.map(|text| policy(text).limits()[0].limiter.clone());
        let text = |i: usize| format!("{} per user", texts[i]);
        let usual = store(&text(0));
        let stores = [0, 1, 2].map(|i| usual.with_limits(policy(&text(i))).unwrap());
        let (mut state, mut before, mut now) = (limiters[0].initial(), 0, 0);
        for (later, which, cost) in events {
            now += later;
            let event = ann(now, cost.into());
            if which != before {
                let (old, new) = (&limiters[before], &limiters[which]);
                state = new.restore(&old.keep(&state, Time::from_micros(i64::MIN))).unwrap();
                before = which;
            }
            let expected = limiters[which].check(&mut state, event.time, event.cost);
            let found = stores[which].check(&event);
            prop_assert_eq!(found.outcomes().next().unwrap().outcome, expected);
            let remaining = limiters[which].remaining(&state, event.time);
            let looked = stores[which].peek(&ann(now, 0.0));
            prop_assert_eq!(looked.quota().unwrap().remaining, remaining);
        }
    }
}

#[test]
fn events_that_count_at_one_key_go_by_the_numbers_of_the_first() {
    let usual = store("fixed-window 3/1h per user");
    let large = usual.with_limits(policy("fixed-window 5/1h per user")).unwrap();
    let event = ann(0, 2.0);
    for (first, second, passes) in [(&usual, &large, false), (&large, &usual, true)] {
        let parts = [first, second].map(|store| Part {
            store: store as &dyn Store,
            event: &event,
            intent: Intent::Count,
        });
        let decisions = now(first.check_all(&parts, Details::default()));
        let found = decisions
            .iter()
            .map(|decision| (decision.is_allowed(), decision.decided_by().unwrap().outcome.level));
        assert_eq!(found.collect::<Vec<_>>(), [(passes, 4.0); 2]);
    }
    assert_eq!(large.peek(&ann(0, 0.0)).quota().unwrap().remaining, 1.0);
}
