//! Keys that are synced: their states in this process, and the task that tells Redis of counted events.

use super::super::Few;
use super::super::call::{Call, Leasing, Op};
use super::super::plan::{Item, Plan};
use super::super::question::{Does, Question};
use super::super::reply::{self, Reply, State};
use super::table::{Table, Told};
use super::{KEYS, Leases, Unit};
use core::sync::atomic::Ordering;
use core::time::Duration;
use ratescope::limit::{Limiter, MAX_COST};
use ratescope::outcome::Outcome;
use ratescope::rules::{Details, Fault};
use ratescope::share::{Share, Synced};
use ratescope::time::{Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How many calls are under way at a time. They share a connection, so they are sent together.
const AT_A_TIME: usize = 64;

/// The most calls about a key whose times on Redis are remembered.
const CALLS: usize = 8;

/// How soon a store that ends tries again to tell a sum.
const AGAIN: Duration = Duration::from_millis(10);

/// The state of a key in this process.
pub(super) struct Local {
    /// A question about this key alone.
    question: Question,
    limits: Few<Synced<State>>,
    interval: Span,
    /// When the first event since the last call was decided, or a call failed, by the clock of this process. (There is
    /// nothing to tell about a refused event, but a key that is refused must notice a reset elsewhere.)
    since: Option<Time>,
    /// When the first event that Redis was not told of was decided.
    waits: Option<Time>,
    /// The call about it that is under way.
    call: Option<Sent>,
    /// Until when events were claimed, by the time of Redis as far as it was known.
    claimed: Time,
    /// The latest calls, so that the events they told of can be given back.
    calls: VecDeque<Counted>,
    /// The cost of events that pass here, while Redis is asked about their other keys, and the number of these events.
    reserved: f64,
    reservations: usize,
}

/// A call that tells Redis of events counted at a key.
#[derive(Clone, Copy)]
struct Sent {
    serial: u64,
    /// When the first event that it tells of was decided.
    since: Time,
    /// It tells of the events after a time and until another.
    after: Time,
    until: Time,
}

/// Events that passed here after a time and until another, and when Redis counted them.
struct Counted {
    after: Time,
    until: Time,
    at: Time,
}

impl Local {
    fn new(question: Question, interval: Span) -> Self {
        let limits = items(&question).map(|item| Synced::new(item.limiter.initial())).collect();
        Local {
            question,
            limits,
            interval,
            since: None,
            waits: None,
            call: None,
            claimed: Time::from_micros(i64::MIN),
            calls: VecDeque::new(),
            reserved: 0.0,
            reservations: 0,
        }
    }

    pub(super) fn reserve(&mut self, cost: f64) {
        self.reserved += cost;
        self.reservations += 1;
    }

    pub(super) fn free(&mut self, cost: f64) {
        self.reservations = self.reservations.saturating_sub(1);
        // This leaves no rest from rounding.
        self.reserved = if self.reservations == 0 { 0.0 } else { self.reserved - cost };
    }

    /// Whether an event of this cost passes at a time of Redis.
    pub(super) fn passes(&self, at: Time, cost: f64) -> bool {
        let mut each = items(&self.question).zip(&self.limits);
        each.all(|(item, limit)| {
            item.limiter.peek(limit.state(), at, cost + self.reserved).is_allowed()
        })
    }

    /// The outcomes of an event that [passes](Self::passes) or does not, and which then counts as allowed or refused;
    /// `None` if neither.
    pub(super) fn decide(
        &mut self,
        now: Time,
        at: Time,
        cost: f64,
        passes: bool,
        counts: Option<bool>,
    ) -> Told {
        let mut told = Told { outcomes: Few::new(), states: Few::new() };
        let others = if passes { 0.0 } else { self.reserved };
        for (item, limit) in items(&self.question).zip(&mut self.limits) {
            told.outcomes.push(item.limiter.peek(limit.state(), at, cost + others));
            if let Some(allowed) = counts {
                limit.record(&item.limiter, item.limiter.decides(), at, cost, allowed);
            }
            told.states.push(limit.state().clone());
        }
        // It stays refused if the reservation for which it was refused is free by now.
        if !passes
            && told.outcomes.iter().all(|outcome| outcome.is_allowed())
            && let Some(first) = told.outcomes.first_mut()
        {
            *first = Outcome::new(false, first.level, first.limit);
        }
        self.since.get_or_insert(now);
        self.waits.get_or_insert(now);
        told
    }

    /// When the first event was decided of which Redis is not known to have been told.
    pub(super) fn waits(&self) -> Option<Time> {
        self.call.map(|call| call.since).or(self.waits)
    }

    /// The largest part of any limit that is pending.
    fn pending(&self) -> f64 {
        let each = items(&self.question).zip(&self.limits).map(|(item, limit)| {
            let size = item.limiter.remaining(&item.limiter.initial(), Time::ZERO);
            limit.pending() / size
        });
        each.fold(0.0, f64::max)
    }

    fn is_new(&self, at: Time) -> bool {
        let is_idle = self.since.is_none() && self.call.is_none() && self.reservations == 0;
        let mut each = items(&self.question).zip(&self.limits);
        is_idle
            && each.all(|(item, limit)| item.limiter.reset_after(limit.state(), at) == Span::ZERO)
    }

    /// This key under other rules. The states go on as they do on Redis.
    fn carried(self, question: Question, interval: Span) -> Self {
        let before: Few<_> = items(&self.question).map(|item| item.limiter.clone()).collect();
        let own = items(&question).zip(before).zip(self.limits);
        let limits = own.map(|((item, before), limit)| {
            let is_same = item.limiter.decides() == before.decides();
            let carried = |state: State| {
                if is_same { state } else { state.counted_by(before.decides()) }
            };
            limit.carried(carried)
        });
        let limits = limits.collect();
        Local { question, limits, interval, ..self }
    }

    fn adopt(&mut self, states: impl IntoIterator<Item = State>, at: Time) {
        for ((item, limit), state) in items(&self.question).zip(&mut self.limits).zip(states) {
            limit.adopt(&item.limiter, item.limiter.decides(), state, at);
        }
    }
}

fn items(question: &Question) -> impl Iterator<Item = &Item> {
    question.keys.iter().flat_map(|key| question.plan.items(key.group))
}

impl Table {
    /// The state of a key that is synced. `None` if there is no room for another one.
    pub(super) fn local(&mut self, unit: &Unit, questions: &[Question]) -> Option<&mut Local> {
        let question = questions.get(unit.question)?;
        let interval = unit.share.sync()?;
        let own = || question.about([unit.key.clone()]);
        match self.synced.get(&unit.id) {
            Some(local) if Arc::ptr_eq(&local.question.plan, &question.plan) => {}
            Some(_) => {
                let before = self.synced.remove(&unit.id)?;
                self.synced.insert(unit.id.clone(), before.carried(own(), interval));
            }
            None if self.synced.len() >= KEYS => return None,
            None => _ = self.synced.insert(unit.id.clone(), Local::new(own(), interval)),
        }
        self.synced.get_mut(&unit.id)
    }
}

impl Leases {
    /// Starts a task that tells Redis the sums that are due, unless one is under way.
    pub(super) fn tell_due(self: &Arc<Self>) {
        let Ok(alone) = Arc::clone(&self.syncing).try_lock_owned() else { return };
        let pause = Span::from_micros(self.pause.load(Ordering::Relaxed));
        let due = self.due(self.now().after(pause));
        if due.is_empty() {
            return;
        }
        let leases = Arc::clone(self);
        tokio::spawn(async move {
            leases.tell(due, None).await;
            drop(alone);
        });
    }

    /// Tells Redis all pending sums, once the calls that are under way have ended.
    pub(super) async fn tell_all(self: &Arc<Self>, until: Instant) {
        let _alone = self.syncing.lock().await;
        loop {
            self.tell(self.due(Time::LAST), Some(until)).await;
            if self.pending_keys() == 0 {
                return;
            }
            // Redis can't be reached, or a decision is telling it.
            sleep(AGAIN).await;
        }
    }

    /// Tells Redis the pending sums of these keys, each until then, or until the deadline of a call.
    async fn tell(self: &Arc<Self>, keys: Vec<Vec<u8>>, until: Option<Instant>) {
        let mut calls = JoinSet::new();
        for key in keys {
            let leases = Arc::clone(self);
            calls.spawn(async move {
                let until = until.unwrap_or_else(|| leases.link.until_in_background());
                leases.tell_one(&key, until).await;
            });
            if calls.len() >= AT_A_TIME {
                calls.join_next().await;
            }
        }
        while calls.join_next().await.is_some() {}
    }

    /// How long the oldest event has waited of which Redis is not known to have been told.
    pub(super) fn waits(&self) -> Duration {
        let oldest = self.table().synced.values().filter_map(Local::waits).min();
        let waits =
            oldest.map_or(0, |oldest| self.now().as_micros().saturating_sub(oldest.as_micros()));
        Duration::from_micros(u64::try_from(waits).unwrap_or(0))
    }

    /// How many keys have counted something of which Redis is not known to have been told.
    pub(super) fn pending_keys(&self) -> usize {
        let table = self.table();
        table.synced.values().filter(|local| local.call.is_some() || local.pending() > 0.0).count()
    }

    /// The keys that are due by then, in the order of how much of their limits is pending, most first. Drops keys of which
    /// nothing counts any more.
    fn due(&self, next: Time) -> Vec<Vec<u8>> {
        let at = self.clock.now();
        let mut table = self.table();
        let mut due = Vec::new();
        table.synced.retain(|key, local| {
            let Some(since) = local.since else { return !local.is_new(at) };
            if local.call.is_none() && since.after(local.interval) <= next {
                due.push((local.pending(), key.clone()));
            }
            true
        });
        drop(table);
        due.sort_unstable_by(|(a, _), (b, _)| b.total_cmp(a));
        due.into_iter().map(|(_, key)| key).collect()
    }

    /// Tells Redis the pending sums of a key, and takes over the states that it returns.
    async fn tell_one(&self, key: &[u8], until: Instant) {
        let Some((called, question)) = self.claim_sums(key) else { return };
        let mut questions = [question];
        let host = Time::from(std::time::SystemTime::now());
        let details = Details::default().with_retry();
        let (source, leasing) = (self.clock.source(), Leasing::default());
        let Some(call) = Call::about(&mut questions, Op::Check, details, source, host, leasing)
        else {
            return;
        };
        let read = |bytes: &[u8]| reply::read(&questions, &call, bytes);
        let answer = self.link.run(&call, until, read).await;
        self.told(called, answer);
    }

    /// Claims the pending sums of a key, for a call that asks this question about it.
    fn claim_sums<'a>(&'a self, key: &'a [u8]) -> Option<(Called<'a>, Question)> {
        let mut table = self.table();
        let local = table.synced.get_mut(key).filter(|local| local.call.is_none())?;
        let serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
        local.since = None;
        let since = local.waits.take().unwrap_or_else(|| self.now());
        let at = self.clock.now();
        let after = core::mem::replace(&mut local.claimed, at);
        local.call = Some(Sent { serial, since, after, until: at });
        let mut question = local.question.clone();
        question.does = Does::Charge;
        let places: Few<usize> =
            question.keys.iter().flat_map(|key| question.places(key)).collect();
        let mut sums = Few::new();
        for ((item, limit), place) in items(&local.question).zip(&mut local.limits).zip(places) {
            let sum = limit.claim(&item.limiter, item.limiter.decides(), at);
            sums.push(sum);
            if let Some(ask) = question.asks.get_mut(place) {
                ask.cost = sum.min(MAX_COST);
            }
        }
        let plan = Arc::clone(&question.plan);
        let sent = std::time::Instant::now();
        let called = Called { leases: self, key, serial, plan, sums, sent, is_answered: false };
        Some((called, question))
    }

    /// Takes over an answer of Redis about a key.
    fn told(&self, mut called: Called<'_>, answer: Result<Vec<Reply>, Fault>) {
        called.is_answered = true;
        let now = self.now();
        let mut table = self.table();
        let Some(local) = called.local(&mut table) else { return };
        let Some(Sent { since, after, until, .. }) = local.call.take() else { return };
        let is_same_plan = Arc::ptr_eq(&local.question.plan, &called.plan);
        match answer {
            // The rules were reloaded meanwhile: the next answer has the states of their limits.
            Ok(_) if !is_same_plan => _ = local.since.get_or_insert(now),
            Ok(mut replies) => {
                let Some(reply) = replies.pop() else { return };
                self.clock.set(&reply, called.sent);
                let Reply { time, states: Some(states), .. } = reply else { return };
                local.calls.truncate(CALLS - 1);
                local.calls.push_front(Counted { after, until, at: time });
                let at = self.clock.now().max(time);
                let key = local.question.keys.first();
                let places: Few<usize> =
                    key.into_iter().flat_map(|key| local.question.places(key)).collect();
                local.adopt(places.into_iter().filter_map(|place| states.get(place).cloned()), at);
                self.tally.told.fetch_add(1, Ordering::Relaxed);
                let waited = now.as_micros().saturating_sub(since.as_micros());
                let waited = u64::try_from(waited).unwrap_or(0);
                self.tally.slowest.fetch_max(waited, Ordering::Relaxed);
            }
            Err(fault) => {
                local.since.get_or_insert(now);
                // Only sums that Redis certainly has not counted are told again.
                let is_uncounted =
                    matches!(fault, Fault::Unreachable(_) | Fault::Resting | Fault::Overloaded);
                if is_uncounted && is_same_plan {
                    (local.waits, local.claimed) = (Some(since), after);
                    let at = self.clock.now();
                    for ((item, limit), sum) in
                        items(&local.question).zip(&mut local.limits).zip(&called.sums)
                    {
                        limit.tell_later(item.limiter.decides(), at, *sum);
                    }
                } else {
                    called.is_lost();
                }
            }
        }
    }

    /// Tells Redis now the pending sums of the keys of these questions, since it is asked about them. The sums are lost
    /// if the answer comes too late.
    pub(in super::super) async fn tell_before(&self, questions: &[Question], until: Instant) {
        let is_pending = |key: &[u8]| {
            let table = self.table();
            let local = table.synced.get(key);
            local.is_some_and(|local| local.limits.iter().any(|limit| limit.pending() > 0.0))
        };
        let keys = questions.iter().flat_map(|question| &question.keys);
        for key in keys.filter(|key| is_pending(&key.key)) {
            self.tell_one(&key.key, until).await;
        }
    }

    /// Notes when Redis counted the events that are to be given back, at keys that are synced.
    pub(in super::super) fn date(&self, questions: &mut [Question]) {
        let table = self.table();
        for question in questions {
            let Does::GiveBack(when) = question.does else { continue };
            for key in &mut question.keys {
                let calls = table.synced.get(&key.key).into_iter().flat_map(|local| &local.calls);
                let own = calls.into_iter().find(|one| one.after < when && when <= one.until);
                key.counted = own.map(|one| one.at);
            }
        }
    }

    /// Takes over the states of a reply about keys that are synced.
    pub(in super::super) fn adopt(&self, question: &Question, reply: &Reply) {
        let Some(states) = &reply.states else { return };
        let is_synced = |share: Share| share.sync().is_some();
        let keys = question.keys.iter().filter(|key| is_synced(question.plan.share(key)));
        for key in keys {
            let now = self.now();
            let mut table = self.table();
            let Some(local) = table.synced.get_mut(&key.key) else { continue };
            if local.call.is_some() || !Arc::<Plan>::ptr_eq(&local.question.plan, &question.plan) {
                local.since.get_or_insert(now);
                continue;
            }
            let own = question.places(key).filter_map(|place| states.get(place).cloned());
            local.adopt(own.collect::<Few<State>>(), reply.time);
        }
    }
}

/// A call about a key. If its task ends, the sums that it had claimed may have been counted.
struct Called<'a> {
    leases: &'a Leases,
    key: &'a [u8],
    serial: u64,
    plan: Arc<Plan>,
    /// The sum that it tells for each limit.
    sums: Few<f64>,
    sent: std::time::Instant,
    is_answered: bool,
}

impl Called<'_> {
    /// The state of the key, unless it was reset meanwhile.
    fn local<'t>(&self, table: &'t mut Table) -> Option<&'t mut Local> {
        table
            .synced
            .get_mut(self.key)
            .filter(|local| local.call.is_some_and(|call| call.serial == self.serial))
    }

    fn is_lost(&self) {
        let largest = self.sums.iter().copied().fold(0.0, f64::max);
        // The cast saturates.
        self.leases.tally.told_lost.fetch_add(largest.ceil() as u64, Ordering::Relaxed);
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.is_lost();
        if let Some(local) = self.local(&mut self.leases.table()) {
            local.call = None;
            local.since.get_or_insert(self.leases.now());
        }
    }
}
