//! A store whose decisions a probe sees.

use super::probe::{Probe, Taps};
use crate::event::Event;
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, AsyncStore, Details, Fault, Memory, Rules, Ruling};
use std::sync::Arc;

/// A store, wherever its states are, whose decisions a probe counts. It can be given to a layer, or to whatever
/// else asks a store.
pub struct Seen<S> {
    store: S,
    probe: Arc<Probe>,
    taps: ByRules<Taps>,
}

impl<S: AsyncStore> Seen<S> {
    /// The store, seen by this probe. Viewers see its rules before its first decision.
    pub fn new(store: S, probe: Arc<Probe>) -> Self {
        let seen = Seen { store, probe, taps: ByRules::default() };
        seen.taps(&seen.rules());
        seen
    }

    /// The store.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// The probe.
    pub fn probe(&self) -> &Arc<Probe> {
        &self.probe
    }

    fn taps(&self, rules: &Arc<Rules>) -> Arc<Taps> {
        self.taps.of(rules, |rules| self.probe.taps(rules))
    }

    fn count(&self, event: &Event<'_>, Answered { ruling, .. }: &Answered) {
        self.taps(ruling.rules()).count(ruling, event);
    }
}

impl<S: AsyncStore> AsyncStore for Seen<S> {
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
