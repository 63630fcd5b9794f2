//! Reading a rule file.

use super::error::MOST;
use super::matching::{Branch, Level};
use super::reader::{Map, MapKeys, TreeReader, meant};
use super::settings::{self, ENFORCEMENT, NAMES, RuleSettings};
use super::value::{Step, Value};
use super::yaml::{self, Node};
use super::{Rule, Rules, RulesError};
use crate::policy::{FIELDS, Per, escaped};
use std::collections::{HashMap, HashSet};

/// Keys that change only what envoyproxy/ratelimit reports.
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

/// The most bytes of the keys and values on the path to a rule, which make its name.
const LONGEST_PATH: usize = 4096;

/// The most bytes of a domain.
const LONGEST_DOMAIN: usize = 256;

/// The most rules of a file.
const MOST_RULES: usize = 10_000;

/// Reads a file, and collects all its mistakes.
pub(super) fn read(name: &str, text: &str) -> Result<Rules, RulesError> {
    let root = yaml::read(text).map_err(|mistake| RulesError::new(name, vec![mistake]))?;
    of(name, &root)
}

/// Reads the tree of a file.
pub(super) fn of(name: &str, root: &Node) -> Result<Rules, RulesError> {
    let mut file = File::default();
    let rules = file.root(name, root);
    file.reader.finish(name, rules)
}

/// A file that is being read.
#[derive(Default)]
struct File<'a> {
    reader: TreeReader,
    domain: &'a str,
    rules: Vec<Rule>,
    /// The rules that replace others, with the nodes of `replaces`.
    replaces: Vec<(usize, &'a Node)>,
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
    fn root(&mut self, name: &str, root: &'a Node) -> Option<Rules> {
        let map = self.reader.map(root, &TOP)?;
        match map.get("domain") {
            Some(node) => {
                self.domain = self.reader.text(node, "the domain").unwrap_or("");
                if self.domain.len() > LONGEST_DOMAIN {
                    let problem = format!("more than {LONGEST_DOMAIN} bytes long");
                    self.reader.wrong(node, problem);
                    return None;
                }
            }
            None => self.reader.missing(&map, "the domain is missing; write it as in domain: web"),
        }
        // Envoy Gateway writes the name of the file there.
        let has_limit = map.get("limit").or(map.given("rate_limit")).is_some();
        let top = if has_limit { map } else { map.without(&["name"]) };
        let always = self.rule(&top, &[]);
        let descriptors = map.given("descriptors");
        if always.is_none() && descriptors.is_none() && self.reader.mistakes.is_empty() {
            let problem =
                "neither descriptors nor a limit, so nothing would be limited; write one of them";
            self.reader.missing(&map, problem);
        }
        let top = descriptors.map(|node| self.descriptors(node, &[])).unwrap_or_default();
        self.check_replaces();
        self.check_quotas();
        let rules = core::mem::take(&mut self.rules);
        let replaces = !self.replaces.is_empty();
        let rules = Rules::of(name.to_owned(), self.domain.to_owned(), rules);
        Some(Rules { always, top, replaces, ..rules })
    }

    fn descriptors(&mut self, node: &'a Node, path: &[PathStep]) -> Level {
        let mut level = Level::default();
        for item in self.reader.list(node, "descriptors").unwrap_or_default() {
            if self.rules.len() >= MOST_RULES {
                self.reader.wrong(item, format!("more than {MOST_RULES} rules"));
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
        let (name, secret) = self.field(key)?;
        let value = self.value(&map)?;
        let shared = self.shared(&map, &value);
        let mut path = path.to_vec();
        path.push(PathStep {
            step: Step { key: name.clone(), value: value.clone(), secret },
            shared,
        });
        if path.iter().map(|passed| passed.step.len()).sum::<usize>() > LONGEST_PATH {
            let problem =
                format!("with the descriptors around it, more than {LONGEST_PATH} bytes long");
            self.reader.wrong(key, problem);
            return None;
        }
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

    /// Reads the name of a field, and whether it is secret.
    fn field(&mut self, node: &Node) -> Option<(String, bool)> {
        let text = self.reader.text(node, "a key")?;
        // A hash mark counts equal keys within each other.
        if !text.contains('#')
            && text != "all"
            && let Ok(per) = Per::new([text])
            && let [name] = per.fields()
        {
            return Some((name.clone(), per.is_secret(name)));
        }
        let problem = match text {
            "all" => "everybody together is not a field; a limit at the top is for all",
            _ if text.contains('+') => "a key is one field; nest descriptors for several",
            _ => "not the name of a field; write letters, digits and - _ . / : @ ~ $ * !",
        };
        self.reader.wrong(node, problem);
        None
    }

    /// Adds the rule of a descriptor, or of the top, and returns its index. `None` if a descriptor
    /// only contains others.
    fn rule(&mut self, map: &Map<'a>, path: &[PathStep]) -> Option<usize> {
        let own = path.iter().filter(|passed| !passed.shared);
        let steps: Vec<&Step> = own.map(|passed| &passed.step).collect();
        let keys: Vec<&str> = steps.iter().map(|step| step.key.as_str()).collect();
        let field = |(place, step): (usize, &&Step)| {
            let name = counted(&keys, place);
            if step.secret { format!("hash({name})") } else { name }
        };
        let own: Vec<String> = steps.iter().enumerate().map(field).collect();
        if own.len() > FIELDS {
            let problem = format!("within more than {FIELDS} descriptors that count separately");
            self.reader.missing(map, &problem);
        }
        // The names were read as fields before, so any mistake in them is reported already.
        let per = Per::new(own).unwrap_or(Per::ALL);
        let settings = settings::read(&mut self.reader, map, &per);
        let is_end = !path.is_empty() && map.given("descriptors").is_none();
        // A descriptor with neither a limit nor a list does not limit its events.
        let settings = settings.or_else(|| is_end.then(RuleSettings::default))?;
        let inner = map.get("rate_limit").and_then(|node| node.get("replaces"));
        if let Some(node) = map.given("replaces").or(inner.filter(|node| !node.is_empty())) {
            self.replaces.push((self.rules.len(), node));
        }
        let path: Vec<Step> = path.iter().map(|passed| passed.step.clone()).collect();
        let limits = map.given("limit").or(map.given("rate_limit"));
        let limits_at = limits.map_or(map.at, |node| node.at);
        // The name is made later, when all secret fields are known.
        let name = String::new();
        self.rules.push(Rule { name, path, line: map.at.line, limits_at, settings });
        Some(self.rules.len() - 1)
    }

    /// Checks that replaced rules exist, and that no rules replace each other.
    fn check_replaces(&mut self) {
        let labels: Vec<&str> = self.rules.iter().filter_map(Rule::label).collect();
        let known: HashSet<&str> = labels.iter().copied().collect();
        let circles = circles(&self.rules);
        for &(rule, node) in &self.replaces {
            let Some(rule) = self.rules.get(rule) else { continue };
            let in_circle = |name: &str| circles.contains(name);
            if rule.label().is_some_and(in_circle) && rule.replaces().iter().any(|n| in_circle(n)) {
                let problem = "rules replace each other in a cycle";
                self.reader.wrong(node, problem);
            }
            let read: HashSet<&str> = rule.replaces().iter().map(String::as_str).collect();
            for item in node.items() {
                let name = item.get("name").unwrap_or(item);
                if read.contains(name.word())
                    && !known.contains(name.word())
                    && self.reader.mistakes.len() < MOST
                {
                    let help = match labels.as_slice() {
                        [] => "no rule has a name".to_owned(),
                        labels => meant(name.word(), labels),
                    };
                    self.reader.wrong(name, format!("no rule of this file has this name; {help}"));
                }
            }
        }
    }

    /// Checks that no event has two rules in quota mode, which would refuse it only together.
    ///
    /// A single rule in quota mode decides like any other. Two never apply together if their paths part at two values
    /// of one key, or if one path continues the other. So all paths with the same beginning must go on with the same
    /// key.
    fn check_quotas(&mut self) {
        let mut onward: HashMap<&[Step], (&str, usize)> = HashMap::new();
        for &(rule, node) in &self.quotas {
            let Some(rule) = self.rules.get(rule) else { continue };
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

/// The name of the field for the key at an index of a path. Of equal keys within each other the second is `key#2`, for
/// the second value in a list of Envoy.
fn counted(keys: &[&str], place: usize) -> String {
    let key = keys[place];
    match keys[..place].iter().filter(|outer| **outer == key).count() {
        0 => key.to_owned(),
        before => format!("{key}#{}", before + 1),
    }
}

/// The names of rules that replace each other in a cycle: those left after repeatedly removing names that replace none
/// of the rest, or are replaced by none.
fn circles(rules: &[Rule]) -> HashSet<&str> {
    /// The edges of a name: which names it replaces, and which replace it.
    type Both<'a> = [Vec<&'a str>; 2];
    let mut edges: HashMap<&str, Both<'_>> = HashMap::new();
    for rule in rules {
        let Some(label) = rule.label() else { continue };
        for name in rule.replaces() {
            edges.entry(label).or_default()[0].push(name);
            edges.entry(name).or_default()[1].push(label);
        }
    }
    let mut left: HashMap<&str, [usize; 2]> =
        edges.iter().map(|(name, both)| (*name, both.each_ref().map(Vec::len))).collect();
    let mut ends: Vec<&str> =
        left.iter().filter(|(_, counts)| counts.contains(&0)).map(|(name, _)| *name).collect();
    while let Some(name) = ends.pop() {
        let (Some(both), Some(_)) = (edges.get(name), left.remove(name)) else { continue };
        for (way, others) in both.iter().enumerate() {
            for other in others {
                let Some(counts) = left.get_mut(other) else { continue };
                counts[1 - way] -= 1;
                if counts[1 - way] == 0 {
                    ends.push(other);
                }
            }
        }
    }
    left.into_keys().collect()
}

/// As in `messaging:message_type=marketing,to_number`. The first colon ends the domain, so that rules of two domains
/// never share a name, and so a state on Redis.
pub(super) fn name(domain: &str, path: &[Step]) -> String {
    let domain = escaped(domain).to_string().replace(':', "%3A");
    path.iter()
        .enumerate()
        .fold(domain, |name, (i, step)| format!("{name}{}{step}", if i == 0 { ":" } else { "," }))
}
