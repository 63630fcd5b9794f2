//! Finds the rules that apply to an event.

use super::value::Value;
use super::wildcards::Wildcards;
use super::{Rule, Rules};
use crate::address::Index;
use crate::event::Fields;
use core::fmt;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The indices of the rules that match an event, mostly few.
pub(super) type Found = SmallVec<[usize; 8]>;

/// Finds the rules that have descriptors. A policy is one rule for all events and needs no matcher, so the linker leaves
/// the only implementation out of a program that reads no rule files, such as the page: it saves 18 kB there.
pub(super) trait Matcher: fmt::Debug + Send + Sync {
    /// Adds the rules whose descriptors match an event with these fields.
    fn find(&self, fields: &dyn Fields, found: &mut Found);

    /// Sorts the rules that were found by their place in the file, and drops those that others replace.
    fn arrange(&self, rules: &[Rule], found: &mut Found);

    /// True if any rule replaces another.
    fn has_replacements(&self) -> bool;
}

#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) top: Level,
    /// True if any rule replaces another.
    pub(super) replaces: bool,
}

impl Matcher for Descriptors {
    fn has_replacements(&self) -> bool {
        self.replaces
    }

    fn find(&self, fields: &dyn Fields, found: &mut Found) {
        match fields.descriptor() {
            None => drop(self.top.find(fields, found)),
            Some(own) => found.extend(self.top.listed(own.entries)),
        }
    }

    fn arrange(&self, rules: &[Rule], found: &mut Found) {
        found.sort_unstable();
        if !self.replaces {
            return;
        }
        let label = |place: &usize| rules.get(*place).and_then(Rule::label);
        let mut labels: Vec<&str> = found.iter().filter_map(label).collect();
        labels.sort_unstable();
        let all = found.iter().filter_map(|place| rules.get(*place));
        let names = all.flat_map(Rule::replaces).map(String::as_str);
        let mut replaced: Vec<&str> =
            names.filter(|name| labels.binary_search(name).is_ok()).collect();
        replaced.sort_unstable();
        found
            .retain(|place| label(place).is_none_or(|name| replaced.binary_search(&name).is_err()));
    }
}

/// The descriptors of one list, by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    groups: Vec<Group>,
    /// The index of the group of each key.
    places: HashMap<String, usize>,
}

/// The descriptors of one list with the same key.
#[derive(Clone, Debug, Default)]
struct Group {
    key: String,
    is: HashMap<String, Branch>,
    /// The descriptors with networks or wildcards, in the order of the file.
    several: Vec<Branch>,
    within: Index,
    like: Wildcards,
    any: Option<Branch>,
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
    /// When this or another descriptor could never be chosen, or when too many wildcards have the same ends.
    pub(super) fn add(&mut self, key: &str, value: &Value, branch: Branch) -> Result<(), String> {
        let place = *self.places.entry(key.to_owned()).or_insert(self.groups.len());
        if place == self.groups.len() {
            self.groups.push(Group { key: key.to_owned(), ..Group::default() });
        }
        let Some(group) = self.groups.get_mut(place) else { return Ok(()) };
        let other = match value {
            Value::Any => group.any.as_ref().or_else(|| group.several.get(group.like.all()?)),
            Value::Is(text) => group.is.get(text),
            Value::Within(networks) => {
                let known = group.within.covering(networks);
                known.first().and_then(|place| group.several.get(*place))
            }
            Value::Like(wildcard) => {
                let known = group.like.first(wildcard.as_str());
                let known = known.and_then(|place| group.several.get(place));
                known.or(group.any.as_ref().filter(|_| wildcard.is_all()))
            }
        };
        if let Some(other) = other {
            return Err(format!(
                "the descriptor in line {} is for the same values; one of the two could never apply",
                other.line
            ));
        }
        let place = group.several.len();
        match value {
            Value::Any => group.any = Some(branch),
            Value::Is(text) => drop(group.is.insert(text.clone(), branch)),
            Value::Within(networks) => {
                group.within.push(place, networks);
                group.several.push(branch);
            }
            Value::Like(wildcard) => {
                group.like.push(place, wildcard.clone())?;
                group.several.push(branch);
            }
        }
        Ok(())
    }

    /// Finds the rules that apply to an event with these fields; returns whether there are any.
    fn find(&self, fields: &dyn Fields, found: &mut Found) -> bool {
        let mut any = false;
        for group in &self.groups {
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
        let branch = self.groups.get(*self.places.get(*key)?)?.choose(value)?;
        if rest.is_empty() { branch.rule } else { branch.below.listed(rest) }
    }
}

impl Group {
    /// The most specific descriptor for the value: of several networks, or several wildcards, the first that matches.
    fn choose(&self, value: &str) -> Option<&Branch> {
        if let Some(is) = self.is.get(value) {
            return Some(is);
        }
        let several = || self.within.first(value).or_else(|| self.like.first(value));
        let place = if self.several.is_empty() { None } else { several() };
        place.and_then(|place| self.several.get(place)).or(self.any.as_ref())
    }
}

impl Rules {
    /// True if any rule replaces another.
    pub fn has_replacements(&self) -> bool {
        self.matcher.as_ref().is_some_and(|matcher| matcher.has_replacements())
    }

    /// True if there is a rule for all events.
    pub fn is_any_for_all(&self) -> bool {
        self.always.is_some()
    }

    /// The rules that an event with these fields has to pass, in the order of the file. Without any, the event is not
    /// limited.
    pub fn matching<'a>(&'a self, fields: &dyn Fields) -> Vec<&'a Rule> {
        let mut found = Found::new();
        self.find(fields, &mut found);
        found.into_iter().filter_map(|place| self.rules.get(place)).collect()
    }

    /// Finds the indices of the matching rules, sorted.
    pub(super) fn find(&self, fields: &dyn Fields, found: &mut Found) {
        if let Some(matcher) = &self.matcher {
            matcher.find(fields, found);
        }
        // A rule for all events applies once to a request, not to each of its descriptors.
        let is_whole = fields.descriptor().is_none_or(|own| own.is_first);
        found.extend(self.always.filter(|_| is_whole));
        if let Some(matcher) = self.matcher.as_ref().filter(|_| found.len() > 1) {
            matcher.arrange(&self.rules, found);
        }
    }
}
