//! A store whose answers are counted, whichever way a question came.

use super::meters::RuleMeters;
use crate::event::Event;
use crate::middleware::Teller;
use crate::rules::{Answered, AsyncStore, Details, Fault, Memory, Rules, Ruling};
use arc_swap::ArcSwap;
use std::sync::Arc;

/// A store whose answers are counted.
pub(super) struct Counted<S> {
    store: S,
    meters: ArcSwap<RuleMeters>,
    teller: ArcSwap<Teller>,
}

impl<S: AsyncStore> Counted<S> {
    pub(super) fn new(store: S) -> Self {
        let rules = store.rules();
        let (meters, teller) = (RuleMeters::new(&rules), Teller::new(&rules));
        Counted {
            store,
            meters: ArcSwap::from_pointee(meters),
            teller: ArcSwap::from_pointee(teller),
        }
    }

    pub(super) fn inner(&self) -> &S {
        &self.store
    }

    /// The headers and counters for the rules of a ruling. After a reload, answers by the rules before
    /// still arrive for a while.
    pub(super) fn teller(&self, ruling: &Ruling) -> Arc<Teller> {
        let known = self.teller.load();
        if known.is_for(ruling.rules()) {
            return Arc::clone(&known);
        }
        let new = Arc::new(Teller::new(ruling.rules()));
        self.teller.store(Arc::clone(&new));
        new
    }

    fn count(&self, event: &Event<'_>, answered: &Answered) {
        let rules = answered.ruling.rules();
        let known = self.meters.load();
        if known.is_for(rules) {
            return known.count(answered, event.cost);
        }
        let new = Arc::new(RuleMeters::new(rules));
        new.count(answered, event.cost);
        self.meters.store(new);
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
}
