//! Several events that are decided together: all or none.

use super::{Decision, Details, Numbers};
use crate::event::Event;
use crate::time::Time;

/// One of the events that are [decided together](super::Store::decide).
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The event.
    pub event: &'a Event<'a>,
    /// Numbers of its own, if it has any.
    pub numbers: Option<&'a Numbers>,
    /// How the event counts.
    pub intent: Intent<'a>,
}

/// How an event counts if all events that are decided together pass.
#[derive(Clone, Copy, Debug)]
pub enum Intent<'a> {
    /// It is counted.
    Count,
    /// Nothing: it is only asked whether it would pass.
    Look,
    /// An event that passed before costs more or less than was counted. Such a part always passes.
    ///
    /// [`Event::time`] is when it was counted: the [time](Decision::time) of its decision. [`Event::cost`] is the
    /// difference. A cost above 0 is counted now, whatever the limits say: see
    /// [`Limiter::charge`](crate::Limiter::charge). Of a cost below 0 the part is given back that certainly still counts:
    /// see [`Limiter::undo`](crate::Limiter::undo). So nothing is gained by giving back late. If one of the limits can't
    /// give back, nothing is given back.
    ///
    /// Rules with a cost of their own keep their counts, and shadows that would have refused the event count
    /// nothing. Without the decision, the whole event is given back, also in rules with a cost of their own, but not in
    /// limits that may not have counted it: shadows, and limits that events may exceed softly.
    Settle {
        /// The time now.
        now: Time,
        /// The decision by which the event passed.
        passed: Option<&'a Decision>,
    },
}

impl Intent<'_> {
    /// True if the event is counted.
    pub fn is_count(&self) -> bool {
        matches!(self, Intent::Count)
    }

    /// True if the event passed before, and is settled.
    pub fn is_settle(&self) -> bool {
        matches!(self, Intent::Settle { .. })
    }
}

impl<'a> Part<'a> {
    /// An event that is counted.
    pub fn count(event: &'a Event<'a>) -> Self {
        Part { event, numbers: None, intent: Intent::Count }
    }

    /// An event that is only asked about.
    pub fn look(event: &'a Event<'a>) -> Self {
        Part { event, numbers: None, intent: Intent::Look }
    }

    /// An event that passed by a decision, and costs so much more or less than was counted: see [`Intent::Settle`].
    pub fn settle(event: &'a Event<'a>, now: Time, passed: Option<&'a Decision>) -> Self {
        Part { event, numbers: None, intent: Intent::Settle { now, passed } }
    }

    /// The time of the decision.
    pub fn now(&self) -> Time {
        match self.intent {
            Intent::Settle { now, .. } => now,
            _ => self.event.time,
        }
    }

    /// True if it passes by this decision.
    #[doc(hidden)]
    pub fn passes(&self, decision: &Decision, details: Details) -> bool {
        self.intent.is_settle() || details.lets_pass(decision.wait())
    }

    /// For each part, whether it was counted or refused: a part that passes beside a refused one is neither.
    #[doc(hidden)]
    pub fn decided(parts: &[Self], decisions: &[Decision], details: Details) -> Vec<bool> {
        let each = || parts.iter().zip(decisions);
        let all_pass = each().all(|(part, decision)| part.passes(decision, details));
        let is_decided = |(part, decision): (&Self, &Decision)| {
            part.intent.is_count() && (all_pass || !part.passes(decision, details))
        };
        each().map(is_decided).collect()
    }
}
