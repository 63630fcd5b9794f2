//! Asks Redis about the keys of an event that lack one, and takes over the leases and the states of its answer.

use super::super::Few;
use super::super::call::{Call, Leasing, Op};
use super::super::decide::{Decided, Request, passes};
use super::super::link::within_a_runtime;
use super::super::question::Question;
use super::super::reply::{self, Reply};
use super::super::script::Leases as LeaseScript;
use super::table::{Answer, Return, Told};
use super::{KEYS, Leases, Unit, counts, put, replies};
use core::sync::atomic::Ordering;
use ratescope::rules::{Details, Fault};
use ratescope::share::{Unused, lends, most_lent};
use ratescope::time::Time;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// A key about which Redis is asked.
struct Lacking {
    unit: usize,
    /// How many events are taken.
    wanted: u64,
    /// The number of the lease, if there are several.
    serial: u64,
    used_up: u64,
    /// The cost of the events that were refused here. Redis is told of it first.
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

/// Questions that leases may decide, and the call that asks Redis if they don't.
pub(crate) struct Asking {
    pub(crate) questions: Vec<Question>,
    pub(crate) units: Vec<Unit>,
    pub(crate) details: Details,
    pub(crate) event: Time,
    /// The time of Redis, as far as it is known.
    pub(crate) now: Time,
    pub(crate) until: Instant,
}

impl Leases {
    /// Spends leases, and finds the questions that Redis has to be asked. With `waits`, it waits for a call that is
    /// under way.
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

    /// Decides with a call. Once begun, it runs to completion. If Redis can't be asked, the questions are returned.
    pub(crate) async fn ask(
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
                Call::about(&mut questions, Op::Check, details, clock, event, leasing)
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

    /// The questions about the keys that lack an event, for as many events as are wanted.
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
        let received = self.now();
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
            if unit.share.lease().is_some() {
                let left = lacks.wanted - 1;
                let lease = Unused { serial: lacks.serial, counted: reply.time, left };
                let holders = if left > 0 { holders.next().copied().unwrap_or(1) } else { 0 };
                self.tally.lent.fetch_add(left, Ordering::Relaxed);
                let returned = match table.entry(unit, &asking.questions) {
                    Some(entry) => {
                        let states = told.states.clone();
                        let before = entry.take(Answer { sent, received, states, lease, holders });
                        if left > 0 {
                            told = entry.told(left, reply.time, true);
                        }
                        before
                    }
                    // The rules were reloaded, or the key was reset.
                    None => (left > 0).then(|| Return {
                        question: question.about([unit.key.clone()]),
                        cost: unit.cost,
                        unused: lease,
                        at: lease.counted,
                    }),
                };
                self.give_back(&mut table, returned);
            }
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

/// Reads the answer of a script that lends: the replies, which are none if it declined, and for each lease the number of
/// processes that hold one.
fn lent(
    questions: &[Question],
    call: &Call,
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
