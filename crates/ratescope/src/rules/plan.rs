//! The plan: the limits of all rules as one flat list, which every store decides by.
//!
//! A rule that is throttled softly or elastically has each of its limits twice: as written, and relaxed, which admits
//! more. [`Mode`] says what either does in a decision; it depends on the load.

use super::decision::{Outcomes, PlacedOutcome, RawQuota, StateSource};
use super::matching::Found;
use super::{Decision, Details, Load, Rule, Rules};
use crate::event::Event;
use crate::extremes::smaller;
use crate::limit::any::AnyLimiter;
use crate::limit::{Limiter, charged};
use crate::outcome::Outcome;
use crate::policy::Limit;
use crate::store::Few;
use crate::text::BadNumber;
use crate::time::Time;
use core::ops::Range;

/// The limits of rules, each with its rule, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) limits: Vec<PlannedLimit>,
    /// The limits of each rule, by its index.
    of_rules: Vec<Range<usize>>,
}

/// A limit of a plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[doc(hidden)]
pub struct PlannedLimit {
    /// The index of its rule in [`Rules::rules`].
    pub rule: usize,
    /// Its index among the [limits of its rule](Rule::limits).
    pub of_rule: usize,
    /// The limit.
    pub limit: Limit,
    /// Its name, as clients see it in headers: see [`Rules::limit_names`].
    pub name: String,
    /// True for the relaxed form, which follows the limit as written.
    pub is_relaxed: bool,
}

/// The part that a limit takes in one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It decides, and can refuse the event.
    Firm,
    /// It decides, and never refuses: the limit of a shadow.
    Shadow,
    /// The limit as written, while its relaxed form decides. It counts an event that is within it; any other passes
    /// softly, and is not counted here.
    Mark,
    /// The relaxed form, while the limit as written decides. It counts all that passes.
    Beside,
}

/// A limit that is asked about one event.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The index of the limit in the plan.
    pub at: usize,
    /// The index of its rule.
    pub rule: usize,
    /// The cost of the event for this rule. Below 0 if it is given back.
    pub cost: f64,
    /// The part that the limit takes.
    pub mode: Mode,
    /// True if the rule is a shadow.
    pub is_shadow: bool,
}

impl Ask {
    /// True if it decides: of a limit and its relaxed form, one does.
    pub fn in_force(&self) -> bool {
        matches!(self.mode, Mode::Firm | Mode::Shadow)
    }

    /// True if it can refuse the event.
    pub fn is_firm(&self) -> bool {
        self.mode == Mode::Firm
    }
}

impl Plan {
    pub(super) fn new(rules: &[Rule], names: Vec<Vec<String>>) -> Self {
        let mut plan = Plan::default();
        for (r, (rule, names)) in rules.iter().zip(names).enumerate() {
            let begin = plan.limits.len();
            for (i, (limit, name)) in rule.limits().iter().zip(names).enumerate() {
                let forms = [(Some(limit), false), (rule.relaxed().get(i), true)];
                for (form, is_relaxed) in forms {
                    let Some(limit) = form.cloned() else { continue };
                    plan.limits.push(PlannedLimit {
                        rule: r,
                        of_rule: i,
                        limit,
                        name: name.clone(),
                        is_relaxed,
                    });
                }
            }
            plan.of_rules.push(begin..plan.limits.len());
        }
        plan
    }

    /// The limits of a rule.
    pub(super) fn of_rule(&self, rule: usize) -> Range<usize> {
        self.of_rules.get(rule).cloned().unwrap_or_default()
    }
}

impl Rules {
    /// The limits of all rules, in the order of the file. A limit is followed by its relaxed form, if it has one.
    #[doc(hidden)]
    pub fn plan(&self) -> &[PlannedLimit] {
        &self.plan.limits
    }

    /// The limits of a rule, as indices into the [plan](Self::plan).
    #[doc(hidden)]
    pub fn plan_of(&self, rule: usize) -> Range<usize> {
        self.plan.of_rule(rule)
    }

    /// The limits that are asked about an event: each limit of each rule that applies.
    #[doc(hidden)]
    pub fn ask(&self, event: &Event<'_>, load: Option<Load>) -> Few<Ask> {
        let mut asked = Few::new();
        self.ask_into(&mut asked, event, load);
        asked
    }

    /// If the rules have a single limit, for all events and always in force: the question to it, without the cost of
    /// the event, and the cost of the rule. `None` for other rules.
    pub(super) fn lone(&self) -> Option<(Ask, Option<f64>)> {
        let [rule] = self.rules() else { return None };
        let is_lone = self.always == Some(0) && self.plan().len() == 1 && !rule.is_shadow();
        let ask = Ask { at: 0, rule: 0, cost: f64::NAN, mode: Mode::Firm, is_shadow: false };
        is_lone.then_some((ask, rule.cost()))
    }

    /// As [`ask`](Self::ask), appended to a list.
    pub(super) fn ask_into(&self, asked: &mut Few<Ask>, event: &Event<'_>, load: Option<Load>) {
        let mut found = Found::new();
        self.find(event.fields, &mut found);
        for &index in &found {
            let Some(rule) = self.rules().get(index) else { continue };
            let cost = rule.cost().unwrap_or(event.cost);
            let is_shadow = rule.is_shadow();
            let is_relaxed = !rule.relaxed().is_empty() && rule.throttle().is_relaxed(load);
            for at in self.plan.of_rule(index) {
                let mode = match (self.plan.limits[at].is_relaxed, is_relaxed, is_shadow) {
                    (form, now, false) if form == now => Mode::Firm,
                    (form, now, true) if form == now => Mode::Shadow,
                    (false, ..) => Mode::Mark,
                    (true, ..) => Mode::Beside,
                };
                asked.push(Ask { at, rule: index, cost, mode, is_shadow });
            }
        }
    }

    /// The limits in which an event is settled: those that counted it, by the decision by which it `passed`. A rule
    /// with a cost of its own keeps its count. Without the decision, more cost is counted by all other rules, and less
    /// gives the whole event back, also in rules with a cost of their own, but only in limits that count whatever
    /// passes: not in shadows, nor in a limit as written that has a relaxed form. A limit that counted nothing beside
    /// another limit of its rule that did is asked at cost 0. An event that was counted by other numbers than those in
    /// force is given back only as far as it still counts by these, too.
    ///
    /// # Errors
    /// When the cost is not a number.
    #[doc(hidden)]
    pub fn ask_to_settle(
        &self,
        event: &Event<'_>,
        now: Time,
        load: Option<Load>,
        passed: Option<&Decision>,
    ) -> Result<Few<Ask>, BadNumber> {
        let size = charged(event.cost.abs())?;
        let is_back = event.cost < 0.0;
        let mut asked = self.ask(&Event { cost: size, ..*event }, load);
        if passed.is_some() || !is_back {
            asked.retain(|ask| self.rules().get(ask.rule).is_none_or(|rule| rule.cost().is_none()));
        }
        if let Some(passed) = passed {
            let is_cut = is_back && passed.may_have_other_numbers(self);
            let mut rules: Few<usize> = Few::new();
            for ask in &mut asked {
                match passed.counted_by(self, ask.at) {
                    None => ask.cost = 0.0,
                    Some(limiter) => {
                        rules.push(ask.rule);
                        if is_cut {
                            ask.cost = left_of(limiter, event.time, now, ask.cost);
                        }
                    }
                }
            }
            asked.retain(|ask| rules.contains(&ask.rule));
        } else if is_back {
            asked.retain(|ask| !ask.is_shadow);
            for ask in asked.iter_mut().filter(|ask| !self.counts_what_passes(ask)) {
                ask.cost = 0.0;
            }
        }
        if is_back {
            asked.iter_mut().for_each(|ask| ask.cost = -ask.cost);
        }
        Ok(asked)
    }

    /// True if a limit counts each event that passes, whatever the load: no shadow, and no limit that an event may exceed
    /// softly.
    fn counts_what_passes(&self, ask: &Ask) -> bool {
        let has_relaxed = self.rules().get(ask.rule).is_some_and(|rule| !rule.relaxed().is_empty());
        !ask.is_shadow && (!has_relaxed || self.plan.limits[ask.at].is_relaxed)
    }

    /// True if all limits that apply to an event can take events back: buckets and windows can. Such limits
    /// count no event that they refuse.
    pub fn can_undo(&self, event: &Event<'_>) -> bool {
        self.can_undo_all(&self.ask(event, None))
    }

    /// True if all of these limits can take events back.
    #[doc(hidden)]
    pub fn can_undo_all<'a>(&self, asks: impl IntoIterator<Item = &'a Ask>) -> bool {
        asks.into_iter().all(|ask| self.plan.limits[ask.at].limit.limiter.can_undo())
    }
}

/// How much of a cost that was counted at `at` still counts at `now`, if nothing else was counted.
fn left_of(limiter: &AnyLimiter, at: Time, now: Time, cost: f64) -> f64 {
    let mut alone = limiter.initial();
    limiter.record(&mut alone, at, cost, true);
    smaller(cost, limiter.peek(&alone, now, 0.0).level)
}

/// The limits that were asked about an event, and their outcomes.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The limits.
    pub asks: &'a [Ask],
    /// The outcome of each of them.
    pub outcomes: &'a [Outcome],
}

impl Asked<'_> {
    fn each(&self) -> impl Iterator<Item = (&Ask, &Outcome)> {
        self.asks.iter().zip(self.outcomes)
    }

    /// True if all limits that can refuse the event let it pass.
    pub(super) fn passes(&self) -> bool {
        self.each().all(|(ask, outcome)| !ask.is_firm() || outcome.is_allowed())
    }

    /// True if a limit that can refuse the event lets it pass only after a longer wait than it can take.
    pub(super) fn waits(&self, details: Details) -> bool {
        let waits = |outcome: &Outcome| outcome.wait.is_some_and(|wait| details.is_too_long(wait));
        self.each().any(|(ask, outcome)| ask.is_firm() && waits(outcome))
    }

    /// True if the event counts as allowed in a limit. `passes` says whether all limits that can refuse it let it pass.
    /// A shadow counts as if it could refuse.
    pub fn counts(&self, i: usize, passes: bool) -> bool {
        let ask = &self.asks[i];
        let in_force = |(other, _): &(&Ask, &Outcome)| other.rule == ask.rule && other.in_force();
        let would =
            !ask.is_shadow || self.each().filter(in_force).all(|(_, outcome)| outcome.is_allowed());
        passes && would && (ask.mode != Mode::Mark || self.outcomes[i].is_allowed())
    }

    /// The outcomes of the limits in force with their places. `source` says where the state of a limit is, and `quota`
    /// what is left of it, by its index among those asked.
    #[inline]
    pub fn placed(
        &self,
        source: impl Fn(&Ask) -> StateSource,
        quota: impl Fn(usize) -> Option<RawQuota>,
    ) -> Outcomes {
        let mut placed = Outcomes::new();
        for (i, (ask, outcome)) in self.each().enumerate().filter(|(_, (ask, _))| ask.in_force()) {
            // A limit that marks comes right before its relaxed form.
            let before = i.checked_sub(1).map(|i| (self.asks[i], self.outcomes[i]));
            let exceeds = before.is_some_and(|(before, marked)| {
                let is_form = before.mode == Mode::Mark && before.at + 1 == ask.at;
                is_form && outcome.is_allowed() && !marked.is_allowed()
            });
            let source = source(ask);
            let is_known = !ask.is_shadow && source != StateSource::Unknown;
            let quota = if is_known { quota(i) } else { None };
            placed.push(PlacedOutcome {
                exceeds,
                source,
                ..PlacedOutcome::new(ask, *outcome, quota)
            });
        }
        placed
    }
}
