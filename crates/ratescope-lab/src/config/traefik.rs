//! Traefik: the middleware `rateLimit`, as YAML, TOML or labels.
//!
//! All three are read as paths with values, as in `http.middlewares.NAME.rateLimit.average`, whose letters may be of
//! either case.

use super::field::{header, ip};
use super::tree::{documents, walk};
use super::words::{GO, Units, has, lines, span, whole};
use super::{Config, Found, Remark, limit, said};
use crate::export::Target;
use ratescope::internal::YamlKind as Kind;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Policy;
use ratescope_log::ipv6_prefix;

pub(super) fn is_known(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    has(&lower, &["#"], "ratelimit") && has(&lower, &["#"], "average")
}

/// A value, and the keys that lead to it, in lower case but for the name of the middleware.
struct Setting {
    line: usize,
    path: Vec<String>,
    value: String,
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let settings = if is_toml(text) {
        toml(text, config)
    } else if has(text, &["#"], LABEL) {
        labels(text)
    } else {
        yaml(text)?
    };
    // The settings of one middleware follow each other.
    let mut middlewares: Vec<(String, Vec<&Setting>)> = Vec::new();
    for setting in &settings {
        let Some(at) = setting.path.iter().position(|key| key == "ratelimit") else { continue };
        let name = setting.path.get(at.wrapping_sub(1)).cloned().unwrap_or_default();
        match middlewares.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of)) => of.push(setting),
            None => middlewares.push((name, vec![setting])),
        }
    }
    for (name, settings) in middlewares {
        let line = settings.first().map_or(0, |setting| setting.line);
        let found = middleware(&settings, config);
        if let Ok(limit) = &found
            && let AnyLimiter::TokenBucket(bucket) = &limit.limiter
            && !Target::Traefik.has_bucket(bucket.rate(), bucket.burst())
            && let Err(error) = Target::Traefik.configure(&Policy::from(limit.clone()))
        {
            config.remark(line, format!("Traefik differs: {}", error.problem()));
        }
        config.add(line, found.map(|limit| Found { name, line, limit, scope: None }));
    }
    Ok(())
}

fn middleware(
    settings: &[&Setting],
    config: &mut Config,
) -> Result<ratescope::policy::Limit, String> {
    let value = |name: &str| {
        let is = |setting: &&&Setting| setting.path.last().is_some_and(|key| key == name);
        settings.iter().find(is).map(|setting| setting.value.as_str())
    };
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
    for setting in settings {
        let key = setting.path.last().map_or("", String::as_str);
        if !KNOWN.contains(&key) {
            return Err(format!("line {}: {key} is not understood", setting.line));
        }
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
    let field = if value("requesthost") == Some("true") {
        "host".to_owned()
    } else if let Some(name) = value("requestheadername") {
        header(name)
    } else {
        match value("depth").unwrap_or("0") {
            "0" => {}
            "1" => config.addresses.forwarded = true,
            depth => {
                return Err(format!(
                    "a depth of {} is another address of X-Forwarded-For than the last",
                    said(depth)
                ));
            }
        }
        if let Some(bits) = value("ipv6subnet") {
            config.addresses.ipv6_prefix =
                ipv6_prefix(bits).map_err(|_| "ipv6Subnet is no number up to 128")?;
        }
        ip()
    };
    limit(&format!("token-bucket {average}/{period} burst {burst}"), &[field])
}

const SECONDS: Units = &[("", 1.0)];

/// How labels of containers begin.
const LABEL: &str = "traefik.http.middlewares.";

fn labels(text: &str) -> Vec<Setting> {
    let label = |(line, text): (usize, &str)| {
        let (_, text) = text.split_at(text.find(LABEL)?);
        let end = text.find(['=', ':'])?;
        let (path, value) = text.split_at(end);
        let value = value.get(1..).unwrap_or("").trim_matches([' ', '"', '\'', '`', ':']);
        Some(Setting {
            line,
            path: path_of(path.trim_end_matches(['"', '\''])),
            value: value.to_owned(),
        })
    };
    lines(text, &["#"]).filter_map(label).collect()
}

/// The keys of a path: all but the name of a middleware in lower case.
fn path_of(path: &str) -> Vec<String> {
    let mut keys: Vec<String> =
        path.split('.').map(|key| key.trim_matches([' ', '"', '\'']).to_owned()).collect();
    lower(&mut keys);
    keys
}

fn lower(keys: &mut [String]) {
    let at = keys.iter().position(|key| key.eq_ignore_ascii_case("ratelimit"));
    for (i, key) in keys.iter_mut().enumerate() {
        if at.is_none_or(|at| i + 1 != at) {
            key.make_ascii_lowercase();
        }
    }
}

fn yaml(text: &str) -> Result<Vec<Setting>, Remark> {
    let mut settings = Vec::new();
    for root in documents(text)? {
        // A resource of Kubernetes has its name beside.
        let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
        let is_resource = root.get("kind").is_some();
        walk(&root, &mut Vec::new(), &mut |node, path| {
            let Kind::Text { text, .. } = &node.kind else { return };
            let mut path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
            if let Some(name) = name.filter(|_| is_resource)
                && let Some(spec) = path.first_mut()
                && spec == "spec"
            {
                *spec = name.word().to_owned();
            }
            lower(&mut path);
            settings.push(Setting { line: node.at.line, path, value: text.clone() });
        });
    }
    Ok(settings)
}

fn is_toml(text: &str) -> bool {
    lines(text, &["#"]).next().is_some_and(|(_, line)| line.starts_with('[') && line.ends_with(']'))
}

/// The tables of TOML and their keys, each on a line of its own.
fn toml(text: &str, config: &mut Config) -> Vec<Setting> {
    let mut table = Vec::new();
    let mut settings = Vec::new();
    for (line, text) in lines(text, &["#"]) {
        if let Some(name) = text.strip_prefix('[') {
            table = path_of(name.split(']').next().unwrap_or(name));
        } else if let Some((key, value)) = text.split_once('=') {
            let value = value.split(" #").next().unwrap_or(value).trim();
            let mut path = table.clone();
            path.extend(path_of(key));
            lower(&mut path);
            if value.starts_with('{') && path.iter().any(|key| key == "ratelimit") {
                config.remark(
                    line,
                    "a table within a line is not understood; write it as a table of its own",
                );
            }
            let value = value.trim_matches(['"', '\'']).to_owned();
            settings.push(Setting { line, path, value });
        }
    }
    settings
}
