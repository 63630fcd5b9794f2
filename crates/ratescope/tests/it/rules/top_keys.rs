//! Who is limited now: the keys that are refused most, the busiest and the fullest.

use super::ruled;
use proptest::prelude::*;
use ratescope::policy::Per;
use ratescope::rules::{Details, MemoryStore, Observed, Part, Store, StoredKey, TopKey, TopKeys};
use ratescope::{Event, Time};
use std::collections::HashMap;
use std::sync::Arc;

fn observed(rules: &str, capacity: usize) -> (Observed<MemoryStore>, Arc<TopKeys>) {
    let top = Arc::new(TopKeys::new(capacity));
    (Observed::new(ruled(rules)).with(top.clone()), top)
}

fn send(store: &impl Store, seconds: u32, fields: &[(&str, &str)]) -> bool {
    let time = Time::try_from_secs_f64(seconds.into()).unwrap();
    let event = Event { time, cost: 1.0, fields: &fields };
    store.decide_now(&[Part::count(&event)], Details::default()).unwrap()[0].is_allowed()
}

fn lines(keys: &[TopKey]) -> Vec<String> {
    let line = |one: &TopKey| {
        let rule = one.key.rule.as_deref().unwrap_or("no rule");
        format!("{} {rule} {}", one.key.subject, one.events)
    };
    keys.iter().map(line).collect()
}

#[test]
fn each_rule_lists_its_keys_once_and_shadows_none() {
    let (store, top) = observed(
        "
domain: web
descriptors:
- {key: user, limit: [fixed-window 3/1h, fixed-window 4/1h per user, fixed-window 5/1h per ip]}
- {key: path, limit: fixed-window 1/1h, shadow: true}
- {key: method, limit: fixed-window 100/1h per all}
",
        10,
    );
    let get = |user: &str| {
        send(&store, 0, &[("user", user), ("ip", "::1"), ("path", "/"), ("method", "GET")])
    };
    let allowed = ["ann", "ann", "ann", "ann", "ann", "bob", "bob", "bob"].map(get);
    assert_eq!(allowed, [true, true, true, false, false, true, true, false]);
    assert_eq!(lines(&top.most_refused(9)), ["user=ann web:user 2", "ip=::1 web:user 1"]);
    assert_eq!(
        lines(&top.busiest(9)),
        ["all web:method 8", "ip=::1 web:user 8", "user=ann web:user 5", "user=bob web:user 3"]
    );
    assert_eq!(
        lines(&top.fullest(3)),
        ["user=ann web:user 5", "ip=::1 web:user 8", "user=bob web:user 3"]
    );
    let ann = top.most_refused(1).remove(0);
    assert_eq!((ann.outcome.limit, ann.outcome.is_allowed(), ann.error), (3.0, false, 0));

    top.clear();
    assert!(top.busiest(9).is_empty() && top.most_refused(9).is_empty());
    assert!(!get("ann"));
    assert_eq!(lines(&top.most_refused(9)), ["ip=::1 web:user 1", "user=ann web:user 1"]);
}

#[test]
fn memory_is_bounded_whoever_sends() {
    let (store, top) = observed("domain: d\nlimit: gcra 1/1h per user\n", 4);
    for i in 0..5000 {
        let ordinary = format!("user{i:0200}");
        send(&store, 0, &[("user", &ordinary)]);
        send(&store, 0, &[("user", "eve")]);
    }
    let eve = top.busiest(1).remove(0);
    assert_eq!((eve.key.subject.as_str(), eve.events), ("user=eve", 5000));
    assert_eq!(lines(&top.most_refused(9)), ["user=eve d 4999"]);
    let all = top.busiest(usize::MAX);
    assert!(all.len() <= 16 * 4, "{}", all.len());
    assert!(all.iter().all(|one| one.key.subject.len() <= 160));
}

proptest! {
    /// With a place for each key the counts are exact, and with fewer they are bounded by the error.
    #[test]
    fn the_counts_are_those_of_the_events(
        events in prop::collection::vec((0_u32..30, 0_usize..40), 1..300),
        capacity in prop::sample::select(vec![1_usize, 3, 100]),
    ) {
        let (store, top) = observed("domain: d\nlimit: fixed-window 2/1m per user\n", capacity);
        let (mut counts, mut refusals) = (HashMap::new(), HashMap::new());
        let mut now = 0;
        for (later, user) in events {
            now += later;
            let subject = format!("user={user}");
            *counts.entry(subject.clone()).or_insert(0) += 1;
            if !send(&store, now, &[("user", &user.to_string())]) {
                *refusals.entry(subject).or_insert(0) += 1;
            }
        }
        for (found, exact) in [(top.busiest(999), &counts), (top.most_refused(999), &refusals)] {
            prop_assert!(found.is_sorted_by_key(|one| core::cmp::Reverse(one.events)));
            for TopKey { key, events, error, .. } in &found {
                let exact = exact.get(&key.subject).copied().unwrap_or_default();
                prop_assert!(exact <= *events && events - error <= exact, "{} {exact}", key.subject);
            }
            if capacity == 100 {
                prop_assert_eq!(found.len(), exact.len());
            }
        }
    }

    /// The fields of a subject are those that its key was made of.
    #[test]
    fn fields_are_read_back(user in ".{0,20}", path in "[ -~]{0,20}") {
        let per: Per = "user+path".parse().unwrap();
        let fields = &[("user", &*user), ("path", &*path)];
        let subject = per.key(&Event { time: Time::ZERO, cost: 1.0, fields });
        let key = StoredKey { subject, rule: None };
        let found: Vec<_> = key.fields().map(|(name, value)| (name, value.into_owned())).collect();
        prop_assert_eq!(found, [("user", user), ("path", path)]);
    }
}

#[test]
fn what_is_no_list_of_fields_has_none() {
    for subject in ["all", "", "#da39a3ee5e6b4b0d3255bfef95601890afd80709"] {
        let key = StoredKey { subject: subject.to_owned(), rule: None };
        assert_eq!(key.fields().count(), 0, "{subject}");
    }
}
