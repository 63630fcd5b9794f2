//! Several events that are decided together: all or none.

use super::{Decision, Details, Store};
use crate::event::Event;
use crate::time::Span;
use core::any::Any;
use core::fmt;
use std::sync::Arc;

/// One of several events that are [decided together](Store::check_all).
pub struct Part<'a, S: ?Sized = dyn Store> {
    /// The store with the rules for the event.
    pub store: &'a S,
    /// The event.
    pub event: &'a Event<'a>,
    /// What happens to the event.
    pub intent: Intent,
}

/// What happens to an event if all events that are decided together pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// It is counted.
    Count,
    /// Nothing: it is only asked whether it would pass.
    Look,
    /// Gives the cost back in those limits that can, and always passes.
    GiveBack,
}

impl<S: ?Sized> Clone for Part<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for Part<'_, S> {}

impl<S: ?Sized> fmt::Debug for Part<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("intent", &self.intent).finish_non_exhaustive()
    }
}

impl<'a> Part<'a> {
    /// An event that is counted.
    pub fn count(store: &'a (dyn Store + 'static), event: &'a Event<'a>) -> Self {
        Part { store, event, intent: Intent::Count }
    }

    /// The parts, if the stores of all of them are of type `S`, for a store's own [`check_all`](Store::check_all).
    pub fn all_of<S: Store>(parts: &[Self]) -> Option<Vec<Part<'a, S>>> {
        let typed = |part: &Part<'a>| {
            let store: &'a (dyn Any + 'static) = part.store;
            Some(part.of_store(store.downcast_ref::<S>()?))
        };
        parts.iter().map(typed).collect()
    }

    /// Decides about the parts as [`check_all`](Store::check_all) does for stores that have no way of their own: all
    /// are looked at, and if all pass, they are counted one after the other. If they no longer pass then, or if the
    /// caller gives up in between, some are counted and others are not.
    pub async fn one_after_the_other(parts: &[Part<'_>], details: Details) -> Vec<Decision> {
        let mut answers = Vec::with_capacity(parts.len());
        for Part { store, event, .. } in parts {
            answers.push(store.peek_async(event, details).await);
        }
        let decided = details.decided(parts, &answers);
        let all_pass =
            parts.iter().zip(&answers).all(|(part, answer)| part.passes(answer, details));
        for ((part, answer), is_decided) in parts.iter().zip(&mut answers).zip(decided) {
            let Part { store, event, intent } = part;
            if is_decided {
                *answer = store.check_async(event, details).await;
            } else if *intent == Intent::GiveBack {
                let given =
                    if all_pass { store.give_back_async(event, None).await } else { Ok(false) };
                let fault = given.err();
                *answer = store.peek_async(&Event { cost: 0.0, ..**event }, details).await;
                answer.fault = fault.or(answer.fault.take());
            }
        }
        answers
    }
}

impl<'a, S: ?Sized> Part<'a, S> {
    /// This event and intent with another store.
    pub fn of_store<T: ?Sized>(&self, store: &'a T) -> Part<'a, T> {
        Part { store, event: self.event, intent: self.intent }
    }

    /// `of` for the store of each part, once for each store, so that a reload between two parts has no effect.
    #[doc(hidden)]
    pub fn once_each<T>(parts: &[Self], of: impl Fn(&S) -> Arc<T>) -> Vec<Arc<T>> {
        let mut each: Vec<Arc<T>> = Vec::with_capacity(parts.len());
        for (i, part) in parts.iter().enumerate() {
            let before = parts.iter().take(i).position(|one| core::ptr::eq(one.store, part.store));
            let known = before.and_then(|before| each.get(before)).map(Arc::clone);
            each.push(known.unwrap_or_else(|| of(part.store)));
        }
        each
    }

    /// True if it passes by this decision.
    fn passes(&self, decision: &Decision, details: Details) -> bool {
        self.intent == Intent::GiveBack
            || decision.wait().is_some_and(|wait| !details.at_once || wait == Span::ZERO)
    }
}

impl Details {
    /// For each part, whether it was counted or refused: a part that passes beside a refused one is neither.
    #[doc(hidden)]
    pub fn decided<S: ?Sized>(self, parts: &[Part<'_, S>], answers: &[Decision]) -> Vec<bool> {
        let each = || parts.iter().zip(answers);
        let passes = |(part, decision): (&Part<'_, S>, &Decision)| part.passes(decision, self);
        let all_pass = each().all(passes);
        let is_decided = |(part, decision): (&Part<'_, S>, &Decision)| {
            part.intent == Intent::Count && (all_pass || !part.passes(decision, self))
        };
        each().map(is_decided).collect()
    }
}
