//! What real servers decided, replayed: verdict and wait of every event, and every number that the
//! server printed. `tests/vectors/README.md` says where each file is from.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)]

use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files, and their configuration as a limiter.
const FILES: [(&str, &str); 6] = [
    ("nginx_burst", "nginx 4/1s burst 6 nodelay"),
    ("nginx_delay", "nginx 4/1s burst 6 delay 3"),
    ("haproxy_rate", "haproxy 6/3s"),
    ("haproxy_rate_allowed", "haproxy 6/3s allowed"),
    ("envoy_bucket", "envoy 3/1s burst 6"),
    ("envoy_bucket_costs", "envoy 2/500ms burst 8"),
];

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
    let events = events(file);
    assert!(events.len() > 100, "{file} is nearly empty");
    for (i, event) in events.iter().enumerate() {
        let what = format!("{file}, event {i}, from {origin}");
        let now = Time::from_micros(origin * 1_000_000 + event["t_us"].as_i64().unwrap());
        let cost = event["cost"].as_f64().unwrap();
        let key = event["key"].as_str().unwrap().to_owned();
        let state = states.entry(key).or_insert_with(|| limiter.initial());
        let outcome = limiter.check(state, now, cost);
        let millis = event["delayed_ms"].as_u64().unwrap_or(0);
        let wait = event["allowed"].as_bool().unwrap().then_some(Span::micros(millis * 1000));
        assert_eq!(outcome.wait(), wait, "{what}: {outcome}");
        if let Some(excess) = event.get("excess_as_printed").and_then(Value::as_str) {
            assert_eq!(format!("{:.3}", outcome.level - 1.0), excess, "{what}");
        }
        if let Some(rate) = event.get("rate_as_printed").and_then(Value::as_f64) {
            assert_eq!(outcome.level, rate, "{what}");
        }
        if let Some(tokens) = event.get("remaining_as_printed").and_then(Value::as_f64) {
            assert_eq!(limiter.remaining(state, now), tokens, "{what}");
        }
    }
}

fn events(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{file}.json"));
    let json: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    json["events"].as_array().unwrap().clone()
}
