//! The decision about an event. Its keys stay locked until the decision is complete, so that no other event changes a
//! part of it.

use super::asked::{Ask, AskedOutcomes};
use super::decision::{Decision, Outcomes, PlacedOutcome, RawQuota, RulesRef, StateSource};
use super::memory_store::{Generation, Role};
use super::{Details, Intent, MemoryStore, Part};
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy;
use crate::store::{self, Few, Held, Key, Together};
use crate::time::Time;
use arc_swap::Guard;
use std::sync::Arc;

/// The decision of limits that are all [plain](Ask::is_plain), in the order in which they were made. They decide and
/// count in one step, without lists.
#[inline(always)]
pub(super) fn in_one_step<const N: usize>(
    generation: Guard<Arc<Generation>>,
    asked: &[Ask; N],
    event: &Event<'_>,
    details: Details,
) -> Decision {
    let now = event.time;
    let mut held = store::hold_each(asked.each_ref().map(|ask| generation.limit(ask)), event);
    let mut outcomes = [Outcome::new(true, 0.0, 0.0); N];
    store::check_each(&mut held, now, |i| asked[i].cost, |i, outcome| outcomes[i] = outcome);
    let placed: [_; N] = core::array::from_fn(|i| {
        PlacedOutcome::new(&asked[i], outcomes[i], quota(&held[i], details, now))
    });
    let retry = details.retry && !outcomes.iter().all(|outcome| outcome.is_allowed());
    let retry = retry.then(|| retry_after(asked, &held, now));
    drop(held);
    Decision::with(RulesRef::Guarded(generation), Outcomes::from_slice(&placed), retry)
}

/// The decision of any limits: asks all of them, and then counts the event where they say so; without `count` nothing.
pub(super) fn in_two_steps(
    role: Role,
    generation: Guard<Arc<Generation>>,
    asked: &[Ask],
    event: &Event<'_>,
    details: Details,
    count: bool,
) -> Decision {
    let now = event.time;
    let mut held = generation.hold(asked, event);
    let each = held.iter().zip(asked);
    let outcomes = each.map(|(held, ask)| {
        if generation.is_known(ask, role) {
            held.peek(now, ask.cost)
        } else {
            generation.assumed(ask, held.limiter(), now)
        }
    });
    let outcomes: Few<Outcome> = outcomes.collect();
    let judged = AskedOutcomes { asked, outcomes: &outcomes };
    let passes = judged.passes(|ask| !ask.is_shadow);
    if count && !(details.at_once && passes && judged.waits()) {
        for (i, held) in held.iter_mut().enumerate() {
            let ask = &asked[i];
            let passed = outcomes[i].is_allowed();
            if generation.is_known(ask, role) {
                let allowed = judged.counts(i, passes);
                held.record_times(now, ask.cost, role.times(), passed, allowed);
            }
        }
    }
    let source = |ask: &Ask| generation.source(ask, role);
    let placed = judged.placed(source, |i| quota(held.get(i)?, details, now));
    let retry = details.retry && has_refused(&placed);
    let retry = retry.then(|| retry_after(asked, &held, now));
    drop(held);
    Decision::with(RulesRef::Guarded(generation), placed, retry)
}

/// The decisions about several events together. A limit in which several events count at the same key is asked once,
/// for the sum of the costs.
pub(super) fn together(
    role: Role,
    parts: &[Part<'_, MemoryStore>],
    details: Details,
) -> Vec<Decision> {
    let generations = Part::once_each(parts, MemoryStore::whole_generation);
    let Questions { mut each, keys, first } = Questions::new(parts, &generations);
    let mut held = Together::lock(keys);
    let mut all_pass = true;
    let mut waits = false;
    for one in &mut each {
        one.outcomes = one.look(&mut held, role);
        if one.part.intent != Intent::GiveBack {
            all_pass &= one.passes();
            waits |= details.at_once && one.judged().waits();
        }
    }
    let counts = all_pass && !waits;
    for (p, one) in each.iter().enumerate() {
        // An event that passes beside a refused one is neither counted nor refused.
        let is_told = counts || !all_pass && !one.passes();
        let now = one.part.event.time;
        for (a, (ask, place)) in one.asks.iter().zip(&one.places).enumerate() {
            let is_known = one.generation.is_known(ask, role);
            if is_told && is_known && first[*place] == Some((p, a)) {
                let passed = one.outcomes[a].is_allowed();
                let allowed = one.judged().counts(a, counts);
                held.held(*place).record_times(now, ask.cost, role.times(), passed, allowed);
            }
        }
    }
    // Gives back last, as on Redis: another part may have counted the cost.
    for one in each.iter().filter(|one| counts && one.part.intent == Intent::GiveBack) {
        for (ask, place) in one.asks.iter().zip(&one.places) {
            if one.generation.is_known(ask, role) {
                held.held(*place).give_back(one.part.event.time, ask.cost * role.times());
            }
        }
    }
    each.into_iter().map(|one| one.decision(&mut held, role, details)).collect()
}

/// The questions about several events.
struct Questions<'a> {
    each: Vec<Asked<'a>>,
    keys: Vec<Key<'a>>,
    /// The first question at each key that counts there, by the indices of its event and of the question.
    first: Vec<Option<(usize, usize)>>,
}

/// One of several events, with its questions.
struct Asked<'a> {
    part: &'a Part<'a, MemoryStore>,
    generation: &'a Generation,
    asks: Few<Ask>,
    /// The indices of its keys among the locked ones.
    places: Few<usize>,
    outcomes: Few<Outcome>,
}

impl<'a> Questions<'a> {
    /// The questions about these parts, each with the rules and states of its store. Questions that count at the same
    /// key are about the sum of the costs.
    fn new(parts: &'a [Part<'a, MemoryStore>], generations: &'a [Arc<Generation>]) -> Self {
        let mut each: Vec<Asked<'_>> = Vec::with_capacity(parts.len());
        let mut keys: Vec<Key<'_>> = Vec::new();
        let mut first: Vec<Option<(usize, usize)>> = Vec::new();
        for (p, (part, generation)) in parts.iter().zip(generations).enumerate() {
            let asks = generation.rules.ask(part.event, part.store.load());
            let mut places = Few::new();
            for (a, ask) in asks.iter().enumerate() {
                let key = Key::new(generation.limit(ask), part.event);
                let counts = part.intent == Intent::Count;
                let known =
                    || keys.iter().zip(&first).position(|(one, by)| by.is_some() && one.is(&key));
                let place = if counts && p > 0 { known() } else { None };
                places.push(place.unwrap_or(keys.len()));
                match place.and_then(|place| first[place]) {
                    Some((p, a)) => each[p].asks[a].cost += ask.cost,
                    None => {
                        keys.push(key);
                        first.push(counts.then_some((p, a)));
                    }
                }
            }
            each.push(Asked { part, generation, asks, places, outcomes: Few::new() });
        }
        for p in 0..each.len() {
            for a in 0..each[p].asks.len() {
                if let Some((p_first, a_first)) = first[each[p].places[a]] {
                    each[p].asks[a].cost = each[p_first].asks[a_first].cost;
                }
            }
        }
        Questions { each, keys, first }
    }
}

impl Asked<'_> {
    fn look(&self, held: &mut Together<'_>, role: Role) -> Few<Outcome> {
        let now = self.part.event.time;
        held.adapt(&self.places);
        let each = self.asks.iter().zip(&self.places).map(|(ask, place)| {
            let (limiter, state) = held.at(*place);
            if self.generation.is_known(ask, role) {
                limiter.peek(state, now, ask.cost)
            } else {
                self.generation.assumed(ask, limiter, now)
            }
        });
        each.collect()
    }

    fn judged(&self) -> AskedOutcomes<'_> {
        AskedOutcomes { asked: &self.asks, outcomes: &self.outcomes }
    }

    /// True if all limits that can refuse it let it pass.
    fn passes(&self) -> bool {
        self.judged().passes(|ask| !ask.is_shadow)
    }

    /// The decision, after all events were counted.
    fn decision(mut self, held: &mut Together<'_>, role: Role, details: Details) -> Decision {
        let now = self.part.event.time;
        if self.part.intent == Intent::GiveBack {
            for ask in &mut self.asks {
                ask.cost = 0.0;
            }
            self.outcomes = self.look(held, role);
        } else {
            held.adapt(&self.places);
        }
        let state = |i: usize| Some(held.at(*self.places.get(i)?));
        let quota = |i: usize| {
            let (limiter, state) = state(i)?;
            details.quotas.then(|| RawQuota::new(limiter, state, now))
        };
        let placed = self.judged().placed(|ask| self.generation.source(ask, role), quota);
        let retry = details.retry && has_refused(&placed);
        let retry = retry.then(|| {
            policy::retry_after(now, |at| {
                let firm = self.asks.iter().enumerate().filter(|(_, ask)| ask.is_firm());
                let states = firm.filter_map(|(i, ask)| Some((state(i)?, ask.cost)));
                states.map(move |((limiter, state), cost)| limiter.retry_after(state, at, cost))
            })
        });
        Decision::with_outcomes(Arc::clone(&self.generation.rules), placed, retry)
    }
}

/// True if a limit with states has refused the event. A rule without states refuses at level 0, so another refusal is
/// tighter and decides.
fn has_refused(placed: &[PlacedOutcome]) -> bool {
    let refuses = |one: &PlacedOutcome| !one.is_shadow && !one.outcome.is_allowed();
    placed.iter().any(|one| refuses(one) && one.source != StateSource::Unknown)
}

/// What is left of a limit, if that is asked for.
fn quota(held: &Held<'_, AnyLimiter>, details: Details, now: Time) -> Option<RawQuota> {
    details.quotas.then(|| RawQuota::new(held.limiter(), held.state(), now))
}

/// How long after `now` the event passes all limits that can refuse it.
pub(super) fn retry_after(asked: &[Ask], held: &[Held<'_, AnyLimiter>], now: Time) -> Retry {
    policy::retry_after(now, |at| {
        let firm = held.iter().zip(asked).filter(|(_, ask)| ask.is_firm());
        firm.map(move |(held, ask)| held.retry_after(at, ask.cost))
    })
}
