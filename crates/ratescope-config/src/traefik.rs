//! Traefik: the middleware `rateLimit`, a token bucket that lets requests wait briefly.
//!
//! YAML, TOML and labels are read as paths with values, as in `http.middlewares.NAME.rateLimit.average`, case-insensitive.
//!
//! Source: Traefik 2 and 3, "RateLimit", and `pkg/middlewares/ratelimiter/rate_limiter.go`.

use crate::caddy::duration;
use crate::field::{Field, fields, header, ip, no_user};
use crate::only::{VALUES, network};
use crate::read::{Config, DEEPEST, Found, Remark, SCOPE, limit, said, scoped};
use crate::tree::{documents, walk};
use crate::words::{GO, Units, bits, has, lines, span, whole};
use crate::write::{Names, Notes, Written, each, is_whole, token_bucket};
use crate::{Addresses, Is, Only, Target, Test};
use ratescope::internal::shown;
use ratescope::internal::yaml::{Kind, Node};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per, Policy};
use ratescope::rate::Rate;
use std::collections::BTreeMap;

pub(crate) const NAMES: Names =
    Names { name: "traefik", title: "Traefik", file: "dynamic configuration of Traefik, YAML" };

pub(crate) fn is_known(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    has(&lower, &["#"], "ratelimit") && has(&lower, &["#"], "average")
}

/// The keys whose children have names that somebody chose.
const SECTIONS: [&str; 3] = ["middlewares", "routers", "services"];

/// A value, and the keys that lead to it.
#[derive(Clone, Copy)]
struct Entry<'a> {
    line: usize,
    path: &'a [&'a str],
    value: &'a str,
}

impl Entry<'_> {
    /// The place of a key that is in one of the kinds of these names, whose children have names of their own.
    fn find(&self, key: &str) -> Option<usize> {
        let is_named = |n: usize| n > 0 && SECTIONS.contains(&self.path[n - 1]);
        (0..self.path.len()).find(|n| self.path[*n].eq_ignore_ascii_case(key) && !is_named(*n))
    }

    fn key(&self, n: usize) -> &str {
        self.path.get(n).copied().unwrap_or_default()
    }
}

/// What is read of the entries.
#[derive(Default)]
struct Entries {
    settings: Vec<Setting>,
    routers: Routers,
    /// What refuses beside the limits, by line.
    beside: Vec<(usize, &'static str)>,
}

impl Entries {
    fn add(&mut self, entry: Entry<'_>) {
        self.routers.add(entry);
        self.settings.extend(Setting::new(entry));
        for (key, name) in [("inflightreq", "inFlightReq"), ("inflightconn", "inFlightConn")] {
            if entry.find(key).is_some() {
                self.beside.push((entry.line, name));
            }
        }
    }
}

/// A value of a middleware `rateLimit`: its last key in lower case, and the name of the middleware.
struct Setting {
    line: usize,
    name: String,
    key: String,
    value: String,
}

impl Setting {
    /// The setting of an entry, if it is of a `rateLimit`. With the key `redis`, all replicas count together.
    fn new(entry: Entry<'_>) -> Option<Setting> {
        let at = entry.find("ratelimit")?;
        let Entry { line, path, value } = entry;
        let is_shared = path.iter().skip(at).any(|key| key.eq_ignore_ascii_case("redis"));
        let name = shown(entry.key(at.checked_sub(1)?), SCOPE);
        let key = said(path.last()?).to_ascii_lowercase();
        (!is_shared).then(|| Setting { line, name, key, value: said(value) })
    }
}

/// The routers: their rules, and the middlewares that they use.
#[derive(Default)]
struct Routers {
    all: BTreeMap<String, Router>,
    /// The names of chains by a middleware of theirs.
    chains: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Router {
    rule: String,
    middlewares: Vec<String>,
}

impl Routers {
    fn add(&mut self, entry: Entry<'_>) {
        // A reference may say its provider, as in `web@file`.
        let names = |text: &str| -> Vec<String> {
            let names = text.trim_matches(['[', ']']).split(',');
            let names = names.map(|name| name.trim().trim_matches(['"', '\'']));
            names.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect()
        };
        let is_list = |key: &str| {
            let (key, _) = key.split_once('[').unwrap_or((key, ""));
            key.eq_ignore_ascii_case("middlewares")
        };
        if let Some(at) = entry.path.iter().position(|key| key.eq_ignore_ascii_case("routers")) {
            let router = self.all.entry(entry.key(at + 1).to_owned()).or_default();
            match entry.key(at + 2) {
                rule if rule.eq_ignore_ascii_case("rule") => {
                    router.rule = shown(entry.value, SCOPE)
                }
                list if is_list(list) => router.middlewares.extend(names(entry.value)),
                _ => {}
            }
        } else if let Some(at) = entry.find("chain").filter(|at| is_list(entry.key(at + 1))) {
            let chain = entry.key(at.saturating_sub(1)).to_owned();
            for name in names(entry.value) {
                self.chains.entry(name).or_default().push(chain.clone());
            }
        }
    }

    /// The rules of the routers that use a middleware, also by a chain. `None` if there are no routers here.
    fn rules(&self, name: &str) -> Option<Vec<&str>> {
        // In Kubernetes a middleware is in a namespace.
        let short = name.rsplit_once('/').map_or(name, |(_, name)| name);
        let chains = self.chains.get(short).into_iter().flatten().map(String::as_str);
        let names: Vec<&str> = chains.chain([name, short]).collect();
        let uses =
            |router: &&Router| router.middlewares.iter().any(|it| names.contains(&it.as_str()));
        let rules = self.all.values().filter(uses).map(|router| router.rule.as_str());
        (!self.all.is_empty()).then(|| rules.collect())
    }
}

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

/// The requests that one of these rules is for. (A longer rule of another router may take some of them.)
fn rule(rules: &[&str]) -> Only {
    let tests = rules.iter().take(VALUES + 1).map(|rule| Rule::read(rule));
    let tests = tests.collect::<Option<Vec<_>>>().filter(|tests| tests.len() <= VALUES);
    let words = scoped(rules, " || ").unwrap_or_default();
    Only::of(tests.map(Test::any), &words)
}

/// A rule of a router, as in ``Host(`a.example`) && PathPrefix(`/api`)``.
struct Rule<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Rule<'a> {
    /// The rule as a test; `None` if no field of a log tells.
    fn read(text: &'a str) -> Option<Test> {
        let mut rule = Rule { rest: text, depth: 0 };
        let test = rule.any()?;
        rule.rest.trim().is_empty().then_some(test)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn any(&mut self) -> Option<Test> {
        let mut any = vec![self.all()?];
        while self.takes("||") {
            any.push(self.all()?);
        }
        Some(Test::any(any))
    }

    fn all(&mut self) -> Option<Test> {
        let mut all = vec![self.one()?];
        while self.takes("&&") {
            all.push(self.one()?);
        }
        Some(Test::all(all))
    }

    fn one(&mut self) -> Option<Test> {
        self.depth += 1;
        let test = if self.depth > DEEPEST {
            None
        } else if self.takes("!") {
            self.one().map(Test::not)
        } else if self.takes("(") {
            self.any().filter(|_| self.takes(")"))
        } else {
            self.call()
        };
        self.depth -= 1;
        test
    }

    fn call(&mut self) -> Option<Test> {
        let (name, rest) = self.rest.split_once('(')?;
        self.rest = rest;
        let mut values = Vec::new();
        loop {
            let rest = self.rest.trim_start();
            let quote = rest.chars().next().filter(|c| ['`', '"', '\''].contains(c))?;
            let (value, rest) = rest.get(1..)?.split_once(quote)?;
            values.push(value);
            self.rest = rest;
            if self.takes(")") {
                break;
            }
            if !self.takes(",") {
                return None;
            }
        }
        let field = |name: &str, is: fn(String) -> Is| {
            // In Traefik 2, braces begin a variable.
            let plain = |value: &&str| (!value.contains('{')).then(|| is((*value).to_owned()));
            Test::one_of(name, &values, plain)
        };
        match name.trim() {
            "Host" => field("host", Is::Exactly),
            "Path" => field("path", Is::Exactly),
            "PathPrefix" => field("path", Is::Begins),
            "PathRegexp" => field("path", Is::Like),
            "HostRegexp" => field("host", |value| Is::Like(format!("(?i){value}"))),
            "Method" => field("method", Is::Exactly),
            "ClientIP" => Test::one_of("ip", &values, |value| network(value)),
            _ => None,
        }
    }
}

fn middleware(
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

/// The beginning of labels.
const LABEL: &str = "traefik.";

fn is_labels(text: &str) -> bool {
    lines(text, &["#"]).any(|(_, line)| line.to_ascii_lowercase().contains("traefik.http."))
}

/// The labels of containers, or tags of a catalog: several on a line, with or without quotes, in a list, in JSON, as an
/// argument of a command.
fn labels(text: &str, entries: &mut Entries) {
    for (line, text) in lines(text, &["#"]) {
        let lower = text.to_ascii_lowercase();
        let mut from = 0;
        while let Some(at) = lower.get(from..).and_then(|rest| rest.find(LABEL)) {
            let (before, label) = text.split_at(from + at);
            from += at + LABEL.len();
            let quote = before.chars().next_back().filter(|c| QUOTES.contains(c));
            let Some(end) = label.find(['=', ':']) else { break };
            let (path, value) = label.split_at(end);
            // A key in quotes of its own ends before its colon.
            let is_key_alone = quote.is_some_and(|quote| path.ends_with(quote));
            let value = value.get(1..).unwrap_or("").trim_start_matches([' ', '=']);
            let inner = value.chars().next().filter(|c| QUOTES.contains(c));
            let value = match (inner, quote.filter(|_| !is_key_alone)) {
                (Some(inner), _) => value.get(1..).unwrap_or("").split(inner).next(),
                (None, Some(quote)) => value.split(quote).next(),
                (None, None) => value.split([' ', ']', '}']).next(),
            };
            let value = value.unwrap_or_default().trim_end_matches([',', '\\']);
            let path: Vec<&str> = keys(path).collect();
            entries.add(Entry { line, path: &path, value });
        }
    }
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The keys of a path with dots.
fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').map(|key| key.trim_matches([' ', '"', '\'']))
}

fn yaml(text: &str, entries: &mut Entries) -> Result<(), Remark> {
    for root in documents(text)? {
        let is_list = root.get("kind").is_some_and(|kind| kind.word().ends_with("List"));
        match root.get("items").filter(|_| is_list) {
            Some(items) => {
                items.items().iter().for_each(|item| resource(item, entries));
            }
            None => resource(&root, entries),
        }
    }
    Ok(())
}

fn resource(root: &Node, entries: &mut Entries) {
    // A resource of Kubernetes has its name, unique in its namespace, in `metadata`.
    let named = |name: &str| root.get("metadata").and_then(|of| of.get(name)).map(Node::word);
    let name = named("name").filter(|_| root.get("kind").is_some());
    let name = name.map(|name| match named("namespace") {
        Some(space) => format!("{space}/{name}"),
        None => name.to_owned(),
    });
    let routes = root.get("spec").and_then(|spec| spec.get("routes")).map_or(&[][..], Node::items);
    for route in routes.iter().filter(|route| route.get("match").is_some()) {
        let rule = route.get("match").map_or("", Node::word).to_owned();
        let middlewares = route.get("middlewares").map_or(&[][..], Node::items).iter();
        let middlewares = middlewares.filter_map(|it| Some(it.get("name")?.word().to_owned()));
        let router = Router { rule, middlewares: middlewares.collect() };
        entries.routers.all.insert(format!("line {}", route.at.line), router);
    }
    walk(root, &mut Vec::new(), &mut |node, path| {
        let Kind::Text { text, .. } = &node.kind else { return };
        let line = node.at.line;
        match (&name, path) {
            (Some(name), ["spec", rest @ ..]) => {
                let path: Vec<&str> = [name.as_str()].iter().chain(rest).copied().collect();
                entries.add(Entry { line, path: &path, value: text });
            }
            _ => entries.add(Entry { line, path, value: text }),
        }
    });
}

fn is_toml(text: &str) -> bool {
    lines(text, &["#"]).next().is_some_and(|(_, line)| line.starts_with('[') && line.ends_with(']'))
}

/// The tables of TOML and their keys, each on a line of its own.
fn toml(text: &str, entries: &mut Entries, config: &mut Config) {
    let mut table = "";
    for (line, text) in lines(text, &["#"]) {
        if let Some(name) = text.strip_prefix('[') {
            table = name.split(']').next().unwrap_or(name);
        } else if let Some((key, value)) = text.split_once('=') {
            let value = value.split(" #").next().unwrap_or(value).trim();
            let plain = value.trim_matches(['"', '\'']);
            let path: Vec<&str> = keys(table).chain(keys(key)).collect();
            let entry = Entry { line, path: &path, value: plain };
            let is_named = entry.find("ratelimit").is_some()
                || value.to_ascii_lowercase().contains("ratelimit");
            if value.starts_with('{') && is_named {
                config.remark(
                    line,
                    "a table within a line is not understood; write it as a table of its own",
                );
            }
            entries.add(entry);
        }
    }
}

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let middlewares = each(limits, |n, limit| {
        let problem =
            "it has a token bucket only; write a limit such as token-bucket 10/1s burst 20";
        let (rate, burst) = token_bucket(&limit.limiter).ok_or(problem)?;
        check_bucket(rate, burst)?;
        let wait = longest_wait(rate);
        notes.add(format!(
            "Traefik lets a request that comes up to {}ms before its token wait for it, and pass",
            wait * 1e3
        ));
        let average = rate.count();
        let period = duration(rate.per())?;
        let source = source(&limit.per, addresses)?;
        Ok(format!(
            "    limit{n}:\n      rateLimit:\n        average: {average}\n        period: {period}\n\
             \x20       burst: {burst}\n        sourceCriterion:\n          {source}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "each middleware counts for itself: a request that a later one refuses has \
                   counted in those before",
        );
    }
    if addresses.forwarded {
        notes.add(
            "Traefik believes X-Forwarded-For only of the networks in forwardedHeaders.trustedIPs of \
             its entry point; behind two proxies the depth is 2",
        );
    }
    if addresses.ipv6_prefix < 128 {
        notes.add("Traefik has ipv6Subnet from 3.1 on");
    }
    addresses.warn_of_ipv4(notes);
    notes.add("Traefik keeps 65,536 senders, and forgets one for another");
    Ok(format!("http:\n  middlewares:\n{middlewares}"))
}

/// Checks that Traefik has a bucket of this rate and burst, and keeps it until it is full again.
pub(crate) fn check_bucket(rate: Rate, burst: f64) -> Result<(), String> {
    if !is_whole(rate.count()) || !is_whole(burst) {
        return Err("its average and burst are whole numbers from 1".to_owned());
    }
    // The bucket must be full again before Traefik drops it: after two seconds of silence or, at a rate below one a
    // second, a second after the time of one token.
    let a_second = rate.frequency();
    let kept = if a_second >= 1.0 { 2.0 } else { 1.0 + libm::floor(1.0 / a_second) };
    let most = libm::floor(kept * a_second);
    if burst <= most {
        return Ok(());
    }
    Err(format!(
        "it forgets a sender that is silent for {kept}s, and lets the whole burst through again, which \
         takes longer to come back; at this rate the burst is {most} at most"
    ))
}

/// How long a request may wait for its token, in seconds.
fn longest_wait(rate: Rate) -> f64 {
    let a_second = libm::floor(rate.frequency()).max(1.0);
    libm::floor(1e9 / (a_second * 2.0)) / 1e9
}

fn source(per: &Per, addresses: Addresses) -> Result<String, String> {
    match fields(per)?.as_slice() {
        [Field::Ip] => Ok(strategy(addresses)),
        [Field::Host] => Ok("requestHost: true".to_owned()),
        [Field::Header(header)] => Ok(format!("requestHeaderName: {header}")),
        [Field::User] => Err(no_user()),
        _ => Err("its keys are the address, the host or a header, and one of them only".to_owned()),
    }
}

/// The `ipStrategy`, which chooses the address of the sender, and its prefix.
fn strategy(addresses: Addresses) -> String {
    let depth = addresses.forwarded.then(|| "depth: 1".to_owned());
    let prefix = addresses.ipv6_prefix;
    let subnet = (prefix < 128).then(|| format!("ipv6Subnet: {prefix}"));
    match depth.into_iter().chain(subnet).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "ipStrategy: {}".to_owned(),
        some => format!("ipStrategy: {{ {some} }}"),
    }
}
