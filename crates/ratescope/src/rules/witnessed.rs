//! A store whose decisions a witness sees.

use super::{AsyncStore, Decision, Details, Fault, Memory, Part, Reloaded, Rule, Rules};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::Time;
use std::sync::Arc;

/// Sees the decisions of a store.
pub trait Witness: Send + Sync + 'static {
    /// Called with each event that was decided, after the decision, and with the answer.
    fn saw(&self, event: &Event<'_>, decision: &Decision);
}

/// A store whose decisions a [`Witness`] sees. All other calls go to the store unchanged.
#[derive(Clone, Debug)]
pub struct Witnessed<S, W> {
    /// The store that decides.
    pub store: S,
    /// Sees what it decides.
    pub witness: W,
}

impl<S: AsyncStore, W: Witness> AsyncStore for Witnessed<S, W> {
    crate::forward!(self to self.store, but for checks);

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        let decision = self.store.check_now(event, details);
        if let Some(decision) = &decision {
            self.witness.saw(event, decision);
        }
        decision
    }

    async fn check(&self, event: &Event<'_>, details: Details) -> Decision {
        let decision = self.store.check(event, details).await;
        self.witness.saw(event, &decision);
        decision
    }

    async fn check_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        let within: Vec<_> = parts.iter().map(|part| part.within(|one| &one.store)).collect();
        let answers = S::check_all(&within, details).await;
        let decided = details.decided(parts, &answers);
        for ((part, decision), is_decided) in parts.iter().zip(&answers).zip(decided) {
            if is_decided {
                part.store.witness.saw(part.event, decision);
            }
        }
        answers
    }
}
