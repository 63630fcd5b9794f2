//! A store with observers of its decisions.

use super::store::pass_on_all_else;
use super::{BoxFuture, Decision, Decisions, Details, Exception, Fault, Part, Rules, Store};
use crate::event::Event;
use crate::time::Time;
use core::fmt;
use std::sync::Arc;

/// Observes the decisions of a store.
pub trait Observer: Send + Sync + 'static {
    /// Called once, with the rules of the store, before the first decision.
    fn begin(&self, _rules: &Arc<Rules>) {}

    /// Called after each decision about an event that was counted or refused.
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

    fn observe(&self, parts: &[Part<'_>], decisions: &[Decision], details: Details) {
        for ((part, decision), told) in
            parts.iter().zip(decisions).zip(Part::decided(parts, decisions, details))
        {
            if told {
                self.observers.iter().for_each(|one| one.decided(part.event, decision));
            }
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Observed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<S: Store> Store for Observed<S> {
    pass_on_all_else!(self => self.store);

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        Box::pin(async move {
            let decisions = self.store.decide(parts, details).await;
            self.observe(parts, &decisions, details);
            decisions
        })
    }

    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        let decisions = self.store.decide_now(parts, details)?;
        self.observe(parts, &decisions, details);
        Some(decisions)
    }

    fn exceptions<'a>(
        &'a self,
        change: Option<(&'a Exception, Time)>,
    ) -> BoxFuture<'a, Result<Option<Vec<Exception>>, Fault>> {
        self.store.exceptions(change)
    }
}
