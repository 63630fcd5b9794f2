//! Reads a tree strictly: everything unknown is a mistake, and all mistakes are collected.

use super::error::{At, MOST, Mistake};
use super::yaml::{Kind, Node};
use crate::text::ParseError;
use core::str::FromStr;
use std::collections::HashMap;

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct TreeReader {
    pub(super) mistakes: Vec<Mistake>,
    /// Remarks on words that were read otherwise than they are written.
    pub(super) remarks: Vec<Mistake>,
}

/// The key `value` as many articles print it.
const CAPITAL: &str = "Value";

/// A kind of map: its name in errors, and its keys, in lists that several kinds may share.
pub(super) struct MapKeys {
    pub(super) what: &'static str,
    pub(super) keys: &'static [&'static [&'static str]],
}

/// A map whose keys were checked.
#[derive(Clone, Copy)]
pub(super) struct Map<'a> {
    pub(super) at: At,
    pairs: &'a [(Node, Node)],
    /// True if it has an unknown key, which may be a misspelling of a missing one.
    is_strange: bool,
    /// Keys that count as absent.
    hidden: &'static [&'static str],
}

impl<'a> Map<'a> {
    /// The value of a key; the first, if the key occurs twice.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.pair(key).map(|(_, value)| value)
    }

    fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(known, _)| known.word() == key)
    }

    /// The value of a key, unless it is empty, as generated files have it.
    pub(super) fn given(&self, key: &str) -> Option<&'a Node> {
        self.get(key).filter(|node| !node.is_empty())
    }

    /// This map without some keys.
    pub(super) fn without(self, keys: &'static [&'static str]) -> Self {
        Map { hidden: keys, ..self }
    }

    pub(super) fn pair(&self, key: &str) -> Option<&'a (Node, Node)> {
        let is_hidden = self.hidden.contains(&key);
        let find = |key: &str| self.pairs.iter().find(|(known, _)| known.word() == key);
        let capital = || find(CAPITAL).filter(|_| key == "value");
        find(key).or_else(capital).filter(|_| !is_hidden)
    }

    pub(super) fn pairs(&self) -> &'a [(Node, Node)] {
        self.pairs
    }
}

impl TreeReader {
    /// Adds a mistake at a place.
    pub(super) fn mistake(&mut self, at: At, word: &str, problem: impl Into<String>) {
        self.mistakes.push(Mistake::new(at, word, problem));
    }

    /// Adds a mistake at a node.
    pub(super) fn wrong(&mut self, node: &Node, problem: impl Into<String>) {
        self.mistake(node.at, node.word(), problem);
    }

    /// Adds a mistake about something that is missing from a map, unless the map has an unknown key.
    pub(super) fn missing(&mut self, map: &Map<'_>, problem: impl Into<String>) {
        if !map.is_strange {
            self.mistake(map.at, "", problem);
        }
    }

    /// Adds a mistake within the text of a node.
    pub(super) fn wrong_within(&mut self, node: &Node, error: &ParseError) {
        let part = node.word().get(error.at()).filter(|part| !part.is_empty());
        let at = node.at_byte(error.at().start);
        let word = part.unwrap_or(node.word());
        self.mistake(at, word, error.problem());
    }

    /// Reads a map with the keys of `known` and no others, each once.
    pub(super) fn map<'a>(&mut self, node: &'a Node, known: &MapKeys) -> Option<Map<'a>> {
        let mut map = self.any_map(node, known.what)?;
        let what = known.what;
        let keys = known.keys.concat();
        for (key, _) in map.pairs {
            if self.mistakes.len() >= MOST {
                break;
            }
            if key.word() == CAPITAL && keys.contains(&"value") && !map.has("value") {
                let remark =
                    "read as value; envoyproxy/ratelimit refuses it, though articles print it so";
                self.remarks.push(Mistake::new(key.at, key.word(), remark));
            } else if !keys.contains(&key.word()) && matches!(key.kind, Kind::Text { .. }) {
                self.wrong(key, format!("not a key of {what}; {}", meant(key.word(), &keys)));
                map.is_strange = true;
            }
        }
        Some(map)
    }

    /// Reads a map with any keys, each once.
    pub(super) fn any_map<'a>(&mut self, node: &'a Node, what: &str) -> Option<Map<'a>> {
        let Kind::Map(pairs) = &node.kind else {
            self.wrong(
                node,
                format!("{what} is a map of keys and values, and this is {}", node.what()),
            );
            return None;
        };
        let mut lines = HashMap::new();
        for (key, _) in pairs {
            if !matches!(key.kind, Kind::Text { .. }) {
                self.wrong(key, format!("a key is a text, and this is {}", key.what()));
            } else if let Some(line) = lines.insert(key.word(), key.at.line) {
                self.wrong(key, format!("a key that is there already, in line {line}"));
            }
        }
        Some(Map { at: node.at, pairs, is_strange: false, hidden: &[] })
    }

    /// Reads a list of at least one item.
    pub(super) fn list<'a>(&mut self, node: &'a Node, what: &str) -> Option<&'a [Node]> {
        match &node.kind {
            Kind::List(items) if !items.is_empty() => Some(items),
            Kind::List(_) => {
                self.wrong(node, format!("{what} is an empty list; write at least one item"));
                None
            }
            _ => {
                self.wrong(node, format!("{what} is a list, and this is {}", node.what()));
                None
            }
        }
    }

    /// Reads a text that is not empty. A number is a text, as it is written.
    pub(super) fn text<'a>(&mut self, node: &'a Node, what: &str) -> Option<&'a str> {
        match &node.kind {
            Kind::Text { text, .. } if !text.is_empty() && !node.is_nothing() => Some(text),
            Kind::Text { .. } => {
                self.wrong(node, format!("{what} is empty"));
                None
            }
            _ => {
                self.wrong(node, format!("{what} is a text, and this is {}", node.what()));
                None
            }
        }
    }

    /// Reads a type with a text form.
    pub(super) fn parse<T: FromStr<Err = ParseError>>(
        &mut self,
        node: &Node,
        what: &str,
    ) -> Option<T> {
        let read = self.text(node, what)?.parse();
        read.map_err(|error| self.wrong_within(node, &error)).ok()
    }

    /// Reads yes or no as in YAML 1.1, which envoyproxy/ratelimit uses.
    pub(super) fn flag(&mut self, node: &Node) -> Option<bool> {
        const YES: [&str; 9] = ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"];
        const NO: [&str; 9] = ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"];
        match &node.kind {
            Kind::Text { text, plain: true, .. } if YES.contains(&text.as_str()) => Some(true),
            Kind::Text { text, plain: true, .. } if NO.contains(&text.as_str()) => Some(false),
            _ => {
                self.wrong(node, "write true or false");
                None
            }
        }
    }

    /// Reads one of `known`; the error lists their names.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        known: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(node, what)?;
        if let Some((_, found)) = known.iter().find(|(name, _)| *name == text) {
            return Some(*found);
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        self.wrong(node, format!("not {what}; {}", meant(text, &names)));
        None
    }

    /// Returns the value that was read, or all mistakes.
    pub(super) fn finish<T>(self, file: &str, read: Option<T>) -> Result<T, super::RulesError> {
        match read {
            Some(read) if self.mistakes.is_empty() => Ok(read),
            _ => Err(super::RulesError::new(file, self.mistakes)),
        }
    }
}

/// The most known words that are listed.
const LISTED: usize = 20;

/// The most known words that a word is compared with.
const COMPARED: usize = 200;

/// Help: the known word that `word` may have meant, or else the first of the known words.
pub(super) fn meant(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let each = known.iter().map(|name| format!("{name:.80}"));
            format!("write one of {}", first_of(each, LISTED, ", "))
        }
    }
}

/// At most `most` names, and the number of others.
pub(super) fn first_of(
    names: impl ExactSizeIterator<Item = impl AsRef<str>>,
    most: usize,
    between: &str,
) -> String {
    let more = names.len().saturating_sub(most);
    let names: Vec<String> = names.take(most).map(|name| name.as_ref().to_owned()).collect();
    let text = names.join(between);
    if more == 0 { text } else { format!("{text} and {more} more") }
}

/// The name that was probably meant, if one is close enough: up to a third of its letters may be
/// wrong.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let far = |name: &str| strsim::osa_distance(&word, name);
    let most = |name: &str| name.chars().count().div_ceil(3);
    // No key is nearly that long, and the comparison takes time proportional to both lengths.
    let length = Some(word.chars().count()).filter(|_| word.len() <= 64)?;
    let near = known.iter().filter(|name| name.chars().count().abs_diff(length) <= most(name));
    let near = near.take(COMPARED).map(|name| (far(name), *name));
    let (distance, name) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= most(name)).then_some(name)
}
