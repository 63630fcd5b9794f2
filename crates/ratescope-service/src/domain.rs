//! The rules of a file with their states, whose decisions are counted for gRPC and HTTP alike.

use super::meters::FileMeters;
use ratescope::event::Event;
use ratescope::internal::ByRules;
use ratescope::rules::{Decision, Observed, Observer, Rules, Store};
use ratescope_live::{Probe, ProbeObserver};
use ratescope_tower::internal::{HeaderWriter, Outages};
use std::sync::Arc;

/// The rules of a domain with their states.
pub(super) struct Domain {
    /// Observed by the counters for dashboards and by the probe.
    pub(super) store: Observed<Arc<dyn Store>>,
    pub(super) headers: HeaderWriter,
}

impl Domain {
    /// The domain whose states are in `store`.
    pub(super) fn new(store: Arc<dyn Store>, probe: &Arc<Probe>, outages: &Arc<Outages>) -> Self {
        let probe = ProbeObserver::new(Arc::clone(probe));
        let headers = HeaderWriter::new(store.rules().domain(), Arc::clone(outages));
        let store =
            Observed::new(store).with(Arc::new(probe)).with(Arc::new(RuleCounters::default()));
        Domain { store, headers }
    }
}

/// Counts decisions under the names of envoyproxy/ratelimit.
#[derive(Default)]
struct RuleCounters(ByRules<FileMeters>);

impl Observer for RuleCounters {
    /// Registers the counters before the first event.
    fn begin(&self, rules: &Arc<Rules>) {
        self.0.get(rules, FileMeters::new);
    }

    fn decided(&self, event: &Event<'_>, decision: &Decision) {
        self.0.get(decision.rules(), FileMeters::new).count(decision, event.cost);
    }
}
