//! How much the limits that apply to a sender still admit, as headers tell a client.

use super::ruled::{Asked, Ruled, hold};
use super::{Place, Rule, Rules};
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::policy::Limit;
use crate::store::Held;
use crate::store::together::Few;
use crate::time::Span;
use std::sync::Arc;

/// How a sender stands with each limit in force, shadows left out.
#[derive(Clone, Debug)]
pub struct Standings {
    rules: Arc<Rules>,
    each: Few<Stands>,
}

#[derive(Clone, Copy, Debug)]
struct Stands {
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
    /// that is so many times its cost.
    pub remaining: f64,
    /// How long until the sender is treated as one that was never seen: see
    /// [`Limiter::reset_after`].
    pub reset_after: Span,
}

impl Standings {
    /// The rules that it is about.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
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

    /// The one of which the least remains; of several, the first.
    pub fn least(&self) -> Option<Standing<'_>> {
        self.iter().min_by(|a, b| a.remaining.total_cmp(&b.remaining))
    }

    /// The standings with those of `asked` that can refuse the event.
    pub(super) fn of(
        rules: Arc<Rules>,
        asked: &[Asked<'_>],
        held: &[Held<'_, AnyLimiter>],
        event: &Event<'_>,
    ) -> Self {
        let firm = asked.iter().zip(held).filter(|(asked, _)| asked.is_firm());
        let each = firm.map(|(asked, held)| Stands {
            rule: asked.rule,
            limit: asked.limit,
            is_stretched: asked.is_stretched,
            remaining: held.limiter().remaining(held.state(), event.time),
            reset_after: held.limiter().reset_after(held.state(), event.time),
        });
        Standings { each: each.collect(), rules }
    }
}

impl Ruled {
    /// How the sender of an event stands at its time. Nothing is counted; ask after
    /// [`check`](Self::check) for what is left then.
    pub fn standings(&self, event: &Event<'_>) -> Standings {
        let generation = self.generation();
        let mut asked = generation.ask(event, self.load());
        asked.retain(|asked| asked.is_firm());
        let held = hold(&asked, event);
        Standings::of(Arc::clone(&generation.rules), &asked, &held, event)
    }
}
