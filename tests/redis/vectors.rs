//! The measures and decisions of real servers, through Redis: `tests/vectors/README.md` says where each
//! file is from. In memory they are replayed in `tests/vectors.rs` and `tests/servers.rs`.

use super::common::{EXIM, earrrl, exim};
use super::server::Server;
use super::{check, open, patient, rules, run};
use ratescope::redis_store::RedisStore;
use ratescope::rules::{Answered, Details};
use ratescope::{Policy, Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// Stores on one server, one for each text, with keys of their own.
struct Stores {
    url: String,
    opened: BTreeMap<String, RedisStore>,
}

impl Stores {
    fn at(server: &Server) -> Self {
        Stores { url: server.url(), opened: BTreeMap::new() }
    }

    async fn check(&mut self, text: &str, key: &str, time: Time, cost: f64) -> Answered {
        let (number, url) = (self.opened.len(), &self.url);
        let prefix = format!("{number}:");
        let new = || open(url, rules(&format!("{text} per key")), patient(&prefix));
        let store = self.opened.entry(text.to_owned()).or_insert_with(new);
        let answer = check(store, time, cost, &[("key", key)], Details::ALL).await;
        assert_eq!(answer.fault, None, "{text}");
        answer
    }
}

#[test]
fn what_exim_decided() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        for (file, json) in EXIM {
            let mut stores = Stores::at(&server);
            for (i, attempt) in exim(json).iter().enumerate() {
                let Some(theirs) = &attempt.answer else { continue };
                let limiter = attempt.limiter();
                let key = format!("{file}-{}", attempt.key);
                let text = limiter.to_string();
                let ours = stores.check(&text, &key, attempt.at, attempt.cost).await;
                let ours = ours.ruling.decided_by().unwrap().outcome;
                let what = format!("{file}, event {i}");
                assert_eq!(ours.level >= ours.limit, theirs.over, "{what}");
                assert_eq!(format!("{:.1}", ours.level), theirs.printed, "{what}");
                assert_eq!(ours.is_allowed(), !theirs.over || limiter.measures_only(), "{what}");
            }
        }
    });
}

#[test]
fn what_the_repaired_script_of_the_article_decided() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        let mut stores = Stores::at(&server);
        for (i, request) in earrrl().iter().enumerate() {
            let text = "earrrl 1/1s half-life 20s";
            let ours = stores.check(text, "naughty", request.at, 1.0).await;
            let outcome = ours.ruling.decided_by().unwrap().outcome;
            assert_eq!(outcome.is_allowed(), !request.limited, "request {i}");
            let off = (outcome.level - request.estimate_before).abs();
            assert!(off <= 8.3e-9 * request.estimate_before, "request {i}: {outcome}");
        }
    });
}

/// The files of servers, and their configuration as a limiter.
const SERVERS: [(&str, &str, &str); 13] = [
    ("nginx 4/1s burst 6 nodelay", include_str!("../vectors/nginx_burst.json"), "excess"),
    ("nginx 4/1s burst 6 delay 3", include_str!("../vectors/nginx_delay.json"), "excess"),
    ("nginx 7/1m burst 3 delay 1", include_str!("../vectors/nginx_minute.json"), "excess"),
    ("haproxy 6/3s", include_str!("../vectors/haproxy_rate.json"), "rate"),
    ("haproxy 6/3s allowed", include_str!("../vectors/haproxy_rate_allowed.json"), "rate"),
    ("haproxy 5/3601ms", include_str!("../vectors/haproxy_odd.json"), "rate"),
    ("haproxy 2/1001ms allowed", include_str!("../vectors/haproxy_odd_allowed.json"), "rate"),
    ("envoy 3/1s burst 6", include_str!("../vectors/envoy_bucket.json"), "remaining"),
    ("envoy 2/500ms burst 8", include_str!("../vectors/envoy_bucket_costs.json"), "remaining"),
    ("envoy 7/777ms burst 11", include_str!("../vectors/envoy_odd.json"), "remaining"),
    ("fail2ban 5/10m ban 10m", include_str!("../vectors/fail2ban_sshd.json"), "failures"),
    ("fail2ban 5/10m ban 5m", include_str!("../vectors/fail2ban_steady.json"), "failures"),
    ("fail2ban 7/1m ban 45s", include_str!("../vectors/fail2ban_costs.json"), "failures"),
];

#[test]
fn what_servers_decided() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        for (text, json, printed) in SERVERS {
            let mut stores = Stores::at(&server);
            let file: Value = serde_json::from_str(json).unwrap();
            for (i, event) in file["events"].as_array().unwrap().iter().enumerate() {
                let what = format!("{text}, event {i}");
                let now = 1_704_067_200_000_000 + event["t_us"].as_i64().unwrap();
                let (now, cost) = (Time::from_micros(now), event["cost"].as_f64().unwrap());
                let key = event["key"].as_str().unwrap();
                let ours = stores.check(text, &format!("{text} {key}"), now, cost).await;
                let outcome = ours.ruling.decided_by().unwrap().outcome;
                let millis = event["delayed_ms"].as_u64().unwrap_or(0);
                let passes = event["allowed"].as_bool().unwrap();
                let wait = passes.then_some(Span::micros(millis * 1000));
                assert_eq!(outcome.wait(), wait, "{what}: {outcome}");
                let how = if printed == "failures" { "counted" } else { "printed" };
                let numbers = &event[format!("{printed}_as_{how}")];
                let remaining = || ours.ruling.least().unwrap().remaining;
                match (printed, numbers) {
                    ("excess", Value::String(excess)) => {
                        assert_eq!(format!("{:.3}", outcome.level - 1.0), *excess, "{what}");
                    }
                    ("rate" | "failures", Value::Number(level)) => {
                        assert_eq!(Some(outcome.level), level.as_f64(), "{what}");
                    }
                    ("remaining", Value::Number(tokens)) => {
                        assert_eq!(Some(remaining()), tokens.as_f64(), "{what}");
                    }
                    _ => {}
                }
            }
        }
    });
}

/// The same 2,000 events that `limiters.txt` and the page are held to, through every limiter that
/// Redis has, and the policy.
#[test]
fn what_every_limiter_decides_about_the_same_events() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        for (number, line) in include_str!("../vectors/limiters.txt").lines().enumerate() {
            let (text, _) = line.split_once(": ").unwrap();
            if text.contains("by hour") {
                continue;
            }
            let _: Policy = text.parse().unwrap();
            let store = open(&server.url(), rules(text), patient(&format!("{number}:")));
            super::equal::both(text, &store, &super::common::limiters::events()).await;
        }
    });
}
