//! Leases: events of a key that this process has taken in advance, and decides about without a call; and keys that are
//! [synced], about which it decides by itself. See [`ratescope::share`] for what they promise.
//!
//! Each key of an event has its own leases, for events of one cost. An event passes without a call if a lease of each of
//! its keys has an event left. It is refused without a call if the states refuse it that Redis has returned for all of its
//! keys. Otherwise Redis is asked about the keys that lack one, and if it refuses, the others get theirs back.
//!
//! A key that is synced never lacks an event: what this process knows of it decides. While Redis is asked about the other
//! keys of an event that passes there, its cost is reserved.
//!
//! A task gives back what is left of leases that have ended, and tells Redis of refused events that count.

mod back;
mod synced;
mod table;

use super::decide::{Decided, Request, passes};
use super::fallback::Clock;
use super::link::{Link, within_a_runtime};
use super::plan::{self, Does, EventKey, Leasing, Op, Question};
use super::reply::{self, Reply};
use super::script::Leases as LeaseScript;
use super::slots::slot;
use super::{Few, Leased, Redis};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use ratescope::internal::Ask;
use ratescope::limit::{Limiter, MAX_COST};
use ratescope::outcome::Outcome;
use ratescope::rules::{Details, Fault};
use ratescope::share::{Share, Unused, intact, lasts, lends, most_lent};
use ratescope::store::Secret;
use ratescope::time::Time;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use table::{Known, Return, Table, Told};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

/// The most keys of which leases and states are known, and the most that are synced. Events of further keys ask Redis.
const KEYS: usize = 20_000;

/// The most leases that wait to be given back. Further ones count until their limits forget them.
const RETURNS: usize = 10_000;

/// The leases of a store.
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
    /// Held while Redis is told what was counted.
    syncing: Arc<AsyncMutex<()>>,
    /// How often to look for leases that have ended, in microseconds.
    pause: AtomicU64,
    /// Lets the task look at once.
    hurry: Notify,
    tally: Arc<Tally>,
}

/// The counts of [`Leased`].
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The leases of each store on the connection.
    stores: Mutex<Vec<Weak<Leases>>>,
    here: AtomicU64,
    lent: AtomicU64,
    given_back: AtomicU64,
    lost: AtomicU64,
    told: AtomicU64,
    told_lost: AtomicU64,
    /// In microseconds.
    slowest: AtomicU64,
}

impl Tally {
    /// The leases of the stores that there are.
    pub(super) fn stores(&self) -> Vec<Arc<Leases>> {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let there = stores.iter().filter_map(Weak::upgrade).collect();
        stores.retain(|one| one.strong_count() > 0);
        there
    }

    pub(super) fn counts(&self) -> Leased {
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Leased {
            here: read(&self.here),
            lent: read(&self.lent),
            given_back: read(&self.given_back),
            lost: read(&self.lost),
            told: read(&self.told),
            told_lost: read(&self.told_lost),
            waits: self.stores().iter().map(|store| store.waits()).max().unwrap_or_default(),
            slowest: Duration::from_micros(read(&self.slowest)),
        }
    }
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

/// A key about which Redis is asked.
struct Lacking {
    unit: usize,
    /// How many events are taken.
    wanted: u64,
    /// The number of the lease, if there are several.
    serial: u64,
    used_up: u64,
    /// The cost of the events that were refused here, and of which Redis is told first.
    refused: f64,
}

/// A key whose lease had an event for this one.
struct Spent {
    unit: usize,
    serial: u64,
    counted: Time,
    told: Told,
}

enum Claim {
    /// A call for a lease is under way.
    Wait(watch::Receiver<()>),
    Ask {
        spent: Vec<Spent>,
        lacking: Vec<Lacking>,
        /// The keys that are synced, and whether the event passes there. Its cost is reserved then.
        synced: Vec<(usize, bool)>,
        /// Its end tells others that the call has ended.
        asking: watch::Sender<()>,
    },
}

/// The answers without a call, and the earliest time at which they were counted.
pub(super) struct Here {
    pub(super) replies: Vec<Reply>,
    pub(super) counted: Time,
}

/// Questions that leases may decide, and the call that asks Redis if they don't.
pub(super) struct Asking {
    pub(super) questions: Vec<Question>,
    pub(super) units: Vec<Unit>,
    pub(super) details: Details,
    /// The time of the event.
    pub(super) event: Time,
    /// The time of Redis, as far as it is known.
    pub(super) now: Time,
    pub(super) until: Instant,
}

/// The keys of these questions. `None` if they are to be asked together, as without leases: all rules are exact, an event is
/// not only counted by limits that can refuse it, or keys about which Redis may be asked are on several nodes.
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

    /// Spends what there is, and finds what has to be asked. With `waits`, it waits for a call that is under way.
    fn claim(&self, asking: &Asking, waits: bool) -> Claim {
        let Asking { questions, units, now: at, .. } = asking;
        let now = self.now();
        let mut table = self.table();
        let is_open = |asking: &watch::Receiver<()>| asking.has_changed().is_ok();
        for unit in units.iter().filter(|unit| waits && unit.share.lease().is_some()) {
            if let Some(entry) = table.entry(unit, questions)
                && entry.lease.left(now) == 0
                && let Some(asking) = entry.asking.as_ref().filter(|asking| is_open(asking))
            {
                return Claim::Wait(asking.clone());
            }
        }
        let (sender, receiver) = watch::channel(());
        let (mut spent, mut lacking, mut synced) = (Vec::new(), Vec::new(), Vec::new());
        for (i, unit) in units.iter().enumerate() {
            let mut lacks = Lacking { unit: i, wanted: 1, serial: 0, used_up: 0, refused: 0.0 };
            let Some(length) = unit.share.lease() else {
                match table.local(unit, questions) {
                    Some(local) => {
                        let passes = local.passes(*at, unit.cost);
                        if passes {
                            local.reserve(unit.cost);
                        }
                        synced.push((i, passes));
                    }
                    None => lacking.push(lacks),
                }
                continue;
            };
            if table.entry(unit, questions).is_none() && table.keys.len() < KEYS {
                let earlier = table.insert(unit, questions, length, now);
                self.give_back(&mut table, earlier);
            }
            let Some(entry) = table.entry(unit, questions) else {
                lacking.push(lacks);
                continue;
            };
            if entry.knows(now) && entry.lease.spend(now) {
                let told = entry.told(entry.lease.left(now), (*at).max(entry.lease.counted), true);
                let (serial, counted) = (entry.lease.serial(), entry.lease.counted);
                spent.push(Spent { unit: i, serial, counted, told });
                continue;
            }
            let is_asking = entry.asking.as_ref().is_some_and(is_open);
            let has_learned = || self.link.has_known(&unit.key.key, length);
            let rests = entry.declined.is_some_and(|at| now < at.after(length));
            if !is_asking && !rests && entry.wanted(now, *at) > 1 && has_learned() {
                lacks.wanted = entry.wanted(now, *at);
                lacks.serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
            }
            // Who comes meanwhile will find a lease, or be refused by the same answer.
            if !is_asking && (lacks.wanted > 1 || entry.refuses(*at)) {
                entry.asking = Some(receiver.clone());
            }
            let ended = entry.lease.unused(now);
            lacks.used_up = entry.lease.used_up();
            lacks.refused = core::mem::take(&mut entry.refused);
            entry.lease.asks(now);
            let ended = ended.map(|unused| entry.returned(unused, now));
            lacking.push(lacks);
            self.give_back(&mut table, ended);
        }
        Claim::Ask { spent, lacking, synced, asking: sender }
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

    /// Decides with a call. Once begun, it runs to completion. If Redis can't be asked, what was to be asked is returned.
    pub(super) async fn ask(
        self: Arc<Self>,
        asking: Asking,
    ) -> Result<(Decided, Time), (Fault, Box<Asking>)> {
        if let Err(fault) = within_a_runtime() {
            return Err((fault, Box::new(asking)));
        }
        let mut waits = true;
        let (spent, mut lacking, synced, sender) = loop {
            match self.claim(&asking, waits) {
                Claim::Ask { spent, lacking, synced, asking } => {
                    break (spent, lacking, synced, asking);
                }
                Claim::Wait(mut call) => {
                    waits = false;
                    // It ends with an error, when the call has ended.
                    let latest = self.link.half_of(asking.until);
                    let _ = timeout_at(latest, call.changed()).await;
                    let at = self.clock.time(asking.event);
                    if let Some(here) = self.decide(&asking.questions, &asking.units, at) {
                        return Ok(((asking.questions, here.replies), here.counted));
                    }
                }
            }
        };
        let reserved = Reserved { leases: &self, asking: &asking, synced };
        let is_refused = reserved.refuses();
        let answer = match self.answer(&asking, &mut lacking, is_refused).await {
            // It is refused, whatever Redis would say.
            Err(_) if is_refused => Ok((Vec::new(), asking.now, false)),
            answer => answer,
        };
        drop(sender);
        let synced = reserved.free();
        let put_back = || {
            let mut table = self.table();
            for Spent { unit, serial, .. } in &spent {
                let unit = asking.units.get(*unit);
                let entry = unit.and_then(|unit| table.entry(unit, &asking.questions));
                match entry.filter(|entry| entry.lease.serial() == *serial) {
                    Some(entry) => entry.lease.put_back(),
                    None => _ = self.tally.lost.fetch_add(1, Ordering::Relaxed),
                }
            }
        };
        let (asked, time, is_allowed) = match answer {
            Ok(answer) => answer,
            Err(fault) => {
                put_back();
                return Err((fault, Box::new(asking)));
            }
        };
        if !is_allowed {
            put_back();
        }
        let told = self.decide_synced(&asking, synced, &asked, time, is_allowed);
        let Asking { questions, units, .. } = asking;
        let mut replies = replies(&questions, time);
        let mut counted = time;
        for Spent { unit, counted: at, told, .. } in spent {
            if let Some(unit) = units.get(unit) {
                put(&mut replies, unit, &questions, told);
                counted = counted.min(at);
            }
        }
        for (unit, told) in asked.into_iter().chain(told) {
            if let Some(unit) = units.get(unit) {
                put(&mut replies, unit, &questions, told);
            }
        }
        Ok(((questions, replies), if is_allowed { counted } else { time }))
    }

    /// Asks Redis about the keys that lack an event, which may be refused by keys that are synced. Returns the outcomes of
    /// their limits, the time, and whether all pass.
    async fn answer(
        &self,
        asking: &Asking,
        lacking: &mut [Lacking],
        is_refused: bool,
    ) -> Result<(Vec<(usize, Told)>, Time, bool), Fault> {
        if lacking.is_empty() {
            return Ok((Vec::new(), asking.now, !is_refused));
        }
        if is_refused {
            lacking.iter_mut().for_each(|lacks| lacks.wanted = 1);
        }
        for lacks in lacking.iter().filter(|lacks| lacks.refused > 0.0) {
            if let Some(unit) = asking.units.get(lacks.unit)
                && let Some(question) = asking.questions.get(unit.question)
            {
                let question = question.about([unit.key.clone()]);
                self.tell_refused(question, lacks.refused, asking.event, asking.until).await;
            }
        }
        let details = asking.details.with_retry();
        if lacking.iter().any(|lacks| lacks.wanted > 1) {
            let sent = self.now();
            let (mut questions, leasing) = self.leasing(asking, lacking);
            let (clock, event) = (self.clock.source(), asking.event);
            if let Some(call) =
                plan::call(&mut questions, Op::Check, details, clock, event, leasing)
            {
                let read = |bytes: &[u8]| lent(&questions, &call, lacking, bytes);
                let (replies, holders) = self.link.run(&call, asking.until, read).await?;
                let decided = (questions, replies);
                if !decided.1.is_empty() && passes(&decided, details) {
                    return Ok(self.take(asking, lacking, &holders, sent, decided, true));
                }
                self.learn(asking, lacking, &holders);
            }
            lacking.iter_mut().for_each(|lacks| lacks.wanted = 1);
        }
        let sent = self.now();
        let (questions, _) = self.leasing(asking, lacking);
        let request = Request {
            link: Arc::clone(&self.link),
            questions,
            op: if is_refused { Op::Refuse } else { Op::Check },
            details,
            clock: self.clock.source(),
            now: asking.event,
        };
        let decided = request.decide(asking.until).await?;
        let is_allowed = !is_refused && passes(&decided, details);
        Ok(self.take(asking, lacking, &[], sent, decided, is_allowed))
    }

    /// Decides about an event at the keys that are synced, after Redis was asked about the others.
    fn decide_synced(
        &self,
        Asking { questions, units, .. }: &Asking,
        synced: Vec<(usize, bool)>,
        asked: &[(usize, Told)],
        at: Time,
        is_allowed: bool,
    ) -> Vec<(usize, Told)> {
        let mut refused: Few<bool> = questions.iter().map(|_| false).collect();
        let by_redis = asked
            .iter()
            .map(|(unit, told)| (*unit, told.outcomes.iter().all(|outcome| outcome.is_allowed())));
        for (unit, passes) in by_redis.chain(synced.iter().copied()) {
            if let Some(unit) = units.get(unit) {
                refused[unit.question] |= !passes;
            }
        }
        let now = self.now();
        let mut table = self.table();
        let mut told = Vec::new();
        for (i, passes) in synced {
            let counts = if is_allowed {
                Some(true)
            } else {
                units.get(i).and_then(|unit| counts(&refused, unit.question))
            };
            if let Some(unit) = units.get(i)
                && let Some(local) = table.local(unit, questions)
            {
                told.push((i, local.decide(now, at, unit.cost, passes, counts)));
            }
        }
        told
    }

    /// The questions about the keys that lack an event, for so many events as are wanted.
    fn leasing(&self, asking: &Asking, lacking: &[Lacking]) -> (Vec<Question>, Leasing) {
        let mut questions = Vec::with_capacity(asking.questions.len());
        let mut leasing = Leasing { leases: LeaseScript::Lend, ..Leasing::default() };
        for (q, question) in asking.questions.iter().enumerate() {
            let mut own = question.about([]);
            for lacks in lacking {
                let Some(unit) = asking.units.get(lacks.unit).filter(|unit| unit.question == q)
                else {
                    continue;
                };
                own.keys.push(unit.key.clone());
                if lacks.wanted < 2 {
                    continue;
                }
                let amount = lacks.wanted as f64 * unit.cost;
                let mut most = f64::INFINITY;
                for place in question.places(&unit.key) {
                    let Some(ask) = own.asks.get_mut(place) else { continue };
                    ask.cost = amount;
                    if let Some(item) = question.item(ask)
                        && lends(item.limiter.decides())
                    {
                        let events = most_lent(item.limiter.decides(), unit.cost);
                        most = ratescope::internal::smaller(most, events as f64 * unit.cost);
                    }
                }
                leasing.keys.push(unit.key.of_leases());
                let words = [self.process_of(unit.cost), lacks.serial, lacks.used_up];
                leasing.argument.extend(words.iter().flat_map(|word| word.to_be_bytes()));
                let length = unit.share.lease().map_or(0.0, |length| length.as_secs_f64() * 1e6);
                let numbers = [length, amount, most];
                leasing.argument.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            if !own.keys.is_empty() {
                questions.push(own);
            }
        }
        (questions, leasing)
    }

    /// The number of this process for leases of events of this cost.
    fn process_of(&self, cost: f64) -> u64 {
        self.process ^ cost.to_bits()
    }

    /// Takes over the states of an answer, and the leases.
    fn take(
        &self,
        asking: &Asking,
        lacking: &[Lacking],
        holders: &[u32],
        sent: Time,
        (questions, replies): Decided,
        is_allowed: bool,
    ) -> (Vec<(usize, Told)>, Time, bool) {
        let now = self.now();
        let mut holders = holders.iter();
        let mut time = asking.now;
        let mut each = Vec::with_capacity(lacking.len());
        let mut table = self.table();
        for lacks in lacking {
            let Some(unit) = asking.units.get(lacks.unit) else { continue };
            let is_about =
                |question: &&Question| question.keys.iter().any(|key| key.key == unit.key.key);
            let Some(at) = questions.iter().position(|question| is_about(&question)) else {
                continue;
            };
            let (Some(question), Some(reply)) = (questions.get(at), replies.get(at)) else {
                continue;
            };
            time = reply.time;
            let mut told = Told { outcomes: Few::new(), states: Few::new() };
            for place in question.places(&unit.key) {
                told.outcomes.extend(reply.outcomes.get(place).copied());
                told.states.extend(reply.states.as_ref().and_then(|all| all.get(place)).cloned());
            }
            let mut returned = None;
            if let Some(length) = unit.share.lease() {
                let left = lacks.wanted - 1;
                let unused = Unused { serial: lacks.serial, counted: reply.time, left };
                let question = question.about([unit.key.clone()]);
                if left > 0 {
                    self.tally.lent.fetch_add(left, Ordering::Relaxed);
                }
                match table.entry(unit, &asking.questions) {
                    Some(entry) => {
                        let (mut lasting, mut whole) = (length, Time::LAST);
                        for (item, state) in
                            question.plan.items(unit.key.group).iter().zip(&told.states)
                        {
                            let reset = item.limiter.reset_after(state, reply.time);
                            let limiter = item.limiter.decides();
                            lasting = lasts(limiter, lasting, reset);
                            let rest = left as f64 * unit.cost;
                            let own = intact(&item.limiter, limiter, state, reply.time, rest);
                            whole = whole.min(own);
                        }
                        entry.known = Some(Known { states: told.states.clone(), sent });
                        if left > 0 {
                            let holders = holders.next().copied().unwrap_or(1);
                            // Another lease, which ended meanwhile, is given back.
                            let before = entry.lease.cancel();
                            returned = before.map(|unused| entry.returned(unused, now));
                            entry.lease.take(sent, lasting, unused, holders);
                            (entry.intact, entry.received) = (whole, now);
                            told = entry.told(left, reply.time, true);
                        }
                    }
                    // The rules were reloaded, or the key was reset.
                    None if left > 0 => {
                        let at = unused.counted;
                        returned = Some(Return { question, cost: unit.cost, unused, at });
                    }
                    None => {}
                }
            }
            self.give_back(&mut table, returned);
            each.push((lacks.unit, told));
        }
        (each, time, is_allowed)
    }

    /// Notes how many processes hold leases, where none was lent.
    fn learn(&self, asking: &Asking, lacking: &[Lacking], holders: &[u32]) {
        let now = self.now();
        let mut table = self.table();
        let wanted = lacking.iter().filter(|lacks| lacks.wanted > 1);
        for (lacks, holders) in wanted.zip(holders) {
            let unit = asking.units.get(lacks.unit);
            if let Some(entry) = unit.and_then(|unit| table.entry(unit, &asking.questions)) {
                entry.lease.holders = *holders;
                entry.declined = Some(now);
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

    /// Tells Redis what is pending and gives all leases back, after what is under way.
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

    /// Drops what is known and held of these keys, which are reset. Nothing is given back.
    pub(super) fn reset(&self, keys: &[Vec<u8>]) {
        let is_reset =
            |id: &[u8]| keys.iter().any(|key| id.len() == key.len() + 8 && id.starts_with(key));
        let mut table = self.table();
        table.keys.retain(|id, _| !is_reset(id));
        keys.iter().for_each(|key| _ = table.synced.remove(key));
    }
}

/// The cost of an event that is reserved at the keys that are synced, until it is known whether it passes.
struct Reserved<'a> {
    leases: &'a Leases,
    asking: &'a Asking,
    synced: Vec<(usize, bool)>,
}

impl Reserved<'_> {
    fn refuses(&self) -> bool {
        self.synced.iter().any(|(_, passes)| !passes)
    }

    fn free(mut self) -> Vec<(usize, bool)> {
        self.free_now();
        core::mem::take(&mut self.synced)
    }

    fn free_now(&self) {
        let mut table = self.leases.table();
        let Asking { questions, units, .. } = self.asking;
        for unit in self.synced.iter().filter(|one| one.1).filter_map(|one| units.get(one.0)) {
            if let Some(local) = table.local(unit, questions) {
                local.free(unit.cost);
            }
        }
    }
}

/// Frees it if the runtime ends meanwhile.
impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.free_now();
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

/// Puts what the limits at a key say into the reply of their question.
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

/// Reads the answer of a script that lends: the replies, which are none if it declined, and for each lease the number of
/// processes that hold one.
fn lent(
    questions: &[Question],
    call: &plan::Call,
    lacking: &[Lacking],
    bytes: &[u8],
) -> Option<(Vec<Reply>, Vec<u32>)> {
    let (is_lent, rest) = bytes.split_first()?;
    let wanted = lacking.iter().filter(|lacks| lacks.wanted > 1).count();
    let (holders, rest) = rest.split_at_checked(2 * wanted)?;
    let holders = holders.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two).into());
    let holders = holders.collect();
    match (is_lent, rest) {
        (0, []) => Some((Vec::new(), holders)),
        (1, rest) => Some((reply::read(questions, call, rest)?, holders)),
        _ => None,
    }
}
