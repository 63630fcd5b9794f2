//! Finds the rules that apply to an event.

use super::value::{Value, Wildcard};
use super::{Rule, Rules};
use crate::address::Networks;
use crate::event::{Descriptor, Fields};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The indices of rules; an event has few.
pub(super) type Places = SmallVec<[usize; 8]>;

/// The descriptors of one list, by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Level(Vec<Group>);

/// The descriptors of one list with the same key.
#[derive(Clone, Debug)]
struct Group {
    key: String,
    is: HashMap<String, Branch>,
    /// In their order.
    within: Vec<(Networks, Branch)>,
    like: Like,
    any: Option<Branch>,
}

/// The descriptors of wildcards, in their order, found by the texts before their first star and after
/// their last one. Many wildcards rarely share both.
#[derive(Clone, Debug, Default)]
struct Like {
    all: Vec<(Wildcard, Branch)>,
    /// The places of those with these ends.
    by_ends: HashMap<String, HashMap<String, Vec<usize>>>,
    /// The different lengths of both ends.
    lengths: Vec<[usize; 2]>,
}

/// A descriptor: its rule, as an index into [`Rules::rules`], and the descriptors in it.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) line: usize,
    pub(super) rule: Option<usize>,
    pub(super) below: Level,
}

impl Level {
    /// Adds a descriptor after the others.
    ///
    /// # Errors
    /// When it, or another one, could never be chosen: the line of the other one.
    pub(super) fn add(&mut self, key: &str, value: &Value, branch: Branch) -> Result<(), usize> {
        let place = self.0.iter().position(|group| group.key == key).unwrap_or_else(|| {
            let (is, within, like) = (HashMap::new(), Vec::new(), Like::default());
            self.0.push(Group { key: key.to_owned(), is, within, like, any: None });
            self.0.len() - 1
        });
        let Some(group) = self.0.get_mut(place) else { return Ok(()) };
        let other = match value {
            Value::Any => group.any.as_ref().or_else(|| group.like.all()),
            Value::Is(text) => group.is.get(text),
            Value::Within(new) => {
                let covers = |known: &&(Networks, Branch)| known.0.covers(new);
                group.within.iter().find(covers).map(|(_, branch)| branch)
            }
            Value::Like(new) => {
                let known = group.like.find(new.as_str());
                known.or(group.any.as_ref().filter(|_| new.is_all()))
            }
        };
        if let Some(other) = other {
            return Err(other.line);
        }
        match value {
            Value::Any => group.any = Some(branch),
            Value::Is(text) => drop(group.is.insert(text.clone(), branch)),
            Value::Within(networks) => group.within.push((networks.clone(), branch)),
            Value::Like(wildcard) => group.like.push(wildcard.clone(), branch),
        }
        Ok(())
    }

    /// Finds the rules that apply to an event with these fields; returns whether there are any.
    fn find(&self, fields: &dyn Fields, found: &mut Places) -> bool {
        let mut any = false;
        for group in &self.0 {
            let value = fields.value(&group.key).filter(|value| !value.is_empty());
            let Some(branch) = value.and_then(|value| group.choose(value)) else { continue };
            // The deepest descriptor with a rule counts.
            any |= branch.below.find(fields, found)
                || branch.rule.is_some_and(|rule| {
                    found.push(rule);
                    true
                });
        }
        any
    }

    /// The rule with exactly these keys in this order.
    fn listed(&self, entries: &[(&str, &str)]) -> Option<usize> {
        let [(key, value), rest @ ..] = entries else { return None };
        let branch = self.0.iter().find(|group| group.key == *key)?.choose(value)?;
        if rest.is_empty() { branch.rule } else { branch.below.listed(rest) }
    }
}

impl Group {
    /// The most specific descriptor for the value.
    fn choose(&self, value: &str) -> Option<&Branch> {
        let is = self.is.get(value).or_else(|| self.within(value));
        is.or_else(|| self.like.find(value)).or(self.any.as_ref())
    }

    /// The first descriptor with networks that have this address.
    fn within(&self, value: &str) -> Option<&Branch> {
        let has = |within: &&(Networks, Branch)| within.0.has(value);
        self.within.iter().find(has).map(|(_, branch)| branch)
    }
}

impl Like {
    fn push(&mut self, wildcard: Wildcard, branch: Branch) {
        let [first, last] = wildcard.ends();
        let lengths = [first.len(), last.len()];
        if !self.lengths.contains(&lengths) {
            self.lengths.push(lengths);
        }
        let places = self.by_ends.entry(first.to_owned()).or_default();
        places.entry(last.to_owned()).or_default().push(self.all.len());
        self.all.push((wildcard, branch));
    }

    /// The descriptor of the first wildcard that matches the text. With the text of a wildcard, that is
    /// the first which [covers](Wildcard::covers) it.
    fn find(&self, text: &str) -> Option<&Branch> {
        let mut first: Option<usize> = None;
        for [before, after] in &self.lengths {
            let end = text.len().checked_sub(*after).filter(|end| end >= before);
            let ends = text.get(..*before).zip(end.and_then(|end| text.get(end..)));
            let places = ends.and_then(|(before, after)| self.by_ends.get(before)?.get(after));
            let earlier = |place: &&usize| first.is_none_or(|first| **place < first);
            let matches =
                |place: &&usize| self.all.get(**place).is_some_and(|(w, _)| w.matches(text));
            let places = places.into_iter().flatten().take_while(earlier);
            first = places.copied().find(|place| matches(&place)).or(first);
        }
        Some(&self.all.get(first?)?.1)
    }

    /// The descriptor of the wildcard that matches everything.
    fn all(&self) -> Option<&Branch> {
        self.all.iter().find(|(wildcard, _)| wildcard.is_all()).map(|(_, branch)| branch)
    }
}

impl Rules {
    /// Whether any rule replaces another.
    #[cfg(all(feature = "run", not(target_arch = "wasm32")))]
    pub(crate) fn has_replacements(&self) -> bool {
        self.replaces
    }

    /// The rules that an event with these fields has to pass, in the order of the file. If there are
    /// none, it is not limited.
    pub fn matching<'a>(&'a self, fields: &dyn Fields) -> Vec<&'a Rule> {
        let mut found = Places::new();
        self.find(fields, &mut found);
        found.into_iter().filter_map(|place| self.rules.get(place)).collect()
    }

    /// Finds the indices of the matching rules, sorted.
    pub(super) fn find(&self, fields: &dyn Fields, found: &mut Places) {
        match fields.descriptor() {
            None => {
                self.top.find(fields, found);
                found.extend(self.always);
            }
            Some(Descriptor { entries, is_first }) => {
                found.extend(self.top.listed(entries));
                found.extend(self.always.filter(|_| is_first));
            }
        }
        if found.len() > 1 {
            found.sort_unstable();
        }
        if self.replaces {
            let all: Vec<&Rule> = found.iter().filter_map(|&place| self.rules.get(place)).collect();
            let replaced = |place: &usize| {
                let rule = self.rules.get(*place);
                rule.is_some_and(|rule| all.iter().any(|other| other.does_replace(rule)))
            };
            found.retain(|place| !replaced(place));
        }
    }
}
