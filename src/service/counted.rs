//! A store whose answers are counted, whichever way a question came.

use super::meters::RuleMeters;
use crate::event::Event;
use crate::live::{Probe, Seen};
use crate::middleware::Teller;
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, AsyncStore, Details, Fault, Memory, Rules, Ruling};
use std::sync::Arc;

/// A store whose answers are counted.
pub(super) struct Counted<S> {
    store: Seen<S>,
    meters: ByRules<RuleMeters>,
    /// The headers and counters of the layer.
    pub(super) teller: Teller,
}

impl<S: AsyncStore> Counted<S> {
    pub(super) fn new(store: S, probe: Arc<Probe>) -> Self {
        let (meters, teller) = (ByRules::default(), Teller::default());
        let counted = Counted { store: Seen::new(store, probe), meters, teller };
        // So that the counters are seen before the first event.
        counted.meters.of(&counted.rules(), RuleMeters::new);
        counted
    }

    pub(super) fn inner(&self) -> &S {
        self.store.inner()
    }

    fn count(&self, event: &Event<'_>, answered: &Answered) {
        let meters = self.meters.of(answered.ruling.rules(), RuleMeters::new);
        meters.count(answered, event.cost);
    }
}

impl<S: AsyncStore> AsyncStore for Counted<S> {
    fn rules(&self) -> Arc<Rules> {
        self.store.rules()
    }

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Answered> {
        let answered = self.store.check_now(event, details)?;
        self.count(event, &answered);
        Some(answered)
    }

    fn memory(&self) -> Option<Memory> {
        self.store.memory()
    }

    async fn check(&self, event: &Event<'_>, details: Details) -> Answered {
        let answered = self.store.check(event, details).await;
        self.count(event, &answered);
        answered
    }

    async fn peek(&self, event: &Event<'_>, details: Details) -> Answered {
        self.store.peek(event, details).await
    }

    async fn charge(&self, event: &Event<'_>, passed: Option<&Ruling>) -> Result<(), Fault> {
        self.store.charge(event, passed).await
    }

    fn charge_now(&self, event: &Event<'_>, passed: Option<&Ruling>) -> bool {
        self.store.charge_now(event, passed)
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        self.store.can_give_back(event)
    }

    fn give_back(&self, event: &Event<'_>) -> bool {
        self.store.give_back(event)
    }
}
