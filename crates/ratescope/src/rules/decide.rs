//! The decision about events: first all limits are asked, and then the events are counted in all of them or in none.
//! Their keys stay locked until the decision is complete, so that no other event changes a part of it.

use super::decision::{Decision, Outcomes, PlacedOutcome, RawQuota, RulesRef, StateSource};
use super::memory_store::{Generation, Role};
use super::plan::{Ask, Asked, Mode};
use super::store::Decisions;
use super::{Details, Fault, Intent, Load, Numbers, Part, Rules};
use crate::event::Event;
use crate::limit::{Limiter, sum_of_costs};
use crate::outcome::{Outcome, Retry};
use crate::policy;
use crate::store::{Few, Key, Locked, Numbered};
use crate::text::BadNumber;
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
    let is_firm = |ask: &Ask| generation.is_firm(ask, role, details);
    let plain = match parts {
        [Part { event, numbers: None, intent: Intent::Count }] => Some(*event),
        _ => None,
    };
    let mut only = plain.and_then(|event| generation.lone(event)).filter(is_firm);
    let mut asks = Few::new();
    let mut each = Few::new();
    if only.is_none() {
        for part in parts {
            each.push(Question::new(&generation.rules, part, load, &mut asks));
        }
        if let [ask] = *asks {
            only = Some(ask).filter(is_firm);
        }
    }
    if let (Some(event), Some(ask)) = (plain, only) {
        return Decisions::one(by_one(generation, &ask, event, details));
    }
    let only = {
        let mut keys = Few::new();
        let places = places(&generation, parts, &each, &mut asks, &mut keys);
        let mut outcomes: Few<_> = asks.iter().map(|_| Outcome::new(true, 0.0, 0.0)).collect();
        let mut questions = Questions {
            generation: &generation,
            parts,
            role,
            each: &each,
            asks: &mut asks,
            outcomes: &mut outcomes,
            places: &places,
            locked: Locked::new(&mut keys),
        };
        questions.decide(details);
        if parts.len() != 1 {
            let rules = || RulesRef::Counted(Arc::clone(&generation.rules));
            let decision = |p| questions.conclude(p, details).decision(rules());
            return (0..parts.len()).map(decision).collect();
        }
        questions.conclude(0, details)
    };
    Decisions::one(only.decision(RulesRef::Guarded(generation)))
}

/// The questions about several events, with their keys locked. All lists are borrowed, so that none is moved.
struct Questions<'q, 'a> {
    generation: &'a Generation,
    parts: &'q [Part<'q>],
    role: Role,
    each: &'q [Question],
    asks: &'q mut [Ask],
    outcomes: &'q mut [Outcome],
    /// The place of each limit that is asked.
    places: &'q [Place<'a>],
    /// The key of each limit that is asked.
    locked: Locked<'q, 'a>,
}

/// One of the events.
struct Question {
    /// Its range in [`Questions::asks`].
    asks: Range<usize>,
    /// Its numbers, for the rules in force.
    numbers: Option<Numbers>,
    /// The mistake in the cost that it settles.
    fault: Option<BadNumber>,
}

/// Who decides about a limit that is asked.
struct Place<'a> {
    /// The first question that counts at the same key, by whose numbers it is decided; mostly this one.
    first: usize,
    /// The limiter with the numbers of the event.
    limiter: &'a Numbered,
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

impl Question {
    /// Asks which limits an event has to pass, and adds them to all that are asked.
    fn new(rules: &Arc<Rules>, part: &Part<'_>, load: Option<Load>, asks: &mut Few<Ask>) -> Self {
        let begin = asks.len();
        let mut fault = None;
        match part.intent {
            Intent::Settle { now, passed } => {
                match rules.ask_to_settle(part.event, now, load, passed) {
                    Ok(own) => asks.extend(own),
                    Err(error) => fault = Some(error),
                }
            }
            _ => rules.ask_into(asks, part.event, load),
        }
        let numbers = part.numbers.map(|numbers| numbers.in_force(rules));
        Question { asks: begin..asks.len(), numbers, fault }
    }
}

/// Who decides about each limit that is asked, and their keys. The costs of events that count at one key are added up.
fn places<'a>(
    generation: &'a Generation,
    parts: &[Part<'_>],
    each: &'a [Question],
    asks: &mut [Ask],
    keys: &mut Few<Key<'a>>,
) -> Few<Place<'a>> {
    let mut places: Few<Place<'_>> = Few::new();
    let mut is_any_shared = false;
    for (p, (part, question)) in parts.iter().zip(each).enumerate() {
        for a in question.asks.clone() {
            let Ask { at, cost, .. } = asks[a];
            let limit = &generation.limits[at];
            let own = question.numbers.as_ref().and_then(|numbers| numbers.limiter(at));
            let key = Key::new(limit, part.event);
            let mut first = a;
            // The keys of one event are of different limits.
            if p > 0 && part.intent.is_count() {
                let before = parts[..p].iter().zip(each);
                let counted = before.filter(|(before, _)| before.intent.is_count());
                let mut counted = counted.flat_map(|(_, before)| before.asks.clone());
                if let Some(known) = counted.find(|b| keys[*b].is(&key)) {
                    first = known;
                    asks[first].cost = sum_of_costs(asks[first].cost, cost);
                    is_any_shared = true;
                }
            }
            places.push(Place { first, limiter: own.unwrap_or(limit.limiter()) });
            keys.push(key);
        }
    }
    if is_any_shared {
        for (a, place) in places.iter().enumerate() {
            asks[a].cost = asks[place.first].cost;
        }
    }
    places
}

impl Questions<'_, '_> {
    /// Asks all limits, and counts the events that pass together.
    fn decide(&mut self, details: Details) {
        let parts = self.parts;
        for p in 0..parts.len() {
            self.look(p);
        }
        let passes = |this: &Self, p: usize| parts[p].intent.is_settle() || this.asked(p).passes();
        let all_pass = (0..parts.len()).all(|p| passes(self, p));
        let may_wait = |p: &usize| !parts[*p].intent.is_settle();
        let waits = (0..parts.len()).filter(may_wait).any(|p| self.asked(p).waits(details));
        let counts = all_pass && !waits;
        for (p, part) in parts.iter().enumerate().filter(|(_, part)| part.intent.is_count()) {
            // An event that passes beside a refused one is neither counted nor refused.
            if counts || !all_pass && !passes(self, p) {
                self.record(p, part.event.time, counts);
            }
        }
        // Settles last, as on Redis, since another part may have counted the cost: first refunds, and then charges.
        for is_charge in [false, true] {
            for (p, part) in parts.iter().enumerate().filter(|_| counts) {
                if let Intent::Settle { now, .. } = part.intent
                    && is_charge == (part.event.cost >= 0.0)
                {
                    self.settle(p, part.event.time, now);
                }
            }
        }
    }

    fn asked(&self, p: usize) -> Asked<'_> {
        let own = self.each[p].asks.clone();
        Asked { asks: &self.asks[own.clone()], outcomes: &self.outcomes[own] }
    }

    /// The outcome of the limit of a question, which is not counted.
    fn peek(&self, a: usize, now: Time, cost: f64) -> Outcome {
        let limiter = self.places[self.places[a].first].limiter;
        if self.is_known(&self.asks[a]) {
            limiter.peek(self.locked.state(a), now, cost)
        } else {
            self.generation.assumed(&self.asks[a], limiter.decides(), now)
        }
    }

    fn is_known(&self, ask: &Ask) -> bool {
        self.generation.source(ask, self.role) != StateSource::Unknown
    }

    /// Asks the limits of an event.
    fn look(&mut self, p: usize) {
        let now = self.parts[p].now();
        let is_settle = self.parts[p].intent.is_settle();
        for a in self.each[p].asks.clone() {
            let cost = if is_settle { 0.0 } else { self.asks[a].cost };
            self.outcomes[a] = self.peek(a, now, cost);
        }
    }

    fn record(&mut self, p: usize, now: Time, counts: bool) {
        let own = self.each[p].asks.clone();
        for (i, a) in own.enumerate() {
            let Place { first, limiter } = self.places[a];
            if first == a && self.is_known(&self.asks[a]) {
                let passed = self.outcomes[a].is_allowed();
                let allowed = self.asked(p).counts(i, counts);
                let (cost, times) = (self.asks[a].cost, self.role.times());
                self.locked.held(a).record(limiter, now, cost, times, (passed, allowed));
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
            let limiter = self.places[a].limiter;
            if !self.is_known(&self.asks[a]) {
                continue;
            }
            let cost = self.asks[a].cost * self.role.times();
            let mut held = self.locked.held(a);
            if cost < 0.0 {
                held.undo(limiter, at, now, -cost);
            } else {
                // With a cost that can't be counted, no limit is asked.
                let _ = held.charge(limiter, now, cost);
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
                if self.is_known(&self.asks[a]) {
                    self.outcomes[a] = self.peek(a, now, 0.0);
                }
            }
        }
        let this = &*self;
        let asked = this.asked(p);
        // The quota and the time of a retry follow the event's own numbers, whichever other events were decided with
        // it.
        let place = |i: usize| &this.places[own.start + i];
        let state = |i: usize| this.locked.state(own.start + i);
        let quota =
            |i: usize| details.quotas.then(|| RawQuota::of(place(i).limiter, state(i), now));
        let outcomes = asked.placed(|ask| this.generation.source(ask, this.role), quota);
        let retry = (details.retry && has_refused(&outcomes)).then(|| {
            policy::retry_after(now, |at| {
                let firm = asked.asks.iter().enumerate().filter(|(_, ask)| ask.is_firm());
                let (state, place) = (&state, &place);
                firm.map(move |(i, ask)| place(i).limiter.retry_after(state(i), at, ask.cost))
            })
        });
        let Question { numbers, fault, .. } = &this.each[p];
        let fault = fault.map(Fault::from);
        Concluded { outcomes, retry, time: now, numbers: numbers.clone(), fault }
    }
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
    let mut keys: Few<_> =
        asks.iter().map(|ask| Key::new(&generation.limits[ask.at], event)).collect();
    let locked = Locked::new(&mut keys);
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
