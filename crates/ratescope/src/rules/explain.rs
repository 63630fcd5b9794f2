//! Why a rule applies to an event, or does not.

use super::paths::{Paths, replacing};
use super::value::{Step, Value};
use super::{Rule, Rules};
use crate::event::Fields;
use core::fmt;
use std::collections::HashMap;

/// Why a rule applies to an event, or does not.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Why<'a> {
    /// The rule applies: the event has to pass it.
    Applies,
    /// The event does not have this field, or the field is empty.
    Missing(&'a Step),
    /// The field has another value.
    Other(&'a Step),
    /// This descriptor of the same list is more specific about the value.
    Nearer(&'a Step),
    /// This rule within its descriptor applies.
    Deeper(&'a Rule),
    /// This rule applies and replaces it.
    Replaced(&'a Rule),
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Applies => f.write_str("applies"),
            Why::Missing(step) => write!(f, "the event has no {}", step.key),
            Why::Other(step) => write!(f, "the event has another {}", step.key),
            Why::Nearer(step) => write!(f, "{step} is more specific"),
            Why::Deeper(rule) => write!(f, "{} lies within it", rule.name()),
            Why::Replaced(rule) => write!(f, "{} replaces it", rule.name()),
        }
    }
}

impl Rules {
    /// For each rule, in the order of the file, why it applies to an event with these fields or does not.
    ///
    /// This looks at all rules, one after the other, and agrees with [`matching`](Self::matching), which uses an index.
    pub fn explain<'a>(&'a self, fields: &dyn Fields) -> Vec<(&'a Rule, Why<'a>)> {
        let paths = Paths::new(&self.rules);
        let mut nearest = HashMap::new();
        let lead = |rule: &'a Rule| (rule, leads_astray(rule, fields, &paths, &mut nearest));
        let all: Vec<(&Rule, Option<Why<'_>>)> = self.rules.iter().map(lead).collect();
        let reached = || all.iter().filter(|(_, why)| why.is_none()).map(|(rule, _)| *rule);
        let deeper = Paths::new(reached());
        let replaced = replacing(reached().filter(|rule| deeper.within(rule).is_none()));
        let why = |(rule, why): &(&'a Rule, Option<Why<'a>>)| {
            let replaced = || replaced.get(rule.label()?).copied().map(Why::Replaced);
            let why = why.or_else(|| deeper.within(rule).map(Why::Deeper)).or_else(replaced);
            (*rule, why.unwrap_or(Why::Applies))
        };
        all.iter().map(why).collect()
    }
}

/// Why the path to a rule does not match the event; `None` if it does. `nearest` caches the step that is chosen in each
/// list, by the path before it and the key.
fn leads_astray<'a>(
    rule: &'a Rule,
    fields: &dyn Fields,
    paths: &Paths<'a>,
    nearest: &mut HashMap<(&'a [Step], &'a str), Option<&'a Step>>,
) -> Option<Why<'a>> {
    rule.path.iter().enumerate().find_map(|(i, step)| {
        let value = fields.value(&step.key).filter(|value| !value.is_empty());
        let Some(value) = value else { return Some(Why::Missing(step)) };
        if !step.value.matches(value) {
            return Some(Why::Other(step));
        }
        let before = rule.path.get(..i).unwrap_or_default();
        let nearest = nearest.entry((before, &*step.key)).or_insert_with(|| {
            let all = paths.beside(before, step);
            all.filter(|other| other.value.matches(value)).min_by_key(|other| rank(other))
        });
        nearest.filter(|first| *first != step).map(Why::Nearer)
    })
}

/// The rank of a step, the most specific first. Of several networks or wildcards, the first in the file is chosen.
fn rank(step: &Step) -> u8 {
    match step.value {
        Value::Is(_) => 0,
        Value::Within(_) => 1,
        Value::Like(_) => 2,
        Value::Any => 3,
    }
}
