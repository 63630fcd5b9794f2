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

use super::memory_store::{Generation, LimitTable};
use super::reader::first_of;
use super::{MemoryStore, Rule, Rules, RulesError, Store};
use crate::policy::Limit;
use crate::store::KeyedLimit;
use crate::time::Time;
use core::fmt;
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

/// What a reload did to each limit. A limit is written as the name of its rule and the limit.
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

/// As in `applied: 3 go on, 1 start anew (web:user: gcra 5/1s burst 5 per user)`.
impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Reloaded::Unchanged => Ok(()),
            Reloaded::Applied(Changes { kept, changed, new, removed }) => {
                write!(f, ": {} go on", kept.len())?;
                let told = [
                    ("go on with other numbers", changed),
                    ("start anew", new),
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
                let renamed = Generation::new(Arc::new(rules), old.tables.clone());
                self.current.store(Arc::new(renamed));
            }
            return Reloaded::Unchanged;
        }
        let mut carried = Carried::new(&old, now, self.capacity());
        let tables = rules.rules().iter().map(|rule| carried.tables(rule)).collect();
        let changes = carried.finish();
        self.current.store(Arc::new(Generation::new(Arc::new(rules), tables)));
        Reloaded::Applied(changes)
    }
}

/// Carries the states of the old rules over to new ones.
struct Carried<'a> {
    old: &'a Generation,
    /// The states of each old rule, by its name.
    named: HashMap<&'a str, &'a [LimitTable]>,
    /// The old states that were used. Each is used once: two limits with the same states would lock a key twice, and
    /// count each event twice.
    taken: HashSet<*const KeyedLimit>,
    changes: Changes,
    now: Time,
    capacity: usize,
}

impl<'a> Carried<'a> {
    fn new(old: &'a Generation, now: Time, capacity: usize) -> Self {
        let each = old.rules.rules().iter().zip(&old.tables);
        let named = each.map(|(rule, tables)| (rule.name(), tables.as_slice())).collect();
        Carried { old, named, taken: HashSet::new(), changes: Changes::default(), now, capacity }
    }

    /// The states for the limits of a rule: first for unchanged limits, and then, from the remaining states, for
    /// changed limits.
    fn tables(&mut self, rule: &Rule) -> Vec<LimitTable> {
        let old = self.named.get(rule.name()).copied().unwrap_or_default();
        let own = || old.iter().map(|table| &table.own);
        let same: Vec<_> = rule.limits().iter().map(|limit| self.same(limit, own())).collect();
        let each = rule.limits_and_stretched().zip(same);
        each.map(|(limits, same)| self.table(rule.name(), limits, same, old)).collect()
    }

    fn table(
        &mut self,
        rule: &str,
        (limit, stretched): (&Limit, Option<&Limit>),
        same: Option<Arc<KeyedLimit>>,
        old: &'a [LimitTable],
    ) -> LimitTable {
        let text = format!("{rule}: {limit}");
        let own = if let Some(states) = same {
            self.changes.kept.push(text);
            states
        } else if let Some(states) = self.changed(limit, old.iter().map(|table| &table.own)) {
            self.changes.changed.push(text);
            states
        } else {
            self.changes.new.push(text);
            self.new_states(limit)
        };
        let stretched = stretched.map(|limit| self.stretched(limit, &own, old));
        LimitTable { own, stretched }
    }

    /// The old states of exactly this limit, if they were not used yet.
    fn same(
        &mut self,
        limit: &Limit,
        mut old: impl Iterator<Item = &'a Arc<KeyedLimit>>,
    ) -> Option<Arc<KeyedLimit>> {
        let is_left = |states: &&Arc<KeyedLimit>| !self.taken.contains(&Arc::as_ptr(states));
        let states = old.find(|states| states.is_for(limit) && is_left(states))?;
        self.taken.insert(Arc::as_ptr(states));
        Some(Arc::clone(states))
    }

    /// The states for a limit with other numbers, from states that were not used yet.
    fn changed(
        &mut self,
        limit: &Limit,
        old: impl Iterator<Item = &'a Arc<KeyedLimit>>,
    ) -> Option<Arc<KeyedLimit>> {
        let mut left = old.filter(|states| !self.taken.contains(&Arc::as_ptr(states)));
        let (from, states) =
            left.find_map(|states| Some((states, states.carried(limit, self.now)?)))?;
        self.taken.insert(Arc::as_ptr(from));
        Some(Arc::new(states))
    }

    /// The states for a stretched limit. A new stretched limit begins with the states of the limit itself, so that
    /// nobody gains a burst by the change.
    fn stretched(
        &mut self,
        limit: &Limit,
        own: &KeyedLimit,
        old: &'a [LimitTable],
    ) -> Arc<KeyedLimit> {
        let before = || old.iter().filter_map(|table| table.stretched.as_ref());
        self.same(limit, before())
            .or_else(|| self.changed(limit, before()))
            .or_else(|| own.carried(limit, self.now).map(Arc::new))
            .unwrap_or_else(|| self.new_states(limit))
    }

    fn new_states(&self, limit: &Limit) -> Arc<KeyedLimit> {
        Arc::new(KeyedLimit::new(limit, self.capacity))
    }

    fn finish(mut self) -> Changes {
        for (rule, tables) in self.old.rules.rules().iter().zip(&self.old.tables) {
            for (limit, table) in rule.limits().iter().zip(tables) {
                if !self.taken.contains(&Arc::as_ptr(&table.own)) {
                    self.changes.removed.push(format!("{}: {limit}", rule.name()));
                }
            }
        }
        self.changes
    }
}
