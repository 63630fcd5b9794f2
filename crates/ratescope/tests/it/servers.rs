//! Decisions of real servers, replayed: verdict and wait of every event, and every number that the
//! server printed. `tests/vectors/README.md` says where each file is from.

use crate::decided;
use decided::FILES;
use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, Retry, Span, Time};
use std::collections::BTreeMap;

/// Where the origin of time may lie, in seconds: with the first event, on the clock that the
/// recorded Envoy read, and at the epoch.
const ORIGINS: [i64; 3] = [0, 100_000, 1_704_067_200];

#[test]
fn every_server_decides_as_it_did() {
    for (file, text) in FILES {
        for origin in ORIGINS {
            replay(file, &text.parse().unwrap(), origin);
        }
    }
}

#[track_caller]
fn replay(file: &str, limiter: &AnyLimiter, origin: i64) {
    let mut states: BTreeMap<String, AnyState> = BTreeMap::new();
    for (i, said) in decided::read(file).iter().enumerate() {
        let now = Time::from_micros(origin * 1_000_000 + said.micros);
        let state = states.entry(said.key.clone()).or_insert_with(|| limiter.initial());
        let outcome = limiter.check(state, now, said.cost);
        let remaining = || limiter.remaining(state, now);
        said.assert(outcome, remaining, &format!("{file}, event {i}, from {origin}"));
    }
}

fn limiter(text: &str) -> AnyLimiter {
    text.parse().unwrap()
}

fn seconds(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

/// Which of the events at these seconds pass.
fn passed(text: &str, times: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let limiter = limiter(text);
    let mut state = limiter.initial();
    let mut passes = |at: &f64| limiter.check(&mut state, seconds(*at), 1.0).is_allowed();
    times.into_iter().filter(|at| passes(at)).collect()
}

/// Things that people do not expect of their server.
#[test]
fn the_traps() {
    // nginx cuts a rate per minute to thousandths a second: 1r/m is 0.96 a minute.
    assert_eq!(passed("nginx 1/1m", [0.0, 60.0, 62.5]), [0.0, 62.5]);
    assert_eq!(passed("nginx 60/1m", [0.0, 1.0, 2.0]), [0.0, 1.0, 2.0]);
    // Without a burst, two within a gap of the rate are one too many.
    assert_eq!(passed("nginx 10/1s", [0.0, 0.05, 0.1, 0.19, 0.2]), [0.0, 0.1, 0.2]);
    // A count of 1 does not fade: one each 20 s.
    let each_second = || (0..60).map(f64::from);
    assert_eq!(passed("haproxy 1/10s allowed", each_second()), [0.0, 21.0, 42.0]);
    // Who stays above the limit gets nothing while the refused count.
    assert_eq!(passed("haproxy 3/10s", each_second()), [0.0, 1.0, 2.0]);
    // 100 a minute come one by one, and the minute's end brings nothing.
    let drops = passed("envoy 100/1m burst 1", (0..80).map(|i| 59.0 + f64::from(i) * 0.1));
    let gaps: Vec<_> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (0.59..0.71).contains(gap)), "{gaps:?}");
}

/// A bucket that is full but for the last bit lets one fewer through: so it was in a real Envoy, in
/// each of these seconds after the 100,000 that its host had been up.
#[test]
fn a_full_bucket_of_envoy_may_hold_a_little_less() {
    let envoy = limiter("envoy 3/1s burst 7");
    for (second, at_once) in [(5, 7), (1000, 7), (31_071, 7), (40_000, 6)] {
        let at = Time::from_micros(second * 1_000_000 + 123_000);
        let mut state = envoy.initial();
        let passed = (0..8).filter(|_| envoy.check(&mut state, at, 1.0).is_allowed()).count();
        assert_eq!(passed, at_once, "after {second} s");
    }
}

proptest! {
    /// With any rounding of the host's clock.
    #[test]
    fn a_new_bucket_of_envoy_is_full(
        (tokens, millis, burst) in (1..10_000_u32, 50..100_000_u32, 1..10_000_u32),
        micros in prop::collection::vec(0..4_000_000_000_000_000_i64, 100),
    ) {
        for text in [format!("envoy {tokens}/{millis}ms burst {burst}"), "envoy 7/1m burst 1".to_owned()] {
            let envoy = limiter(&text);
            for at in micros.iter().map(|micros| Time::from_micros(*micros)) {
                let most = envoy.remaining(&envoy.initial(), at);
                let mut state = envoy.initial();
                prop_assert_eq!(envoy.reset_after(&state, at), Span::ZERO, "{} at {}", text, at);
                prop_assert!(envoy.check(&mut state, at, most).is_allowed(), "{} at {}", text, at);
                prop_assert!(!envoy.check(&mut state, at, 1.0).is_allowed(), "{} at {}", text, at);
                // A bucket that was made for a refused request is full, too.
                let mut state = envoy.initial();
                prop_assert!(!envoy.check(&mut state, at, most + 1.0).is_allowed());
                prop_assert!(envoy.check(&mut state, at, most).is_allowed(), "{} at {}", text, at);
            }
        }
    }
}

/// Servers count whole requests, nginx thousandths of one.
#[test]
fn what_a_cost_counts_for() {
    for (text, cost, levels) in [
        ("nginx 1/1s burst 9 nodelay", 2.5, [2.5, 5.0, 7.5, 10.0]),
        ("nginx 1/1s burst 9 nodelay", 0.0001, [0.001, 0.002, 0.003, 0.004]),
        ("nginx 1/1s burst 9 nodelay", 0.0, [0.0, 0.0, 0.0, 0.0]),
        ("haproxy 9/10s", 2.5, [3.0, 6.0, 9.0, 12.0]),
        ("haproxy 9/10s", 0.0, [0.0, 0.0, 0.0, 0.0]),
        // The count before the event, which is not held against the limit.
        ("haproxy 9/10s allowed", 4.5, [0.0, 5.0, 10.0, 10.0]),
        ("envoy 1/1s burst 8", 1.5, [2.0, 4.0, 6.0, 8.0]),
    ] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        let found = levels.map(|_| limiter.check(&mut state, Time::ZERO, cost).level);
        assert_eq!(found, levels, "{text} of {cost}");
    }
}

/// A question passes HAProxy even where nothing else does, and never passes Envoy.
#[test]
fn a_question_to_a_server() {
    for (text, passes) in [("haproxy 1/10s", true), ("nginx 1/1s", true), ("envoy 1/1s", false)] {
        let limiter = limiter(text);
        let mut state = limiter.initial();
        for _ in 0..3 {
            let _ = limiter.check(&mut state, Time::ZERO, 1.0);
        }
        let asked = limiter.check(&mut state, Time::ZERO, 0.0);
        assert_eq!(asked.is_allowed(), passes, "{text}");
        let retry = if passes { Retry::NOW } else { Retry::Never };
        assert_eq!(limiter.retry_after(&state, Time::ZERO, 0.0), retry, "{text}");
    }
}

/// Waits as nginx counts them: cut to whole milliseconds, and known at arrival.
#[test]
fn waits_in_the_queue_of_nginx() {
    let queue = limiter("nginx 7/1s burst 4 delay 1");
    let mut state = queue.initial();
    let waits: Vec<_> = (0..6).map(|_| queue.check(&mut state, Time::ZERO, 1.0).wait).collect();
    let millis = |ms: u64| Some(Span::from_millis(ms));
    assert_eq!(waits, [millis(0), millis(0), millis(142), millis(285), millis(428), None]);
}

/// nginx reads a clock that is never set back, and would refuse until it has caught up. From less
/// than a minute back, time stands still.
#[test]
fn nginx_and_a_clock_that_is_set_back() {
    let nginx = limiter("nginx 1/1s");
    let mut state = nginx.initial();
    assert!(nginx.check(&mut state, seconds(1000.0), 1.0).is_allowed());
    for back in [999.0, 940.0, 939.0, 1.0] {
        assert!(!nginx.check(&mut state, seconds(back), 1.0).is_allowed());
        let wait = nginx.retry_after(&state, seconds(back), 1.0);
        assert_eq!(wait, Retry::After(Span::try_from_secs_f64(1001.0 - back).unwrap()));
    }
    // With room left, the next event that passes takes the state along.
    let roomy = limiter("nginx 1/1s burst 1 nodelay");
    let mut state = roomy.initial();
    assert!(roomy.check(&mut state, seconds(1000.0), 1.0).is_allowed());
    assert!(roomy.check(&mut state, seconds(1.0), 1.0).is_allowed());
    assert_eq!(roomy.reset_after(&state, seconds(1.0)), Span::try_from_secs_f64(1.999).unwrap());
}
