//! The rules of a file with their states: answers are counted, whichever way a question came.

use super::meters::FileMeters;
use ratescope::event::Event;
use ratescope::internal::ByRules;
use ratescope::rules::{AnyStore, AsyncStore, Decision, Witness, Witnessed};
use ratescope_live::{Probe, Seen};
use ratescope_tower::internal::{Outages, Teller};
use std::sync::Arc;

/// A store whose answers are counted, and seen by a probe.
pub(super) type DomainStore = Witnessed<Seen<AnyStore>, Counters>;

/// The counters of answers.
#[derive(Clone)]
pub(super) struct Counters {
    by_rules: ByRules<FileMeters>,
    /// The headers and counters of the layer.
    pub(super) teller: Arc<Teller>,
}

impl Witness for Counters {
    fn saw(&self, event: &Event<'_>, decision: &Decision) {
        let meters = self.by_rules.of(decision.rules(), FileMeters::new);
        meters.count(decision, event.cost);
    }
}

/// The domain whose states are in `store`.
pub(super) fn of(store: AnyStore, probe: &Arc<Probe>, outages: &Arc<Outages>) -> Arc<DomainStore> {
    let (by_rules, teller) = (ByRules::default(), Arc::new(Teller::new(Arc::clone(outages))));
    // So that the counters are seen before the first event.
    by_rules.of(&store.rules(), FileMeters::new);
    let store = Seen::new(store, Arc::clone(probe));
    Arc::new(Witnessed { store, witness: Counters { by_rules, teller } })
}
