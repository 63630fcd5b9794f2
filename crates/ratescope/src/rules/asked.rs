//! The limits that are asked about an event, and their joint decision. The states may be in memory or on Redis.

use super::decision::{Decision, Outcomes, PlacedOutcome, RawQuota, StateSource};
use super::matching::Found;
use super::{Load, Rule, Rules};
use crate::event::Event;
use crate::limit::charged;
use crate::outcome::Outcome;
use crate::store::Few;
use crate::text::BadNumber;
use crate::time::Span;
use std::collections::HashSet;

/// A limit of a rule that is asked about one event.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The place of its rule in the file.
    pub rule: usize,
    /// The place of the limit in its rule.
    pub limit: usize,
    /// The cost of the event for this rule.
    pub cost: f64,
    /// True for the form of the limit that is stretched by load.
    pub is_stretched: bool,
    /// True if it counts and never refuses.
    pub is_shadow: bool,
    /// True if it decides at present: of a limit and its stretched form, one does.
    pub in_force: bool,
}

impl Ask {
    /// True if it can refuse the event.
    pub fn is_firm(&self) -> bool {
        self.in_force && !self.is_shadow
    }

    /// True if it decides and counts as it is: in force, and neither a shadow nor stretched.
    pub fn is_plain(&self) -> bool {
        self.in_force && !self.is_shadow && !self.is_stretched
    }
}

impl Rules {
    /// The limits that are asked about an event: each limit of each rule that applies, followed by its stretched form,
    /// if any.
    pub fn ask(&self, event: &Event<'_>, load: Option<Load>) -> Few<Ask> {
        let mut all = Few::new();
        self.ask_into(&mut all, event, load);
        all
    }

    /// If the rules have a single limit, for all events and always in force: the question to it, without the cost of
    /// the event, and the cost of the rule. `None` for other rules.
    pub(super) fn lone(&self) -> Option<(Ask, Option<f64>)> {
        let [rule] = self.rules() else { return None };
        let is_for_all = self.always == Some(0) && rule.stretched().is_empty();
        let ask = Ask {
            rule: 0,
            limit: 0,
            cost: f64::NAN,
            is_stretched: false,
            is_shadow: rule.is_shadow(),
            in_force: true,
        };
        (is_for_all && rule.limits().len() == 1).then_some((ask, rule.cost()))
    }

    /// As [`ask`](Self::ask), appended to a list.
    pub(super) fn ask_into(&self, all: &mut Few<Ask>, event: &Event<'_>, load: Option<Load>) {
        let mut found = Found::new();
        self.find(event.fields, &mut found);
        for &rule in &found {
            let Some(what) = self.rules().get(rule) else { continue };
            let cost = what.cost().unwrap_or(event.cost);
            let is_shadow = what.is_shadow();
            let stretch = what.throttle().is_stretched(load);
            for limit in 0..what.limits().len() {
                let own =
                    Ask { rule, limit, cost, is_stretched: false, is_shadow, in_force: !stretch };
                all.push(own);
                if what.stretched().get(limit).is_some() {
                    all.push(Ask { is_stretched: true, in_force: stretch, ..own });
                }
            }
        }
    }

    /// The limits that are charged for an event that has passed. `passed` is the decision by which it passed, if that
    /// is known. A rule with a cost of its own is not charged. Neither is a shadow that would have refused the event:
    /// if the shadow could refuse, the event would have cost nothing.
    ///
    /// # Errors
    /// When the cost is negative or not a number.
    pub fn ask_to_charge(
        &self,
        event: &Event<'_>,
        load: Option<Load>,
        passed: Option<&Decision>,
    ) -> Result<Few<Ask>, BadNumber> {
        let event = &Event { cost: charged(event.cost)?, ..*event };
        // By name, since a reload may have replaced the rules.
        let refusals = passed.into_iter().flat_map(Decision::shadow_refusals);
        let refusals: HashSet<&str> = refusals.map(|one| one.rule.name()).collect();
        let refused_by = |rule: &Rule| rule.is_shadow() && refusals.contains(rule.name());
        let counts = |rule: &Rule| rule.cost().is_none() && !refused_by(rule);
        let mut asked = self.ask(event, load);
        asked.retain(|ask| self.rules().get(ask.rule).is_none_or(counts));
        Ok(asked)
    }

    /// The limits that give back the cost of an event: all that were asked, or, with the decision by which it `passed`,
    /// those that are [charged](Self::ask_to_charge). None if the cost is invalid.
    pub fn ask_to_give_back(
        &self,
        event: &Event<'_>,
        load: Option<Load>,
        passed: Option<&Decision>,
    ) -> Few<Ask> {
        match passed {
            None => self.ask(event, load),
            passed => self.ask_to_charge(event, load, passed).unwrap_or_default(),
        }
    }
}

/// The outcomes of all limits that were asked.
#[derive(Clone, Copy, Debug)]
pub struct AskedOutcomes<'a> {
    /// The limits.
    pub asked: &'a [Ask],
    /// The outcome of each of them.
    pub outcomes: &'a [Outcome],
}

impl AskedOutcomes<'_> {
    /// True if all limits in force for which `of` is true let the event pass.
    pub(super) fn passes(&self, of: impl Fn(&Ask) -> bool) -> bool {
        let mut each = self.asked.iter().zip(self.outcomes);
        each.all(|(asked, outcome)| !asked.in_force || !of(asked) || outcome.is_allowed())
    }

    /// The outcomes of the limits of one rule, which are adjacent.
    fn of_rule(&self, rule: usize) -> AskedOutcomes<'_> {
        let from = self.asked.partition_point(|ask| ask.rule < rule);
        let to = self.asked.partition_point(|ask| ask.rule <= rule);
        AskedOutcomes { asked: &self.asked[from..to], outcomes: &self.outcomes[from..to] }
    }

    /// True if a limit that can refuse the event lets it pass only after a wait.
    pub(super) fn waits(&self) -> bool {
        let mut each = self.asked.iter().zip(self.outcomes);
        each.any(|(asked, outcome)| {
            asked.is_firm() && outcome.wait.is_some_and(|wait| wait > Span::ZERO)
        })
    }

    /// True if the event counts as allowed in a limit. `passes` says whether all limits that can refuse
    /// the event let it pass.
    pub(super) fn counts(&self, i: usize, passes: bool) -> bool {
        let asked = &self.asked[i];
        // A shadow counts as if it could refuse.
        let would = !asked.is_shadow || self.of_rule(asked.rule).passes(|_| true);
        // While the stretched limit decides, the limit itself counts only what passes within it.
        let own = asked.in_force || asked.is_stretched || self.outcomes[i].is_allowed();
        passes && would && own
    }

    /// The outcomes of the limits in force with their places. `source` says where the state of a limit is, and `quota`
    /// what is left of it, by its place among those asked.
    #[inline]
    pub fn placed(
        &self,
        source: impl Fn(&Ask) -> StateSource,
        quota: impl Fn(usize) -> Option<RawQuota>,
    ) -> Outcomes {
        let mut placed = Outcomes::new();
        for (i, asked) in self.asked.iter().enumerate().filter(|(_, asked)| asked.in_force) {
            let outcome = self.outcomes[i];
            // The limit itself comes right before its stretched form.
            let own = i.checked_sub(1).filter(|_| asked.is_stretched).map(|i| self.outcomes[i]);
            let exceeds = outcome.is_allowed() && own.is_some_and(|own| !own.is_allowed());
            let source = source(asked);
            let is_known = !asked.is_shadow && source != StateSource::Unknown;
            let quota = if is_known { quota(i) } else { None };
            placed.push(PlacedOutcome {
                exceeds,
                source,
                ..PlacedOutcome::new(asked, outcome, quota)
            });
        }
        placed
    }
}
