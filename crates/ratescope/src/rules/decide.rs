//! The decision about events: first all limits are asked, and then the events are counted in all of them or in none.
//! Their keys stay locked until the decision is complete, so that no other event changes a part of it.

use super::decision::{Decision, Outcomes, PlacedOutcome, RawQuota, RulesRef, StateSource};
use super::memory_store::{Generation, Role};
use super::plan::{Ask, Asked, Mode};
use super::store::Decisions;
use super::{Details, Fault, Intent, Load, Numbers, Part};
use crate::event::Event;
use crate::limit::{Limiter, sum_of_costs};
use crate::outcome::{Outcome, Retry};
use crate::policy;
use crate::store::{Few, Key, Locked, Numbered};
use crate::time::Time;
use arc_swap::Guard;
use core::ops::Range;
use std::sync::Arc;

/// The decision of one limit that can refuse and has its usual numbers. It decides and counts in one step.
#[inline(always)]
pub(super) fn by_one(
    generation: Guard<Arc<Generation>>,
    ask: &Ask,
    event: &Event<'_>,
    details: Details,
) -> Decision {
    let now = event.time;
    let limit = &generation.limits[ask.at];
    let limiter = limit.limiter();
    let mut held = limit.hold(event);
    let outcome = held.check(limiter, now, ask.cost);
    let quota = details.quotas.then(|| RawQuota::of(limiter, held.state(), now));
    let refused = details.retry && !outcome.is_allowed();
    let retry = refused.then(|| {
        policy::retry_after(now, |at| {
            core::iter::once(limiter.retry_after(held.state(), at, ask.cost))
        })
    });
    drop(held);
    let placed = [PlacedOutcome::new(ask, outcome, quota)];
    Decision::with(RulesRef::Guarded(generation), Outcomes::from_slice(&placed), retry, now)
}

/// The decisions about events together. A limit in which several events count at the same key is asked once, for the sum
/// of the costs, and with the numbers of the first.
pub(super) fn decide(
    generation: Guard<Arc<Generation>>,
    parts: &[Part<'_>],
    details: Details,
    role: Role,
    load: Option<Load>,
) -> Decisions {
    let mut questions = Questions::new(&generation, parts, role, load);
    let passes: Few<bool> =
        (0..parts.len()).map(|p| questions.look(p) || parts[p].intent.is_settle()).collect();
    let all_pass = passes.iter().all(|passes| *passes);
    let may_wait = |p: usize| !parts[p].intent.is_settle();
    let waits =
        (0..parts.len()).filter(|p| may_wait(*p)).any(|p| questions.asked(p).waits(details));
    let counts = all_pass && !waits;
    for (p, part) in parts.iter().enumerate().filter(|(_, part)| part.intent.is_count()) {
        // An event that passes beside a refused one is neither counted nor refused.
        if counts || !all_pass && !passes[p] {
            questions.record(p, part.event.time, counts);
        }
    }
    // Settles last, as on Redis, since another part may have counted the cost: first refunds, and then charges.
    for is_charge in [false, true] {
        for (p, part) in parts.iter().enumerate().filter(|_| counts) {
            if let Intent::Settle { now, .. } = part.intent
                && is_charge == (part.event.cost >= 0.0)
            {
                questions.settle(p, part.event.time, now);
            }
        }
    }
    let mut each: Few<Concluded> =
        (0..parts.len()).map(|p| questions.conclude(p, details)).collect();
    drop(questions);
    if each.len() == 1
        && let Some(only) = each.pop()
    {
        return Decisions::one(only.decision(RulesRef::Guarded(generation)));
    }
    let rules = || RulesRef::Counted(Arc::clone(&generation.rules));
    each.into_iter().map(|one| one.decision(rules())).collect()
}

/// The questions about several events, with their keys locked.
struct Questions<'a> {
    generation: &'a Generation,
    parts: &'a [Part<'a>],
    role: Role,
    each: Few<Question>,
    asks: Few<Ask>,
    /// The index of the event of each question.
    events: Few<usize>,
    outcomes: Few<Outcome>,
    /// The index of the key of each question among the locked ones.
    keys: Few<usize>,
    /// The first question at each key that counts there.
    first: Few<Option<usize>>,
    locked: Locked<'a>,
}

/// One of the events.
struct Question {
    /// Its range in [`Questions::asks`].
    asks: Range<usize>,
    /// Its numbers, for the rules in force.
    numbers: Option<Numbers>,
    fault: Option<Fault>,
}

/// The parts of a decision.
struct Concluded {
    outcomes: Outcomes,
    retry: Option<Retry>,
    time: Time,
    numbers: Option<Numbers>,
    fault: Option<Fault>,
}

impl Concluded {
    fn decision(self, rules: RulesRef) -> Decision {
        let Concluded { outcomes, retry, time, numbers, fault } = self;
        let mut decision = Decision::with(rules, outcomes, retry, time).with_numbers(numbers);
        decision.fault = fault;
        decision
    }
}

impl<'a> Questions<'a> {
    fn new(
        generation: &'a Generation,
        parts: &'a [Part<'a>],
        role: Role,
        load: Option<Load>,
    ) -> Self {
        let rules = &generation.rules;
        let mut asks: Few<Ask> = Few::new();
        let mut each = Few::new();
        let mut events: Few<usize> = Few::new();
        for (p, part) in parts.iter().enumerate() {
            let begin = asks.len();
            let mut fault = None;
            match part.intent {
                Intent::Settle { now, passed } => {
                    match rules.ask_to_settle(part.event, now, load, passed) {
                        Ok(own) => asks.extend(own),
                        Err(error) => fault = Some(Fault::from(error)),
                    }
                }
                _ => rules.ask_into(&mut asks, part.event, load),
            }
            let numbers = part.numbers.map(|numbers| numbers.in_force(rules));
            events.resize(asks.len(), p);
            each.push(Question { asks: begin..asks.len(), numbers, fault });
        }
        let mut keys = Few::new();
        let mut to_lock: Few<Key<'_>> = Few::new();
        let mut first: Few<Option<usize>> = Few::new();
        for (p, part) in parts.iter().enumerate() {
            let counts = part.intent.is_count();
            for a in each[p].asks.clone() {
                let key = Key::new(&generation.limits[asks[a].at], part.event);
                // The keys of one event are of different limits.
                let known = if counts && p > 0 {
                    to_lock.iter().zip(&first).position(|(one, by)| by.is_some() && one.is(&key))
                } else {
                    None
                };
                keys.push(known.unwrap_or(to_lock.len()));
                match known.and_then(|key| first[key]) {
                    Some(first) => {
                        asks[first].cost = sum_of_costs(asks[first].cost, asks[a].cost);
                    }
                    None => {
                        to_lock.push(key);
                        first.push(counts.then_some(a));
                    }
                }
            }
        }
        if to_lock.len() < asks.len() {
            for a in 0..asks.len() {
                if let Some(first) = first[keys[a]] {
                    asks[a].cost = asks[first].cost;
                }
            }
        }
        let locked = Locked::new(to_lock);
        let outcomes = Few::with_capacity(asks.len());
        Questions { generation, parts, role, each, asks, events, outcomes, keys, first, locked }
    }

    fn asked(&self, p: usize) -> Asked<'_> {
        let own = self.each[p].asks.clone();
        Asked { asks: &self.asks[own.clone()], outcomes: &self.outcomes[own] }
    }

    /// The limiter that decides a question: the one with the numbers of the first event that counts at the key.
    fn limiter(&self, a: usize) -> &Numbered {
        let decides = self.events[self.first[self.keys[a]].unwrap_or(a)];
        limiter(self.generation, &self.each[decides], &self.asks[a])
    }

    fn is_known(&self, ask: &Ask) -> bool {
        self.generation.source(ask, self.role) != StateSource::Unknown
    }

    /// Asks the limits of an event; those of the events before were asked. Returns whether it passes.
    fn look(&mut self, p: usize) -> bool {
        let now = self.parts[p].now();
        let is_settle = self.parts[p].intent.is_settle();
        for a in self.each[p].asks.clone() {
            let ask = &self.asks[a];
            let cost = if is_settle { 0.0 } else { ask.cost };
            let limiter = self.limiter(a);
            let outcome = if self.is_known(ask) {
                limiter.peek(self.locked.state(self.keys[a]), now, cost)
            } else {
                self.generation.assumed(ask, limiter.decides(), now)
            };
            self.outcomes.push(outcome);
        }
        self.asked(p).passes()
    }

    fn record(&mut self, p: usize, now: Time, counts: bool) {
        let begin = self.each[p].asks.start;
        for a in self.each[p].asks.clone() {
            let ask = self.asks[a];
            let key = self.keys[a];
            if self.is_known(&ask) && self.first[key] == Some(a) {
                let passed = self.outcomes[a].is_allowed();
                let allowed = self.asked(p).counts(a - begin, counts);
                let times = self.role.times();
                let limiter = limiter(self.generation, &self.each[p], &ask);
                let mut held = self.locked.held(key);
                held.record(limiter, now, ask.cost, times, (passed, allowed));
            }
        }
    }

    /// Counts more or less of an event that was counted at `at`.
    fn settle(&mut self, p: usize, at: Time, now: Time) {
        let own = self.each[p].asks.clone();
        let backs = self.asks[own.clone()].iter().filter(|ask| ask.cost < 0.0);
        if !self.generation.rules.can_undo_all(backs) {
            return;
        }
        for a in own {
            let ask = self.asks[a];
            if !self.is_known(&ask) {
                continue;
            }
            let cost = ask.cost * self.role.times();
            let limiter = limiter(self.generation, &self.each[p], &ask);
            let mut held = self.locked.held(self.keys[a]);
            if cost < 0.0 {
                held.undo(limiter, at, now, -cost);
            } else if let Err(error) = held.charge(limiter, now, cost) {
                self.each[p].fault = Some(Fault::from(error));
            }
        }
    }

    /// The decision about an event, after all were counted.
    fn conclude(&mut self, p: usize, details: Details) -> Concluded {
        let part = &self.parts[p];
        let now = part.now();
        let own = self.each[p].asks.clone();
        if part.intent.is_settle() {
            for a in own.clone() {
                self.asks[a].cost = 0.0;
                let ask = &self.asks[a];
                if self.is_known(ask) {
                    let state = self.locked.state(self.keys[a]);
                    self.outcomes[a] = self.limiter(a).peek(state, now, 0.0);
                }
            }
        }
        let this = &*self;
        let state = |i: usize| this.locked.state(this.keys[own.start + i]);
        let asked = this.asked(p);
        // What remains, and when to retry, is said by the event's own numbers, whatever other event decided with it.
        let limiter = |ask: &Ask| limiter(this.generation, &this.each[p], ask);
        let quota =
            |i: usize| details.quotas.then(|| RawQuota::of(limiter(&asked.asks[i]), state(i), now));
        let outcomes = asked.placed(|ask| this.generation.source(ask, this.role), quota);
        let retry = (details.retry && has_refused(&outcomes)).then(|| {
            policy::retry_after(now, |at| {
                let firm = asked.asks.iter().enumerate().filter(|(_, ask)| ask.is_firm());
                let (state, limiter) = (&state, &limiter);
                firm.map(move |(i, ask)| limiter(ask).retry_after(state(i), at, ask.cost))
            })
        });
        let Question { numbers, fault, .. } = &this.each[p];
        Concluded { outcomes, retry, time: now, numbers: numbers.clone(), fault: fault.clone() }
    }
}

fn limiter<'a>(generation: &'a Generation, question: &'a Question, ask: &Ask) -> &'a Numbered {
    let own = question.numbers.as_ref().and_then(|numbers| numbers.limiter(ask.at));
    own.unwrap_or(generation.limits[ask.at].limiter())
}

/// True if a limit with states has refused the event. A rule without states refuses at level 0, so another refusal is
/// tighter and decides.
fn has_refused(placed: &[PlacedOutcome]) -> bool {
    let refuses = |one: &PlacedOutcome| !one.is_shadow && !one.outcome.is_allowed();
    placed.iter().any(|one| refuses(one) && one.source != StateSource::Unknown)
}

/// How long after its time an event would pass all limits that can refuse it.
pub(super) fn retry_after(generation: &Generation, event: &Event<'_>, load: Option<Load>) -> Retry {
    let mut asks = generation.rules.ask(event, load);
    asks.retain(|ask| ask.mode == Mode::Firm);
    let keys = asks.iter().map(|ask| Key::new(&generation.limits[ask.at], event)).collect();
    let locked = Locked::new(keys);
    policy::retry_after(event.time, |at| {
        asks.iter().enumerate().map({
            let locked = &locked;
            move |(i, ask)| {
                let limiter = generation.limits[ask.at].limiter();
                limiter.retry_after(locked.state(i), at, ask.cost)
            }
        })
    })
}
