//! A decision as a policy has it: one outcome, and the limit that decided.

#![allow(dead_code)] // Each test file uses its part.

use ratescope::rules::{Decision, Part};
use ratescope::{Event, MemoryStore, Outcome, Policy, Retry, Span, Time};
use std::fmt;

/// The outcome of the limit that decided, with the longest wait of all, and its index in the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    pub(crate) by: usize,
}

impl Judged {
    pub(crate) fn is_allowed(self) -> bool {
        self.outcome.is_allowed()
    }
}

impl From<Decision> for Judged {
    fn from(decision: Decision) -> Self {
        let by = decision.decided_by().unwrap().at;
        Judged { outcome: decision.outcome().unwrap(), by }
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcome.fmt(f)
    }
}

pub(crate) fn policy_of(store: &MemoryStore) -> Policy {
    Policy::new(store.rules().rules()[0].limits().to_vec()).unwrap()
}

/// Counts an event if it passes within `most`. Otherwise returns its wait, or when to retry.
pub(crate) fn pass(store: &MemoryStore, event: &Event<'_>, most: Span) -> Result<Judged, Retry> {
    let details = ratescope::rules::Details::default().with_retry().within(most);
    let decision = store.decide_one(&Part::count(event), details);
    match decision.wait() {
        Some(wait) if wait <= most => Ok(decision.into()),
        Some(wait) => Err(Retry::After(wait)),
        None => Err(decision.retry_after().unwrap()),
    }
}

/// Counts more of an event that has passed.
pub(crate) fn charge(store: &MemoryStore, event: &Event<'_>) {
    store.settle(event, event.time, None).unwrap();
}

/// Takes back an event that was counted at its time, as far as it still counts at `now`. Returns whether all limits can.
pub(crate) fn undo(store: &MemoryStore, event: &Event<'_>, now: Time) -> bool {
    store.settle(&Event { cost: -event.cost, ..*event }, now, None).unwrap();
    store.rules().can_undo(event)
}
