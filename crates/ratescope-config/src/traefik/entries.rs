//! YAML, TOML and labels, as paths with values.

use crate::read::{Config, Remark, SCOPE, said};
use crate::tree::{documents, walk};
use crate::words::lines;
use ratescope::internal::shown;
use ratescope::internal::yaml::{Kind, Node};
use std::collections::BTreeMap;

/// The keys whose children have names that somebody chose.
const SECTIONS: [&str; 3] = ["middlewares", "routers", "services"];

/// A value, and the keys that lead to it.
#[derive(Clone, Copy)]
struct Entry<'a> {
    pub(super) line: usize,
    path: &'a [&'a str],
    pub(super) value: &'a str,
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

/// The parts of the entries that are read.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) settings: Vec<Setting>,
    pub(super) routers: Routers,
    /// Anything that refuses besides the limits, by line.
    pub(super) beside: Vec<(usize, &'static str)>,
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
pub(super) struct Setting {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) value: String,
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
pub(super) struct Routers {
    all: BTreeMap<String, Router>,
    /// The names of chains by a middleware of theirs.
    chains: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
pub(super) struct Router {
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
    pub(super) fn rules(&self, name: &str) -> Option<Vec<&str>> {
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

/// The beginning of labels.
const LABEL: &str = "traefik.";

pub(super) fn is_labels(text: &str) -> bool {
    lines(text, &["#"]).any(|(_, line)| line.to_ascii_lowercase().contains("traefik.http."))
}

/// The labels of containers, or tags of a catalog: several on a line, with or without quotes, in a list, in JSON, as an
/// argument of a command.
pub(super) fn labels(text: &str, entries: &mut Entries) {
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
pub(super) fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').map(|key| key.trim_matches([' ', '"', '\'']))
}

pub(super) fn yaml(text: &str, entries: &mut Entries) -> Result<(), Remark> {
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

pub(super) fn is_toml(text: &str) -> bool {
    lines(text, &["#"]).next().is_some_and(|(_, line)| line.starts_with('[') && line.ends_with(']'))
}

/// The tables of TOML and their keys, each on a line of its own.
pub(super) fn toml(text: &str, entries: &mut Entries, config: &mut Config) {
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
