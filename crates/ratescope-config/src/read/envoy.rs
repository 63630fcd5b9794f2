//! Envoy: the buckets of the filter `local_ratelimit`, as YAML or JSON.
//!
//! Source: as for the writer.

use super::field::{header, ip, unknown};
use super::tree::{any, any_below, documents, walk};
use super::words::{GO, bits, has, span, whole};
use super::{Config, Found, Remark, limit, said};
use crate::Addresses;
use ratescope::internal::yaml::{Kind, Node};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn is_known(text: &str) -> bool {
    let either = |snake, camel| has(text, &["#"], snake) || has(text, &["#"], camel);
    either("token_bucket", "tokenBucket") && either("max_tokens", "maxTokens")
}

/// Writes the keys as `token_bucket`, where JSON of protocol buffers has `tokenBucket`. Envoy reads both.
fn make_snake(node: &mut Node) {
    match &mut node.kind {
        Kind::Text { .. } => {}
        Kind::List(items) => items.iter_mut().for_each(make_snake),
        Kind::Map(pairs) => {
            for (key, value) in pairs {
                if let Kind::Text { text, .. } = &mut key.kind
                    && text.starts_with(|c: char| c.is_ascii_lowercase())
                    && text.bytes().all(|b| b.is_ascii_alphanumeric())
                {
                    *text = snake(text);
                }
                make_snake(value);
            }
        }
    }
}

fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The key under which a route or a virtual host has filters of its own.
const OWN: &str = "typed_per_filter_config";

/// The `max_tokens` of a bucket without effect, for requests that no descriptor matches.
const NO_LIMIT: &str = "4294967295";

/// The actions of routes, which say what the keys of descriptors mean.
#[derive(Default)]
struct Actions<'a> {
    /// The names of headers by the keys of descriptors.
    headers: BTreeMap<&'a str, BTreeSet<&'a str>>,
    ipv6_prefix: Option<u8>,
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let mut roots = documents(text)?;
    roots.iter_mut().for_each(make_snake);
    let mut actions = Actions::default();
    for root in &roots {
        walk(root, &mut Vec::new(), &mut |node, _| {
            if let Some(action) = node.get("request_headers") {
                let of = |name| action.get(name).map(Node::word);
                if let Some((key, name)) = of("descriptor_key").zip(of("header_name")) {
                    actions.headers.entry(key).or_default().insert(name);
                }
            }
            if let Some(action) = node.get("masked_remote_address") {
                let prefix = action.get("v6_prefix_mask_len").map_or("128", Node::word);
                actions.ipv6_prefix = bits(prefix);
            }
            if node.get("xff_num_trusted_hops").is_some_and(|hops| hops.word() != "0") {
                config.addresses.forwarded = true;
            }
        });
    }
    let is_replaced = roots.iter().any(|root| any(root, &|node| own(node).is_some()));
    for root in &roots {
        level(root, &mut Vec::new(), is_replaced, &actions, config);
    }
    Ok(())
}

/// The filter's own configuration of a route, a virtual host or all routes. In Envoy the innermost replaces all others.
fn own(node: &Node) -> Option<&Node> {
    let Kind::Map(filters) = &node.get(OWN)?.kind else { return None };
    let is_limit = |text: &str| text.contains("local_ratelimit") || text.contains("LocalRateLimit");
    let of = |(name, filter): &&(Node, Node)| {
        is_limit(name.word()) || filter.get("@type").is_some_and(|of| is_limit(of.word()))
    };
    filters.iter().find(of).map(|(_, filter)| filter)
}

/// Reads the filters within a node. `around` describes the requests that reach it. `is_replaced` says whether some of
/// them have a configuration of their own.
fn level(
    node: &Node,
    around: &mut Vec<String>,
    is_replaced: bool,
    actions: &Actions<'_>,
    config: &mut Config,
) {
    let depth = around.len();
    around.extend(place(node));
    if node.get("token_bucket").is_some() {
        let others = "requests whose route has no bucket of its own".to_owned();
        let others = is_replaced.then_some(others);
        let places: Vec<String> = around.iter().cloned().chain(others).collect();
        filter(node, &places, actions, config);
    }
    match &node.kind {
        Kind::Text { .. } => {}
        Kind::List(items) => {
            items.iter().for_each(|item| level(item, around, is_replaced, actions, config));
        }
        Kind::Map(pairs) => {
            let has_bucket = |node: &Node| node.get("token_bucket").is_some();
            if let Some(own) = own(node).filter(|own| !any(own, &has_bucket)) {
                let of = super::scope(&*around, ", ").unwrap_or_else(|| "all routes".to_owned());
                config.remark(own.at.line, format!("{of}: its own filter has no bucket, so nothing is refused there; what is tried counts it, too"));
            }
            let is_own_replaced =
                own(node).is_some() && any_below(node, &|node| own(node).is_some());
            for (key, value) in pairs {
                let is_replaced = if key.word() == OWN { is_own_replaced } else { is_replaced };
                level(value, around, is_replaced, actions, config);
            }
        }
    }
    around.truncate(depth);
}

/// The name of a virtual host or a route, or the workload that a resource of Istio selects.
fn place(node: &Node) -> Option<String> {
    if let Some(domains) = node.get("domains") {
        let domains = domains.items().iter().map(Node::word).filter(|domain| *domain != "*");
        return super::scope(domains, " ").map(|domains| format!("host {domains}"));
    }
    if let Some(Kind::Map(labels)) =
        node.get("workload_selector").and_then(|of| of.get("labels")).map(|labels| &labels.kind)
    {
        let labels = labels.iter().map(|(name, value)| format!("{}={}", name.word(), value.word()));
        return super::scope(labels, " ").map(|labels| format!("workload {labels}"));
    }
    let is_route = ["route", "redirect", "direct_response", OWN];
    let route =
        node.get("match").filter(|_| is_route.iter().any(|name| node.get(name).is_some()))?;
    let Kind::Map(tests) = &route.kind else { return None };
    let test = |(name, value): &(Node, Node)| match value.word() {
        "" => name.word().to_owned(),
        value => format!("{} {value}", name.word()),
    };
    let tests = super::scope(tests.iter().map(test), ", ").filter(|tests| tests != "prefix /")?;
    Some(format!("route {tests}"))
}

/// Reads a map, if it is the configuration of a filter or one of its descriptors.
fn filter(node: &Node, around: &[String], actions: &Actions<'_>, config: &mut Config) {
    let Some(bucket) = node.get("token_bucket") else { return };
    let line = bucket.at.line;
    if let Some(entries) = node.get("entries") {
        return config.add(line, descriptor(bucket, entries.items(), around, actions));
    }
    let is = |name: &str| node.get(name).is_some_and(|node| node.word() == "true");
    if is("local_rate_limit_per_downstream_connection") {
        return config.remark(line, "a bucket for each connection, which no log tells apart");
    }
    let on = |name: &str| {
        node.get(name)
            .is_some_and(|on| on.get("default_value").is_some() || on.get("runtime_key").is_some())
    };
    if node.get("@type").is_some_and(|of| of.word().contains("filters.network.local_ratelimit")) {
        config.remark(line, "it counts connections; what is tried counts every event of the log");
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
                format!("{name} is for {percent} % of the requests; what is tried is for all"),
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
    let found = limiter(bucket).and_then(|words| limit(&words, &[])).map(|limit| Found {
        name,
        line,
        limit,
        addresses: Addresses::default(),
        scope: super::scope(around.iter().map(String::as_str).chain(alone), ", "),
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
    let interval = span(interval.word(), GO, "fill_interval")?;
    Ok(format!("envoy {fill}/{interval} burst {most}"))
}

fn descriptor(
    bucket: &Node,
    entries: &[Node],
    around: &[String],
    actions: &Actions<'_>,
) -> Result<Found, String> {
    let mut fields = Vec::new();
    let mut name = String::new();
    let mut addresses = Addresses::default();
    let mut scope = around.to_vec();
    for entry in entries {
        let key = entry.get("key").map_or("", Node::word);
        let value = entry.get("value").map(Node::word).filter(|value| !value.is_empty());
        match (key, value) {
            ("generic_key", Some(value)) => name = value.to_owned(),
            (key, Some(value)) => scope.push(format!("{key} {}", said(value))),
            (key, None) => fields.push(field(key, actions, &mut addresses)?),
        }
    }
    let limit = limit(&limiter(bucket)?, &fields)?;
    let scope = super::scope(&scope, ", ");
    Ok(Found { name, line: bucket.at.line, limit, addresses, scope })
}

fn field(key: &str, actions: &Actions<'_>, addresses: &mut Addresses) -> Result<String, String> {
    match key {
        "remote_address" => return Ok(ip()),
        "masked_remote_address" => {
            let prefix = actions.ipv6_prefix;
            addresses.ipv6_prefix =
                prefix.ok_or("no action here says what masked_remote_address is")?;
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
    let name = names
        .first()
        .ok_or_else(|| format!("no action here says what the key {:?} is", said(key)))?;
    Ok(match **name {
        ":authority" => "host".to_owned(),
        ":path" => "path".to_owned(),
        ":method" => "method".to_owned(),
        name if name.starts_with(':') => return Err(unknown(name)),
        name => header(name),
    })
}
