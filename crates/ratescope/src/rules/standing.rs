//! How much the limits that apply to a sender still admit, as headers tell a client.

use super::ruling::Ruling;
use super::{Place, Rule};
use crate::limit::Limiter;
use crate::limit::any::{AnyLimiter, AnyState};
use crate::policy::Limit;
use crate::time::{Span, Time};

/// The standing of a sender with one limit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Standing<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The place of the limit in the rules.
    pub place: Place,
    /// The limit in force: the stretched one, where the rule is stretched.
    pub limit: &'a Limit,
    /// How much may still be counted: see [`Limiter::remaining`]. In a rule with a cost of its own,
    /// this is measured in events of that rule's cost.
    pub remaining: f64,
    /// How long until the sender is treated as one that was never seen: see
    /// [`Limiter::reset_after`]. With a limit of 0 it is at least the period, so that nobody is told to come back at
    /// once.
    pub reset_after: Span,
}

/// The numbers of a [`Standing`].
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// See [`Standing::remaining`].
    pub remaining: f64,
    /// See [`Standing::reset_after`].
    pub reset_after: Span,
}

impl Left {
    /// The numbers of a limiter in this state.
    pub fn of(limiter: &AnyLimiter, state: &AnyState, now: Time) -> Self {
        let (remaining, mut reset_after) =
            (limiter.remaining(state, now), limiter.reset_after(state, now));
        if remaining == 0.0 && reset_after == Span::ZERO {
            reset_after = limiter.quota().map_or(Span::ZERO, |quota| quota.per());
        }
        Left { remaining, reset_after }
    }
}

impl Ruling {
    /// The sender's standing with each limit in force, in the order of the file; shadows are left out.
    /// There are none if they were not [asked for](super::Details::standings). If the store failed, limits
    /// without a known state have none.
    pub fn standings(&self) -> impl Iterator<Item = Standing<'_>> {
        self.each_left().filter_map(|(place, Left { remaining, reset_after })| {
            let (rule, limit) = self.at(place)?;
            Some(Standing { rule, place, limit, remaining, reset_after })
        })
    }

    /// The numbers of the standings.
    #[doc(hidden)]
    pub fn each_left(&self) -> impl Iterator<Item = (Place, Left)> {
        self.answers().iter().filter_map(|answer| Some((answer.place(), answer.left?)))
    }

    /// The limit that admits the least; of several, the first.
    pub fn least(&self) -> Option<Standing<'_>> {
        self.standings().min_by(|a, b| a.remaining.total_cmp(&b.remaining))
    }
}
