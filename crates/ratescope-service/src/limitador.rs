//! Files of Limitador, which say how to write their limits as rules.
//!
//! Source: Limitador's documentation, "How it works" and `limitador-server`. A limit of Limitador applies to any
//! request that has the fields of its conditions and variables, whatever else it has, and counts in a window that
//! begins with the first request. By gRPC, a descriptor here has exactly the keys of its rule, in its order. So these
//! files are not put in force as they are: a person who knows the descriptors of the proxy has to put the keys in
//! order.

use ratescope::internal::yaml::{Kind, Node, read};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The rules to write in place of a file of Limitador, also within a ConfigMap, the values of a Helm chart or a
/// resource of Kuadrant. `None` for other files.
pub fn other_format(text: &str) -> Option<String> {
    let keys = ["max_value:", "seconds:", "namespace:"];
    if !keys.iter().all(|key| text.contains(key)) && !text.contains("\"max_value\"") {
        return None;
    }
    let mut limits = Vec::new();
    find(&read(text).ok()?, 0, &mut limits);
    if limits.is_empty() {
        return None;
    }
    let mut domains: BTreeMap<String, Step> = BTreeMap::new();
    let mut unread = Vec::new();
    for limit in &limits {
        match Path::new(limit) {
            Ok(path) => domains.entry(path.namespace.clone()).or_default().add(&path),
            Err(why) => unread.push(format!("line {}: {why}", limit.at.line)),
        }
    }
    let mut said = "it has limits of Limitador, which are written as rules in this way, in a file for each namespace. By \
                    gRPC, a descriptor has exactly the keys of its rule: put them in the order in which the proxy sends \
                    them"
        .to_owned();
    for (domain, top) in &domains {
        _ = write!(said, "\n\ndomain: {}\n", quoted(domain));
        top.write(0, &mut said);
    }
    if !unread.is_empty() {
        _ = write!(
            said,
            "\nNot written, since rules compare fields with texts: {}",
            unread.join("; ")
        );
    }
    Some(said)
}

/// Finds the limits in a tree. A ConfigMap has them as a text.
fn find(node: &Node, depth: usize, limits: &mut Vec<Node>) {
    match &node.kind {
        Kind::Map(_) if node.get("max_value").is_some() => limits.push(node.clone()),
        Kind::Map(pairs) => pairs.iter().for_each(|(_, value)| find(value, depth, limits)),
        Kind::List(items) => items.iter().for_each(|item| find(item, depth, limits)),
        Kind::Text { text, .. } if depth < 3 && text.contains("max_value") => {
            if let Ok(within) = read(text) {
                find(&within, depth + 1, limits);
            }
        }
        Kind::Text { .. } => {}
    }
}

/// A limit of Limitador as a path of keys.
struct Path {
    namespace: String,
    keys: Vec<(String, Is)>,
    limit: String,
    name: Option<String>,
}

/// The value that a key must have.
#[derive(Clone, PartialEq)]
enum Is {
    Any,
    Equal(String),
    Not(String),
}

impl Path {
    fn new(limit: &Node) -> Result<Self, String> {
        let text = |key: &str| limit.get(key).map(Node::word).filter(|text| !text.is_empty());
        let number = |key: &str| {
            let number = text(key).and_then(|text| text.parse::<u64>().ok());
            number.ok_or_else(|| format!("{key} is not a whole number"))
        };
        let (most, seconds) = (number("max_value")?, number("seconds")?);
        let of = |key: &str| limit.get(key).map_or(&[][..], Node::items).iter();
        let mut keys = Vec::new();
        for condition in of("conditions") {
            keys.push(read_condition(condition.word()).ok_or_else(|| condition.word().to_owned())?);
        }
        for variable in of("variables") {
            let key = read_key(variable.word()).ok_or_else(|| variable.word().to_owned())?;
            keys.push((key, Is::Any));
        }
        Ok(Path {
            namespace: text("namespace").unwrap_or("NAMESPACE").to_owned(),
            keys,
            limit: format!("fixed-window {most}/{seconds}s from first"),
            name: text("name").map(str::to_owned),
        })
    }
}

/// As in `descriptors[0].method == 'GET'` or `method != GET`.
fn read_condition(text: &str) -> Option<(String, Is)> {
    let (key, is_not, value) = match text.split_once("==") {
        Some((key, value)) => (key, false, value),
        None => text.split_once("!=").map(|(key, value)| (key, true, value))?,
    };
    let value = value.trim();
    let unquoted = ['"', '\''].iter().find_map(|quote| {
        value.strip_prefix(*quote)?.strip_suffix(*quote).filter(|text| !text.contains(*quote))
    });
    let is_word = |text: &&str| !text.is_empty() && !text.contains(['"', '\'', ' ', '&', '|', '(']);
    let value = unquoted.or(Some(value).filter(is_word))?.to_owned();
    Some((read_key(key.trim())?, if is_not { Is::Not(value) } else { Is::Equal(value) }))
}

/// As in `descriptors[0].method`, `descriptors[0]['req.method']` or `method`.
fn read_key(text: &str) -> Option<String> {
    let rest = text.strip_prefix("descriptors[0]").unwrap_or(text);
    let key = match rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(quoted) => quoted.trim_matches(['"', '\'']),
        None => rest.strip_prefix('.').unwrap_or(rest),
    };
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./:@~$*!".contains(c);
    (!key.is_empty() && key.chars().all(is_key)).then(|| key.to_owned())
}

/// The descriptors of a rule file, from one on.
#[derive(Default)]
struct Step {
    limits: Vec<String>,
    names: Vec<String>,
    within: Vec<(String, Option<String>, Step)>,
}

impl Step {
    fn add(&mut self, path: &Path) {
        let mut at = self;
        for (key, is) in &path.keys {
            let value = match is {
                Is::Any => None,
                Is::Equal(value) => Some(value.as_str()),
                Is::Not(value) => {
                    // The value that is excluded has a descriptor of its own, without a limit.
                    at.step(key, Some(value));
                    None
                }
            };
            at = at.step(key, value);
        }
        at.limits.push(path.limit.clone());
        at.names.extend(path.name.clone());
    }

    fn step(&mut self, key: &str, value: Option<&str>) -> &mut Step {
        let is = |(known, of, _): &(String, Option<String>, Step)| {
            known == key && of.as_deref() == value
        };
        let place = self.within.iter().position(is).unwrap_or(self.within.len());
        if place == self.within.len() {
            self.within.push((key.to_owned(), value.map(str::to_owned), Step::default()));
        }
        &mut self.within[place].2
    }

    fn write(&self, indent: usize, out: &mut String) {
        let pad = " ".repeat(indent);
        for name in &self.names {
            let name: String = name.chars().filter(|c| !c.is_control()).collect();
            _ = writeln!(out, "{pad}# {name}");
        }
        match self.limits.as_slice() {
            [] => {}
            [only] => _ = writeln!(out, "{pad}limit: {only}"),
            several => _ = writeln!(out, "{pad}limit: [{}]", several.join(", ")),
        }
        if !self.within.is_empty() {
            _ = writeln!(out, "{pad}descriptors:");
        }
        for (key, value, step) in &self.within {
            _ = writeln!(out, "{pad}- key: {}", quoted(key));
            if let Some(value) = value {
                _ = writeln!(out, "{pad}  value: {}", quoted(value));
            }
            step.write(indent + 2, out);
        }
    }
}

/// A text of YAML that is no number, flag or null, whatever is in it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain);
    if is_word && !["true", "false", "null", "yes", "no"].contains(&text) {
        return text.to_owned();
    }
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", shown.replace('\\', "\\\\").replace('"', "\\\""))
}
