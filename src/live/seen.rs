//! A store whose decisions a probe sees.

use super::probe::{Probe, Taps};
use crate::event::Event;
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, AsyncStore, Rules, Witness, Witnessed};
use std::sync::Arc;

/// A store, wherever its states are, whose decisions a probe counts. It can be given to a layer, or to whatever
/// else asks a store.
pub type Seen<S> = Witnessed<S, Counting>;

/// Counts decisions for a probe.
pub struct Counting {
    probe: Arc<Probe>,
    taps: ByRules<Taps>,
}

impl Counting {
    fn taps(&self, rules: &Arc<Rules>) -> Arc<Taps> {
        self.taps.of(rules, |rules| self.probe.taps(rules))
    }
}

impl Witness for Counting {
    fn saw(&self, event: &Event<'_>, Answered { ruling, .. }: &Answered) {
        self.taps(ruling.rules()).count(ruling, event);
    }
}

impl<S: AsyncStore> Witnessed<S, Counting> {
    /// The store, seen by this probe. Viewers see its rules before its first decision.
    pub fn new(store: S, probe: Arc<Probe>) -> Self {
        let witness = Counting { probe, taps: ByRules::default() };
        witness.taps(&store.rules());
        Witnessed { store, witness }
    }

    /// The store.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// The probe.
    pub fn probe(&self) -> &Arc<Probe> {
        &self.witness.probe
    }
}
