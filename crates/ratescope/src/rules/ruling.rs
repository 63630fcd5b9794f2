//! Rulings: the answers of rules to an event.

use super::asked::Ask;
use super::ruled::Generation;
use super::standing::Left;
use super::{Rule, Rules};
use crate::event::Event;
use crate::outcome::{Decision, Numbers, Outcome};
use crate::policy::{Limit, Verdict, stricter};
use arc_swap::Guard;
use core::fmt;
use smallvec::SmallVec;
use std::sync::Arc;

/// The answer to one event, with the answer of each rule that applies.
#[derive(Clone, Debug)]
#[must_use = "an event may pass only if it was allowed"]
pub struct Ruling {
    rules: Holder,
    answers: Answers,
    decision: Decision,
}

/// Holds the rules that were asked. Most rulings are dropped soon. For these a guard is enough: to count the holders,
/// all threads would write to one place.
pub(crate) enum Holder {
    Counted(Arc<Rules>),
    Guarded(Guard<Arc<Generation>>),
}

impl Holder {
    fn rules(&self) -> &Arc<Rules> {
        match self {
            Holder::Counted(rules) => rules,
            Holder::Guarded(generation) => &generation.rules,
        }
    }
}

impl From<Arc<Rules>> for Holder {
    fn from(rules: Arc<Rules>) -> Self {
        Holder::Counted(rules)
    }
}

impl Clone for Holder {
    fn clone(&self) -> Self {
        Holder::Counted(Arc::clone(self.rules()))
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules().fmt(f)
    }
}

/// The answers of the limits that were asked, mostly one or two.
pub(crate) type Answers = SmallVec<[LimitAnswer; 2]>;

/// The answer of one limit of one rule, by their places.
#[derive(Clone, Copy, Debug)]
pub struct LimitAnswer {
    /// The place of the rule in the file.
    pub rule: usize,
    /// The place of the limit in its rule.
    pub limit: usize,
    /// What the limiter says.
    pub outcome: Outcome,
    /// Whether it is the stretched form of the limit.
    pub is_stretched: bool,
    /// Whether the rule is a shadow.
    pub is_shadow: bool,
    /// Whether the limit as it is written would have refused.
    pub exceeds: bool,
    /// The states that it is based on.
    pub basis: Basis,
    /// How the sender stands, if that was asked for and is known.
    pub left: Option<Left>,
}

impl LimitAnswer {
    /// The answer of a limit in force, by the states of its store.
    #[inline(always)]
    pub(super) fn of(ask: &Ask, outcome: Outcome, left: Option<Left>) -> Self {
        let Ask { rule, limit, is_stretched, is_shadow, .. } = *ask;
        let (exceeds, basis) = (false, Basis::Store);
        LimitAnswer { rule, limit, outcome, is_stretched, is_shadow, exceeds, basis, left }
    }

    pub(super) fn place(&self) -> Place {
        let LimitAnswer { rule, limit, is_stretched, .. } = *self;
        Place { rule, limit, is_stretched }
    }
}

/// The states on which an answer is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// The states of the store that was asked.
    Store,
    /// The states in this process, since the store could not be asked.
    Local,
    /// Nothing: the store could not be asked, and the rule says what happens then. Its level is 0.
    Nowhere,
}

/// The answer of one limit of one rule to an event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Opinion<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The place of the limit in the rules.
    pub place: Place,
    /// The limit that was asked: the stretched one, where the rule is stretched.
    pub limit: &'a Limit,
    /// The answer of the limit. In a shadow, a refusal changes nothing.
    pub outcome: Outcome,
    /// Whether it lets the event pass only because it is stretched: softly.
    pub exceeds: bool,
    /// The states on which the answer is based.
    pub basis: Basis,
}

/// The place of a limit in [`Rules`]: an index for data that is kept for each limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The place of its rule in [`Rules::rules`].
    pub rule: usize,
    /// Its place in [`Rule::limits`], or in [`Rule::stretched`].
    pub limit: usize,
    /// Whether it is in the latter.
    pub is_stretched: bool,
}

impl Opinion<'_> {
    /// The key that it counts for, as in `user=ann,path=/login`.
    pub fn key(&self, event: &Event<'_>) -> String {
        self.limit.per.key(event)
    }
}

impl Ruling {
    /// The ruling of limits with these answers.
    #[inline]
    pub(crate) fn of(rules: Holder, answers: Answers) -> Self {
        let firm = answers.iter().filter(|answer| !answer.is_shadow);
        let decisions = firm.map(|answer| answer.outcome.decision);
        let decision = decisions.fold(Decision::NOW, Decision::and);
        Ruling { rules, answers, decision }
    }

    /// The ruling of limits with these answers, which another store has.
    #[doc(hidden)]
    pub fn new(rules: Arc<Rules>, answers: SmallVec<[LimitAnswer; 2]>) -> Self {
        Ruling::of(rules.into(), answers)
    }

    /// The rules that were asked.
    pub fn rules(&self) -> &Arc<Rules> {
        self.rules.rules()
    }

    /// Whether the event may pass, at once or after the longest wait of any limit.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Whether the event may pass, at once or after a wait.
    pub fn is_allowed(&self) -> bool {
        matches!(self.decision(), Decision::Allowed { .. })
    }

    /// The limit that decided. Of the limits that refuse, or of all if none does, it is the one with
    /// the highest ratio of level to limit. `None` if no rule could refuse the event: no rule
    /// applies, or only rules that are unlimited or shadows.
    pub fn decided_by(&self) -> Option<Opinion<'_>> {
        let firm = self.answers.iter().enumerate().filter(|(_, answer)| !answer.is_shadow);
        let verdicts = firm.map(|(by, answer)| Verdict { outcome: answer.outcome, by });
        self.opinion(self.answers.get(verdicts.reduce(stricter)?.by)?)
    }

    /// Whether the event passes softly: a hard limit would have refused it.
    pub fn is_soft(&self) -> bool {
        self.is_allowed() && self.answers.iter().any(|answer| answer.exceeds && !answer.is_shadow)
    }

    /// The answer of each limit, with its rule as an index.
    #[doc(hidden)]
    pub fn answers(&self) -> &[LimitAnswer] {
        &self.answers
    }

    /// The answers of the limits of each rule that applies; there is at least one of each.
    #[doc(hidden)]
    pub fn by_rule(&self) -> impl Iterator<Item = &[LimitAnswer]> {
        self.answers.chunk_by(|a, b| a.rule == b.rule)
    }

    /// The opinion of each limit of each rule that applies, in the order of the file, including
    /// shadows.
    pub fn opinions(&self) -> impl Iterator<Item = Opinion<'_>> {
        self.answers.iter().filter_map(|answer| self.opinion(answer))
    }

    /// The opinions of shadows that would refuse the event, if all other rules let it pass.
    pub fn shadow_refusals(&self) -> impl Iterator<Item = Opinion<'_>> {
        let refuse =
            |opinion: &Opinion<'_>| opinion.rule.is_shadow() && !opinion.outcome.is_allowed();
        self.opinions().filter(move |opinion| self.is_allowed() && refuse(opinion))
    }

    fn opinion(&self, answer: &LimitAnswer) -> Option<Opinion<'_>> {
        let (place, LimitAnswer { outcome, exceeds, basis, .. }) = (answer.place(), *answer);
        let (rule, limit) = self.at(place)?;
        Some(Opinion { rule, place, limit, outcome, exceeds, basis })
    }

    /// The rule and the limit at a place.
    pub(super) fn at(&self, place: Place) -> Option<(&Rule, &Limit)> {
        let rule = self.rules().rules().get(place.rule)?;
        Some((rule, rule.limit(place.limit, place.is_stretched)?))
    }
}

/// The reason in numbers, as in `refused by web:user: level 6, limit 5`.
impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Opinion { rule, outcome, basis, .. }) = self.decided_by() else {
            return f.write_str("allowed: no limit applies");
        };
        if basis == Basis::Nowhere {
            let (decision, name) = (self.decision(), rule.name());
            return write!(f, "{decision} by {name}: its store can't be asked");
        }
        let softly = if self.is_soft() { " softly" } else { "" };
        let (decision, numbers) = (self.decision(), Numbers(&outcome));
        write!(f, "{decision}{softly} by {}: {numbers}", rule.name())
    }
}
