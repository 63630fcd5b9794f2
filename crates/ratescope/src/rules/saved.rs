//! Saving the states of rules, so that they outlive a restart.

use super::memory_store::{Generation, LimitTable};
use super::{MemoryStore, Rule, Rules};
use crate::policy::Limit;
use crate::store::saved::{Saved, SavedError, Saving};
use crate::store::{KeyedLimit, names};
use crate::time::Time;
use std::sync::Arc;

impl MemoryStore {
    /// All states as bytes, as of `now`: see [saving](crate::store::saved).
    ///
    /// Other threads can go on meanwhile; an event that they decide may be missing in some limits.
    pub fn save(&self, now: Time) -> Vec<u8> {
        let generation = self.generation();
        let mut saving = Saving::new();
        for (rule, tables) in generation.rules.rules().iter().zip(&generation.tables) {
            for (name, table) in own_names(rule).iter().zip(tables) {
                saving.add(name, &table.own.keys, now);
            }
            let stretched = tables.iter().filter_map(|table| table.stretched.as_ref());
            for (name, limit) in stretched_names(rule).iter().zip(stretched) {
                saving.add(name, &limit.keys, now);
            }
        }
        saving.finish()
    }

    /// `rules` with the states that were [saved](Self::save), for at most `capacity` keys of each limit. A limit finds
    /// its states by the name of its rule, its key and the shape of its states, as at a [`reload`](Self::reload);
    /// otherwise it starts without states.
    ///
    /// # Errors
    /// When the bytes are anything else, or were cut or changed.
    pub fn restore(
        rules: impl Into<Rules>,
        capacity: usize,
        bytes: &[u8],
    ) -> Result<Self, SavedError> {
        let rules = rules.into();
        let saved = Saved::read(bytes)?;
        let restore = |limit: &Limit, name: &str| -> Result<_, SavedError> {
            Ok(Arc::new(KeyedLimit::restore(limit, capacity, name, &saved)?))
        };
        let tables = |rule: &Rule| {
            let (own, stretched) = (own_names(rule), stretched_names(rule));
            let each = rule.limits_and_stretched().zip(&own).enumerate();
            each.map(|(i, ((limit, other), name))| {
                let stretched = other.zip(stretched.get(i));
                let stretched = stretched.map(|(limit, name)| restore(limit, name)).transpose()?;
                Ok(LimitTable { own: restore(limit, name)?, stretched })
            })
            .collect()
        };
        let tables = rules.rules().iter().map(tables).collect::<Result<_, _>>()?;
        Ok(MemoryStore::with_generation(Generation::new(Arc::new(rules), tables), capacity))
    }
}

fn own_names(rule: &Rule) -> Vec<String> {
    prefixed(rule.name(), rule.limits())
}

fn stretched_names(rule: &Rule) -> Vec<String> {
    prefixed(&format!("{} stretched", rule.name()), rule.stretched())
}

fn prefixed(rule: &str, limits: &[Limit]) -> Vec<String> {
    names(limits).into_iter().map(|name| format!("{rule}: {name}")).collect()
}
