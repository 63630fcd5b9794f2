//! Decisions of real servers: `tests/vectors/README.md` says where each file is from.

#![allow(unreachable_pub)]

use ratescope::{Outcome, Span};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The files, and their configuration as a limiter.
pub const FILES: [(&str, &str); 13] = [
    ("nginx_burst", "nginx 4/1s burst 6 nodelay"),
    ("nginx_delay", "nginx 4/1s burst 6 delay 3"),
    ("nginx_minute", "nginx 7/1m burst 3 delay 1"),
    ("haproxy_rate", "haproxy 6/3s"),
    ("haproxy_rate_allowed", "haproxy 6/3s allowed"),
    ("haproxy_odd", "haproxy 5/3601ms"),
    ("haproxy_odd_allowed", "haproxy 2/1001ms allowed"),
    ("envoy_bucket", "envoy 3/1s burst 6"),
    ("envoy_bucket_costs", "envoy 2/500ms burst 8"),
    ("envoy_odd", "envoy 7/777ms burst 11"),
    ("fail2ban_sshd", "fail2ban 5/10m ban 10m"),
    ("fail2ban_steady", "fail2ban 5/10m ban 5m"),
    ("fail2ban_costs", "fail2ban 7/1m ban 45s"),
];

/// An event as a server was given it, and the answer.
pub struct Said {
    pub key: String,
    /// Since the first event.
    pub micros: i64,
    pub cost: f64,
    event: Value,
}

pub fn read(file: &str) -> Vec<Said> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/vectors/{file}.json"));
    let json: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let said = |event: &Value| Said {
        key: event["key"].as_str().unwrap().to_owned(),
        micros: event["t_us"].as_i64().unwrap(),
        cost: event["cost"].as_f64().unwrap(),
        event: event.clone(),
    };
    let events: Vec<_> = json["events"].as_array().unwrap().iter().map(said).collect();
    assert!(events.len() > 100, "{file} is nearly empty");
    events
}

impl Said {
    /// Fails unless the verdict, the wait and every number that the server printed are the same.
    #[track_caller]
    pub fn assert(&self, outcome: Outcome, remaining: impl Fn() -> f64, what: &str) {
        let millis = self.event["delayed_ms"].as_u64().unwrap_or(0);
        let passes = self.event["allowed"].as_bool().unwrap();
        let wait = passes.then_some(Span::from_millis(millis));
        assert_eq!(outcome.wait, wait, "{what}: {outcome}");
        if let Some(excess) = self.event.get("excess_as_printed").and_then(Value::as_str) {
            assert_eq!(format!("{:.3}", outcome.level - 1.0), excess, "{what}");
        }
        for level in ["rate_as_printed", "failures_as_counted"] {
            if let Some(level) = self.event.get(level).and_then(Value::as_f64) {
                assert_eq!(outcome.level, level, "{what}");
            }
        }
        if let Some(tokens) = self.event.get("remaining_as_printed").and_then(Value::as_f64) {
            assert_eq!(remaining(), tokens, "{what}");
        }
    }
}
