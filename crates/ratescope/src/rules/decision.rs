//! Decisions: the answers of stores to an event.

use super::memory_store::Generation;
use super::plan::Ask;
use super::{Fault, Numbers, Rule, Rules};
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Answer, InNumbers, Outcome, Quota, Retry};
use crate::policy::{Limit, longer, tightness};
use crate::store::{Numbered, State};
use crate::time::{Span, Time};
use arc_swap::Guard;
use core::fmt;
use smallvec::SmallVec;
use std::sync::Arc;

/// The decision of a store about one event: whether it may pass, and the outcome of each limit of each rule that
/// applies.
///
/// A store of your own makes it [from its rules](Self::new), and adds the [outcome of each limit](Self::with_outcome).
#[derive(Clone, Debug)]
#[must_use = "an event may pass only if it was allowed"]
#[non_exhaustive]
pub struct Decision {
    rules: RulesRef,
    numbers: Option<Numbers>,
    outcomes: Outcomes,
    wait: Option<Span>,
    retry_after: Option<Retry>,
    /// When the event was decided, by the clock of the store: the time to [settle](super::Intent::Settle) it by.
    pub time: Time,
    /// Why the store could not be asked; `None` if it answered, or did not have to be asked.
    pub fault: Option<Fault>,
}

/// The rules that were asked. Most decisions are dropped soon, and a guard is enough for these: all threads would
/// contend on a reference count.
pub(crate) enum RulesRef {
    Counted(Arc<Rules>),
    Guarded(Guard<Arc<Generation>>),
}

impl RulesRef {
    fn rules(&self) -> &Arc<Rules> {
        match self {
            RulesRef::Counted(rules) => rules,
            RulesRef::Guarded(generation) => &generation.rules,
        }
    }
}

impl Clone for RulesRef {
    fn clone(&self) -> Self {
        RulesRef::Counted(Arc::clone(self.rules()))
    }
}

impl fmt::Debug for RulesRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules().fmt(f)
    }
}

/// The outcomes of the limits that were asked, mostly one or two.
pub(crate) type Outcomes = SmallVec<[PlacedOutcome; 2]>;

/// The outcome of a limit, and the place of the limit.
#[derive(Clone, Copy, Debug)]
pub struct PlacedOutcome {
    /// The index of the limit in the [plan](Rules::plan).
    pub at: usize,
    /// The index of its rule.
    pub rule: usize,
    /// The outcome.
    pub outcome: Outcome,
    /// True if the rule is a shadow.
    pub is_shadow: bool,
    /// True if the event exceeds the limit as written, even if a soft or elastic throttle allows it.
    pub exceeds: bool,
    /// Where the state of the key was.
    pub source: StateSource,
    /// `None` if it was not asked for, or the store does not know it.
    pub quota: Option<RawQuota>,
}

impl PlacedOutcome {
    /// The outcome of a limit in force, with its state in the store.
    #[inline(always)]
    pub(super) fn new(ask: &Ask, outcome: Outcome, quota: Option<RawQuota>) -> Self {
        let Ask { at, rule, is_shadow, .. } = *ask;
        let source = StateSource::Store;
        PlacedOutcome { at, rule, outcome, is_shadow, exceeds: false, source, quota }
    }
}

/// A [`Quota`] without its limit, which the rules have.
#[derive(Clone, Copy, Debug)]
pub struct RawQuota {
    /// See [`Quota::remaining`].
    pub remaining: f64,
    /// See [`Quota::reset`].
    pub reset: Span,
}

impl RawQuota {
    /// The quota of a key in this state. Where nothing remains and there is nothing to forget, as under a limit of 0, it
    /// takes the time in which the limiter admits its quota.
    pub fn of(limiter: &Numbered, state: &State, now: Time) -> Self {
        let (remaining, mut reset) = (limiter.left(state, now), limiter.reset_after(state, now));
        if remaining == 0.0 && reset == Span::ZERO {
            reset = limiter.decides().quota().map_or(Span::ZERO, |quota| quota.per());
        }
        RawQuota { remaining, reset }
    }
}

/// Where the state of a limit was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateSource {
    /// In the store that was asked.
    Store,
    /// In this process, which has the limit by a [lease or a sync](crate::share) and did not ask the store.
    Here,
    /// In this process, because the store could not be asked.
    Fallback,
    /// Nowhere: the store could not be asked, and the rule allows or refuses. The level is 0.
    Unknown,
}

/// The outcome of one limit of one rule.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimitOutcome<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The index of the limit in the [plan](Rules::plan).
    pub at: usize,
    /// The limit that decided: relaxed if the rule is, and with the numbers of the event if it has any.
    pub limit: &'a Limit,
    /// The outcome. A refusal by a shadow refuses nothing.
    pub outcome: Outcome,
    /// True if the event passes softly, only because the limit is relaxed.
    pub exceeds: bool,
    /// Where the state of the key was.
    pub source: StateSource,
    quota: Option<RawQuota>,
}

impl LimitOutcome<'_> {
    /// The key by which it counts, as in `user=ann,path=/login`.
    pub fn key(&self, event: &Event<'_>) -> String {
        self.limit.per.key(event)
    }

    /// The quota after the event; `None` if it was not [asked for](super::Details::quotas) or is unknown, and for a
    /// shadow.
    pub fn quota(&self) -> Option<Quota> {
        let RawQuota { remaining, reset } = self.quota?;
        Some(Quota::new(self.limit.limiter.quota(), remaining, reset))
    }
}

impl Decision {
    /// A decision by these rules without outcomes, which allows the event.
    pub fn new(rules: Arc<Rules>, time: Time) -> Self {
        Decision::with(RulesRef::Counted(rules), Outcomes::new(), None, time)
    }

    /// Adds the outcome of the limit at this index of the [plan](Rules::plan), and its quota if it was asked for.
    pub fn with_outcome(mut self, at: usize, outcome: Outcome, quota: Option<Quota>) -> Self {
        let rule = self.rules().plan().get(at).map_or(usize::MAX, |planned| planned.rule);
        let is_shadow = self.rules().rules().get(rule).is_some_and(Rule::is_shadow);
        let quota = quota.map(|Quota { remaining, reset, .. }| RawQuota { remaining, reset });
        if !is_shadow {
            self.wait = longer(self.wait, outcome.wait);
        }
        let source = StateSource::Store;
        let exceeds = false;
        self.outcomes.push(PlacedOutcome { at, rule, outcome, is_shadow, exceeds, source, quota });
        self
    }

    /// Adds when a refused event would pass, if that was [asked for](super::Details::retry).
    pub fn with_retry_after(mut self, retry_after: Option<Retry>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// The decision about an event with these numbers.
    pub fn with_numbers(mut self, numbers: Option<Numbers>) -> Self {
        self.numbers = numbers;
        self
    }

    #[inline]
    pub(crate) fn with(
        rules: RulesRef,
        outcomes: Outcomes,
        retry_after: Option<Retry>,
        time: Time,
    ) -> Self {
        let firm = outcomes.iter().filter(|one| !one.is_shadow);
        let wait = firm.map(|one| one.outcome.wait).fold(Some(Span::ZERO), longer);
        Decision { rules, numbers: None, outcomes, wait, time, retry_after, fault: None }
    }

    /// A decision with these outcomes, from another store.
    #[doc(hidden)]
    pub fn with_outcomes(
        rules: Arc<Rules>,
        outcomes: SmallVec<[PlacedOutcome; 2]>,
        retry_after: Option<Retry>,
        time: Time,
    ) -> Self {
        Decision::with(RulesRef::Counted(rules), outcomes, retry_after, time)
    }

    /// The rules that were asked.
    pub fn rules(&self) -> &Arc<Rules> {
        self.rules.rules()
    }

    /// The numbers of the event, if it had any.
    pub fn numbers(&self) -> Option<&Numbers> {
        self.numbers.as_ref()
    }

    /// How long an allowed event waits, which is the longest wait of all limits; `None` if it is refused.
    pub fn wait(&self) -> Option<Span> {
        self.wait
    }

    /// True if the event may pass, at once or after a wait.
    pub fn is_allowed(&self) -> bool {
        self.wait.is_some()
    }

    /// When a refused event would pass if nothing is counted before; `None` if it was not asked for or is unknown.
    pub fn retry_after(&self) -> Option<Retry> {
        self.retry_after
    }

    /// The limit that decided: the one with the highest ratio of level to limit, among the limits that refuse, or among
    /// all if none refuses. `None` if no rule could refuse the event: no rule applies, or only unlimited rules and
    /// shadows.
    pub fn decided_by(&self) -> Option<LimitOutcome<'_>> {
        let firm = self.outcomes.iter().filter(|one| !one.is_shadow);
        self.view(
            firm.reduce(|a, b| if tightness(&a.outcome, &b.outcome).is_lt() { b } else { a })?,
        )
    }

    /// The outcome of the limit that decided, with the longest wait of all limits; `None` if no rule could refuse the
    /// event.
    pub fn outcome(&self) -> Option<Outcome> {
        let decided = self.decided_by()?;
        Some(Outcome { wait: self.wait, ..decided.outcome })
    }

    /// True if the event passes softly: hard limits would have refused it.
    pub fn is_soft(&self) -> bool {
        self.is_allowed() && self.outcomes.iter().any(|one| one.exceeds && !one.is_shadow)
    }

    /// The outcome of each limit of each rule that applies, in the order of the file, including shadows.
    pub fn outcomes(&self) -> impl Iterator<Item = LimitOutcome<'_>> {
        self.outcomes.iter().filter_map(|one| self.view(one))
    }

    /// The outcomes of shadows that would refuse the event, if all other rules let it pass.
    pub fn shadow_refusals(&self) -> impl Iterator<Item = LimitOutcome<'_>> {
        let refuse = |one: &LimitOutcome<'_>| one.rule.is_shadow() && !one.outcome.is_allowed();
        self.outcomes().filter(move |one| self.is_allowed() && refuse(one))
    }

    /// The least quota of all limits; `None` if quotas were not [asked for](super::Details::quotas). If the store failed,
    /// limits without a known state have none.
    ///
    /// ```
    /// use ratescope::rules::{Details, Part};
    /// use ratescope::{Event, MemoryStore, Policy, Time};
    ///
    /// let policy: Policy = "gcra 10/1m per user".parse()?;
    /// let store = MemoryStore::new(policy, 1000);
    /// let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
    /// let decision = store.decide_one(&Part::count(&event), Details::ALL);
    /// assert_eq!(decision.quota().map(|quota| quota.remaining), Some(9.0));
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    pub fn quota(&self) -> Option<Quota> {
        let quotas = self.outcomes().filter_map(|one| one.quota());
        quotas.min_by(|a, b| a.remaining.total_cmp(&b.remaining))
    }

    /// True if the numbers by which the event was counted may not be those of these rules.
    pub(super) fn may_have_other_numbers(&self, rules: &Rules) -> bool {
        self.numbers.is_some() || !core::ptr::eq(Arc::as_ptr(self.rules()), rules)
    }

    /// The limiter that counted the event, which passed by this decision, in the limit `at` an index of the plan of
    /// `rules`; `None` if it was not counted there. These rules may have replaced those that were asked: then the limit is
    /// that at the same place of the rule with the same name.
    ///
    /// A shadow that would have refused the event counted nothing in any of its limits; if it could refuse, the event
    /// would have cost nothing. A limit as written that an event exceeds softly counted nothing, but its relaxed form did.
    pub(super) fn counted_by(&self, rules: &Rules, at: usize) -> Option<&AnyLimiter> {
        let limit = rules.plan().get(at)?;
        let own = rules.rules().get(limit.rule).map(Rule::name);
        let asked = self.rules();
        let is_of_rule = |one: &&PlacedOutcome| asked.rules().get(one.rule).map(Rule::name) == own;
        let mut counted = None;
        for one in self.outcomes.iter().filter(is_of_rule) {
            if one.is_shadow && !one.outcome.is_allowed() {
                return None;
            }
            let is_limit = |at: &usize| {
                let asked = asked.plan().get(*at);
                asked.is_some_and(|asked| asked.of_rule == limit.of_rule)
            };
            let is_marked = one.exceeds && !limit.is_relaxed;
            if is_limit(&one.at) && !is_marked && one.source != StateSource::Unknown {
                // Both forms have counted it, and one of them has this outcome.
                let mut forms = asked.plan_of(one.rule).filter(is_limit);
                let is_form = |at: &usize| asked.plan()[*at].is_relaxed == limit.is_relaxed;
                counted = Some(forms.find(is_form).unwrap_or(one.at));
            }
        }
        let counted = counted?;
        let own = self.numbers.as_ref().and_then(|numbers| numbers.limiter(counted));
        let usual = || Some(&asked.plan().get(counted)?.limit.limiter);
        own.map(Numbered::decides).or_else(usual)
    }

    /// The outcomes with the places of their limits.
    #[doc(hidden)]
    pub fn placed_outcomes(&self) -> &[PlacedOutcome] {
        &self.outcomes
    }

    /// The outcomes by rule, for each rule that applies and has a limit.
    #[doc(hidden)]
    pub fn by_rule(&self) -> impl Iterator<Item = &[PlacedOutcome]> {
        self.outcomes.chunk_by(|a, b| a.rule == b.rule)
    }

    fn view(&self, one: &PlacedOutcome) -> Option<LimitOutcome<'_>> {
        let PlacedOutcome { at, rule, outcome, exceeds, source, quota, .. } = *one;
        let rule = self.rules().rules().get(rule)?;
        let own = self.numbers.as_ref().and_then(|numbers| numbers.limit(at));
        let limit = own.or_else(|| Some(&self.rules().plan().get(at)?.limit))?;
        Some(LimitOutcome { rule, at, limit, outcome, exceeds, source, quota })
    }
}

/// The reason in numbers, as in `refused by web:user: level 6, limit 5`.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(LimitOutcome { rule, outcome, source, .. }) = self.decided_by() else {
            return f.write_str("allowed: no limit applies");
        };
        let answer = Answer(self.wait);
        let name = rule.name();
        if source == StateSource::Unknown {
            return write!(f, "{answer} by {name}: its store can't be asked");
        }
        let softly = if self.is_soft() { " softly" } else { "" };
        write!(f, "{answer}{softly} by {name}: {}", InNumbers(&outcome))
    }
}
