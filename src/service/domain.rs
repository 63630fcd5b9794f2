//! The rules of a file with their states: answers are counted, whichever way a question came.

use super::meters::RuleMeters;
use crate::event::Event;
use crate::live::{Probe, Seen};
use crate::middleware::Teller;
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, AsyncStore, Witness, Witnessed};
use std::sync::Arc;

/// A store whose answers are counted, and seen by a probe.
pub(super) type Domain<S> = Witnessed<Seen<S>, Meters>;

/// The counters of answers.
pub(super) struct Meters {
    by_rules: ByRules<RuleMeters>,
    /// The headers and counters of the layer.
    pub(super) teller: Teller,
}

impl Witness for Meters {
    fn saw(&self, event: &Event<'_>, answered: &Answered) {
        let meters = self.by_rules.of(answered.ruling.rules(), RuleMeters::new);
        meters.count(answered, event.cost);
    }
}

/// The domain whose states are in `store`.
pub(super) fn of<S: AsyncStore>(store: S, probe: &Arc<Probe>) -> Arc<Domain<S>> {
    let (by_rules, teller) = (ByRules::default(), Teller::default());
    // So that the counters are seen before the first event.
    by_rules.of(&store.rules(), RuleMeters::new);
    let store = Seen::new(store, Arc::clone(probe));
    Arc::new(Witnessed { store, witness: Meters { by_rules, teller } })
}
