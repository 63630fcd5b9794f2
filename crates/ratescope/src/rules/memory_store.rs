//! The store in memory: events in, decisions out.

use super::asked::Ask;
use super::deciding::{in_one_step, in_two_steps, retry_after, together};
use super::decision::{Decision, StateSource};
use super::{Details, Intent, Load, OnStoreFailure, Part, Rule, Rules, RulesError};
use crate::event::{Event, Fields};
use crate::limit::Limiter;
use crate::limit::any::{AnyLimiter, AnyState};
use crate::outcome::{Outcome, Retry};
use crate::policy::{Limit, Per};
use crate::store::{self, Few, Held, KeyedLimit};
use crate::text::BadNumber;
use crate::time::Time;
use arc_swap::{ArcSwap, Guard};
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// Rules, and the states of the keys of each of their limits. Threads can share it: every method
/// takes `&self`. A clone is the same store.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    pub(super) current: Arc<ArcSwap<Generation>>,
    /// One reload at a time, so that none is lost.
    pub(super) reloading: Arc<Mutex<()>>,
    capacity: usize,
    /// The bits of the load in percent; NaN if the load is unknown.
    load: Arc<AtomicU64>,
}

/// The rules of one reload, with their states.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(super) rules: Arc<Rules>,
    /// The states of each limit of each rule, in the order of the rules.
    pub(super) tables: Vec<Vec<LimitTable>>,
    /// From [`Rules::lone`].
    lone: Option<(Ask, Option<f64>)>,
}

/// The states of one limit of a rule.
#[derive(Clone, Debug)]
pub(super) struct LimitTable {
    pub(super) own: Arc<KeyedLimit>,
    /// The states of the same limit when stretched.
    pub(super) stretched: Option<Arc<KeyedLimit>>,
}

impl MemoryStore {
    /// A store for rules, or for a policy, with room for `capacity` keys of each limit or slightly more.
    pub fn new(rules: impl Into<Rules>, capacity: usize) -> Self {
        let rules = Arc::new(rules.into());
        let table = |limits: (&Limit, Option<&Limit>)| LimitTable::new(limits, capacity);
        let tables = |rule: &Rule| rule.limits_and_stretched().map(table).collect();
        let tables = rules.rules().iter().map(tables).collect();
        Self::with_generation(Generation::new(rules, tables), capacity)
    }

    pub(super) fn with_generation(generation: Generation, capacity: usize) -> Self {
        MemoryStore {
            current: Arc::new(ArcSwap::from_pointee(generation)),
            reloading: Arc::default(),
            capacity,
            load: Arc::new(AtomicU64::new(f64::NAN.to_bits())),
        }
    }

    /// A store with the same keys and states, and the numbers of other rules, such as those of a customer. What either
    /// store counts, both count:
    ///
    /// ```
    /// use ratescope::{Event, MemoryStore, Policy, Time};
    ///
    /// let policy = |n: u32| format!("gcra {n}/1h per user").parse::<Policy>();
    /// let usual = MemoryStore::new(policy(2)?, 100_000);
    /// let large = usual.with_limits(policy(5)?)?;
    ///
    /// let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("user", "ann")] };
    /// assert_eq!([0; 3].map(|_| usual.check(&event).is_allowed()), [true, true, false]);
    /// assert_eq!([0; 4].map(|_| large.check(&event).is_allowed()), [true, true, true, false]);
    /// assert_eq!(large.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It is made in about a microsecond for each limit, and holds no keys of its own, so a service makes it for an
    /// event or keeps one for each customer. A key with other numbers than those of the first store takes some 60 bytes
    /// more. The next event of a key converts its state: since its latest event a bucket has drained at the new rate.
    /// [Saved](Self::save) states have the numbers of the latest event.
    ///
    /// To [reload](Self::reload), reload the store with the usual limits, and then make the others again, since a
    /// reload may make new states.
    ///
    /// # Errors
    /// If a rule is not in this store, or its limits differ in fields or [shape](crate::limit::kept).
    pub fn with_limits(&self, rules: impl Into<Rules>) -> Result<Self, RulesError> {
        let generation = self.generation();
        let rules = rules.into().with_key_secret(generation.rules.key_secret());
        let each = generation.rules.rules().iter().zip(&generation.tables);
        let named: HashMap<&str, &Vec<LimitTable>> =
            each.map(|(rule, tables)| (rule.name(), tables)).collect();
        let tables = |rule: &Rule| {
            let tables = named.get(rule.name())?;
            let each = tables.iter().zip(rule.limits_and_stretched());
            let with = each.map(|(table, limits)| table.with_limits(limits));
            with.collect::<Option<Vec<_>>>().filter(|_| tables.len() == rule.limits().len())
        };
        let tables = rules.rules().iter().map(|rule| {
            tables(rule).ok_or_else(|| {
                let name = rule.name();
                rules.wrong(format!("the store has no rule {name} with limits of these shapes"))
            })
        });
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let rules = Arc::new(rules);
        let lone = rules.lone();
        let generation = Arc::new(Generation { rules, tables, lone });
        Ok(MemoryStore {
            current: Arc::new(ArcSwap::new(generation)),
            reloading: Arc::default(),
            ..self.clone()
        })
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
        Load::known(f64::from_bits(self.load.load(Ordering::Relaxed)))
    }

    /// Decides about an event, and counts it in all limits of all rules that apply, or in none.
    pub fn check(&self, event: &Event<'_>) -> Decision {
        self.answer(event, Details::default(), true)
    }

    /// Answers as [`check`](Self::check) would, and counts nothing. The decision has the
    /// [quotas](Details::quotas) of the sender.
    pub fn peek(&self, event: &Event<'_>) -> Decision {
        let details = Details { quotas: true, ..Details::default() };
        self.answer(event, details, false)
    }

    /// Counts an event that passed, at a cost that is known only afterwards, such as the bytes that were sent: see
    /// [`Limiter::charge`]. Rules with a cost of their own are not charged. If a rule is stretched, both forms count
    /// the cost, so a debt remains when the rule is no longer stretched.
    ///
    /// With the decision by which the event `passed`, the shadows that would have refused it do not count the cost: if
    /// they could refuse, it would have cost nothing.
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    pub fn charge(&self, event: &Event<'_>, passed: Option<&Decision>) -> Result<(), BadNumber> {
        self.charge_as(Role::Own, event, passed)
    }

    /// As [`charge`](Self::charge), in place of another store: counts only events that were decided here, as many
    /// `times`.
    pub fn charge_instead(
        &self,
        event: &Event<'_>,
        passed: Option<&Decision>,
        times: f64,
    ) -> Result<(), BadNumber> {
        self.charge_as(Role::Instead { times }, event, passed)
    }

    fn charge_as(
        &self,
        role: Role,
        event: &Event<'_>,
        passed: Option<&Decision>,
    ) -> Result<(), BadNumber> {
        let generation = self.generation();
        let mut asked = generation.rules.ask_to_charge(event, self.load(), passed)?;
        asked.retain(|ask| generation.is_known(ask, role));
        let cost = event.cost * role.times();
        let mut held = generation.hold(&asked, event);
        held.iter_mut().try_for_each(|held| held.charge(event.time, cost))
    }

    /// Gives back the cost of an event in all limits that apply, and returns whether all of them can: if one can't,
    /// nothing changes. The cost may have been counted at any time: see [`Limiter::give_back`].
    ///
    /// Without a decision, the whole event is undone, also in rules with a cost of their own. With the decision by
    /// which it `passed`, [`Event::cost`] is the part to give back, in the limits in which [`charge`](Self::charge)
    /// would count.
    pub fn give_back(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        self.give_back_times(event, passed, 1.0)
    }

    /// As [`give_back`](Self::give_back), for an event that was counted as many `times`.
    pub fn give_back_times(
        &self,
        event: &Event<'_>,
        passed: Option<&Decision>,
        times: f64,
    ) -> bool {
        // Both steps use one generation: a reload may bring rules that can't give back.
        let generation = self.generation();
        let now = event.time;
        let asked = generation.rules.ask_to_give_back(event, self.load(), passed);
        if !generation.can_give_back(&asked) {
            return false;
        }
        let mut held = generation.hold(&asked, event);
        held.iter_mut().zip(&asked).all(|(held, ask)| held.give_back(now, ask.cost * times))
    }

    /// True if all limits that apply to an event can [give back](Self::give_back): buckets and windows can.
    pub fn can_give_back(&self, event: &Event<'_>) -> bool {
        let generation = self.generation();
        generation.can_give_back(&generation.rules.ask(event, self.load()))
    }

    /// How long after its time the event would pass if nothing is counted before and the load stays as it is.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        let generation = self.generation();
        let mut asked = generation.rules.ask(event, self.load());
        asked.retain(|ask| ask.is_firm());
        retry_after(&asked, &generation.hold(&asked, event), event.time)
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key.
    /// Returns how many keys were remembered; the limits of a rule for the same fields share one. Choose with care: all
    /// clients share the key of a limit `per all`.
    pub fn reset(&self, fields: &dyn Fields, of: impl Fn(&Rule, &Per) -> bool) -> usize {
        let generation = self.generation();
        let rules = generation.rules.rules().iter().zip(&generation.tables);
        let each = rules.map(|(rule, tables)| {
            let tables = rule.limits().iter().zip(tables).filter(|(limit, _)| of(rule, &limit.per));
            let keys =
                tables.flat_map(|(limit, table)| table.each().map(|keyed| (&limit.per, keyed)));
            let known = keys.filter(|(_, keyed)| keyed.reset(fields)).map(|(per, _)| per);
            known.collect::<HashSet<&Per>>().len()
        });
        each.sum()
    }

    /// Frees the entries that logs and windows no longer count at `now`:
    /// see [`Keyed::forget`](crate::store::Keyed::forget).
    pub fn forget(&self, now: Time) {
        self.current.load().each().for_each(|limit| limit.keys.forget(now));
    }

    /// Forgets all keys of the rules at these places.
    pub(super) fn clear(&self, rules: impl IntoIterator<Item = usize>) {
        let generation = self.generation();
        let tables = rules.into_iter().filter_map(|rule| generation.tables.get(rule)).flatten();
        tables.flat_map(LimitTable::each).for_each(|limit| limit.keys.clear());
    }

    /// How many keys are remembered, over all limits.
    pub fn len(&self) -> usize {
        self.current.load().each().map(|limit| limit.keys.len()).sum()
    }

    /// True if no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys were evicted for want of room.
    pub fn evicted(&self) -> u64 {
        self.current.load().each().map(|limit| limit.keys.evicted()).sum()
    }

    /// The rules in force, to be used for one event.
    pub(super) fn generation(&self) -> Guard<Arc<Generation>> {
        self.current.load()
    }

    /// The rules in force, to be used for several events.
    pub(super) fn whole_generation(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// Decides about an event, and computes the details while its keys are still locked, so that the whole decision is
    /// of one instant.
    pub(super) fn answer(&self, event: &Event<'_>, details: Details, count: bool) -> Decision {
        self.answer_as(Role::Own, event, details, count)
    }

    /// Decides in place of another store that can't be asked. Each rule allows, refuses, or decides by the states here.
    /// An event counts as many `times`.
    pub fn answer_instead(
        &self,
        event: &Event<'_>,
        details: Details,
        count: bool,
        times: f64,
    ) -> Decision {
        self.answer_as(Role::Instead { times }, event, details, count)
    }

    /// Takes over the states of another store after its decision by these rules, to decide by them when it can't be
    /// asked.
    pub fn adopt(
        &self,
        rules: &Arc<Rules>,
        event: &Event<'_>,
        asked: &[Ask],
        outcomes: &[Outcome],
        states: impl IntoIterator<Item = AnyState>,
    ) {
        let generation = self.generation();
        // A reload has replaced the rules meanwhile.
        if !Arc::ptr_eq(&generation.rules, rules) {
            return;
        }
        for ((ask, outcome), state) in asked.iter().zip(outcomes).zip(states) {
            if rules.rules().get(ask.rule).is_some_and(is_local) {
                let limit = generation.limit(ask);
                let state = limit.own_state(state);
                limit.hold(event).adopt(event.time, ask.cost, outcome.is_allowed(), state);
            }
        }
    }

    /// Decides about several events together.
    pub(super) fn answer_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        match parts {
            [Part { store, event, intent: intent @ (Intent::Count | Intent::Look) }] => {
                vec![store.answer(event, details, *intent == Intent::Count)]
            }
            _ => together(Role::Own, parts, details),
        }
    }

    /// Decides about several events together, in place of another store that can't be asked. An event counts as many
    /// `times`.
    #[doc(hidden)]
    pub fn answer_all_instead(
        parts: &[Part<'_, Self>],
        details: Details,
        times: f64,
    ) -> Vec<Decision> {
        together(Role::Instead { times }, parts, details)
    }

    fn answer_as(&self, role: Role, event: &Event<'_>, details: Details, count: bool) -> Decision {
        let generation = self.generation();
        // A rule for all events applies once to a request, not to each of its descriptors.
        let is_whole = event.fields.descriptor().is_none_or(|own| own.is_first);
        let lone = generation.lone.filter(|_| is_whole);
        let lone = lone.map(|(ask, cost)| [Ask { cost: cost.unwrap_or(event.cost), ..ask }]);
        let mut list = Few::new();
        let asked = match &lone {
            Some(lone) => lone.as_slice(),
            None => {
                generation.rules.ask_into(&mut list, event, self.load());
                &list
            }
        };
        let is_kept = |ask: &Ask| generation.source(ask, role) == StateSource::Store;
        let may_wait = |ask: &Ask| details.at_once && generation.limiter(ask).delays();
        if count && asked.iter().all(|ask| ask.is_plain() && is_kept(ask) && !may_wait(ask)) {
            if let Ok(one) = asked.try_into() {
                return in_one_step::<1>(generation, one, event, details);
            }
            if let Ok(two @ [a, b]) = <&[Ask; 2]>::try_from(asked)
                && generation.limit(a).is_before(generation.limit(b))
            {
                return in_one_step(generation, two, event, details);
            }
        }
        in_two_steps(role, generation, asked, event, details, count)
    }
}

/// True if the states here decide about a rule when another store can't be asked.
fn is_local(rule: &Rule) -> bool {
    rule.on_store_failure() == OnStoreFailure::Local
}

/// Whose decisions a store makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    Own,
    /// Those of another store that can't be asked: an event counts as many `times`.
    Instead {
        times: f64,
    },
}

impl Role {
    pub(super) fn times(self) -> f64 {
        match self {
            Role::Own => 1.0,
            Role::Instead { times } => times,
        }
    }
}

impl Generation {
    /// The rules with their states. An event locks its key in each limit, so no two limits may share states: if
    /// `tables` has a table twice, the second limit gets a fork.
    pub(super) fn new(rules: Arc<Rules>, mut tables: Vec<Vec<LimitTable>>) -> Self {
        let mut seen = HashSet::new();
        for table in tables.iter_mut().flatten() {
            for keyed in core::iter::once(&mut table.own).chain(&mut table.stretched) {
                if !seen.insert(Arc::as_ptr(keyed)) {
                    *keyed = Arc::new(keyed.fork());
                }
            }
        }
        let lone = rules.lone();
        Generation { rules, tables, lone }
    }

    fn each(&self) -> impl Iterator<Item = &Arc<KeyedLimit>> {
        self.tables.iter().flatten().flat_map(LimitTable::each)
    }

    /// Locks the key of the event in the states of each limit that is asked, in their order.
    pub(super) fn hold(&self, asked: &[Ask], event: &Event<'_>) -> Few<Held<'_, AnyLimiter>> {
        store::hold_in_any_order(asked.iter().map(|ask| self.limit(ask)), event)
    }

    /// True if all limits that are asked can give back.
    fn can_give_back(&self, asked: &[Ask]) -> bool {
        asked.iter().all(|ask| self.limiter(ask).can_undo())
    }

    /// Where the states are that decide.
    #[inline]
    pub(super) fn source(&self, ask: &Ask, role: Role) -> StateSource {
        match role {
            Role::Own => StateSource::Store,
            Role::Instead { .. } if self.rules.rules().get(ask.rule).is_some_and(is_local) => {
                StateSource::Fallback
            }
            Role::Instead { .. } => StateSource::Unknown,
        }
    }

    /// True if there are states that decide.
    pub(super) fn is_known(&self, ask: &Ask, role: Role) -> bool {
        self.source(ask, role) != StateSource::Unknown
    }

    /// The states of a limit.
    pub(super) fn limit(&self, ask: &Ask) -> &KeyedLimit {
        let table = &self.tables[ask.rule][ask.limit];
        match &table.stretched {
            Some(stretched) if ask.is_stretched => stretched,
            _ => &table.own,
        }
    }

    pub(super) fn limiter(&self, ask: &Ask) -> &AnyLimiter {
        self.limit(ask).limiter()
    }

    /// The outcome of a rule without states: it allows or refuses by `on_store_failure`.
    pub(super) fn assumed(&self, ask: &Ask, limiter: &AnyLimiter, now: Time) -> Outcome {
        let rule = self.rules.rules().get(ask.rule);
        let refuses = rule.is_some_and(|rule| rule.on_store_failure() == OnStoreFailure::Refuse);
        let new = limiter.peek(&limiter.initial(), now, 0.0);
        Outcome::new(!refuses, 0.0, new.limit)
    }
}

impl LimitTable {
    /// These states with the numbers of other limits; `None` if the shape differs.
    fn with_limits(&self, (own, stretched): (&Limit, Option<&Limit>)) -> Option<Self> {
        let stretched = match (stretched, &self.stretched) {
            (Some(limit), Some(keyed)) => Some(Arc::new(keyed.with_limit(limit)?)),
            (None, None) => None,
            _ => return None,
        };
        Some(LimitTable { own: Arc::new(self.own.with_limit(own)?), stretched })
    }

    fn each(&self) -> impl Iterator<Item = &Arc<KeyedLimit>> {
        core::iter::once(&self.own).chain(&self.stretched)
    }

    pub(super) fn new((own, stretched): (&Limit, Option<&Limit>), capacity: usize) -> Self {
        let keyed = |limit: &Limit| Arc::new(KeyedLimit::new(limit, capacity));
        LimitTable { own: keyed(own), stretched: stretched.map(keyed) }
    }
}
