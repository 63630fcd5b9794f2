//! New rules in place of the old ones, while events come in.
//!
//! The rules are exchanged at once: each event is decided by the old ones or by the new ones. Rules
//! that are wrong change nothing. What is remembered of each key is carried over, limit by limit:
//!
//! * A limit that is in the new rule as it was in the old one of the same name goes on with the same
//!   states, whatever else changes in the rule, and wherever in the file it stands.
//! * Where a rule's name changes (its domain, its keys and values), or the limit's key, or what shapes
//!   the state of its limiter, the limit starts anew, and [`Changes`] says so.

use super::ruled::{Generation, Home, Ruled, places};
use super::{Rule, Rules, RulesError};
use crate::policy::Limit;
use crate::store::Store;
use crate::time::Time;
use core::fmt;
use std::sync::{Arc, PoisonError};

/// What came of a reload.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "rules that were rejected are not in force"]
pub enum Reloaded {
    /// The rules say what they said before; nothing was done.
    Unchanged,
    /// The new rules are in force.
    Applied(Changes),
    /// The new rules are wrong, for these reasons; the old ones stay in force, all of them.
    Rejected(RulesError),
}

/// What became of the limits, each written as its rule's name and the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Those that go on with the states that they had.
    pub kept: Vec<String>,
    /// Those that know no key yet: new ones, and those whose states mean something else now.
    pub anew: Vec<String>,
    /// Those that are there no longer, in this shape.
    pub gone: Vec<String>,
}

impl Reloaded {
    /// A word for a counter: `unchanged`, `applied` or `rejected`.
    pub fn name(&self) -> &'static str {
        match self {
            Reloaded::Unchanged => "unchanged",
            Reloaded::Applied(_) => "applied",
            Reloaded::Rejected(_) => "rejected",
        }
    }
}

/// As in `applied: 3 limits go on, 1 starts anew (web:user: gcra 5/1s burst 5 per user)`.
impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Reloaded::Unchanged => Ok(()),
            Reloaded::Applied(Changes { kept, anew, gone }) => {
                write!(f, ": {} go on", kept.len())?;
                for (what, limits) in [("start anew", anew), ("are gone", gone)] {
                    if !limits.is_empty() {
                        write!(f, ", {} {what} ({})", limits.len(), limits.join("; "))?;
                    }
                }
                Ok(())
            }
            Reloaded::Rejected(error) => write!(f, ", and the old rules stay:\n{error}"),
        }
    }
}

impl Ruled {
    /// Reads rules, and puts them in force if nothing is wrong with them. `file` is their name, for
    /// errors.
    pub fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        match Rules::read(file, text) {
            Ok(rules) => self.replace(rules, now),
            Err(error) => Reloaded::Rejected(error),
        }
    }

    /// Puts rules in force that were read before.
    pub fn replace(&self, rules: Rules, _now: Time) -> Reloaded {
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.current.load_full();
        if old.rules.say_the_same_as(&rules) {
            return Reloaded::Unchanged;
        }
        let mut carried = Carried { old: &old, taken: Vec::new(), changes: Changes::default() };
        let capacity = self.capacity();
        let homes = rules.rules().iter().map(|rule| carried.homes(rule, capacity)).collect();
        let changes = carried.finish();
        self.current.store(Arc::new(Generation { rules: Arc::new(rules), homes }));
        Reloaded::Applied(changes)
    }
}

/// What is carried over from the old rules.
struct Carried<'a> {
    old: &'a Generation,
    taken: Vec<&'a Arc<Store>>,
    changes: Changes,
}

impl<'a> Carried<'a> {
    /// The states for the limits of a rule.
    fn homes(&mut self, rule: &Rule, capacity: usize) -> Vec<Home> {
        places(rule).map(|place| self.home(rule, place, capacity)).collect()
    }

    fn home(&mut self, rule: &Rule, place: (&Limit, Option<&Limit>), capacity: usize) -> Home {
        let old = self.old.named(rule.name()).unwrap_or_default();
        let mut home = Home::new(place, capacity);
        let own = old.iter().map(|old| &old.own).find(|store| has(store, place.0));
        let stretched = old.iter().filter_map(|old| old.stretched.as_ref());
        let stretched =
            stretched.into_iter().find(|store| place.1.is_some_and(|limit| has(store, limit)));
        let text = format!("{}: {}", rule.name(), place.0);
        match own {
            Some(store) => {
                home.own = Arc::clone(store);
                self.taken.push(store);
                self.changes.kept.push(text);
            }
            None => self.changes.anew.push(text),
        }
        if let Some(store) = stretched {
            home.stretched = Some(Arc::clone(store));
        }
        home
    }

    fn finish(mut self) -> Changes {
        for (rule, homes) in self.old.rules.rules().iter().zip(&self.old.homes) {
            for (limit, home) in rule.limits().iter().zip(homes) {
                if !self.taken.iter().any(|taken| Arc::ptr_eq(taken, &home.own)) {
                    self.changes.gone.push(format!("{}: {limit}", rule.name()));
                }
            }
        }
        self.changes
    }
}

/// Whether a store holds the states of this very limit.
fn has(store: &Store, limit: &Limit) -> bool {
    store.policy().limits() == core::slice::from_ref(limit)
}

impl Generation {
    /// The states of the rule of this name.
    fn named(&self, name: &str) -> Option<&[Home]> {
        let place = self.rules.rules().iter().position(|rule| rule.name() == name)?;
        self.homes.get(place).map(Vec::as_slice)
    }
}
