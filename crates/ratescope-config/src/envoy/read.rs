//! The filters of a configuration, and the routes that they are for.

use super::bucket::{Actions, check_intervals, filter};
use crate::only::hosts;
use crate::read::{Config, Remark, scoped};
use crate::tree::{any, any_below, documents, walk};
use crate::words::bits;
use crate::{Is, Only, Test};
use ratescope::internal::yaml::{Kind, Node};

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

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
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
                let mask = |name, all| action.get(name).map_or(all, Node::word);
                let masks = bits(mask("v4_prefix_mask_len", "32"));
                let masks = masks.zip(bits(mask("v6_prefix_mask_len", "128")));
                actions.masks = masks.filter(|(ipv4, _)| *ipv4 <= 32);
            }
            if node.get("xff_num_trusted_hops").is_some_and(|hops| hops.word() != "0") {
                config.addresses.forwarded = true;
            }
        });
    }
    let is_replaced = roots.iter().any(|root| any(root, &|node| own_filter(node).is_some()));
    for root in &roots {
        level(root, &mut Place::default(), is_replaced, &actions, config);
    }
    Ok(())
}

/// The filter's own configuration of a route, a virtual host or all routes. In Envoy the innermost replaces all others.
fn own_filter(node: &Node) -> Option<&Node> {
    let Kind::Map(filters) = &node.get(OWN)?.kind else { return None };
    let is_limit = |text: &str| text.contains("local_ratelimit") || text.contains("LocalRateLimit");
    let of = |(name, filter): &&(Node, Node)| {
        is_limit(name.word()) || filter.get("@type").is_some_and(|of| is_limit(of.word()))
    };
    filters.iter().find(of).map(|(_, filter)| filter)
}

/// The requests that reach a node: in words, and as a test.
#[derive(Clone, Default)]
pub(super) struct Place {
    pub(super) words: Vec<String>,
    pub(super) only: Only,
}

/// The other filters that refuse requests, by type.
const BESIDE: [(&str, &str); 4] = [
    ("filters.network.connection_limit", "connection_limit"),
    ("filters.http.admission_control", "admission_control"),
    ("filters.http.ratelimit.", "the rate limit service"),
    ("filters.http.rate_limit_quota", "rate_limit_quota"),
];

/// Reads the filters within a node. `around` describes the requests that reach it. `is_replaced` says whether some of
/// them have a configuration of their own.
fn level(
    node: &Node,
    around: &mut Place,
    is_replaced: bool,
    actions: &Actions<'_>,
    config: &mut Config,
) {
    let depth = around.words.len();
    let outer = around.only.clone();
    if let Some((words, only)) = place(node) {
        around.words.push(words);
        around.only.and(only);
    }
    if let Some(kind) = node.get("@type")
        && let Some((_, name)) = BESIDE.iter().find(|(of, _)| kind.word().contains(of))
    {
        config.beside(kind.at.line, name);
    }
    if node.get("token_bucket").is_some() {
        let mut place = around.clone();
        if is_replaced {
            let words = "requests whose route has no bucket of its own".to_owned();
            place.only.and(Only::Unknown(format!("it is for {words}")));
            place.words.push(words);
        }
        check_intervals(node, config);
        filter(node, &place, actions, config);
    }
    match &node.kind {
        Kind::Text { .. } => {}
        Kind::List(items) => {
            items.iter().for_each(|item| level(item, around, is_replaced, actions, config));
        }
        Kind::Map(pairs) => {
            let has_bucket = |node: &Node| node.get("token_bucket").is_some();
            if let Some(own) = own_filter(node).filter(|own| !any(own, &has_bucket)) {
                let of = scoped(&around.words, ", ");
                let of = of.unwrap_or_else(|| "all routes".to_owned());
                config.remark(own.at.line, format!("{of}: its own filter has no bucket, so nothing is refused there; the trial counts it, too"));
            }
            let is_own_replaced =
                own_filter(node).is_some() && any_below(node, &|node| own_filter(node).is_some());
            for (key, value) in pairs {
                let is_replaced = if key.word() == OWN { is_own_replaced } else { is_replaced };
                level(value, around, is_replaced, actions, config);
            }
        }
    }
    around.words.truncate(depth);
    around.only = outer;
}

/// The name of a virtual host or a route, or the workload that a resource of Istio selects.
fn place(node: &Node) -> Option<(String, Only)> {
    if let Some(domains) = node.get("domains") {
        let domains = || domains.items().iter().map(Node::word);
        let words = format!("host {}", scoped(domains().filter(|domain| *domain != "*"), " ")?);
        let only = if domains().any(|domain| domain == "*") { Only::All } else { hosts(domains()) };
        return Some((words, only));
    }
    if let Some(Kind::Map(labels)) =
        node.get("workload_selector").and_then(|of| of.get("labels")).map(|labels| &labels.kind)
    {
        let labels = labels.iter().map(|(name, value)| format!("{}={}", name.word(), value.word()));
        return scoped(labels, " ").map(|labels| (format!("workload {labels}"), Only::All));
    }
    let is_route = ["route", "redirect", "direct_response", OWN];
    let route =
        node.get("match").filter(|_| is_route.iter().any(|name| node.get(name).is_some()))?;
    let Kind::Map(tests) = &route.kind else { return None };
    let test = |(name, value): &(Node, Node)| match value.word() {
        "" => name.word().to_owned(),
        value => format!("{} {value}", name.word()),
    };
    let words = scoped(tests.iter().map(test), ", ").filter(|tests| tests != "prefix /")?;
    let mut only = Only::All;
    tests.iter().for_each(|(name, value)| only.and(matched(name.word(), value)));
    Some((format!("route {words}"), only))
}

/// The requests that a part of a route's `match` is for. (Routes before it may take some of them.)
fn matched(name: &str, value: &Node) -> Only {
    let path = |is| Test::field("path", is).into();
    match (name, value.word()) {
        ("prefix", begin) => path(Is::Begins(begin.to_owned())),
        ("path", whole) => path(Is::Exactly(whole.to_owned())),
        ("path_separated_prefix", begin) => Test::any([
            Test::field("path", Is::Exactly(begin.to_owned())),
            Test::field("path", Is::Begins(format!("{begin}/"))),
        ])
        .into(),
        ("safe_regex", _) => {
            let like = |regex: &Node| Is::Like(format!("^(?:{})$", regex.word()));
            Only::of(value.get("regex").map(|regex| Test::field("path", like(regex))), name)
        }
        ("case_sensitive", _) => Only::All,
        (name, _) => Only::of(None, name),
    }
}
