//! Rules with their states: events in, rulings out.

use super::ruling::{Answer, Answers, Ruling};
use super::{Answered, Details, Load, Rule, Rules, Standings};
use crate::event::Event;
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{Limit, Policy, retry_after_all};
use crate::store::Held;
use crate::store::Store;
use crate::store::together::{self, Few};
use crate::time::Time;
use arc_swap::{ArcSwap, Guard};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Rules, and the states of the keys of each of their limits. Threads can share it: every method
/// takes `&self`.
#[derive(Debug)]
pub struct Ruled {
    pub(super) current: ArcSwap<Generation>,
    /// One reload at a time, so that none is lost.
    pub(super) reloading: Mutex<()>,
    capacity: usize,
    /// The bits of the load in percent; NaN if the load is unknown.
    load: AtomicU64,
}

/// The rules of one reading of a file, with the states that they use.
#[derive(Debug)]
pub(super) struct Generation {
    pub(super) rules: Arc<Rules>,
    /// The states of each limit of each rule, in the order of the rules.
    pub(super) homes: Vec<Vec<Home>>,
}

/// The states of one limit of a rule.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) own: Arc<Store>,
    /// The states of the same limit when stretched.
    pub(super) stretched: Option<Arc<Store>>,
}

/// One store that is asked about an event.
pub(super) struct Asked<'a> {
    pub(super) rule: usize,
    pub(super) limit: usize,
    store: &'a Store,
    cost: f64,
    pub(super) is_stretched: bool,
    pub(super) is_shadow: bool,
    /// Whether it is the one of the two that decides at present.
    pub(super) in_force: bool,
}

impl Ruled {
    /// `rules`, for at most `capacity` keys of each limit.
    pub fn new(rules: Rules, capacity: usize) -> Self {
        let rules = Arc::new(rules);
        let home = |place: (&Limit, Option<&Limit>)| Home::new(place, capacity);
        let homes = rules.rules().iter().map(|rule| places(rule).map(home).collect()).collect();
        Ruled {
            current: ArcSwap::from_pointee(Generation { rules, homes }),
            reloading: Mutex::new(()),
            capacity,
            load: AtomicU64::new(f64::NAN.to_bits()),
        }
    }

    /// The rules that are in force.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.current.load().rules)
    }

    /// The most keys that can be remembered for each limit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets the load of the service, on which elastic rules depend. With `None`, as at the beginning,
    /// the load is unknown and elastic rules are hard.
    pub fn set_load(&self, load: Option<Load>) {
        let percent = load.map_or(f64::NAN, Load::percent);
        self.load.store(percent.to_bits(), Ordering::Relaxed);
    }

    /// The load that was set last.
    pub fn load(&self) -> Option<Load> {
        Load::from_percent(f64::from_bits(self.load.load(Ordering::Relaxed))).ok()
    }

    /// Decides about an event, and counts it in all limits of all rules that apply, or in none.
    pub fn check(&self, event: &Event<'_>) -> Ruling {
        self.answer(event, Details::default(), true).ruling
    }

    /// What [`check`](Self::check) would answer; nothing is counted.
    pub fn peek(&self, event: &Event<'_>) -> Ruling {
        self.answer(event, Details::default(), false).ruling
    }

    /// Counts an event that passed, whatever it cost: what is known only afterwards, such as the
    /// bytes that were sent. A rule that has a cost of its own has counted that before.
    pub fn charge(&self, event: &Event<'_>) {
        let generation = self.generation();
        let mut asked = generation.ask(event, self.load());
        asked.retain(|asked| generation.rule(asked).is_none_or(|rule| rule.cost().is_none()));
        for held in &mut hold(&asked, event) {
            held.charge(event.time, event.cost);
        }
    }

    /// How long after its time the event passes if nothing is counted before, and the load stays as
    /// it is.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        let generation = self.generation();
        let mut asked = generation.ask(event, self.load());
        asked.retain(|asked| asked.is_firm());
        retry_after(&asked, &hold(&asked, event), event.time)
    }

    /// Frees the entries that logs and windows no longer count at `now`. Decisions stay the same.
    pub fn forget(&self, now: Time) {
        self.current.load().stores().for_each(|store| store.forget(now));
    }

    /// How many keys are remembered, over all limits.
    pub fn len(&self) -> usize {
        self.current.load().stores().map(|store| store.len()).sum()
    }

    /// Whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.current.load().stores().map(|store| store.forgotten()).sum()
    }

    /// The rules that are in force, for as long as one event takes.
    pub(super) fn generation(&self) -> Guard<Arc<Generation>> {
        self.current.load()
    }

    /// Decides about an event, and finds the details while its keys are still held, so that all of the
    /// answer is of the same instant.
    pub(super) fn answer(&self, event: &Event<'_>, details: Details, count: bool) -> Answered {
        let generation = self.generation();
        let asked = generation.ask(event, self.load());
        let rules = || Arc::clone(&generation.rules);
        if asked.is_empty() {
            let standings = details.standings.then(|| Standings::of(rules(), &[], &[], event));
            let ruling = Ruling::new(rules(), Answers::new());
            return Answered { ruling, standings, retry: None, fault: None };
        }
        let mut held = hold(&asked, event);
        let each = held.iter().zip(&asked);
        let outcomes: Few<Outcome> =
            each.map(|(held, asked)| held.peek(event.time, asked.cost)).collect();
        let judged = Judged { asked: &asked, outcomes: &outcomes };
        let passes = judged.passes(|asked| !asked.is_shadow);
        if count {
            for (i, held) in held.iter_mut().enumerate() {
                let (asked, passed) = (&asked[i], outcomes[i].is_allowed());
                held.record(event.time, asked.cost, passed, judged.counts(i, passes));
            }
        }
        let retry = details.retry && !passes;
        let retry = retry.then(|| retry_after(&asked, &held, event.time));
        let standings = details.standings.then(|| Standings::of(rules(), &asked, &held, event));
        drop(held);
        Answered { ruling: Ruling::new(rules(), judged.answers()), standings, retry, fault: None }
    }
}

/// How long after `now` the event passes all limits that can refuse it.
fn retry_after(asked: &[Asked<'_>], held: &[Held<'_, AnyLimiter>], now: Time) -> Retry {
    retry_after_all(now, |at| {
        let firm = held.iter().zip(asked).filter(|(_, asked)| asked.is_firm());
        firm.map(move |(held, asked)| held.limiter().retry_after(held.state(), at, asked.cost))
    })
}

impl Asked<'_> {
    /// Whether it can refuse an event.
    pub(super) fn is_firm(&self) -> bool {
        self.in_force && !self.is_shadow
    }
}

pub(super) fn hold<'a>(asked: &[Asked<'a>], event: &Event<'_>) -> Few<Held<'a, AnyLimiter>> {
    together::hold(asked.iter().map(|asked| asked.store), event)
}

/// What all stores that were asked say.
struct Judged<'a> {
    asked: &'a [Asked<'a>],
    outcomes: &'a [Outcome],
}

impl Judged<'_> {
    /// Whether all of those that are in force let the event pass.
    fn passes(&self, of: impl Fn(&Asked<'_>) -> bool) -> bool {
        let mut each = self.asked.iter().zip(self.outcomes);
        each.all(|(asked, outcome)| !asked.in_force || !of(asked) || outcome.is_allowed())
    }

    /// Whether the event counts as allowed in a store, where all that can refuse it say whether it
    /// `passes`.
    fn counts(&self, i: usize, passes: bool) -> bool {
        let asked = &self.asked[i];
        // A shadow counts what it would if it could refuse.
        let would = !asked.is_shadow || self.passes(|other| other.rule == asked.rule);
        // A limit in whose place the stretched one decides counts what passes within it.
        let own = asked.in_force || asked.is_stretched || self.outcomes[i].is_allowed();
        passes && would && own
    }

    /// The answers of those that are in force.
    fn answers(&self) -> Answers {
        let mut answers = Answers::new();
        for (i, asked) in self.asked.iter().enumerate().filter(|(_, asked)| asked.in_force) {
            let Asked { rule, limit, is_stretched, is_shadow, .. } = *asked;
            let outcome = self.outcomes[i];
            // A limit of its own stands right before the stretched one.
            let own = i.checked_sub(1).filter(|_| is_stretched).map(|own| self.outcomes[own]);
            let exceeds = outcome.is_allowed() && own.is_some_and(|own| !own.is_allowed());
            answers.push(Answer { rule, limit, outcome, is_stretched, is_shadow, exceeds });
        }
        answers
    }
}

impl Generation {
    fn rule(&self, asked: &Asked<'_>) -> Option<&Rule> {
        self.rules.rules().get(asked.rule)
    }

    fn stores(&self) -> impl Iterator<Item = &Arc<Store>> {
        let homes = self.homes.iter().flatten();
        homes.flat_map(|home| core::iter::once(&home.own).chain(&home.stretched))
    }

    /// The stores that are to be asked about an event: each limit of each rule that applies, and
    /// right after it the stretched one, if there is one.
    pub(super) fn ask<'a>(&'a self, event: &Event<'_>, load: Option<Load>) -> Few<Asked<'a>> {
        let mut all = Few::new();
        for rule in self.rules.places(event.fields) {
            let (Some(what), Some(homes)) = (self.rules.rules().get(rule), self.homes.get(rule))
            else {
                continue;
            };
            let cost = what.cost().unwrap_or(event.cost);
            let (is_shadow, stretch) = (what.is_shadow(), what.throttle().is_stretched(load));
            for (limit, home) in homes.iter().enumerate() {
                let own = Asked {
                    rule,
                    limit,
                    store: &home.own,
                    cost,
                    is_stretched: false,
                    is_shadow,
                    in_force: !stretch,
                };
                let more = home.stretched.as_deref().map(|store| Asked {
                    store,
                    is_stretched: true,
                    in_force: stretch,
                    ..own
                });
                all.push(own);
                all.extend(more);
            }
        }
        all
    }
}

/// The limits of a rule, each with its stretched form.
pub(super) fn places(rule: &Rule) -> impl Iterator<Item = (&Limit, Option<&Limit>)> {
    rule.limits().iter().enumerate().map(|(i, limit)| (limit, rule.stretched().get(i)))
}

impl Home {
    pub(super) fn new((own, stretched): (&Limit, Option<&Limit>), capacity: usize) -> Self {
        let store = |limit: &Limit| Arc::new(Store::new(Policy::from(limit.clone()), capacity));
        Home { own: store(own), stretched: stretched.map(store) }
    }
}
