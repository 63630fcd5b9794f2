//! An index of the descriptors of a file, for rules in words and for why each applies.

use super::Rule;
use super::value::Step;
use std::collections::{HashMap, HashSet};

/// Rules by their paths.
pub(super) struct Paths<'a> {
    /// By a path and a key: the paths one step longer whose last step has this key, each once, in the order of the
    /// file.
    beside: HashMap<(&'a [Step], &'a str), Vec<&'a [Step]>>,
    /// The first rule within each path.
    within: HashMap<&'a [Step], &'a Rule>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(rules: impl IntoIterator<Item = &'a Rule>) -> Self {
        let mut beside = HashMap::new();
        let mut within = HashMap::new();
        let mut seen = HashSet::new();
        for rule in rules {
            for (i, step) in rule.path.iter().enumerate() {
                let (before, rest) = rule.path.split_at(i);
                let with = rule.path.get(..=i).unwrap_or_default();
                if seen.insert(with) {
                    let list: &mut Vec<&[Step]> = beside.entry((before, &*step.key)).or_default();
                    list.push(with);
                }
                if rest.len() > 1 {
                    within.entry(with).or_insert(rule);
                }
            }
        }
        Paths { beside, within }
    }

    /// The paths to the descriptors of each list with the same key.
    pub(super) fn lists(&self) -> impl Iterator<Item = &[&'a [Step]]> {
        self.beside.values().map(Vec::as_slice)
    }

    /// The steps with the key of `step` in the list that follows `before`.
    pub(super) fn beside(
        &self,
        before: &'a [Step],
        step: &'a Step,
    ) -> impl Iterator<Item = &'a Step> {
        let list = self.beside.get(&(before, &*step.key)).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|path| path.last())
    }

    /// The first rule whose descriptor lies within that of `rule`; `None` for the rule at the top, which applies beside
    /// the others.
    pub(super) fn within(&self, rule: &Rule) -> Option<&'a Rule> {
        self.within.get(rule.path.as_slice()).copied()
    }
}

/// The first rule that replaces the rules of each name.
pub(super) fn replacing<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
) -> HashMap<&'a str, &'a Rule> {
    let mut replacing = HashMap::new();
    for rule in rules {
        for name in rule.replaces() {
            replacing.entry(name.as_str()).or_insert(rule);
        }
    }
    replacing
}
