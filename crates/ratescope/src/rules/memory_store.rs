//! The store in memory: events in, decisions out.

use super::decide::{decide, retry_after};
use super::decision::{Decision, StateSource};
use super::plan::Ask;
use super::{
    BoxFuture, Decisions, Details, Fault, Load, Memory, OnStoreFailure, Part, PlannedLimit,
    Reloaded, Rule, Rules, Store,
};
use crate::event::{Event, Fields};
use crate::limit::Limiter;
use crate::limit::any::AnyLimiter;
use crate::outcome::{Outcome, Retry};
use crate::policy::{Per, fullness};
use crate::store::{KeyedLimit, State};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use crate::waiting::Lines;
use arc_swap::{ArcSwap, Guard};
use core::future::ready;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};

/// Rules, or a policy, and the states of the keys of each limit. Threads can share it: every method takes `&self`. A
/// clone is the same store; [`fork`](Self::fork) copies the states.
///
/// ```
/// use ratescope::{Event, MemoryStore, Policy, Time};
///
/// let policy: Policy = "gcra 3/1m per user & gcra 4/1m per ip".parse()?;
/// let store = MemoryStore::new(policy, 100_000);
/// let mail = |user| {
///     let fields = &[("user", user), ("ip", "192.0.2.7")];
///     store.check(&Event { time: Time::ZERO, cost: 1.0, fields }).is_allowed()
/// };
/// assert_eq!([mail("ann"), mail("ann"), mail("ann"), mail("ann")], [true, true, true, false]);
/// // Four in all from this address; the refused event was not counted.
/// assert_eq!([mail("bob"), mail("bob")], [true, false]);
/// # Ok::<(), ratescope::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStore {
    pub(super) current: Arc<ArcSwap<Generation>>,
    /// One reload at a time, so that none is lost.
    pub(super) reloading: Arc<Mutex<()>>,
    capacity: usize,
    /// The bits of the load in percent; NaN if the load is unknown.
    load: Arc<AtomicU64>,
    lines: Arc<Lines>,
}

/// The rules of one reload, with their states.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(super) rules: Arc<Rules>,
    /// The states of each limit, in the order of the plan.
    pub(super) limits: Vec<Arc<KeyedLimit>>,
    /// From [`Rules::lone`].
    lone: Option<(Ask, Option<f64>)>,
}

impl MemoryStore {
    /// A store for rules, or for a policy, with room for `capacity` keys of each limit or slightly more.
    pub fn new(rules: impl Into<Rules>, capacity: usize) -> Self {
        let rules = Arc::new(rules.into());
        let states = |planned: &PlannedLimit| Arc::new(KeyedLimit::new(&planned.limit, capacity));
        let limits = rules.plan().iter().map(states).collect();
        Self::with_generation(Generation::new(rules, limits), capacity)
    }

    pub(super) fn with_generation(generation: Generation, capacity: usize) -> Self {
        MemoryStore {
            current: Arc::new(ArcSwap::from_pointee(generation)),
            reloading: Arc::default(),
            capacity,
            load: Arc::new(AtomicU64::new(f64::NAN.to_bits())),
            lines: Arc::default(),
        }
    }

    /// A store with a copy of all states. An event that another thread decides meanwhile may be missing in some limits.
    #[must_use]
    pub fn fork(&self) -> Self {
        let generation = self.generation();
        let limits = generation.limits.iter().map(|limit| Arc::new(limit.fork())).collect();
        let forked = Generation::new(Arc::clone(&generation.rules), limits);
        let store = MemoryStore::with_generation(forked, self.capacity);
        store.set_load(self.load());
        store
    }

    /// The rules that are in force.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.current.load().rules)
    }

    /// Those who wait.
    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
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
    #[inline]
    pub fn check(&self, event: &Event<'_>) -> Decision {
        self.decide_one(&Part::count(event), Details::default())
    }

    /// Answers as [`check`](Self::check) would, and counts nothing. The decision has the
    /// [quotas](Details::quotas) of the sender.
    pub fn peek(&self, event: &Event<'_>) -> Decision {
        self.decide_one(&Part::look(event), Details::default().with_quotas())
    }

    /// Settles an event that passed, and costs so much more or less than was counted: see
    /// [`Intent::Settle`](super::Intent::Settle). [`Event::time`] is when it was counted, [`Event::cost`] the difference.
    ///
    /// # Errors
    /// When the cost is not a number. Nothing is counted then.
    pub fn settle(
        &self,
        event: &Event<'_>,
        now: Time,
        passed: Option<&Decision>,
    ) -> Result<(), BadNumber> {
        crate::limit::charged(event.cost.abs())?;
        let _ = self.decide_one(&Part::settle(event, now, passed), Details::default());
        Ok(())
    }

    /// The decision about a single event: see [`Store::decide`].
    #[inline]
    pub fn decide_one(&self, part: &Part<'_>, details: Details) -> Decision {
        let only = self.decide_as(Role::Own, core::slice::from_ref(part), details).into_only();
        only.unwrap_or_else(|| Decision::new(self.rules(), part.now()))
    }

    /// How long after its time the event would pass if nothing is counted before and the load stays as it is.
    pub fn retry_after(&self, event: &Event<'_>) -> Retry {
        retry_after(&self.generation(), event, self.load())
    }

    /// How much may still be counted at the event's time: the least of all limits that apply.
    pub fn remaining(&self, event: &Event<'_>) -> f64 {
        let peeked = self.peek(event);
        let each = peeked.outcomes().filter_map(|one| Some(one.quota()?.remaining));
        each.fold(f64::INFINITY, crate::extremes::smaller)
    }

    /// How long after its time all of the event's keys are as good as new.
    pub fn reset_after(&self, event: &Event<'_>) -> Span {
        let generation = self.generation();
        let asks = generation.rules.ask(event, self.load());
        let each = asks.iter().map(|ask| {
            let limit = &generation.limits[ask.at];
            limit.limiter().reset_after(limit.hold(event).state(), event.time)
        });
        each.max().unwrap_or(Span::ZERO)
    }

    /// The outcome with the highest ratio of level to limit, of all keys at `now`; for a limit without keys, of a new
    /// key. `None` without limits. This looks at every key.
    pub fn tightest(&self, now: Time) -> Option<Outcome> {
        let mut tightest: Option<Outcome> = None;
        for limit in &self.generation().limits {
            let mut see = |state: &State| {
                let outcome = limit.limiter().peek(state, now, 0.0);
                if tightest.is_none_or(|so_far| fullness(&so_far, &outcome).is_lt()) {
                    tightest = Some(outcome);
                }
            };
            if limit.keys.is_empty() {
                see(&limit.limiter().initial());
            }
            limit.keys.each(see);
        }
        tightest
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key.
    /// Returns how many keys were remembered; the limits of a rule for the same fields share one. Choose with care: all
    /// clients share the key of a limit `per all`.
    pub fn reset(&self, fields: &dyn Fields, of: impl Fn(&Rule, &Per) -> bool) -> usize {
        let generation = self.generation();
        let mut known = BTreeSet::new();
        for (planned, limit) in generation.rules.plan().iter().zip(&generation.limits) {
            let per = &planned.limit.per;
            let is_meant =
                generation.rules.rules().get(planned.rule).is_some_and(|rule| of(rule, per));
            if is_meant && limit.reset(fields) {
                known.insert((planned.rule, per.to_string()));
            }
        }
        known.len()
    }

    /// Frees the entries that logs and windows no longer count at `now`:
    /// see [`Keyed::forget`](crate::store::Keyed::forget).
    pub fn forget(&self, now: Time) {
        self.generation().limits.iter().for_each(|limit| limit.keys.forget(now));
    }

    /// Forgets all keys of the rules at these places.
    pub(super) fn clear(&self, rules: impl IntoIterator<Item = usize>) {
        let generation = self.generation();
        for at in rules.into_iter().flat_map(|rule| generation.rules.plan_of(rule)) {
            generation.limits[at].keys.clear();
        }
    }

    /// How many keys are remembered, over all limits.
    pub fn len(&self) -> usize {
        self.generation().limits.iter().map(|limit| limit.keys.len()).sum()
    }

    /// True if no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys were evicted for lack of room.
    pub fn evicted(&self) -> u64 {
        self.generation().limits.iter().map(|limit| limit.keys.evicted()).sum()
    }

    /// The rules in force, to be used for one decision.
    pub(super) fn generation(&self) -> Guard<Arc<Generation>> {
        self.current.load()
    }

    /// Decides in place of another store that can't be asked. Each rule allows, refuses, or decides by the states here.
    /// An event counts as many `times`.
    #[doc(hidden)]
    pub fn decide_instead(&self, parts: &[Part<'_>], details: Details, times: f64) -> Decisions {
        self.decide_as(Role::Instead { times }, parts, details)
    }

    /// Takes over the states of another store after its decision by these rules, to decide by them when it can't be
    /// asked.
    #[doc(hidden)]
    pub fn adopt(
        &self,
        rules: &Arc<Rules>,
        event: &Event<'_>,
        asks: &[Ask],
        outcomes: &[Outcome],
        states: impl IntoIterator<Item = State>,
    ) {
        let generation = self.generation();
        // A reload has replaced the rules meanwhile.
        if !Arc::ptr_eq(&generation.rules, rules) {
            return;
        }
        for ((ask, outcome), state) in asks.iter().zip(outcomes).zip(states) {
            if rules.rules().get(ask.rule).is_some_and(is_local) {
                let limit = &generation.limits[ask.at];
                let (now, passed) = (event.time, outcome.is_allowed());
                limit.hold(event).adopt(limit.limiter(), now, ask.cost, passed, state);
            }
        }
    }

    fn decide_as(&self, role: Role, parts: &[Part<'_>], details: Details) -> Decisions {
        decide(self.generation(), parts, details, role, self.load())
    }
}

impl Store for MemoryStore {
    fn rules(&self) -> Arc<Rules> {
        MemoryStore::rules(self)
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        Box::pin(async move { self.decide_as(Role::Own, parts, details) })
    }

    #[inline]
    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        Some(self.decide_as(Role::Own, parts, details))
    }

    fn reset_async<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        Box::pin(ready(Ok(MemoryStore::reset(self, fields, of))))
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        MemoryStore::replace(self, rules, now)
    }

    fn set_load(&self, load: Option<Load>) {
        MemoryStore::set_load(self, load);
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory::new(self.len(), self.evicted()))
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
    /// `limits` has states twice, the second limit gets a fork.
    pub(super) fn new(rules: Arc<Rules>, mut limits: Vec<Arc<KeyedLimit>>) -> Self {
        let mut seen = HashSet::new();
        for limit in &mut limits {
            if !seen.insert(Arc::as_ptr(limit)) {
                *limit = Arc::new(limit.fork());
            }
        }
        let lone = rules.lone();
        Generation { rules, limits, lone }
    }

    /// The only limit that is asked about an event, if the rules have no other.
    #[inline]
    pub(super) fn lone(&self, event: &Event<'_>) -> Option<Ask> {
        // A rule for all events applies once to a request, not to each of its descriptors.
        let is_whole = event.fields.descriptor().is_none_or(|own| own.is_first);
        let (ask, cost) = self.lone.filter(|_| is_whole)?;
        Some(Ask { cost: cost.unwrap_or(event.cost), ..ask })
    }

    /// True if a limit decides and counts in one step when no other is asked: it can refuse, its state is here, and it does
    /// not delay an event that can't wait.
    #[inline]
    pub(super) fn is_firm(&self, ask: &Ask, role: Role, details: Details) -> bool {
        let may_wait = details.longest.is_some() && self.limits[ask.at].limiter().usual().delays();
        ask.is_firm() && self.source(ask, role) == StateSource::Store && !may_wait
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

    /// The outcome of a rule without states: it allows or refuses by `on_store_failure`.
    pub(super) fn assumed(&self, ask: &Ask, limiter: &AnyLimiter, now: Time) -> Outcome {
        let rule = self.rules.rules().get(ask.rule);
        let refuses = rule.is_some_and(|rule| rule.on_store_failure() == OnStoreFailure::Refuse);
        let new = limiter.peek(&limiter.initial(), now, 0.0);
        Outcome::new(!refuses, 0.0, new.limit)
    }
}
