//! A probe as an observer of stores.

use super::probe::{Probe, Taps};
use ratescope::event::Event;
use ratescope::internal::ByRules;
use ratescope::rules::{Decision, Observed, Observer, Rules, Store};
use std::sync::Arc;

/// Counts the decisions of a store for a probe.
pub struct ProbeObserver {
    probe: Arc<Probe>,
    taps: ByRules<Taps>,
}

impl ProbeObserver {
    /// An observer that counts for this probe.
    pub fn new(probe: Arc<Probe>) -> Self {
        ProbeObserver { probe, taps: ByRules::default() }
    }

    fn taps(&self, rules: &Arc<Rules>) -> Arc<Taps> {
        self.taps.get(rules, |rules| self.probe.taps(rules))
    }
}

impl Observer for ProbeObserver {
    /// Viewers see the rules even before the first decision.
    fn begin(&self, rules: &Arc<Rules>) {
        self.taps(rules);
    }

    fn decided(&self, event: &Event<'_>, decision: &Decision) {
        self.taps(decision.rules()).count(decision, event);
    }
}

impl Probe {
    /// A store whose decisions this probe counts, for a layer or anything else that takes a store.
    pub fn observe<S: Store>(self: &Arc<Self>, store: S) -> Observed<S> {
        Observed::new(store).with(Arc::new(ProbeObserver::new(Arc::clone(self))))
    }
}
