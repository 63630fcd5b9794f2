//! The middlewares of a configuration.

use super::entries::{Entries, Setting, is_labels, is_toml, labels, toml, yaml};
use super::rule::rule;
use crate::field::{header, ip};
use crate::read::{Config, Found, Remark, limit, scoped};
use crate::words::{GO, Units, bits, span, whole};
use crate::{Addresses, Only, Target};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Policy;
use std::collections::BTreeMap;

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let mut entries = Entries::default();
    if is_toml(text) {
        toml(text, &mut entries, config);
    } else if is_labels(text) {
        labels(text, &mut entries);
    } else {
        yaml(text, &mut entries)?;
    }
    let Entries { settings, routers, beside } = entries;
    beside.into_iter().for_each(|(line, name)| config.beside(line, name));
    let mut middlewares: Vec<(&str, Vec<&Setting>)> = Vec::new();
    let mut places = BTreeMap::new();
    for setting in &settings {
        let place = *places.entry(&setting.name).or_insert(middlewares.len());
        match middlewares.get_mut(place) {
            Some((_, of)) => of.push(setting),
            None => middlewares.push((&setting.name, vec![setting])),
        }
    }
    for (name, settings) in middlewares {
        let line = settings.first().map_or(0, |setting| setting.line);
        let mut addresses = Addresses::default();
        let found = middleware(&settings, &mut addresses, config);
        if let Ok(limit) = &found
            && let AnyLimiter::TokenBucket(bucket) = &limit.limiter
            && !Target::Traefik.has_bucket(bucket.rate(), bucket.burst())
            && let Err(error) = Target::Traefik.configure(&Policy::from(limit.clone()))
        {
            config.remark(line, format!("Traefik differs: {}", error.problem()));
        }
        let rules = routers.rules(name).unwrap_or_else(|| vec![""]);
        if rules.is_empty() {
            config.remark(line, "no router here uses it");
        }
        let is_for_all = rules.iter().any(|rule| rule.is_empty());
        let scope = scoped(rules.iter().filter(|_| !is_for_all), " || ");
        let only = match rules.as_slice() {
            rules if is_for_all || rules.is_empty() => Only::All,
            rules => rule(rules),
        };
        let name = name.to_owned();
        config.add(line, found.map(|limit| Found { name, line, limit, addresses, scope, only }));
    }
    Ok(())
}

pub(super) fn middleware(
    settings: &[&Setting],
    addresses: &mut Addresses,
    config: &mut Config,
) -> Result<ratescope::policy::Limit, String> {
    const KNOWN: [&str; 9] = [
        "average",
        "period",
        "burst",
        "requesthost",
        "requestheadername",
        "depth",
        "ipv6subnet",
        "ipstrategy",
        "excludedips",
    ];
    let mut given = BTreeMap::new();
    for setting in settings {
        // An entry of a list has its place in a label.
        let key = setting.key.split('[').next().unwrap_or_default();
        if key == "excludedips" {
            config.remark(
                setting.line,
                "excludedIPs choose the address of X-Forwarded-For; the trial counts the client of the log",
            );
            continue;
        }
        if !KNOWN.contains(&key) {
            config.refuse(setting.line, format!("rateLimit has the option {key:?}"));
            continue;
        }
        let first = given.entry(key).or_insert(setting);
        if first.value != setting.value {
            let Setting { line, value, .. } = setting;
            return Err(format!("{key} is {:?} and in line {line} {value:?}", first.value));
        }
    }
    let value = |name: &str| given.get(name).map(|setting| setting.value.as_str());
    let has_host = value("requesthost") == Some("true");
    let has_header = value("requestheadername").is_some_and(|name| !name.is_empty());
    let has_strategy = ["depth", "ipv6subnet"].iter().any(|name| value(name).is_some());
    if [has_host, has_header, has_strategy].iter().filter(|has| **has).count() > 1 {
        let line = settings.first().map_or(0, |setting| setting.line);
        config.refuse(line, "its sourceCriterion names several sources");
    }
    let average = whole(value("average").unwrap_or("0"), "average")?;
    if average == 0 {
        return Err("an average of 0 limits nothing".to_owned());
    }
    let burst = whole(value("burst").unwrap_or("1"), "burst")?.max(1);
    let period = match value("period") {
        None | Some("" | "0") => span("1s", GO, "period")?,
        Some(period) => {
            let is_number = period.bytes().all(|byte| byte.is_ascii_digit());
            span(period, if is_number { SECONDS } else { GO }, "period")?
        }
    };
    let field = if has_host {
        "host".to_owned()
    } else if let Some(name) = value("requestheadername").filter(|_| has_header) {
        header(name)
    } else {
        match whole(value("depth").unwrap_or("0"), "depth")? {
            0 => {}
            1 => addresses.forwarded = true,
            depth => {
                addresses.forwarded = true;
                let line = given.get("depth").map_or(0, |setting| setting.line);
                config.remark(
                    line,
                    format!(
                        "a depth of {depth} is that address of X-Forwarded-For from the right; the trial counts the client of the log"
                    ),
                );
            }
        }
        if let Some(subnet) = value("ipv6subnet") {
            addresses.ipv6_prefix = bits(subnet).ok_or("ipv6Subnet is no number up to 128")?;
        }
        ip()
    };
    limit(&format!("token-bucket {average}/{period} burst {burst}"), &[field])
}

const SECONDS: Units = &[("", 1.0)];
