//! For each descriptor, the descriptors of its list that are chosen before it for some values.

use super::paths::Paths;
use super::value::{Step, Value};
use super::wildcards::Wildcards;
use crate::address::Index;
use crate::text::write_joined;
use core::fmt;
use std::collections::HashMap;

/// The most descriptors that are listed.
const SHOWN: usize = 5;

/// For the path to each descriptor, the descriptors that are chosen before it.
pub(super) struct Nearer<'a>(HashMap<&'a [Step], Before<'a>>);

/// The descriptors that are chosen before another: the first of them, and their number. Displayed as in ` (but
/// user=ann, user=bob)`.
#[derive(Default)]
pub(super) struct Before<'a> {
    first: Vec<&'a Step>,
    all: usize,
}

impl<'a> Nearer<'a> {
    pub(super) fn new(paths: &Paths<'a>) -> Self {
        let mut nearer = Nearer(HashMap::new());
        paths.lists().for_each(|list| nearer.add(list));
        nearer
    }

    /// The descriptors that are chosen before the descriptor at the end of a path, if any.
    pub(super) fn before(&self, path: &[Step]) -> Option<&Before<'a>> {
        self.0.get(path)
    }

    /// Adds a list of descriptors with one key. A value is chosen before networks and wildcards that match it, and
    /// these before the descriptor without a value. Of two networks or wildcards, one of which contains the other, the
    /// first in the file is chosen first; others are not compared.
    fn add(&mut self, list: &[&'a [Step]]) {
        let each = || list.iter().filter_map(|path| path.last()).enumerate();
        let mut within = Index::default();
        let mut like = Wildcards::default();
        let mut any = None;
        for (place, step) in each() {
            match &step.value {
                Value::Is(_) => {}
                Value::Within(networks) => within.push(place, networks),
                // This never fails: a file with too many wildcards that begin and end alike was refused before.
                Value::Like(wildcard) => _ = like.push(place, wildcard.clone()),
                Value::Any => any = Some(place),
            }
        }
        for (place, step) in each() {
            let mut others = match &step.value {
                Value::Is(text) => [within.having(text), like.matching(text)].concat(),
                Value::Within(networks) => within.covering(networks),
                Value::Like(wildcard) => like.matching(wildcard.as_str()),
                Value::Any => continue,
            };
            if !matches!(step.value, Value::Is(_)) {
                others.retain(|other| *other > place);
            }
            for path in others.into_iter().chain(any).filter_map(|other| list.get(other)) {
                let before = self.0.entry(path).or_default();
                before.all += 1;
                if before.all <= SHOWN {
                    before.first.push(step);
                }
            }
        }
    }
}

impl fmt::Display for Before<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(" (but ")?;
        write_joined(f, &self.first, ", ")?;
        match self.all - self.first.len() {
            0 => f.write_str(")"),
            more => write!(f, " and {more} more)"),
        }
    }
}
