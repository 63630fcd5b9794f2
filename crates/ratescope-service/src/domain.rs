//! The rules of a file with their states, whose decisions are counted for gRPC and HTTP alike.

use super::meters::{FileMeters, MetricNames};
use super::states::Opened;
use ratescope::event::Event;
use ratescope::internal::ByRules;
use ratescope::rules::{
    Decision, Exceptions, MemoryStore, Observed, Observer, Rules, Store, TopKeys,
};
use ratescope_live::{Probe, ProbeObserver};
use ratescope_tower::internal::{FrontEnd, Outages};
use std::sync::Arc;

pub(super) type DomainStore = Exceptions<Arc<dyn Store>>;

/// The rules of a domain with their states.
pub(super) struct Domain {
    /// Observed by the counters for dashboards and by the probe.
    pub(super) store: Observed<DomainStore>,
    /// The store without its observers, if its states can be saved.
    pub(super) memory: Option<MemoryStore>,
    pub(super) front: FrontEnd,
    /// The keys that come most, are refused most, and are fullest.
    pub(super) top: Arc<TopKeys>,
}

/// The places for keys in each of the sixteen shards.
const PLACES: usize = 32;

impl Domain {
    /// The domain whose states are in a store.
    pub(super) fn new(
        Opened { store, memory, exceptions }: Opened,
        probe: &Arc<Probe>,
        outages: &Arc<Outages>,
        names: MetricNames,
    ) -> Self {
        let probe = ProbeObserver::new(Arc::clone(probe));
        let front = FrontEnd::of_service(store.rules().domain(), Arc::clone(outages));
        let counters = RuleCounters { names, by_rules: ByRules::default() };
        let top = Arc::new(TopKeys::new(PLACES));
        let store = Exceptions::new(store);
        store.restore(exceptions);
        let store = Observed::new(store)
            .with(Arc::new(probe))
            .with(Arc::new(counters))
            .with(Arc::<TopKeys>::clone(&top));
        Domain { store, memory, front, top }
    }
}

/// Counts decisions by rule.
struct RuleCounters {
    names: MetricNames,
    by_rules: ByRules<FileMeters>,
}

impl RuleCounters {
    fn of(&self, rules: &Arc<Rules>) -> Arc<FileMeters> {
        self.by_rules.get(rules, |rules| FileMeters::new(rules, self.names))
    }
}

impl Observer for RuleCounters {
    /// Registers the counters before the first event.
    fn begin(&self, rules: &Arc<Rules>) {
        self.of(rules);
    }

    fn decided(&self, event: &Event<'_>, decision: &Decision) {
        self.of(decision.rules()).count(decision, event.cost);
    }
}
