//! A store with observers of its decisions.

use super::{
    BoxFuture, Decision, Details, Fault, Memory, Part, Reloaded, Rule, Rules, RulesError, Store,
};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::Time;
use core::fmt;
use std::sync::Arc;

/// Observes the decisions of a store.
pub trait Observer: Send + Sync + 'static {
    /// Called once, with the rules of the store, before the first decision.
    fn begin(&self, _rules: &Arc<Rules>) {}

    /// Called after each decision about an event.
    fn decided(&self, event: &Event<'_>, decision: &Decision);
}

/// A store with observers, which see its decisions, but not its peeks.
#[derive(Clone)]
pub struct Observed<S> {
    store: S,
    observers: Vec<Arc<dyn Observer>>,
}

impl<S: Store> Observed<S> {
    /// A store that nobody observes yet.
    pub fn new(store: S) -> Self {
        Observed { store, observers: Vec::new() }
    }

    /// Adds an observer.
    #[must_use]
    pub fn with(mut self, observer: Arc<dyn Observer>) -> Self {
        observer.begin(&self.store.rules());
        self.observers.push(observer);
        self
    }

    /// The store that decides.
    pub fn store(&self) -> &S {
        &self.store
    }

    fn decided(&self, event: &Event<'_>, decision: &Decision) {
        self.observers.iter().for_each(|observer| observer.decided(event, decision));
    }
}

impl<S: fmt::Debug> fmt::Debug for Observed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<S: Store> Store for Observed<S> {
    fn rules(&self) -> Arc<Rules> {
        self.store.rules()
    }

    fn memory(&self) -> Option<Memory> {
        self.store.memory()
    }

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        let decision = self.store.check_now(event, details)?;
        self.decided(event, &decision);
        Some(decision)
    }

    fn check_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        details: Details,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let decision = self.store.check_async(event, details).await;
            self.decided(event, &decision);
            decision
        })
    }

    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
        self.store.peek_async(event, details)
    }

    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a>],
        details: Details,
    ) -> BoxFuture<'a, Vec<Decision>> {
        let Some(observed) = Part::all_of::<Self>(parts) else {
            return Box::pin(Part::one_after_the_other(parts, details));
        };
        Box::pin(async move {
            let within: Vec<Part<'_>> =
                observed.iter().map(|part| part.of_store::<dyn Store>(&part.store.store)).collect();
            let decisions = self.store.check_all(&within, details).await;
            let decided = details.decided(&within, &decisions);
            for ((part, decision), is_decided) in observed.iter().zip(&decisions).zip(decided) {
                if is_decided {
                    part.store.decided(part.event, decision);
                }
            }
            decisions
        })
    }

    fn charge_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.store.charge_async(event, passed)
    }

    fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        self.store.charge_now(event, passed)
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        self.store.can_give_back(event)
    }

    fn give_back_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        self.store.give_back_async(event, passed)
    }

    fn give_back_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        self.store.give_back_now(event, passed)
    }

    fn reset_async<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        self.store.reset_async(fields, of)
    }

    /// The observers are told of its decisions, too.
    fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        let store = self.store.with_rules(rules)?;
        Ok(Arc::new(Observed { store, observers: self.observers.clone() }))
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        self.store.replace(rules, now)
    }

    fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        self.store.reload(file, text, now)
    }
}
