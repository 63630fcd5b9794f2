//! Numbers of events' own: one store, the same keys and states.

use super::stores::now;
use super::{read, ruled};
use crate::judged::policy_of;
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::per_key::PerKey;
use ratescope::rules::{Decision, Details, MemoryStore, Numbers, Part, Store};
use ratescope::store::Keyed;
use ratescope::{Event, Policy, Retry, Span, Time};

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn store(text: &str) -> MemoryStore {
    MemoryStore::new(policy(text), 1000)
}

/// Numbers for all limits: those of another policy of the same shape, in its order.
fn numbers(store: &MemoryStore, text: &str) -> Numbers {
    let names = store.rules().limit_names().concat();
    let own = policy(text);
    let of = |name: &str| {
        let place = names.iter().position(|known| known == name)?;
        own.limits().get(place).map(|limit| limit.limiter.clone())
    };
    Numbers::new(&store.rules(), of).unwrap_or_else(|error| panic!("{error}"))
}

fn ann(seconds: f64, cost: f64) -> Event<'static> {
    Event { time: Time::try_from_secs_f64(seconds).unwrap(), cost, fields: &[("user", "ann")] }
}

fn check(store: &MemoryStore, numbers: Option<&Numbers>, event: &Event<'_>) -> Decision {
    store.decide_one(&Part { numbers, ..Part::count(event) }, Details::ALL)
}

fn look(store: &MemoryStore, numbers: Option<&Numbers>, event: &Event<'_>) -> Decision {
    store.decide_one(&Part { numbers, ..Part::look(event) }, Details::ALL)
}

fn passed(store: &MemoryStore, numbers: Option<&Numbers>, event: &Event<'_>) -> usize {
    (0..9).filter(|_| check(store, numbers, event).is_allowed()).count()
}

#[test]
fn what_is_counted_by_some_numbers_counts_under_all() {
    let store = store("fixed-window 3/1h per user");
    let [large, small] =
        ["fixed-window 5/1h", "fixed-window 1/1h"].map(|text| numbers(&store, text));
    let event = ann(0.0, 1.0);
    let all = [None, Some(&large), Some(&small)];
    assert_eq!(all.map(|numbers| passed(&store, numbers, &event)), [3, 2, 0]);
    assert_eq!(store.len(), 1);
    // A decision has the limit that decided, with the numbers of the event.
    let quota = |numbers| {
        let looked = look(&store, numbers, &ann(0.0, 0.0));
        let decided = looked.decided_by().unwrap();
        (decided.limit.limiter.to_string(), decided.quota().unwrap().remaining)
    };
    let named = |count, left| (format!("fixed-window {count}/1h"), left);
    assert_eq!(all.map(quota), [named(3, 0.0), named(5, 0.0), named(1, 0.0)]);
    let back = Event { cost: -1.0, ..event };
    let settle = Part { numbers: Some(&large), ..Part::settle(&back, Time::ZERO, None) };
    let _ = store.decide_one(&settle, Details::default());
    assert_eq!(all.map(quota), [named(3, 0.0), named(5, 1.0), named(1, 0.0)]);
    assert_eq!(store.reset(&[("user", "ann")], |_, _| true), 1);
    assert_eq!(all.map(quota), [named(3, 3.0), named(5, 5.0), named(1, 1.0)]);
}

/// A state drains by the numbers under which it was counted, until an event is counted by others.
#[test]
fn a_state_drains_by_the_numbers_under_which_it_was_counted() {
    let store = store("gcra 60/1h burst 10 per user");
    let fast = numbers(&store, "gcra 60/1m burst 10");
    let wait = |numbers, event: &Event<'_>| look(&store, numbers, event).retry_after();
    let after = |seconds| Some(Retry::After(Span::from_secs(seconds)));
    assert!(check(&store, None, &ann(0.0, 10.0)).is_allowed());
    assert_eq!(wait(None, &ann(0.0, 4.0)), after(240));
    // In other units, less than a millionth of an event is rounded off.
    let Some(Retry::After(other)) = wait(Some(&fast), &ann(0.0, 4.0)) else { panic!("a wait") };
    assert!((239.9999..=240.0).contains(&other.as_secs_f64()), "{other}");
    // One minute later there is room for one, under either set of numbers.
    assert!(!check(&store, Some(&fast), &ann(60.0, 2.0)).is_allowed());
    assert!(check(&store, Some(&fast), &ann(60.0, 1.0)).is_allowed());
    // Now it was counted by the fast ones.
    assert_eq!(wait(Some(&fast), &ann(60.0, 4.0)), after(4));
    let bob = Event { fields: &[("user", "bob")], ..ann(0.0, 11.0) };
    assert_eq!(wait(Some(&fast), &bob), Some(Retry::Never));
}

/// With two sets of numbers on one key, nobody gets more than the larger: also nginx, whose excess is capped.
#[test]
fn looking_and_refused_events_make_no_room() {
    for (usual, other) in [
        ("nginx 1/1s burst 5 nodelay", "nginx 1/1s nodelay"),
        ("nginx 1/1m burst 5 nodelay", "nginx 1/1s burst 1 nodelay"),
        ("gcra 1/1m burst 6", "gcra 1/1s burst 1"),
        ("sliding-log 6/1m", "sliding-log 1/1m"),
    ] {
        let store = store(&format!("{usual} per user"));
        let small = numbers(&store, other);
        let event = ann(0.0, 1.0);
        let mut admitted = 0;
        for _ in 0..300 {
            admitted += usize::from(check(&store, None, &event).is_allowed());
            let _ = look(&store, Some(&small), &event);
            admitted += usize::from(check(&store, Some(&small), &event).is_allowed());
        }
        assert_eq!(admitted, 6, "{usual} and {other}");
    }
}

/// A refused event of a new key with numbers of its own takes no room.
#[test]
fn a_refused_event_of_a_new_key_is_not_remembered() {
    let store = store("gcra 5/1h per user");
    let none = numbers(&store, "gcra 1/1h");
    assert!(!check(&store, Some(&none), &ann(0.0, 2.0)).is_allowed());
    assert_eq!(store.len(), 0);
}

#[test]
fn rules_with_several_limits_and_a_relaxed_one() {
    let text = "
domain: web
descriptors:
- {key: user, name: users, limit: [gcra 2/1h burst 2, fixed-window 20/1d], throttle: soft 50%}
- {key: path, value: /login, name: logins, limit: exim 2/1h strict per ip}
";
    let store = MemoryStore::new(read(text), 1000);
    let own = |name: &str| -> Option<AnyLimiter> {
        let text = match name {
            "users" => "gcra 4/1h burst 4",
            "users#2" => "fixed-window 40/1d",
            "logins" => "exim 4/1h strict",
            _ => return None,
        };
        Some(text.parse().unwrap())
    };
    let large = Numbers::new(&store.rules(), own).unwrap();
    let fields = [("user", "ann"), ("path", "/"), ("ip", "::1")];
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
    assert_eq!([None, Some(&large)].map(|numbers| passed(&store, numbers, &event)), [3, 3]);
    let login = [("user", "bob"), ("path", "/login"), ("ip", "::1")];
    let login = Event { fields: &login, ..event };
    assert_eq!([Some(&large), None].map(|numbers| passed(&store, numbers, &login)), [4, 0]);
}

#[test]
fn other_shapes_are_errors() {
    let store = ruled("domain: web\nlimit: gcra 3/1h per user\n");
    let numbers = |text: &str| {
        let limiter: AnyLimiter = text.parse().unwrap();
        Numbers::new(&store.rules(), |name| (name == "web").then(|| limiter.clone()))
    };
    assert!(numbers("token-bucket 5/1m").is_ok());
    let error = numbers("exim 3/1h").unwrap_err().to_string();
    assert!(error.ends_with("its algorithm differs, so it has other states"), "{error}");
    // A name that no limit has does nothing.
    let none = Numbers::new(&store.rules(), |name| (name == "api").then(|| panic!())).unwrap();
    assert_eq!(passed(&store, Some(&none), &ann(0.0, 1.0)), 3);
}

/// Numbers outlive a reload: they are looked up again by the names of their limits.
#[test]
fn numbers_outlive_a_reload() {
    let named = |limit: &str| read(&format!("domain: web\nname: calls\nlimit: {limit} per user\n"));
    let store = MemoryStore::new(named("gcra 3/1h"), 1000);
    let large = numbers(&store, "gcra 8/1h");
    assert!(check(&store, Some(&large), &ann(0.0, 6.0)).is_allowed());
    assert_eq!(store.replace(named("gcra 4/1h"), Time::ZERO).name(), "applied");
    assert!(!check(&store, Some(&large), &ann(0.0, 3.0)).is_allowed());
    assert!(check(&store, Some(&large), &ann(0.0, 2.0)).is_allowed());
    // An algorithm of another shape decides by its usual numbers.
    assert_eq!(store.replace(named("fixed-window 4/1h"), Time::ZERO).name(), "applied");
    assert_eq!(passed(&store, Some(&large), &ann(0.0, 1.0)), 4);
    // States that were saved go on by the usual numbers.
    let saved = store.save(Time::ZERO);
    let restored = MemoryStore::restore(policy_of(&store), 1000, &saved);
    assert!(restored.is_ok());
}

/// A bucket that becomes smaller is cut to its new size at a reload, so it is never emptier than empty.
#[test]
fn a_smaller_bucket_is_never_emptier_than_empty() {
    for kind in ["gcra", "token-bucket"] {
        let rules =
            |n: u32| read(&format!("domain: web\nlimit: {kind} {n}/1h burst {n} per user\n"));
        let store = MemoryStore::new(rules(1000), 1000);
        assert!(store.check(&ann(0.0, 1000.0)).is_allowed());
        assert_eq!(store.replace(rules(10), Time::ZERO).name(), "applied");
        let wait = |cost| store.retry_after(&ann(0.0, cost)).wait().unwrap();
        assert_eq!([wait(1.0), wait(10.0)], [Span::from_mins(6), Span::from_hours(1)], "{kind}");
    }
}

proptest! {
    /// A store decides about events with numbers as a table of one limiter does.
    #[test]
    fn numbers_take_turns(
        events in prop::collection::vec((0_u32..100, 0_usize..3, 0_u8..4), 1..80),
        kind in 0_usize..4,
    ) {
        let texts = [
            ["gcra 7/1m burst 5", "gcra 11/1m burst 2", "gcra 13/1m burst 9"],
            ["exim 7/1m strict", "exim 3/1m leaky", "exim 9/1m strict"],
            ["sliding-counter 7/1m", "sliding-counter 3/1m", "sliding-counter 9/1m"],
            ["nginx 7/1m burst 5 nodelay", "nginx 3/1s burst 1", "nginx 60/1m burst 9 nodelay"],
        ][kind];
        let store = store(&format!("{} per user", texts[0]));
        let own = texts.map(|text| numbers(&store, text));
        let limiters = texts.map(|text| text.parse::<AnyLimiter>().unwrap());
        let keyed = Keyed::new(PerKey::new(limiters[0].clone()), 10);
        let users = ratescope::RateLimiter::<str, _, _>::new(keyed, ratescope::clock::FakeClock::default());
        let mut now = 0;
        for (later, which, cost) in events {
            now += later;
            let event = ann(now.into(), cost.into());
            users.clock().set(event.time);
            let expected = users.check_key_n_with(limiters[which].clone(), "ann", event.cost);
            let found = check(&store, Some(&own[which]), &event);
            prop_assert_eq!(found.outcomes().next().unwrap().outcome, expected.outcome());
            let looked = look(&store, Some(&own[which]), &ann(now.into(), 0.0));
            prop_assert_eq!(looked.quota().unwrap().remaining, expected.remaining());
        }
    }

    /// Looks and refused events with other numbers change nothing: without them, all others are decided alike. And a
    /// refused event is told honestly when it would pass.
    #[test]
    fn what_is_not_counted_changes_nothing(
        events in prop::collection::vec((0_u32..40, 0_usize..3, 1_u8..5, any::<bool>()), 1..60),
        kind in 0_usize..7,
    ) {
        let texts = [
            ["gcra 7/1m burst 5", "gcra 60/1s burst 2", "gcra 1/1h burst 9"],
            ["token-bucket 7/1m burst 5", "token-bucket 60/1s burst 2", "token-bucket 1/1h burst 9"],
            ["sliding-log 7/1m", "sliding-log 3/1m", "sliding-log 9/1m"],
            ["sliding-counter 7/1m", "sliding-counter 3/1m", "sliding-counter 9/1m"],
            ["fixed-window 7/1m", "fixed-window 3/1m", "fixed-window 9/1m"],
            ["nginx 7/1m burst 5 nodelay", "nginx 3/1s burst 1 nodelay", "nginx 60/1m burst 9 nodelay"],
            ["envoy 7/1m burst 5", "envoy 7/1m burst 1", "envoy 7/1m burst 9"],
        ][kind];
        let [with, without] = [(); 2].map(|()| store(&format!("{} per user", texts[0])));
        let own = texts.map(|text| numbers(&with, text));
        let other = texts.map(|text| numbers(&without, text));
        let mut now = 0;
        for (later, which, cost, looks) in events {
            now += later;
            let event = ann(now.into(), cost.into());
            let decision = if looks {
                look(&with, Some(&own[which]), &event)
            } else {
                check(&with, Some(&own[which]), &event)
            };
            if decision.is_allowed() && !looks {
                prop_assert!(check(&without, Some(&other[which]), &event).is_allowed());
            } else if let Some(Retry::After(wait)) = decision.retry_after() {
                let then = event.time.after(wait);
                let at = |time| look(&with, Some(&own[which]), &Event { time, ..event }).is_allowed();
                prop_assert!(at(then), "{} after {wait}", texts[which]);
                let sooner = Time::from_micros(then.as_micros() - 1);
                prop_assert!(!at(sooner), "{} sooner than {wait}", texts[which]);
            }
        }
    }

    /// The gain of events counted under alternating numbers is bounded by the largest size and the fastest rate.
    #[test]
    fn what_alternating_numbers_gain_is_bounded(
        events in prop::collection::vec((0_u32..3_000_000, 0_usize..3), 1..200),
    ) {
        let texts = ["gcra 6/1m burst 5", "gcra 30/1m burst 2", "gcra 1/1m burst 9"];
        let store = store(&format!("{} per user", texts[0]));
        let own = texts.map(|text| numbers(&store, text));
        let mut admitted: Vec<i64> = Vec::new();
        let mut now = 0_i64;
        for (later, which) in events {
            now += i64::from(later);
            let event = Event { time: Time::from_micros(now), ..ann(0.0, 1.0) };
            if check(&store, Some(&own[which]), &event).is_allowed() {
                admitted.push(now);
            }
        }
        // Half an event a second at the most, and nine at once.
        for (i, from) in admitted.iter().enumerate() {
            for (count, to) in (1..).zip(&admitted[i..]) {
                let most = 9.0 + (to - from) as f64 / 2e6;
                prop_assert!(f64::from(count) <= most + 1e-3, "{count} within {} us", to - from);
            }
        }
    }

    /// After a change of numbers nobody waits for longer than the longer of both windows.
    #[test]
    fn nobody_waits_longer_than_both_windows(
        used in 1_u32..20, kind in 0_usize..3, reloads in any::<bool>(),
    ) {
        let texts = [
            ["gcra 20/1h burst 20", "gcra 5/1m burst 5"],
            ["token-bucket 20/1m burst 20", "token-bucket 5/1h burst 5"],
            ["sliding-log 20/1h", "sliding-log 5/1h"],
        ][kind];
        let store = store(&format!("{} per user", texts[0]));
        let other = numbers(&store, texts[1]);
        prop_assert!(check(&store, None, &ann(0.0, used.into())).is_allowed());
        let retry = if reloads {
            let _ = store.replace(policy(&format!("{} per user", texts[1])).into(), Time::ZERO);
            store.retry_after(&ann(0.0, 1.0))
        } else {
            look(&store, Some(&other), &ann(0.0, 1.0)).retry_after().unwrap_or(Retry::NOW)
        };
        prop_assert!(retry.wait().unwrap() <= Span::from_hours(1), "{retry}");
    }
}

#[test]
fn events_that_count_at_one_key_go_by_the_numbers_of_the_first() {
    let store = store("fixed-window 3/1h per user");
    let large = numbers(&store, "fixed-window 5/1h");
    let event = ann(0.0, 2.0);
    for (first, second, passes) in [(None, Some(&large), false), (Some(&large), None, true)] {
        let parts = [first, second].map(|numbers| Part { numbers, ..Part::count(&event) });
        let decisions = now(store.decide(&parts, Details::default()));
        let found = decisions
            .iter()
            .map(|decision| (decision.is_allowed(), decision.decided_by().unwrap().outcome.level));
        assert_eq!(found.collect::<Vec<_>>(), [(passes, 4.0); 2]);
    }
    assert_eq!(look(&store, Some(&large), &ann(0.0, 0.0)).quota().unwrap().remaining, 1.0);
}
