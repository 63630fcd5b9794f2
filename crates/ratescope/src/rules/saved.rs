//! Saving the states of rules, so that they outlive a restart.

use super::memory_store::Generation;
use super::{MemoryStore, Rules};
use crate::policy::{Limit, state_names};
use crate::store::KeyedLimit;
use crate::store::saved::{Saved, SavedError, Saving};
use crate::time::Time;
use std::sync::Arc;

impl MemoryStore {
    /// All states as bytes, as of `now`: see [saving](crate::store::saved).
    ///
    /// Other threads can go on meanwhile; an event that they decide may be missing in some limits.
    pub fn save(&self, now: Time) -> Vec<u8> {
        let generation = self.generation();
        let mut saving = Saving::new();
        for (name, limit) in names(&generation.rules).iter().zip(&generation.limits) {
            saving.add(name, &limit.keys, now);
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
        let each = names(&rules).into_iter().zip(rules.plan());
        let limits = each.map(|(name, planned)| {
            Ok(Arc::new(KeyedLimit::restore(&planned.limit, capacity, &name, &saved)?))
        });
        let limits = limits.collect::<Result<_, SavedError>>()?;
        Ok(MemoryStore::with_generation(Generation::new(Arc::new(rules), limits), capacity))
    }
}

/// The names of the limits of a plan among the saved states, in its order.
fn names(rules: &Rules) -> Vec<String> {
    let mut names = vec![String::new(); rules.plan().len()];
    for (r, rule) in rules.rules().iter().enumerate() {
        for (limits, is_relaxed) in [(rule.limits(), false), (rule.relaxed(), true)] {
            let relaxed = if is_relaxed { " relaxed" } else { "" };
            let own = rules.plan_of(r).filter(|at| rules.plan()[*at].is_relaxed == is_relaxed);
            for (at, (limit, name)) in own.zip(limits.iter().zip(state_names(limits))) {
                let Limit { per, .. } = limit;
                names[at] = format!("{}{relaxed}: {name} per {per}", rule.name());
            }
        }
    }
    names
}
