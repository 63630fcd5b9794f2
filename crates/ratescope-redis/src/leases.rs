//! Leases: events of a key that this process has taken in advance, and decides about without a call; and keys that are
//! [synced], about which it decides by itself. See [`ratescope::share`] for their promises.
//!
//! Each key of an event has its own leases, for events of one cost. An event passes without a call if a lease of each of
//! its keys has an event left. It is refused without a call if the states that Redis has returned for all of its keys
//! refuse it. Otherwise Redis is asked about the keys that lack one, and if it refuses, the others get theirs back.
//!
//! A key that is synced never lacks an event, since the state in this process decides. While Redis is asked about the
//! other keys of an event that passes there, its cost is reserved.
//!
//! A task gives back the rest of leases that have ended, and tells Redis of refused events that count.

mod ask;
mod back;
mod synced;
mod table;
mod tally;

pub(super) use ask::Asking;
pub use tally::Leased;
pub(super) use tally::Tally;

use super::fallback::Clock;
use super::link::Link;
use super::question::{Does, EventKey, Question};
use super::reply::Reply;
use super::slots::slot;
use super::{Few, Redis};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use ratescope::internal::Ask;
use ratescope::limit::{Limiter, MAX_COST};
use ratescope::outcome::Outcome;
use ratescope::share::Share;
use ratescope::store::Secret;
use ratescope::time::Time;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use table::{Return, Table, Told};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

/// The most keys whose leases and states are known, and the most that are synced. Events of further keys ask Redis.
const KEYS: usize = 20_000;

/// The most leases that wait to be given back. Further ones count until their limits forget them.
const RETURNS: usize = 10_000;

pub(super) struct Leases {
    link: Arc<Link>,
    clock: Arc<Clock>,
    begun: Instant,
    process: u64,
    /// The number of the last lease.
    serial: AtomicU64,
    table: Mutex<Table>,
    is_swept: AtomicBool,
    /// Held while leases are given back.
    returning: AsyncMutex<()>,
    /// Held while Redis is told of counted events.
    syncing: Arc<AsyncMutex<()>>,
    /// How often to look for leases that have ended, in microseconds.
    pause: AtomicU64,
    /// Lets the task look at once.
    hurry: Notify,
    tally: Arc<Tally>,
}

impl core::fmt::Debug for Leases {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Leases").finish_non_exhaustive()
    }
}

/// A key of an event.
pub(super) struct Unit {
    question: usize,
    key: EventKey,
    id: Vec<u8>,
    cost: f64,
    share: Share,
}

/// The answers without a call, and the earliest time at which they were counted.
pub(super) struct Here {
    pub(super) replies: Vec<Reply>,
    pub(super) counted: Time,
}

/// The keys of these questions. `None` if they are asked together, as without leases: if all rules are exact, if an event
/// is not just counted by limits that can refuse it, or if the keys about which Redis may be asked are on several nodes.
pub(super) fn units(questions: &[Question], link: &Link) -> Option<Vec<Unit>> {
    let mut units = Vec::<Unit>::new();
    for (q, question) in questions.iter().enumerate() {
        let is_plain = question.does == Does::Count && question.numbers.is_none();
        if !is_plain || !question.asks.iter().all(Ask::is_firm) {
            return None;
        }
        for key in &question.keys {
            let place = question.places(key).next()?;
            let cost = question.asks.get(place)?.cost;
            if !(cost > 0.0 && cost <= MAX_COST) || units.iter().any(|one| one.key.key == key.key) {
                return None;
            }
            let share = question.plan.share(key);
            let id = match share {
                Share::Synced(_) => key.key.clone(),
                _ => [key.key.as_slice(), &cost.to_le_bytes()].concat(),
            };
            units.push(Unit { question: q, key: key.clone(), id, cost, share });
        }
    }
    let is_exact = units.iter().all(|unit| unit.share == Share::Exact);
    let asked = || units.iter().filter(|unit| unit.share.sync().is_none());
    let slots = || asked().map(|unit| slot(&unit.key.key));
    let is_together = !link.is_cluster() || slots().all(|one| slots().next() == Some(one));
    (!is_exact && is_together).then_some(units)
}

impl Leases {
    pub(super) fn new(redis: &Redis) -> Arc<Self> {
        let Redis { link, clock, tally, .. } = redis.clone();
        let leases = Arc::new(Leases {
            link,
            clock,
            begun: Instant::now(),
            process: Secret::default().hash_one("a process"),
            serial: AtomicU64::new(0),
            table: Mutex::default(),
            is_swept: AtomicBool::new(false),
            returning: AsyncMutex::default(),
            syncing: Arc::default(),
            pause: AtomicU64::new(u64::MAX),
            hurry: Notify::new(),
            tally,
        });
        let mut stores = leases.tally.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.push(Arc::downgrade(&leases));
        drop(stores);
        leases
    }

    pub(super) fn held(&self) -> u64 {
        let now = self.now();
        self.table().keys.values().map(|entry| entry.lease.left(now)).sum()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time by the clock of this process, which nobody sets.
    fn now(&self) -> Time {
        Time::from_micros(i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX))
    }

    /// This process's number for leases of events of this cost.
    fn process_of(&self, cost: f64) -> u64 {
        self.process ^ cost.to_bits()
    }

    /// Decides without a call, if that is possible. `at` is the time of Redis, as far as it is known.
    pub(super) fn decide(&self, questions: &[Question], units: &[Unit], at: Time) -> Option<Here> {
        let now = self.now();
        let mut table = self.table();
        let mut refused: Few<bool> = questions.iter().map(|_| false).collect();
        // Whether the event passes at each key that is synced.
        let mut passing: Few<bool> = Few::new();
        for unit in units {
            if unit.share.sync().is_some() {
                // Without the task, Redis would never be told.
                if !self.is_swept.load(Ordering::Relaxed) {
                    return None;
                }
                let passes = table.local(unit, questions)?.passes(at, unit.cost);
                refused[unit.question] |= !passes;
                passing.push(passes);
                continue;
            }
            let entry = table.entry(unit, questions)?;
            if !entry.knows(now) {
                return None;
            }
            if entry.lease.left(now) == 0 {
                if !entry.refuses(at) {
                    return None;
                }
                refused[unit.question] = true;
            }
        }
        let is_refused = refused.contains(&true);
        let mut here = Here { replies: replies(questions, at), counted: Time::LAST };
        let mut passing = passing.into_iter();
        for unit in units {
            if unit.share.sync().is_some() {
                let local = table.local(unit, questions)?;
                let (passes, counts) = (passing.next()?, counts(&refused, unit.question));
                let told = local.decide(now, at, unit.cost, passes, counts);
                here.counted = here.counted.min(at);
                put(&mut here.replies, unit, questions, told);
                continue;
            }
            let entry = table.entry(unit, questions)?;
            let spends = !is_refused && entry.lease.spend(now);
            let left = entry.lease.left(now);
            let told = entry.told(left, at.max(entry.lease.counted), spends);
            if spends {
                here.counted = here.counted.min(entry.lease.counted);
            } else if told.outcomes.iter().any(|one| !one.is_allowed()) && entry.counts_refused() {
                entry.refused += unit.cost;
            }
            put(&mut here.replies, unit, questions, told);
        }
        drop(table);
        here.counted = if is_refused { at } else { here.counted.min(at) };
        self.tally.here.fetch_add(1, Ordering::Relaxed);
        Some(here)
    }

    /// Counts an event that passed while Redis could not be asked at the keys that are synced: Redis is told of it later.
    pub(super) fn count_synced(&self, Asking { questions, units, now: at, .. }: &Asking) {
        let now = self.now();
        let mut table = self.table();
        for unit in units.iter().filter(|unit| unit.share.sync().is_some()) {
            if let Some(local) = table.local(unit, questions) {
                let _ = local.decide(now, *at, unit.cost, true, Some(true));
            }
        }
    }

    fn give_back(&self, table: &mut Table, returned: Option<Return>) {
        let Some(returned) = returned else { return };
        if table.returns.len() < RETURNS {
            table.returns.push(returned);
        } else {
            self.tally.lost.fetch_add(returned.unused.left, Ordering::Relaxed);
        }
    }

    /// Gives all leases back soon: the rules have changed.
    pub(super) fn cancel(&self) {
        self.cancel_all();
        self.hurry.notify_one();
    }

    fn cancel_all(&self) {
        let now = self.now();
        let mut table = self.table();
        let entries = core::mem::take(&mut table.keys);
        for mut entry in entries.into_values() {
            let unused = entry.lease.cancel().map(|unused| entry.returned(unused, now));
            self.give_back(&mut table, unused);
        }
    }

    /// Tells Redis the pending sums and gives all leases back, once the calls that are under way have ended.
    pub(super) async fn close(self: Arc<Self>, until: Instant) {
        let all = async {
            self.tell_all(until).await;
            self.cancel_all();
            self.sweep_once().await;
        };
        let _ = timeout_at(until, all).await;
        let pending = self.pending_keys();
        if pending > 0 {
            warn!(target: "ratescope", pending, "a store ends, and the counts of these keys were not sent to Redis");
        }
    }

    /// True if nothing is held, known or counted here.
    pub(super) fn is_empty(&self) -> bool {
        let table = self.table();
        table.keys.is_empty() && table.synced.is_empty() && table.returns.is_empty()
    }

    /// Drops the states and leases of these keys, which are reset. Nothing is given back.
    pub(super) fn reset(&self, keys: &[Vec<u8>]) {
        let is_reset =
            |id: &[u8]| keys.iter().any(|key| id.len() == key.len() + 8 && id.starts_with(key));
        let mut table = self.table();
        table.keys.retain(|id, _| !is_reset(id));
        keys.iter().for_each(|key| _ = table.synced.remove(key));
    }
}

/// How the event of a question counts: as allowed, if no question is refused; as refused, if it is refused itself; or not.
fn counts(refused: &[bool], question: usize) -> Option<bool> {
    match (refused.contains(&true), refused.get(question)) {
        (false, _) => Some(true),
        (true, Some(true)) => Some(false),
        _ => None,
    }
}

/// Replies to be filled.
fn replies(questions: &[Question], time: Time) -> Vec<Reply> {
    let reply = |question: &Question| {
        let mut reply = Reply::nothing(time);
        let mut states = Few::new();
        for item in question.asks.iter().filter_map(|ask| question.item(ask)) {
            reply.outcomes.push(Outcome::new(true, 0.0, item.bound));
            states.push(item.limiter.initial());
        }
        reply.states = Some(states);
        reply
    };
    questions.iter().map(reply).collect()
}

/// Puts the answers of the limits at a key into the reply of their question.
fn put(replies: &mut [Reply], unit: &Unit, questions: &[Question], told: Told) {
    let (Some(question), Some(reply)) =
        (questions.get(unit.question), replies.get_mut(unit.question))
    else {
        return;
    };
    let each = told.outcomes.into_iter().zip(told.states);
    for (place, (outcome, state)) in question.places(&unit.key).zip(each) {
        if let Some(own) = reply.outcomes.get_mut(place) {
            *own = outcome;
        }
        if let Some(own) = reply.states.as_mut().and_then(|states| states.get_mut(place)) {
            *own = state;
        }
    }
}
