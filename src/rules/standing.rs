//! How much the limits that apply to a sender still admit, as headers tell a client.

use super::asked::Ask;
use super::ruled::Ruled;
use super::{Place, Rule, Rules};
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::{AnyLimiter, AnyState};
use crate::policy::Limit;
use crate::store::{Few, Held};
use crate::time::{Span, Time};
use std::sync::Arc;

/// How a sender stands with each limit in force, shadows left out.
#[derive(Clone, Debug)]
pub struct Standings {
    rules: Arc<Rules>,
    each: Few<Stands>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stands {
    rule: usize,
    limit: usize,
    is_stretched: bool,
    remaining: f64,
    reset_after: Span,
}

/// How a sender stands with one limit.
#[derive(Clone, Copy, Debug)]
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
    /// [`Limiter::reset_after`].
    pub reset_after: Span,
}

impl Standings {
    pub(crate) fn new(rules: Arc<Rules>, each: Few<Stands>) -> Self {
        Standings { rules, each }
    }

    /// The standings with those of `asked` that can refuse the event.
    pub(super) fn of(
        rules: Arc<Rules>,
        asked: &[Ask],
        held: &[Held<'_, AnyLimiter>],
        now: Time,
    ) -> Self {
        let firm = asked.iter().zip(held).filter(|(ask, _)| ask.is_firm());
        let each = firm.map(|(ask, held)| Stands::new(ask, held.limiter(), held.state(), now));
        Standings { each: each.collect(), rules }
    }

    /// One for each limit, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Standing<'_>> {
        self.each.iter().filter_map(|stands| {
            let Stands { remaining, reset_after, .. } = *stands;
            let rule = self.rules.rules().get(stands.rule)?;
            let limit = rule.limit(stands.limit, stands.is_stretched)?;
            let is_stretched = stands.is_stretched;
            let place = Place { rule: stands.rule, limit: stands.limit, is_stretched };
            Some(Standing { rule, place, limit, remaining, reset_after })
        })
    }

    /// The limit that admits the least; of several, the first.
    pub fn least(&self) -> Option<Standing<'_>> {
        self.iter().min_by(|a, b| a.remaining.total_cmp(&b.remaining))
    }
}

impl Ruled {
    /// How the sender of an event stands at its time. Nothing is counted; ask after
    /// [`check`](Self::check) for what is left then.
    pub fn standings(&self, event: &Event<'_>) -> Standings {
        let generation = self.generation();
        let mut asked = generation.rules.ask(event, self.load());
        asked.retain(|ask| ask.is_firm());
        let held = generation.hold(&asked, event);
        Standings::of(Arc::clone(&generation.rules), &asked, &held, event.time)
    }
}

impl Stands {
    pub(crate) fn new(ask: &Ask, limiter: &AnyLimiter, state: &AnyState, now: Time) -> Self {
        Stands {
            rule: ask.rule,
            limit: ask.limit,
            is_stretched: ask.is_stretched,
            remaining: limiter.remaining(state, now),
            reset_after: limiter.reset_after(state, now),
        }
    }
}
