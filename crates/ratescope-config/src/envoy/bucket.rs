//! Buckets and descriptors.

use super::SHORTEST;
use super::read::Place;
use crate::field::{header, ip, unknown};
use crate::read::{Config, Found, limit, said, scoped};
use crate::words::{Units, span, whole};
use crate::{Addresses, Is, Only, Test};
use ratescope::internal::yaml::Node;
use std::collections::{BTreeMap, BTreeSet};

/// The `max_tokens` of a bucket without effect, for requests that no descriptor matches.
const NO_LIMIT: &str = "4294967295";

/// The actions of routes, which say what the keys of descriptors mean.
#[derive(Default)]
pub(super) struct Actions<'a> {
    /// The names of headers by the keys of descriptors.
    pub(super) headers: BTreeMap<&'a str, BTreeSet<&'a str>>,
    pub(super) masks: Option<(u8, u8)>,
}

/// The spans of JSON for protocol buffers.
const SECONDS: Units = &[("s", 1.0)];

/// The interval of a bucket in milliseconds, as Envoy keeps it.
fn millis(bucket: &Node) -> Option<f64> {
    let interval = span(bucket.get("fill_interval")?.word(), SECONDS, "").ok()?;
    Some(libm::floor(interval.as_secs_f64() * 1e3 + 1e-6))
}

/// Says what Envoy refuses in the buckets of a filter: an interval below 50 ms, one of a descriptor that is no multiple
/// of the filter's own, and a descriptor that is there twice.
///
/// Source: Envoy, `LocalRateLimiterImpl` in `source/extensions/filters/common/local_ratelimit`.
pub(super) fn check_intervals(filter: &Node, config: &mut Config) {
    let bucket = filter.get("token_bucket");
    let own = bucket.and_then(millis);
    let descriptors = filter.get("descriptors").map_or(&[][..], Node::items);
    let buckets = descriptors.iter().filter_map(|it| it.get("token_bucket"));
    for bucket in bucket.into_iter().chain(buckets.clone()) {
        if millis(bucket).is_some_and(|millis| millis < SHORTEST as f64) {
            config.refuse(bucket.at.line, "its fill_interval is below 0.05s");
        }
    }
    for bucket in buckets {
        if let Some((own, millis)) = own.zip(millis(bucket))
            && own > 0.0
            && millis % own != 0.0
        {
            let [millis, own] = [millis / 1e3, own / 1e3];
            let why = format!(
                "its fill_interval of {millis}s is no multiple of the {own}s of the filter's own bucket"
            );
            config.refuse(bucket.at.line, why);
        }
    }
    let mut seen = BTreeSet::new();
    for descriptor in descriptors {
        let word = |entry: &Node, name: &str| entry.get(name).map_or("", Node::word).to_owned();
        let entries = descriptor.get("entries").map_or(&[][..], Node::items);
        let entries: Vec<_> =
            entries.iter().map(|it| (word(it, "key"), word(it, "value"))).collect();
        if !entries.is_empty() && !seen.insert(entries) {
            config.refuse(descriptor.at.line, "the descriptor is there twice");
        }
    }
}

/// Reads a map, if it is the configuration of a filter or one of its descriptors.
pub(super) fn filter(node: &Node, around: &Place, actions: &Actions<'_>, config: &mut Config) {
    let Some(bucket) = node.get("token_bucket") else { return };
    let line = bucket.at.line;
    if let Some(entries) = node.get("entries") {
        return config.add(line, descriptor(bucket, entries.items(), around, actions));
    }
    let is = |name: &str| node.get(name).is_some_and(|node| node.word() == "true");
    if let Some(shared) = node.get("local_cluster_rate_limit") {
        config.remark(
            shared.at.line,
            "the proxies of a cluster share the tokens; the trial has the limit of one alone",
        );
    }
    if is("local_rate_limit_per_downstream_connection") {
        return config.remark(line, "a bucket for each connection, which no log tells apart");
    }
    let on = |name: &str| {
        node.get(name)
            .is_some_and(|on| on.get("default_value").is_some() || on.get("runtime_key").is_some())
    };
    if node.get("@type").is_some_and(|of| of.word().contains("filters.network.local_ratelimit")) {
        config.remark(line, "it counts connections; the trial counts every event of the log");
    } else if !on("filter_enabled") || !on("filter_enforced") {
        config.remark(
            line,
            "without filter_enabled and filter_enforced, Envoy refuses nothing by it",
        );
    }
    for name in ["filter_enabled", "filter_enforced"] {
        if let Some(share) = node.get(name).and_then(|on| on.get("default_value"))
            && let Some(percent) = percent(share).filter(|percent| *percent < 100.0)
        {
            config.remark(
                line,
                format!("{name} is for {percent} % of the requests; the trial is for all"),
            );
        }
    }
    if bucket.get("max_tokens").is_some_and(|most| most.word() == NO_LIMIT) {
        return;
    }
    let alone =
        node.get("always_consume_default_token_bucket").is_some_and(|on| on.word() == "false")
            && node.get("descriptors").is_some_and(|all| !all.items().is_empty());
    let name = node.get("stat_prefix").map_or("", Node::word).to_owned();
    let alone = alone.then_some("requests that no descriptor matches");
    let mut only = around.only.clone();
    if let Some(alone) = alone {
        only.and(Only::Unknown(format!("it is for {alone}")));
    }
    let found = limiter(bucket).and_then(|words| limit(&words, &[])).map(|limit| Found {
        name,
        line,
        limit,
        addresses: Addresses::default(),
        scope: scoped(around.words.iter().map(String::as_str).chain(alone), ", "),
        only,
    });
    config.add(line, found);
}

/// A fraction of Envoy in percent. The default numerator is 0, the default denominator 100.
fn percent(share: &Node) -> Option<f64> {
    let numerator: f64 = share.get("numerator").map_or("0", Node::word).parse().ok()?;
    let denominator = match share.get("denominator").map_or("HUNDRED", Node::word) {
        "HUNDRED" => 100.0,
        "TEN_THOUSAND" => 10_000.0,
        "MILLION" => 1_000_000.0,
        _ => return None,
    };
    Some(100.0 * numerator / denominator)
}

fn limiter(bucket: &Node) -> Result<String, String> {
    let value = |name: &str| bucket.get(name);
    let most = value("max_tokens").map(Node::word).ok_or("the bucket has no max_tokens")?;
    let fill = value("tokens_per_fill").map_or("1", Node::word);
    let interval = value("fill_interval").ok_or("the bucket has no fill_interval")?;
    let most = whole(most, "max_tokens")?;
    let fill = whole(fill, "tokens_per_fill")?;
    let interval = span(interval.word(), SECONDS, "fill_interval")?;
    Ok(format!("envoy {fill}/{interval} burst {most}"))
}

pub(super) fn descriptor(
    bucket: &Node,
    entries: &[Node],
    around: &Place,
    actions: &Actions<'_>,
) -> Result<Found, String> {
    let mut only = around.only.clone();
    let mut fields = Vec::new();
    let mut name = String::new();
    let mut addresses = Addresses::default();
    let mut scope = around.words.clone();
    for entry in entries {
        let key = entry.get("key").map_or("", Node::word);
        let value = entry.get("value").map(Node::word).filter(|value| !value.is_empty());
        match (key, value) {
            ("generic_key", Some(value)) => name = value.to_owned(),
            (key, Some(value)) => {
                let words = format!("{key} {}", said(value));
                let field = field(key, actions, &mut Addresses::default()).ok();
                only.and(match field {
                    Some(field) => Test::field(&field, Is::Exactly(value.to_owned())).into(),
                    None => Only::Unknown(format!("no log tells when {words} holds")),
                });
                scope.push(words);
            }
            (key, None) => fields.push(field(key, actions, &mut addresses)?),
        }
    }
    let limit = limit(&limiter(bucket)?, &fields)?;
    let scope = scoped(&scope, ", ");
    Ok(Found { name, line: bucket.at.line, limit, addresses, scope, only })
}

fn field(key: &str, actions: &Actions<'_>, addresses: &mut Addresses) -> Result<String, String> {
    match key {
        "remote_address" => return Ok(ip()),
        "masked_remote_address" => {
            let masks = actions.masks.ok_or("no action here sets masked_remote_address")?;
            (addresses.ipv4_prefix, addresses.ipv6_prefix) = masks;
            return Ok(ip());
        }
        _ => {}
    }
    let names: Vec<&&str> = actions.headers.get(key).into_iter().flatten().take(2).collect();
    if names.len() > 1 {
        return Err(format!(
            "the key {:?} is of several headers, which is not understood",
            said(key)
        ));
    }
    let name =
        names.first().ok_or_else(|| format!("no action here sets the key {:?}", said(key)))?;
    Ok(match **name {
        ":authority" => "host".to_owned(),
        ":path" => "path".to_owned(),
        ":method" => "method".to_owned(),
        name if name.starts_with(':') => return Err(unknown(name)),
        name => header(name),
    })
}
