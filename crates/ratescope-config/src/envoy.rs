//! Envoy: the buckets of the filter `local_ratelimit`, as YAML or JSON.
//!
//! Source: Envoy 1.40, "Local rate limit" and its protocol buffers.

use crate::field::{Field, fields, header, ip, no_user, unknown};
use crate::only::host;
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::tree::{any, any_below, documents, walk};
use crate::words::{Units, bits, has, span, whole};
use crate::write::{Names, Notes, Written, each, token_bucket};
use crate::{Addresses, Is, Only, Test};
use ratescope::internal::yaml::{Kind, Node};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::envoy::Envoy;
use ratescope::policy::{Limit, Per};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: Names = Names { name: "envoy", title: "Envoy", file: "envoy.yaml" };

pub(crate) fn is_known(text: &str) -> bool {
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
    masks: Option<(u8, u8)>,
}

/// The spans of JSON for protocol buffers.
const SECONDS: Units = &[("s", 1.0)];

/// The shortest interval of a bucket, in milliseconds.
const SHORTEST: u64 = 50;

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
struct Place {
    words: Vec<String>,
    only: Only,
}

/// What refuses beside these buckets, by its type.
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

/// The interval of a bucket in milliseconds, as Envoy keeps it.
fn millis(bucket: &Node) -> Option<f64> {
    let interval = span(bucket.get("fill_interval")?.word(), SECONDS, "").ok()?;
    Some(libm::floor(interval.as_secs_f64() * 1e3 + 1e-6))
}

/// Says what Envoy refuses in the buckets of a filter: an interval below 50 ms, one of a descriptor that is no multiple
/// of the filter's own, and a descriptor that is there twice.
///
/// Source: Envoy, `LocalRateLimiterImpl` in `source/extensions/filters/common/local_ratelimit`.
fn check_intervals(filter: &Node, config: &mut Config) {
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

/// The name of a virtual host or a route, or the workload that a resource of Istio selects.
fn place(node: &Node) -> Option<(String, Only)> {
    if let Some(domains) = node.get("domains") {
        let domains = || domains.items().iter().map(Node::word);
        let words = format!("host {}", scoped(domains().filter(|domain| *domain != "*"), " ")?);
        let only = if domains().any(|domain| domain == "*") {
            Only::All
        } else {
            Only::of(Test::one_of("host", domains(), |domain| Some(host(domain))), &words)
        };
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

/// Reads a map, if it is the configuration of a filter or one of its descriptors.
fn filter(node: &Node, around: &Place, actions: &Actions<'_>, config: &mut Config) {
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

fn descriptor(
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

/// The number of buckets that Envoy keeps for a descriptor with a wildcard; its default is 20.
const BUCKETS: usize = 100_000;

/// The options by which Envoy takes the client from X-Forwarded-For.
pub(crate) const REAL_ADDRESS: &str = "\
# In the HttpConnectionManager, as clients come through one proxy; with two of them write 2:
use_remote_address: true
xff_num_trusted_hops: 1
";

const BEGIN: &str = "\
# In http_filters, before the router:
- name: envoy.filters.http.local_ratelimit
  typed_config:
    \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
    stat_prefix: ratescope
    filter_enabled: { default_value: { numerator: 100, denominator: HUNDRED } }
    filter_enforced: { default_value: { numerator: 100, denominator: HUNDRED } }
";

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut rate_limits = String::new();
    let descriptors = each(limits, |n, limit| {
        let own = own(limit, notes)?;
        let entries = entries(&limit.per, (limits.len() > 1).then_some(n), addresses, notes)?;
        rate_limits += &actions(&entries, "    ");
        warn(&own, notes);
        let keys: String = entries.iter().map(|entry| entry.descriptor()).collect();
        let burst = own.burst();
        let fill = own.fill().count();
        let interval = own.fill().per().as_secs_f64();
        Ok(format!(
            "    - entries:\n{keys}      token_bucket: {{ max_tokens: {burst}, \
             tokens_per_fill: {fill}, fill_interval: {interval}s }}\n"
        ))
    })?;
    let shared = shared_interval(limits, notes)?;
    let wild = limits.iter().any(|limit| !limit.per.fields().is_empty());
    if wild {
        notes.add(format!(
            "Envoy keeps {BUCKETS} buckets of a descriptor here, and 20 unless it is told so: a \
             client with more keys than that evades the limit"
        ));
    }
    if limits.len() > 1 {
        notes.add(
            "Envoy takes from one bucket after the other, the slowest first: a request that a \
             later one refuses has paid the first",
        );
    }
    let kept =
        if wild { format!("    max_dynamic_descriptors: {BUCKETS}\n") } else { String::new() };
    let client = if addresses.forwarded { REAL_ADDRESS } else { "" };
    Ok(format!(
        "{client}{BEGIN}    # For requests that no descriptor matches: in effect no limit.\n    \
         token_bucket: {{ max_tokens: 4294967295, tokens_per_fill: 4294967295, fill_interval: {shared}s }}\n    \
         always_consume_default_token_bucket: false\n{kept}    rate_limits:\n{rate_limits}    descriptors:\n{descriptors}"
    ))
}

/// An interval in seconds of which those of all limits are multiples, as Envoy wants that of the filter's own bucket.
fn shared_interval(limits: &[Limit], notes: &mut Notes) -> Result<f64, (Option<String>, String)> {
    let mut shared = 0;
    for limit in limits {
        // What can't be written has said so already.
        let Ok(own) = own(limit, notes) else { continue };
        let millis = libm::round(own.fill().per().as_secs_f64() * 1e3) as u64;
        shared = greatest_common_divisor(shared, millis);
    }
    if shared < SHORTEST && limits.len() > 1 {
        let problem = "its intervals must be multiples of one of at least 50ms";
        return Err((None, problem.to_owned()));
    }
    Ok(shared as f64 / 1e3)
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The limiter of Envoy that decides as the limit does.
fn own(limit: &Limit, notes: &mut Notes) -> Result<Envoy, String> {
    if let AnyLimiter::Envoy(envoy) = &limit.limiter {
        return Ok(*envoy);
    }
    let problem = "it has a bucket only; write a limit such as envoy 5/1s burst 10";
    let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
    if burst != libm::floor(burst) {
        return Err("its burst is a whole number of events".to_owned());
    }
    let envoy = Envoy::new(rate, burst as u64).map_err(|e| e.to_string())?;
    notes.instead(
        limit,
        &envoy,
        "which counts in doubles: an event at the very edge may be refused",
    );
    Ok(envoy)
}

fn warn(own: &Envoy, notes: &mut Notes) {
    let count = own.fill().count();
    let per = own.fill().per();
    if count > 1.0 {
        let each = libm::round(per.as_secs_f64() / count * 1e6) / 1e6;
        notes.add(format!(
            "Envoy's tokens drip, for {count}/{per} one each {each}s, and the end of the interval brings \
             nothing"
        ));
    }
}

/// An entry of a descriptor: the action that produces it, and its key and value.
pub(crate) struct Entry {
    action: String,
    key: String,
    /// `None` matches any value.
    value: Option<String>,
}

impl Entry {
    fn descriptor(&self) -> String {
        let value = self.value.as_ref().map_or(String::new(), |value| format!(", value: {value}"));
        format!("      - {{ key: {}{value} }}\n", self.key)
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

/// The entries of a limit's descriptor. The number `n`, if given, distinguishes it from other limits.
pub(crate) fn entries(
    per: &Per,
    n: Option<usize>,
    addresses: Addresses,
    notes: &mut Notes,
) -> Result<Vec<Entry>, String> {
    let fields = fields(per)?;
    let fixed = match (n, fields.is_empty()) {
        (Some(n), _) => Some(format!("limit{n}")),
        (None, true) => Some("all".to_owned()),
        (None, false) => None,
    };
    let fixed = fixed.map(|value| Entry {
        action: format!("generic_key: {{ descriptor_value: {value} }}"),
        key: "generic_key".to_owned(),
        value: Some(value),
    });
    let named = fields.iter().map(|field| entry(field, addresses, notes));
    fixed.into_iter().map(Ok).chain(named).collect()
}

fn entry(field: &Field, addresses: Addresses, notes: &mut Notes) -> Result<Entry, String> {
    let header = |name: &str, key: &str| Entry {
        action: format!("request_headers: {{ header_name: \"{name}\", descriptor_key: {key} }}"),
        key: key.to_owned(),
        value: None,
    };
    Ok(match field {
        Field::Ip if addresses.has_networks() => Entry {
            action: format!("masked_remote_address: {{ {} }}", masks(addresses)),
            key: "masked_remote_address".to_owned(),
            value: None,
        },
        Field::Ip => Entry {
            action: "remote_address: {}".to_owned(),
            key: "remote_address".to_owned(),
            value: None,
        },
        Field::Host => header(":authority", "host"),
        Field::Path => {
            notes.add("Envoy's :path has the query string in it: other queries are other paths");
            header(":path", "path")
        }
        Field::Method => header(":method", "method"),
        Field::User => return Err(no_user()),
        Field::Header(name) => {
            notes.add(format!("requests without the header {name} are not limited"));
            header(name, name)
        }
    })
}

fn masks(Addresses { ipv4_prefix, ipv6_prefix, .. }: Addresses) -> String {
    let ipv4 = (ipv4_prefix < 32).then(|| format!("v4_prefix_mask_len: {ipv4_prefix}"));
    let ipv6 = (ipv6_prefix < 128).then(|| format!("v6_prefix_mask_len: {ipv6_prefix}"));
    ipv4.into_iter().chain(ipv6).collect::<Vec<_>>().join(", ")
}

/// The actions that produce a descriptor, as an item of `rate_limits`.
pub(crate) fn actions(entries: &[Entry], indent: &str) -> String {
    let item = |entry: &Entry| format!("{indent}  - {}\n", entry.action);
    format!("{indent}- actions:\n{}", entries.iter().map(item).collect::<String>())
}
