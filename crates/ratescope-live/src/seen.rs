//! A store whose decisions a probe sees.

use super::probe::{Probe, Taps};
use ratescope::event::{Event, Fields};
use ratescope::internal::ByRules;
use ratescope::policy::Per;
use ratescope::rules::{
    AsyncStore, Decision, Details, Fault, Memory, Part, Reloaded, Rule, Rules, Witness, Witnessed,
};
use ratescope::time::Time;
use std::sync::Arc;

/// A store, wherever its states are, whose decisions a probe counts. It can be given to a layer, or to
/// anything else that takes a store.
#[derive(Clone)]
pub struct Seen<S>(Witnessed<S, Counting>);

/// Counts decisions for a probe.
#[derive(Clone)]
struct Counting {
    probe: Arc<Probe>,
    taps: ByRules<Taps>,
}

impl Counting {
    fn taps(&self, rules: &Arc<Rules>) -> Arc<Taps> {
        self.taps.of(rules, |rules| self.probe.taps(rules))
    }
}

impl Witness for Counting {
    fn saw(&self, event: &Event<'_>, decision: &Decision) {
        self.taps(decision.rules()).count(decision, event);
    }
}

impl<S: AsyncStore> Seen<S> {
    /// Wraps a store so that this probe counts its decisions. Viewers see the store's rules even before the
    /// first decision.
    pub fn new(store: S, probe: Arc<Probe>) -> Self {
        let witness = Counting { probe, taps: ByRules::default() };
        witness.taps(&store.rules());
        Seen(Witnessed { store, witness })
    }

    /// The wrapped store.
    pub fn inner(&self) -> &S {
        &self.0.store
    }

    /// The probe that counts the decisions.
    pub fn probe(&self) -> &Arc<Probe> {
        &self.0.witness.probe
    }
}

impl<S: AsyncStore> AsyncStore for Seen<S> {
    ratescope::forward!(self to self.0);

    async fn check_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        let within: Vec<_> = parts.iter().map(|part| part.within(|seen| &seen.0)).collect();
        Witnessed::check_all(&within, details).await
    }
}
