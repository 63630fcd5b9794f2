//! An exported configuration is read back as the same limit, and written again as the same text.

use super::read;
use crate::write::keys::{ADDRESSES, keys, server};
use proptest::prelude::*;
use ratescope::Policy;
use ratescope::policy::LIMITS;
use ratescope::rules::cases::Cases;
use ratescope::rules::{MemoryStore, Rules};
use ratescope::{Event, Time};
use ratescope_config::{Addresses, Only, Target};
use std::fmt::Write;

/// Reads the written configuration; `false` if the policy can't be written.
fn is_read_back(target: Target, policy: &Policy, addresses: Addresses) -> bool {
    let Ok(written) = target.configure_for(policy, addresses, None) else { return false };
    let config = read(&written.text);
    assert_eq!(config.target, target, "{}", written.text);
    let again = config.policy().unwrap();
    let written_again = target.configure_for(&again, config.addresses, None).unwrap();
    assert_eq!(
        without_description(&written_again.text),
        without_description(&written.text),
        "{policy} became {again}"
    );
    assert_eq!(config.found.len(), policy.limits().len(), "{}", written.text);
    assert!(config.found.iter().all(|found| found.only == Only::All), "{}", written.text);
    let lines = written.text.lines().count();
    assert!(config.found.iter().all(|found| (1..=lines).contains(&found.line)));
    true
}

/// Cloudflare's rules describe themselves by the policy as it was given, as in `per forwarded`, which is read as `per ip`.
fn without_description(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("\"description\""))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Each key of each server, with each way to count addresses.
#[test]
fn every_key_is_read_back() {
    for target in Target::ALL {
        let (limiter, known) = server(target);
        for key in keys() {
            for addresses in ADDRESSES {
                let policy: Policy = format!("{limiter} per {key}").parse().unwrap();
                if is_read_back(target, &policy, addresses) {
                    assert!(known.contains(&key));
                }
                let limit = &policy.limits()[0];
                let Ok(written) = target.configure_for(&policy, addresses, None) else { continue };
                let found = &read(&written.text).found[0];
                // A bucket is written as the server's own.
                assert!(
                    found.limit.limiter == limit.limiter
                        || target.to_string() != limiter.split(' ').next().unwrap()
                );
                // The fields may come in another order, and under another name of the same.
                let same = |field: &str| match field {
                    "forwarded" | "address" if target != Target::Rust => "ip".to_owned(),
                    field => field.to_owned(),
                };
                let mut fields: Vec<String> = limit.per.fields().iter().map(|f| same(f)).collect();
                let mut read: Vec<String> = found.limit.per.fields().to_vec();
                fields.sort();
                read.sort();
                assert_eq!(read, fields, "{target} per {key}");
            }
        }
    }
}

/// A limiter of the server's own kind.
fn limiter(target: Target) -> BoxedStrategy<String> {
    let n = 1u32..100_000;
    match target {
        // A count of 1 or less lets nothing pass.
        Target::Exim => {
            (9u32..100_000, 1u32..1_000_000, prop::sample::select(vec!["strict", "leaky"]))
                .prop_map(|(n, secs, mode)| format!("exim {}/{secs}s {mode}", f64::from(n) / 8.0))
                .boxed()
        }
        Target::Nginx => (n.clone(), prop::bool::ANY, 0u32..1000, 0u32..4)
            .prop_map(|(n, second, burst, delay)| {
                let delay = match delay {
                    0 => " nodelay".to_owned(),
                    1 => String::new(),
                    n => format!(" delay {n}"),
                };
                let burst = if burst == 0 { String::new() } else { format!(" burst {burst}") };
                format!("nginx {n}/{}{burst}{delay}", if second { "1s" } else { "1m" })
            })
            .boxed(),
        Target::Haproxy => (n, 2u32..1_000_000_000, prop::bool::ANY)
            .prop_map(|(n, ms, allowed)| {
                format!("haproxy {n}/{ms}ms{}", if allowed { " allowed" } else { "" })
            })
            .boxed(),
        Target::Envoy => (n.clone(), n, 50u32..1_000_000_000)
            .prop_map(|(n, burst, ms)| format!("envoy {n}/{ms}ms burst {burst}"))
            .boxed(),
        Target::Descriptors => (n, prop::sample::select(vec!["1s", "1m", "1h", "1d"]))
            .prop_map(|(n, per)| format!("fixed-window {n}/{per}"))
            .boxed(),
        Target::Caddy => (n, 1u32..1_000_000_000, prop::sample::select(vec!["s", "ms", "us"]))
            .prop_map(|(n, m, unit)| format!("sliding-log {n}/{m}{unit}"))
            .boxed(),
        Target::Traefik => (1u32..1000, 1u32..2000, 1u32..100)
            .prop_map(|(n, ms, burst)| format!("token-bucket {n}/{ms}ms burst {burst}"))
            .boxed(),
        Target::Cloudflare => (n, prop::sample::select(vec!["10s", "1m", "10m", "1h"]))
            .prop_map(|(n, per)| format!("sliding-counter {n}/{per}"))
            .boxed(),
        Target::Nftables => {
            (n, prop::sample::select(vec!["1s", "1m", "1h", "1d", "1w"]), 1u32..65_536)
                .prop_map(|(n, per, burst)| format!("token-bucket {n}/{per} burst {burst}"))
                .boxed()
        }
        Target::Fail2ban => (1u32..100_000, 1u32..1_000_000, 1u32..1_000_000)
            .prop_map(|(n, find, ban)| format!("fail2ban {n}/{find}s ban {ban}s"))
            .boxed(),
        _ => n.prop_map(|n| format!("gcra {n}/1s burst 3")).boxed(),
    }
}

fn policies() -> impl Strategy<Value = (Target, String, usize)> {
    prop::sample::select(Target::ALL.to_vec()).prop_flat_map(|target| {
        let keys = server(target).1;
        let limit = (limiter(target), prop::sample::select(keys))
            .prop_map(|(limiter, key)| format!("{limiter} per {key}"));
        let most = if target == Target::Fail2ban { 2 } else { LIMITS };
        let limits = prop::collection::vec(limit, 1..most).prop_map(|limits| limits.join(" & "));
        (Just(target), limits, 0..ADDRESSES.len())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_read_back((target, policy, addresses) in policies()) {
        let policy: Policy = policy.parse().unwrap();
        is_read_back(target, &policy, ADDRESSES[addresses]);
    }

    /// A limit of the server itself is the same limit when it was read.
    #[test]
    fn a_limit_stays_the_same(
        (target, limiter) in prop::sample::select(Target::ALL.to_vec())
            .prop_flat_map(|target| (Just(target), limiter(target)))
    ) {
        let per = if server(target).1.contains(&"all") { "all" } else { "ip" };
        let policy: Policy = format!("{limiter} per {per}").parse().unwrap();
        if let Ok(written) = target.configure(&policy) {
            let read = read(&written.text).policy().unwrap();
            // nftables has other spellings of a rate, as 60/1m for 1/1s.
            if target != Target::Nftables {
                prop_assert_eq!(read, policy);
            }
        }
    }

    /// Damaged texts are read or refused.
    #[test]
    fn damage_never_panics(
        (target, policy, addresses) in policies(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 1..4),
    ) {
        let policy: Policy = policy.parse().unwrap();
        if let Ok(written) = target.configure_for(&policy, ADDRESSES[addresses], None) {
            let mut chars: Vec<char> = written.text.chars().collect();
            for (at, c) in damage {
                let at = at.index(chars.len());
                chars[at] = c;
            }
            let _ = ratescope_config::read(&chars.into_iter().collect::<String>());
        }
    }
}

/// The fields of an event, as Envoy's route of a written rule file makes descriptors of them: its actions are comments
/// there.
fn descriptors(text: &str, fields: &[(&str, &str)]) -> Vec<String> {
    let value = |name: &str| fields.iter().find(|(known, _)| *known == name).unwrap().1;
    let mut all: Vec<Vec<String>> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
        let action = line.trim().trim_start_matches("- ");
        let of = |name: &str| {
            let (_, rest) = action.split_once(name)?;
            Some(rest.split([',', ' ', '}']).find(|word| !word.is_empty())?.trim_matches('"'))
        };
        let entry = if action == "actions:" {
            all.push(Vec::new());
            continue;
        } else if let Some(name) = of("descriptor_value:") {
            format!("generic_key: {name}")
        } else if let Some(key) = of("descriptor_key:") {
            let header = of("header_name:").unwrap();
            let field = match header {
                ":authority" => "host",
                name => name.trim_start_matches(':'),
            };
            format!("{key}: {}", value(field))
        } else if action.starts_with("remote_address") {
            format!("remote_address: {}", value("ip"))
        } else {
            continue;
        };
        all.last_mut().unwrap().push(entry);
    }
    all.into_iter().map(|entries| format!("{{{}}}", entries.join(", "))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The rule file decides about the descriptors of Envoy's route as the policy does about the fields.
    #[test]
    fn a_written_rule_file_decides_as_the_policy(
        limits in prop::collection::vec(
            (1u32..6, prop::sample::select(vec!["1s", "1m"]),
             prop::sample::select(vec!["all", "ip", "path", "ip+path", "host+method", "api-key+ip"])),
            1..4),
        events in prop::collection::vec((0u32..90, 0usize..3, 0usize..3, 0usize..2), 1..40),
    ) {
        let limits: Vec<String> =
            limits.iter().map(|(n, per, key)| format!("fixed-window {n}/{per} per {key}")).collect();
        let policy: Policy = limits.join(" & ").parse().unwrap();
        let written = Target::Descriptors.configure(&policy).unwrap();
        let rules = Rules::read("config.yaml", &written.text).unwrap();
        let expected = MemoryStore::new(policy, 1000);
        let mut at: Vec<_> = events;
        at.sort_unstable();
        let mut cases = "tests:\n- name: all\n  events:\n".to_owned();
        for (secs, ip, path, other) in at {
            let ip = format!("192.0.2.{ip}");
            let path = format!("/{path}");
            let other = format!("x{other}");
            let fields = [
                ("ip", ip.as_str()),
                ("path", &path),
                ("host", &other),
                ("method", "GET"),
                ("api-key", &other),
            ];
            let time = Time::try_from_secs_f64(f64::from(secs)).unwrap();
            let is_allowed =
                expected.check(&Event { time, cost: 1.0, fields: &fields }).is_allowed();
            let expect = if is_allowed { "allowed" } else { "refused" };
            let sent = descriptors(&written.text, &fields).join(", ");
            writeln!(cases, "  - {{at: {secs}, descriptors: [{sent}], expect: {expect}}}").unwrap();
        }
        let cases = Cases::read("cases.yaml", &cases).unwrap_or_else(|error| panic!("{error}\n{cases}"));
        let failures: Vec<String> =
            cases.run(&rules).into_iter().flatten().map(|failed| failed.to_string()).collect();
        prop_assert!(failures.is_empty(), "{failures:#?}\n{}", written.text);
    }
}
