//! Which rules apply to an event.

use super::value::{Value, Wildcard};
use super::{Rule, Rules};
use crate::event::Fields;
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
    like: Vec<(Wildcard, Branch)>,
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
    /// When it, or another one, could never be chosen: the line of the other one.
    pub(super) fn add(&mut self, key: &str, value: &Value, branch: Branch) -> Result<(), usize> {
        let place = self.0.iter().position(|group| group.key == key).unwrap_or_else(|| {
            let (is, like) = (HashMap::new(), Vec::new());
            self.0.push(Group { key: key.to_owned(), is, like, any: None });
            self.0.len() - 1
        });
        let Some(group) = self.0.get_mut(place) else { return Ok(()) };
        let other = match value {
            Value::Any => {
                let all = |(wildcard, _): &&(Wildcard, Branch)| wildcard.is_all();
                group.any.as_ref().or(group.like.iter().find(all).map(|(_, branch)| branch))
            }
            Value::Is(text) => group.is.get(text),
            Value::Like(new) => {
                let covers = |(known, _): &&(Wildcard, Branch)| known.covers(new);
                let known = group.like.iter().find(covers).map(|(_, branch)| branch);
                known.or(group.any.as_ref().filter(|_| new.is_all()))
            }
        };
        if let Some(other) = other {
            return Err(other.line);
        }
        match value {
            Value::Any => group.any = Some(branch),
            Value::Is(text) => drop(group.is.insert(text.clone(), branch)),
            Value::Like(wildcard) => group.like.push((wildcard.clone(), branch)),
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
}

impl Group {
    /// The most specific descriptor for the value.
    fn choose(&self, value: &str) -> Option<&Branch> {
        let like = || self.like.iter().find(|(wildcard, _)| wildcard.matches(value));
        let like = || like().map(|(_, branch)| branch);
        self.is.get(value).or_else(like).or(self.any.as_ref())
    }
}

impl Rules {
    /// The rules that an event with these fields has to pass, in the order of the file. If there are
    /// none, it is not limited.
    pub fn matching<'a>(&'a self, fields: &dyn Fields) -> Vec<&'a Rule> {
        self.places(fields).into_iter().filter_map(|place| self.rules.get(place)).collect()
    }

    /// The indices of the matching rules, sorted.
    pub(super) fn places(&self, fields: &dyn Fields) -> Places {
        let mut found = Places::new();
        self.top.find(fields, &mut found);
        found.extend(self.always);
        found.sort_unstable();
        if self.replaces {
            let all: Vec<&Rule> = found.iter().filter_map(|&place| self.rules.get(place)).collect();
            let replaced = |place: &usize| {
                let rule = self.rules.get(*place);
                rule.is_some_and(|rule| all.iter().any(|other| other.does_replace(rule)))
            };
            found.retain(|place| !replaced(place));
        }
        found
    }
}
