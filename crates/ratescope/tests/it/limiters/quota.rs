//! Limits as clients are told of them.

use crate::random::{KINDS, admitting, steps};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::rules::{Details, Part};
use ratescope::{Event, Limiter, MemoryStore, Policy, Time};

/// No fields.
const NOBODY: [(&str, &str); 0] = [];

#[track_caller]
fn assert_quota(text: &str, expected: &str) {
    let limiter: AnyLimiter = text.parse().unwrap();
    let quota = limiter.quota().map_or("none".to_owned(), |quota| quota.to_string());
    assert_eq!(quota, expected, "{text}");
}

#[test]
fn rates_and_windows_are_as_they_are_written() {
    for kind in ["exim", "fixed-window", "sliding-counter", "sliding-log", "haproxy", "fail2ban"] {
        assert_quota(&format!("{kind} 10/1m"), "10/1m");
    }
    assert_quota("sliding-window 10/1m precision 1s", "10/1m");
    assert_quota("exim 0/1m", "none");
}

/// The quota of a bucket is as much as passes at once, and never more than remains.
#[test]
fn buckets_are_what_they_hold() {
    assert_quota("gcra 1/1s burst 100", "100/1m40s");
    assert_quota("token-bucket 10/1m burst 3", "3/18s");
    assert_quota("leaky-bucket 1/1s queue 5", "5/5s");
    assert_quota("nginx 1/1s burst 9", "10/10s");
    // nginx cuts this rate to 16 thousandths a second: an event each 60 s would be refused.
    assert_quota("nginx 1/1m burst 1", "2/2m5s");
    assert_quota("envoy 10/1m burst 20", "20/2m");
}

#[test]
fn an_adaptive_limit_is_that_of_a_stranger() {
    assert_quota("adaptive x3 decay 1m increase 1h floor 10", "10/1m");
    assert_quota("adaptive x3 decay 1m increase 7d floor 10 by hour", "10/1m");
}

/// The impulse at the limit is limit/λ = 0.5 × 10/ln 2 = 7.2 events, and the one that exceeds it passes.
#[test]
fn earrrl_is_what_passes_at_once() {
    assert_quota("earrrl 0.5/1s half-life 10s", "8/16s");
    assert_quota("earrrl 10/1m", "15/1m30s");
    assert_quota("earrrl 10/1m half-life 1s", "1/6s");
    let policy: Policy = "earrrl 0.5/1s half-life 10s".parse().unwrap();
    let store = MemoryStore::new(policy, 100);
    let left = [(); 10].map(|()| {
        let event = Event { time: Time::ZERO, cost: 1.0, fields: &NOBODY };
        let decision = store.decide_one(&Part::count(&event), Details::ALL);
        (decision.is_allowed(), decision.quota().unwrap().remaining)
    });
    let passed = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0].map(|left| (true, left));
    assert_eq!(left[..8], passed);
    assert_eq!(left[8..], [(false, 0.0); 2]);
}

proptest! {
    /// A client is told of never more left than the limit, and of a limit of 0 only where nothing ever passes.
    #[test]
    fn what_is_left_is_within_the_quota(case in admitting(&KINDS), steps in steps(false)) {
        let Some(quota) = case.limiter.quota() else { return Ok(()) };
        let limit = quota.count() as u64;
        let (mut state, at) = (case.limiter.initial(), Time::from_micros(1));
        let mut passes = || case.limiter.check(&mut state, at, 1.0).is_allowed();
        let at_once = (0..1000).take_while(|_| passes()).count();
        prop_assert!(limit > 0 || at_once == 0, "{}: {} pass at once of {}", case.limiter, at_once, quota);
        if matches!(case.limiter, AnyLimiter::Earrrl(_)) {
            prop_assert_eq!(at_once as u64, limit.min(1000), "{} of {}", case.limiter, quota);
        }
        // A limit that never lets an event of cost 1 pass is no policy.
        let Ok(policy) = case.limiter.to_string().parse::<Policy>() else { return Ok(()) };
        let store = MemoryStore::new(policy, 100);
        for (time, cost) in case.events(&steps) {
            let event = Event { time, cost, fields: &NOBODY };
            let decision = store.decide_one(&Part::count(&event), Details::ALL);
            let quota = decision.quota().unwrap();
            let most = quota.limit.unwrap().count();
            prop_assert!((0.0..=most).contains(&quota.remaining), "{}: {} of {}", case.limiter, quota.remaining, most);
        }
    }
}
