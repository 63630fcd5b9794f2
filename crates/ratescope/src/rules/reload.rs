//! Replacing the rules while events come in.
//!
//! A reload replaces all rules at once: each event is decided by the old rules or by the new ones. Rules with mistakes
//! change nothing. The states of the keys are carried over, limit by limit:
//!
//! * A limit that is unchanged in the rule of the same name keeps its states, also when the
//!   rest of the rule changes or the rule is in another place of the file.
//! * A limit with other numbers but the same shape of states (see [`kept`](crate::limit::kept)) keeps these states
//!   under the new numbers: what was counted stays counted. The states are copied; decisions of other threads meanwhile
//!   may count in the old states only.
//! * A limit starts without states if its rule has another name (its domain, its keys and values), or if the limit's
//!   key or its shape changes. [`Changes`] lists such limits.

use super::memory_store::Generation;
use super::reader::first_of;
use super::{MemoryStore, PlannedLimit, Rule, Rules, RulesError, Store};
use crate::store::KeyedLimit;
use crate::time::Time;
use core::fmt;
use core::ops::Range;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

/// The result of a reload.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "rules that were rejected are not in force"]
pub enum Reloaded {
    /// The rules are the same as before; nothing was done.
    Unchanged,
    /// The new rules are in force.
    Applied(Changes),
    /// The new rules have these mistakes. All the old ones stay in force.
    Rejected(RulesError),
}

/// The effect of a reload on each limit. A limit is written as the name of its rule and the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Limits that go on unchanged.
    pub kept: Vec<String>,
    /// Limits that go on with other numbers.
    pub changed: Vec<String>,
    /// Limits that start without states: new ones, and those whose old states no longer fit.
    pub new: Vec<String>,
    /// Limits that no longer exist; their states are dropped.
    pub removed: Vec<String>,
}

impl Reloaded {
    /// A word for metrics: `unchanged`, `applied` or `rejected`.
    pub fn name(&self) -> &'static str {
        match self {
            Reloaded::Unchanged => "unchanged",
            Reloaded::Applied(_) => "applied",
            Reloaded::Rejected(_) => "rejected",
        }
    }
}

/// The most limits of each kind that are named.
const TOLD: usize = 5;

/// As in `applied: 3 go on, 1 start over (web:user: gcra 5/1s burst 5 per user)`.
impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Reloaded::Unchanged => Ok(()),
            Reloaded::Applied(Changes { kept, changed, new, removed }) => {
                write!(f, ": {} go on", kept.len())?;
                let told = [
                    ("go on with other numbers", changed),
                    ("start over", new),
                    ("are gone", removed),
                ];
                for (what, limits) in told.into_iter().filter(|(_, limits)| !limits.is_empty()) {
                    let named = first_of(limits.iter(), TOLD, "; ");
                    write!(f, ", {} {what} ({named})", limits.len())?;
                }
                Ok(())
            }
            Reloaded::Rejected(error) => write!(f, ", and the old rules stay:\n{error}"),
        }
    }
}

impl MemoryStore {
    /// Reads rules, and puts them in force if they have no mistakes. `file` is their name, for errors.
    /// States of limits that change are converted at `now`, by the clock of the events.
    pub fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        Store::reload(self, file, text, now)
    }

    /// Puts `rules` in force.
    pub fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.current.load_full();
        if old.rules.say_the_same_as(&rules) {
            // Only the name of the file is new.
            if old.rules.file() != rules.file() {
                let renamed = Generation::new(Arc::new(rules), old.limits.clone());
                self.current.store(Arc::new(renamed));
            }
            return Reloaded::Unchanged;
        }
        let mut carried = Carried::new(&old, now, self.capacity());
        let limits = (0..rules.rules().len()).flat_map(|rule| carried.limits(&rules, rule));
        let limits = limits.collect();
        let changes = carried.finish();
        self.current.store(Arc::new(Generation::new(Arc::new(rules), limits)));
        Reloaded::Applied(changes)
    }
}

/// Carries the states of the old rules over to new ones.
struct Carried<'a> {
    old: &'a Generation,
    /// The limits of each old rule, as a range of the plan, by the name of the rule.
    named: HashMap<&'a str, Range<usize>>,
    /// The old limits whose states were used. Each is used once: two limits with the same states would lock a key twice,
    /// and count each event twice.
    taken: HashSet<usize>,
    changes: Changes,
    now: Time,
    capacity: usize,
}

impl<'a> Carried<'a> {
    fn new(old: &'a Generation, now: Time, capacity: usize) -> Self {
        let each = old.rules.rules().iter().enumerate();
        let named = each.map(|(r, rule)| (rule.name(), old.rules.plan_of(r))).collect();
        Carried { old, named, taken: HashSet::new(), changes: Changes::default(), now, capacity }
    }

    /// The states for the limits of a rule: first for unchanged limits, and then, from the remaining states, for
    /// changed limits.
    fn limits(&mut self, rules: &Rules, rule: usize) -> Vec<Arc<KeyedLimit>> {
        let Some(name) = rules.rules().get(rule).map(Rule::name) else { return Vec::new() };
        let old = self.named.get(name).cloned().unwrap_or_default();
        let plan = rules.plan().get(rules.plan_of(rule)).unwrap_or_default();
        let same: Vec<_> = plan.iter().map(|planned| self.same(planned, old.clone())).collect();
        let mut limits: Vec<Arc<KeyedLimit>> = Vec::new();
        for (planned, same) in plan.iter().zip(same) {
            let text = format!("{name}: {}", planned.limit);
            let carried = same
                .map(|states| (states, true))
                .or_else(|| self.changed(planned, old.clone()).map(|states| (states, false)));
            let states = match carried {
                Some((states, _)) if planned.is_relaxed => states,
                Some((states, is_same)) => {
                    let Changes { kept, changed, .. } = &mut self.changes;
                    if is_same { kept } else { changed }.push(text);
                    states
                }
                // A new relaxed form begins with the states of the limit as written, which is the one before, so that
                // nobody gains a burst by the change.
                None if planned.is_relaxed => limits
                    .last()
                    .and_then(|written| written.carried(&planned.limit, self.now))
                    .map_or_else(|| self.new_states(planned), Arc::new),
                None => {
                    self.changes.new.push(text);
                    self.new_states(planned)
                }
            };
            limits.push(states);
        }
        limits
    }

    /// The old limits of the same form whose states were not used yet.
    fn left(&self, planned: &PlannedLimit, old: Range<usize>) -> impl Iterator<Item = usize> {
        let is_relaxed = planned.is_relaxed;
        old.filter(move |at| {
            self.old.rules.plan()[*at].is_relaxed == is_relaxed && !self.taken.contains(at)
        })
    }

    /// The old states of exactly this limit, if they were not used yet.
    fn same(&mut self, planned: &PlannedLimit, old: Range<usize>) -> Option<Arc<KeyedLimit>> {
        let limits = &self.old.limits;
        let at = self.left(planned, old).find(|at| limits[*at].is_for(&planned.limit))?;
        self.taken.insert(at);
        Some(Arc::clone(&limits[at]))
    }

    /// The states for a limit with other numbers, from states that were not used yet.
    fn changed(&mut self, planned: &PlannedLimit, old: Range<usize>) -> Option<Arc<KeyedLimit>> {
        let carried =
            |at: usize| Some((at, self.old.limits[at].carried(&planned.limit, self.now)?));
        let (at, states) = self.left(planned, old).find_map(carried)?;
        self.taken.insert(at);
        Some(Arc::new(states))
    }

    fn new_states(&self, planned: &PlannedLimit) -> Arc<KeyedLimit> {
        Arc::new(KeyedLimit::new(&planned.limit, self.capacity))
    }

    fn finish(mut self) -> Changes {
        for (at, planned) in self.old.rules.plan().iter().enumerate() {
            if !planned.is_relaxed && !self.taken.contains(&at) {
                let rule = self.old.rules.rules().get(planned.rule).map_or("", Rule::name);
                self.changes.removed.push(format!("{rule}: {}", planned.limit));
            }
        }
        self.changes
    }
}
