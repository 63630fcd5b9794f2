//! Limiters over recorded and made-up events: plain Rust, the same natively and in the browser.

#[path = "checksum.rs"]
pub mod checksum;

use super::earrrl;
use checksum::Checksum;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Event, Limiter, MemoryStore, Policy, Time};

/// The limiters and the policy of each line of `limiters.txt`, and their decisions about the same 2,000
/// events: how many they allow, and a checksum of every number in every outcome and answer. A new limiter
/// is a new line; the failed test prints its decisions.
pub fn decisions() -> String {
    let decided = |text: &str| match text.parse() {
        Ok(one) => limiter(&one),
        Err(_) => policy(text.parse().unwrap()),
    };
    let texts =
        include_str!("../vectors/limiters.txt").lines().flat_map(|line| line.split(": ").next());
    texts.map(|text| format!("{text}: {}\n", decided(text))).collect()
}

fn limiter(limiter: &AnyLimiter) -> String {
    let mut state = limiter.initial();
    decide(|sum, at, cost| {
        let outcome = limiter.check(&mut state, at, cost);
        sum.outcome(outcome, || limiter.retry_after(&state, at, cost));
        sum.add(limiter.remaining(&state, at).to_bits());
        sum.add(limiter.reset_after(&state, at).as_secs_f64().to_bits());
        outcome.is_allowed()
    })
}

fn policy(policy: Policy) -> String {
    let store = MemoryStore::new(policy, 1);
    decide(|sum, time, cost| {
        let event = Event { time, cost, fields: &() };
        let verdict = store.check(&event);
        sum.outcome(verdict.outcome().unwrap(), || store.retry_after(&event));
        sum.add(verdict.decided_by().unwrap().at as u64);
        verdict.is_allowed()
    })
}

fn decide(mut check: impl FnMut(&mut Checksum, Time, f64) -> bool) -> String {
    let (mut allowed, mut sum) = (0, Checksum::default());
    for (now, cost) in events() {
        allowed += u32::from(check(&mut sum, now, cost));
    }
    format!("{allowed} allowed, {sum}")
}

/// The same 2,000 events for all: 0 to 16 s apart, now and then 16 s backwards; mostly of cost 1.
pub fn events() -> Vec<(Time, f64)> {
    let (mut now, mut random) = (1_700_000_000_000_000, 1u64);
    let event = |_| {
        // Knuth's MMIX generator.
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (gap, kind) = ((random >> 40) as i64, random >> 37 & 7);
        now += if kind == 0 { -16_000_000 } else { gap };
        let cost = if kind < 6 { 1.0 } else { (random >> 32 & 31) as f64 / 8.0 };
        (Time::from_micros(now), cost)
    };
    (0..2000).map(event).collect()
}

/// The abusive user of the article as Redis answered, through the limiter.
pub fn assert_naughty_user() {
    let limiter: AnyLimiter = "earrrl 1/1s half-life 20s".parse().unwrap();
    let (mut state, mut allowed, mut refused) = (limiter.initial(), 0, Vec::new());
    for request in earrrl() {
        let outcome = limiter.check(&mut state, request.at, 1.0);
        let near = (outcome.level - request.estimate_before).abs() <= 8.3e-9 * outcome.level;
        assert!(near, "{} at {}", outcome.level, request.at);
        assert_eq!(outcome.is_allowed(), !request.limited, "at {}", request.at);
        allowed += u64::from(outcome.is_allowed());
        assert_eq!(allowed, request.allowed_so_far, "at {}", request.at);
        if request.limited {
            refused.push(request.at);
        }
    }
    let seconds = |seconds: f64| Some(Time::try_from_secs_f64(seconds).unwrap());
    assert_eq!(
        (refused.first().copied(), refused.last().copied()),
        (seconds(27.0), seconds(255.0))
    );
    assert_eq!(allowed, 90);
}
