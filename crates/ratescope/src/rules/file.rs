//! Reading a rule file.

use super::draft::{self, Draft};
use super::matching::{Branch, Level};
use super::reader::{Map, MapKeys, TreeReader};
use super::settings::{self, ENFORCEMENT, NAMES, Read};
use super::value::{Step, Value};
use super::yaml::{self, Node};
use super::{Rules, RulesError};
use crate::share::Share;
use std::collections::HashMap;

/// Keys that change only the reports of envoyproxy/ratelimit.
const REPORTS: &[&str] = &["detailed_metric", "value_to_metric", "metadata"];

const TOP: MapKeys = MapKeys {
    what: "a rule file",
    keys: &[&["domain", "descriptors", "rate_limit", "limit"], ENFORCEMENT, NAMES],
};

const DESCRIPTOR: MapKeys = MapKeys {
    what: "a descriptor",
    keys: &[
        &["key", "value", "network", "descriptors", "rate_limit", "limit"],
        ENFORCEMENT,
        NAMES,
        &["share_threshold", "quota_mode"],
        REPORTS,
    ],
};

/// Reads a file, and collects all its mistakes.
pub(super) fn read(name: &str, text: &str) -> Result<Rules, RulesError> {
    let root = yaml::read(text).map_err(|mistake| RulesError::new(name, vec![mistake]))?;
    let mut file = File::default();
    let top = file.root(&root).unwrap_or_default();
    file.check_quotas();
    file.draft.finish(file.reader, name, file.domain, root.at, top)
}

/// A file that is being read.
#[derive(Default)]
struct File<'a> {
    reader: TreeReader,
    domain: &'a str,
    draft: Draft,
    /// How all rules are shared that don't say it and can be.
    share: Option<Share>,
    /// The rules in quota mode, with the nodes of `quota_mode`.
    quotas: Vec<(usize, &'a Node)>,
}

/// A step on the path to a descriptor, and whether the values that match it share a count.
#[derive(Clone)]
struct PathStep {
    step: Step,
    shared: bool,
}

impl<'a> File<'a> {
    fn root(&mut self, root: &'a Node) -> Option<Level> {
        let map = self.reader.map(root, &TOP)?;
        match map.get("domain") {
            Some(node) => {
                self.domain = self.reader.text(node, "the domain").unwrap_or("");
                if !self.domain.is_empty()
                    && let Err(problem) = draft::check_domain(self.domain)
                {
                    self.reader.wrong(node, problem);
                    return None;
                }
            }
            None => self.reader.missing(&map, "the domain is missing; write it as in domain: web"),
        }
        let share = map.get("share");
        self.share = share.and_then(|node| self.reader.parse(node, "how limits are shared"));
        let map = map.without(&["share"]);
        // Envoy Gateway writes the name of the file there.
        let has_limit = map.get("limit").or(map.given("rate_limit")).is_some();
        self.rule(&if has_limit { map } else { map.without(&["name", "share"]) }, &[]);
        map.given("descriptors").map(|node| self.descriptors(node, &[]))
    }

    fn descriptors(&mut self, node: &'a Node, path: &[PathStep]) -> Level {
        let mut level = Level::default();
        for item in self.reader.list(node, "descriptors").unwrap_or_default() {
            if let Err(problem) = self.draft.check_room() {
                self.reader.wrong(item, problem);
                break;
            }
            self.descriptor(item, path, &mut level);
        }
        level
    }

    /// Adds a descriptor to its list. If the key cannot be read, the rest is not checked.
    fn descriptor(&mut self, node: &'a Node, path: &[PathStep], level: &mut Level) -> Option<()> {
        let map = self.reader.map(node, &DESCRIPTOR)?;
        let Some(key) = map.get("key") else {
            self.reader.missing(
                &map,
                "its key is missing; write the field that it is about, as in key: ip",
            );
            return None;
        };
        let text = self.reader.text(key, "a key")?;
        let (name, secret) = draft::field(text).map_err(|e| self.reader.wrong(key, e)).ok()?;
        let value = self.value(&map)?;
        let shared = self.shared(&map, &value);
        let mut path = path.to_vec();
        path.push(PathStep {
            step: Step { key: name.clone(), value: value.clone(), secret },
            shared,
        });
        let steps = path.iter().map(|passed| &passed.step);
        draft::check_length(steps).map_err(|problem| self.reader.wrong(key, problem)).ok()?;
        let rule = self.rule(&map, &path);
        let quota = map.pair("quota_mode").filter(|(_, on)| !on.is_empty());
        let quota = quota.filter(|(_, on)| self.reader.flag(on) == Some(true));
        self.quotas.extend(rule.zip(quota).map(|(rule, (key, _))| (rule, key)));
        let below = map.given("descriptors").map(|node| self.descriptors(node, &path));
        let branch = Branch { line: map.at.line, rule, below: below.unwrap_or_default() };
        if let Err(problem) = level.add(&name, &value, branch) {
            let at = map.get("value").or(map.get("network")).unwrap_or(key);
            self.reader.wrong(at, problem);
        }
        Some(())
    }

    /// Reads which values of its field a descriptor matches.
    fn value(&mut self, map: &Map<'a>) -> Option<Value> {
        let network = map.get("network");
        let value = map.pair("value").filter(|(_, value)| !value.is_empty());
        match value {
            Some((key, _)) if network.is_some() => {
                self.reader.wrong(key, "there is a network beside it; leave one of the two out");
                None
            }
            Some((_, node)) => {
                Some(Value::new(self.reader.text(node, "the value, which can be left out,")?))
            }
            None => match network {
                Some(node) => self.reader.parse(node, "the network").map(Value::Within),
                None => Some(Value::Any),
            },
        }
    }

    /// Checks the other keys of envoyproxy/ratelimit, and returns whether the values share a count.
    fn shared(&mut self, map: &Map<'a>, value: &Value) -> bool {
        for unread in ["detailed_metric", "value_to_metric"] {
            map.given(unread).and_then(|node| self.reader.flag(node));
        }
        let Some((key, node)) = map.pair("share_threshold").filter(|(_, on)| !on.is_empty()) else {
            return false;
        };
        let shared = self.reader.flag(node) == Some(true);
        if shared && !matches!(value, Value::Like(_) | Value::Within(_)) {
            let problem =
                "only a value with a * or a network has several values that could share a limit";
            self.reader.wrong(key, problem);
        }
        shared
    }

    /// Adds the rule of a descriptor, or of the top, and returns its index. `None` if a descriptor
    /// only contains others.
    fn rule(&mut self, map: &Map<'a>, path: &[PathStep]) -> Option<usize> {
        let own = path.iter().filter(|passed| !passed.shared);
        let own: Vec<&Step> = own.map(|passed| &passed.step).collect();
        let per = draft::per(&own).map_err(|problem| self.reader.missing(map, problem));
        let read = settings::read(&mut self.reader, map, &per.unwrap_or_default());
        let is_end = !path.is_empty() && map.given("descriptors").is_none();
        // A descriptor with neither a limit nor a list does not limit its events.
        let mut read = read.or_else(|| is_end.then(Read::default))?;
        if let Some(share) = self.share {
            read.settings.share_by_default(share);
        }
        let path = path.iter().map(|passed| passed.step.clone()).collect();
        let limits = map.given("limit").or(map.given("rate_limit"));
        let limits_at = limits.map_or(map.at, |node| node.at);
        let rule = self.draft.add(map.at.line, limits_at, path, read.settings);
        let inner = map.get("rate_limit").and_then(|node| node.get("replaces"));
        if let Some(node) = map.given("replaces").or(inner.filter(|node| !node.is_empty())) {
            self.draft.replaces(rule, node.at, read.replaces);
        }
        Some(rule)
    }

    /// Checks that no event has two rules in quota mode, which would refuse it only together.
    ///
    /// A single rule in quota mode decides like any other. Two never apply together if their paths part at two values
    /// of one key, or if one path continues the other. So all paths with the same beginning must go on with the same
    /// key.
    fn check_quotas(&mut self) {
        let mut onward: HashMap<&[Step], (&str, usize)> = HashMap::new();
        for &(rule, node) in &self.quotas {
            let Some(rule) = self.draft.rules().get(rule) else { continue };
            for (i, step) in rule.path.iter().enumerate() {
                let begun = rule.path.get(..i).unwrap_or_default();
                let (key, line) = *onward.entry(begun).or_insert((&step.key, rule.line));
                if key != step.key {
                    let problem = format!(
                        "an event may have this rule and the one in line {line}, and would be \
                         refused only by both; that is not supported: without quota_mode, each \
                         refuses alone"
                    );
                    self.reader.wrong(node, problem);
                    break;
                }
            }
        }
    }
}
