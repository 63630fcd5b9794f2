//! Traefik: the middleware `rateLimit`, as YAML, TOML or labels.
//!
//! All three are read as paths with values, as in `http.middlewares.NAME.rateLimit.average`, case-insensitive.

use super::field::{header, ip};
use super::tree::{documents, walk};
use super::words::{GO, Units, bits, has, lines, span, whole};
use super::{Config, Found, Remark, SCOPE, limit, said};
use crate::{Addresses, Target};
use ratescope::internal::shown;
use ratescope::internal::yaml::{Kind, Node};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Policy;
use std::collections::BTreeMap;

pub(super) fn is_known(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    has(&lower, &["#"], "ratelimit") && has(&lower, &["#"], "average")
}

/// The keys whose children have names that somebody chose.
const SECTIONS: [&str; 3] = ["middlewares", "routers", "services"];

/// A value of a middleware `rateLimit`: its last key in lower case, and the name of the middleware.
struct Setting {
    line: usize,
    name: String,
    key: String,
    value: String,
}

impl Setting {
    /// The setting at these keys, if they are of a `rateLimit`.
    fn new<'a>(
        line: usize,
        path: impl IntoIterator<Item = &'a str>,
        value: &str,
    ) -> Option<Setting> {
        let mut name = None;
        let mut key = "";
        for next in path {
            // A middleware or a router may be called so, too.
            if name.is_none() && next.eq_ignore_ascii_case("ratelimit") && !SECTIONS.contains(&key)
            {
                name = Some(key);
            }
            // All replicas count such a limit together.
            if name.is_some() && next.eq_ignore_ascii_case("redis") {
                return None;
            }
            key = next;
        }
        let key = said(key).to_ascii_lowercase();
        Some(Setting { line, name: shown(name?, SCOPE), key, value: said(value) })
    }
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let settings = if is_toml(text) {
        toml(text, config)
    } else if has(text, &["#"], LABEL) {
        labels(text)
    } else {
        yaml(text)?
    };
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
        let found = middleware(&settings, &mut addresses);
        if let Ok(limit) = &found
            && let AnyLimiter::TokenBucket(bucket) = &limit.limiter
            && !Target::Traefik.has_bucket(bucket.rate(), bucket.burst())
            && let Err(error) = Target::Traefik.configure(&Policy::from(limit.clone()))
        {
            config.remark(line, format!("Traefik differs: {}", error.problem()));
        }
        let name = name.to_owned();
        config.add(line, found.map(|limit| Found { name, line, limit, addresses, scope: None }));
    }
    Ok(())
}

fn middleware(
    settings: &[&Setting],
    addresses: &mut Addresses,
) -> Result<ratescope::policy::Limit, String> {
    const KNOWN: [&str; 8] = [
        "average",
        "period",
        "burst",
        "requesthost",
        "requestheadername",
        "depth",
        "ipv6subnet",
        "ipstrategy",
    ];
    let mut given = BTreeMap::new();
    for setting in settings {
        let key = setting.key.as_str();
        if !KNOWN.contains(&key) {
            return Err(format!("{key} in line {} is not understood", setting.line));
        }
        let first = given.entry(key).or_insert(setting);
        if first.value != setting.value {
            let Setting { line, value, .. } = setting;
            return Err(format!("{key} is {:?} and in line {line} {value:?}", first.value));
        }
    }
    let value = |name: &str| given.get(name).map(|setting| setting.value.as_str());
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
    let field = if value("requesthost") == Some("true") {
        "host".to_owned()
    } else if let Some(name) = value("requestheadername") {
        header(name)
    } else {
        match value("depth").unwrap_or("0") {
            "0" => {}
            "1" => addresses.forwarded = true,
            depth => {
                return Err(format!(
                    "a depth of {} is another address of X-Forwarded-For than the last",
                    said(depth)
                ));
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

/// The prefix of containers' labels.
const LABEL: &str = "traefik.http.middlewares.";

fn labels(text: &str) -> Vec<Setting> {
    let label = |(line, text): (usize, &str)| {
        let (_, text) = text.split_at(text.find(LABEL)?);
        let end = text.find(['=', ':'])?;
        let (path, value) = text.split_at(end);
        let value = value.get(1..).unwrap_or("");
        let value =
            value.split(" #").next().unwrap_or(value).trim_matches([' ', '"', '\'', '`', ':']);
        Setting::new(line, keys(path), value)
    };
    lines(text, &["#"]).filter_map(label).collect()
}

/// The keys of a path with dots.
fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').map(|key| key.trim_matches([' ', '"', '\'']))
}

fn yaml(text: &str) -> Result<Vec<Setting>, Remark> {
    let mut settings = Vec::new();
    for root in documents(text)? {
        let is_list = root.get("kind").is_some_and(|kind| kind.word().ends_with("List"));
        match root.get("items").filter(|_| is_list) {
            Some(items) => items.items().iter().for_each(|item| resource(item, &mut settings)),
            None => resource(&root, &mut settings),
        }
    }
    Ok(settings)
}

fn resource(root: &Node, settings: &mut Vec<Setting>) {
    // A resource of Kubernetes has its name, unique in its namespace, in `metadata`.
    let named = |name: &str| root.get("metadata").and_then(|of| of.get(name)).map(Node::word);
    let name = named("name").filter(|_| root.get("kind").is_some());
    let name = name.map(|name| match named("namespace") {
        Some(space) => format!("{space}/{name}"),
        None => name.to_owned(),
    });
    walk(root, &mut Vec::new(), &mut |node, path| {
        let Kind::Text { text, .. } = &node.kind else { return };
        let keys = path.iter().enumerate().map(|(i, key)| match &name {
            Some(name) if i == 0 && *key == "spec" => name,
            _ => *key,
        });
        settings.extend(Setting::new(node.at.line, keys, text));
    });
}

fn is_toml(text: &str) -> bool {
    lines(text, &["#"]).next().is_some_and(|(_, line)| line.starts_with('[') && line.ends_with(']'))
}

/// The tables of TOML and their keys, each on a line of its own.
fn toml(text: &str, config: &mut Config) -> Vec<Setting> {
    let mut table = "";
    let mut settings = Vec::new();
    for (line, text) in lines(text, &["#"]) {
        if let Some(name) = text.strip_prefix('[') {
            table = name.split(']').next().unwrap_or(name);
        } else if let Some((key, value)) = text.split_once('=') {
            let value = value.split(" #").next().unwrap_or(value).trim();
            let plain = value.trim_matches(['"', '\'']);
            let setting = Setting::new(line, keys(table).chain(keys(key)), plain);
            let is_named = setting.is_some() || value.to_ascii_lowercase().contains("ratelimit");
            if value.starts_with('{') && is_named {
                config.remark(
                    line,
                    "a table within a line is not understood; write it as a table of its own",
                );
            }
            settings.extend(setting);
        }
    }
    settings
}
