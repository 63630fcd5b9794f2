//! Properties of any text that may be a policy. The tests and the fuzzer check them.

use ratescope::{Event, MemoryStore, Policy, Time};

const FIELDS: [&[(&str, &str)]; 3] =
    [&[], &[("user", "ann"), ("ip", "192.0.2.7")], &[("user", "a=b,c"), ("a", "")]];

/// Panics unless a policy that is right is written as one that says the same, and decides; and what
/// is wrong with another is told, with its place.
pub(crate) fn hold(text: &str) {
    let policy = match text.parse::<Policy>() {
        Ok(policy) => policy,
        Err(error) => {
            assert!(!error.problem().is_empty() && text.get(error.at()).is_some(), "{text:?}");
            return;
        }
    };
    let again: Policy = policy.to_string().parse().expect("what was written is read");
    assert_eq!(again, policy);
    let store = MemoryStore::new(policy, 10);
    for (i, fields) in FIELDS.into_iter().cycle().take(30).enumerate() {
        let fields = fields.to_vec();
        let cost = [1.0, 0.0, 2.5, f64::NAN, -1.0][i % 5];
        let scale = [0, 1, -1, 1_000_000, i64::MAX][i / 5 % 5];
        let time = Time::from_micros(scale.saturating_mul(i as i64));
        let event = Event { time, cost, fields: &fields };
        let peeked = store.peek(&event).is_allowed();
        assert_eq!(store.check(&event).is_allowed(), peeked);
        let _ = store.retry_after(&event);
    }
}
