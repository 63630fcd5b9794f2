//! Questions: an event with the limits that it meets, its intent, and its keys on Redis.

use super::Few;
use super::plan::{Item, Plan};
use ratescope::internal::Ask;
use ratescope::rules::{Fault, Numbers};
use ratescope::time::Time;
use std::sync::Arc;

/// The [`Intent`](ratescope::rules::Intent) of an event, without borrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Count,
    Look,
    /// Counts more, whatever the limits say.
    Charge,
    /// Gives back a cost that was counted at this time.
    GiveBack(Time),
}

#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) plan: Arc<Plan>,
    pub(super) asks: Few<Ask>,
    pub(super) does: Does,
    pub(super) keys: Few<EventKey>,
    pub(super) numbers: Option<Numbers>,
    /// Why the event can't be settled; then it has no limits.
    pub(super) fault: Option<Fault>,
    /// The limits with numbers of the event's own, by their indices in the plan.
    pub(super) own: Few<Item>,
}

/// The limits of a rule that share a key, by their indices in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupAt {
    pub(super) rule: usize,
    pub(super) group: usize,
}

#[derive(Clone, Debug)]
pub(super) struct EventKey {
    pub(super) key: Vec<u8>,
    pub(super) group: GroupAt,
    /// The index of the first question about its rule.
    pub(super) begin: usize,
    /// When Redis counted the event here, if not at the time to give back.
    pub(super) counted: Option<Time>,
}

impl EventKey {
    /// The key of its leases.
    pub(super) fn of_leases(&self) -> Vec<u8> {
        [&self.key, LEASES.as_bytes()].concat()
    }
}

/// The end of the key of leases, after the key of their states.
pub(super) const LEASES: &str = "/L";

impl Question {
    /// The question about some of its keys.
    pub(super) fn about(&self, keys: impl IntoIterator<Item = EventKey>) -> Self {
        Question { keys: keys.into_iter().collect(), ..self.clone() }
    }

    pub(super) fn is_asked(&self) -> bool {
        !matches!(self.does, Does::GiveBack(_))
    }

    /// The limits at a key of the question, by their indices among its own.
    pub(super) fn places(&self, key: &EventKey) -> impl Iterator<Item = usize> {
        let begin = key.begin;
        self.plan.items(key.group).iter().map(move |item| begin + item.place)
    }

    /// The limit of a question, with the numbers of the event.
    pub(super) fn item(&self, ask: &Ask) -> Option<&Item> {
        self.own.iter().find(|item| item.at == ask.at).or_else(|| self.plan.item(ask))
    }
}
