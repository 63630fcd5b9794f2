//! Several processes that decide the events of a lane, each about its own part of them.
//!
//! A lane says after `share` how its processes share the limit: as [`Share`] has it, on Redis, or `alone`, in which case
//! each counts for itself. The settings of a comparison say how many processes there are, how events are spread over them
//! and how long a call to Redis takes.
//!
//! The lane's level is the true one, as if one process had counted the events of all. The amount *over the limit* is
//! the most by which this level exceeds the limit when an event passes; refused events do not count for that.
//!
//! A call takes a while, there and back. Redis decides when it is sent, so all times are by a clock of Redis that is
//! behind by the way there; a process knows the answer when the call has ended. Until then, its events ask Redis, too. The
//! arithmetic of leases is that of [`share`](ratescope::share).

use crate::traffic::Random;
use core::fmt;
use core::str::FromStr;
use ratescope::internal::larger;
use ratescope::limit::Limiter;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::outcome::{Outcome, Retry};
use ratescope::share::{Borrower, Lease, Lent, Share, Synced, Unused};
use ratescope::share::{counts_refused, intact, lasts, lendable, lends, most_lent};
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// The most processes.
pub const PROCESSES: u32 = 50;

/// How many processes there are, which of them decides about an event, and how far Redis is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processes {
    /// Their number, from 1 to [`PROCESSES`].
    pub count: u32,
    /// Which of them decides about an event.
    pub balance: Balance,
    /// How long a call to Redis takes, there and back: up to 10 s.
    pub call: Span,
}

impl Default for Processes {
    fn default() -> Self {
        Processes { count: 3, balance: Balance::InTurn, call: Span::from_millis(2) }
    }
}

/// How a balancer spreads events over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// One event each, in turn.
    #[default]
    InTurn,
    /// By chance, each as likely as the others.
    ByChance,
    /// All events of a sender to the same process.
    ByKey,
    /// All events to the first process.
    ToOne,
}

const BALANCES: [(Balance, &str); 4] = [
    (Balance::InTurn, "in turn"),
    (Balance::ByChance, "by chance"),
    (Balance::ByKey, "by key"),
    (Balance::ToOne, "all to one"),
];

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = BALANCES.iter().find(|(balance, _)| balance == self);
        f.write_str(own.map_or("", |(_, text)| text))
    }
}

impl FromStr for Balance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let own = BALANCES.iter().find(|(_, name)| *name == text);
        let help = "write in turn, by chance, by key or all to one";
        own.map(|(balance, _)| *balance).ok_or_else(|| ParseError::whole(text, help))
    }
}

/// How the processes of a lane share its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Each counts for itself.
    Alone,
    /// On Redis.
    Shared(Share),
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sharing::Alone => f.write_str("alone"),
            Sharing::Shared(share) => share.fmt(f),
        }
    }
}

impl FromStr for Sharing {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.trim() {
            "alone" => Ok(Sharing::Alone),
            text => text.parse().map(Sharing::Shared).map_err(|e: ParseError| {
                ParseError::whole(text, format!("{}, or alone", e.problem()))
            }),
        }
    }
}

impl Sharing {
    /// Why a limiter can't be shared in this way, if it can't.
    pub fn problem(self, limiter: &AnyLimiter) -> Option<String> {
        match self {
            Sharing::Alone => None,
            Sharing::Shared(share) => share.problem(limiter),
        }
    }
}

/// A limit whose events several processes decide. A key is the number of a user.
#[derive(Clone, Debug)]
pub struct Shared {
    limiter: AnyLimiter,
    sharing: Sharing,
    processes: Processes,
    seed: u64,
    keys: Vec<Key>,
    /// No process has anything to do before.
    due: Time,
    /// The process that decided last.
    last: usize,
    serial: u64,
    over: f64,
    calls: u64,
}

/// A key, with its states.
#[derive(Clone, Debug)]
struct Key {
    /// Counts the events that passed, and refused ones where they count.
    truth: AnyState,
    /// The same without refused events, where they count.
    passed: Option<AnyState>,
    /// The state on Redis.
    redis: AnyState,
    lent: Lent,
    own: Vec<Own>,
}

/// The state of a key in one process.
#[derive(Clone, Debug)]
struct Own {
    /// The events that it counted by itself, with those that Redis told it of.
    counted: Synced<AnyState>,
    /// The answer of Redis that is on its way to a process that is synced.
    answer: Option<AnyState>,
    /// The state of its last answer from Redis, for one that has leases.
    state: AnyState,
    /// When it asked, and when it has the answer.
    asked: [Time; 2],
    lease: Lease,
    /// The cost of the events of the lease.
    cost: f64,
    /// When its lease is given back, when it tells Redis of its events, or when it has the answer to that.
    due: Time,
    /// Until when its lease counts in full.
    intact: Time,
    declined: Option<Time>,
    /// The cost of the events that it refused and of which Redis must be told.
    refused: f64,
}

/// An event for the processes.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// When.
    pub at: Time,
    /// Its cost.
    pub cost: f64,
    /// The key that it counts for.
    pub key: usize,
    /// The number of its sender, and its own number in the run, from 1. It is assigned to a process by these.
    pub by: [u64; 2],
}

impl Shared {
    /// Processes that have counted nothing.
    pub fn new(limiter: AnyLimiter, sharing: Sharing, (processes, seed): (Processes, u64)) -> Self {
        Shared {
            limiter,
            sharing,
            processes,
            seed,
            keys: Vec::new(),
            due: Time::LAST,
            last: 0,
            serial: 0,
            over: 0.0,
            calls: 0,
        }
    }

    /// The most that was over the limit when an event passed; 0 if nothing was.
    pub fn over(&self) -> f64 {
        self.over
    }

    /// The calls to Redis.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How its limit is shared.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// How many processes there are.
    pub fn processes(&self) -> u32 {
        self.processes.count
    }

    /// True if events are taken in advance.
    pub fn lends(&self) -> bool {
        self.lease().is_some() && lends(&self.limiter)
    }

    fn lease(&self) -> Option<Span> {
        match self.sharing {
            Sharing::Alone => None,
            Sharing::Shared(share) => share.lease(),
        }
    }

    fn interval(&self) -> Option<Span> {
        match self.sharing {
            Sharing::Alone => None,
            Sharing::Shared(share) => share.sync(),
        }
    }

    /// True if it was made of these.
    pub(crate) fn is(&self, among: (Processes, u64)) -> bool {
        (self.processes, self.seed) == among
    }

    /// The most that passes in any interval of this length, in all processes together.
    pub fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        match self.sharing {
            Sharing::Alone => {
                f64::from(self.processes.count) * self.limiter.max_admitted(window, cost)
            }
            Sharing::Shared(share) => {
                let Processes { count, call, .. } = self.processes;
                share.max_admitted_by(count, call, &self.limiter, window, cost)
            }
        }
    }

    /// The process that decides about an event.
    fn process(&self, [sender, number]: [u64; 2]) -> usize {
        let count = u64::from(self.processes.count.max(1));
        let place = match self.processes.balance {
            Balance::InTurn => number.wrapping_sub(1) % count,
            Balance::ByChance => {
                let mut random = Random::new(self.seed ^ (number << 20));
                // It may be 1.
                ((random.uniform() * count as f64) as u64).min(count - 1)
            }
            Balance::ByKey => sender % count,
            Balance::ToOne => 0,
        };
        place as usize
    }

    /// The key with its processes.
    fn know(&mut self, key: usize, now: Time) {
        let initial = self.limiter.initial();
        let own = Own {
            counted: Synced::new(initial.clone()),
            answer: None,
            state: initial.clone(),
            asked: [Time::ZERO, Time::LAST],
            lease: Lease::new(now),
            cost: 1.0,
            due: Time::LAST,
            intact: now,
            declined: None,
            refused: 0.0,
        };
        let count = self.processes.count as usize;
        while self.keys.len() <= key {
            let (truth, redis) = (initial.clone(), initial.clone());
            let passed = counts_refused(&self.limiter).then(|| initial.clone());
            let own = vec![own.clone(); count];
            self.keys.push(Key { truth, passed, redis, lent: Lent::default(), own });
        }
    }

    /// Decides about an event, and counts it.
    pub fn check(&mut self, asked: Asked) -> Outcome {
        let Asked { at, cost, key, by } = asked;
        self.catch_up(at);
        self.know(key, at);
        let process = self.process(by);
        self.last = process;
        let outcome = match (self.sharing, self.lease()) {
            (Sharing::Shared(Share::Exact), _) => self.exact(asked),
            (_, Some(length)) => self.leased(asked, process, length),
            _ => self.by_itself(asked, process),
        };
        let outcome = outcome.unwrap_or(Outcome::new(true, 0.0, 0.0));
        if let Some(Key { truth, passed, .. }) = self.keys.get_mut(key) {
            let passes = outcome.is_allowed();
            let counted = passed.as_mut().unwrap_or(truth);
            if passes {
                let Outcome { level, limit, .. } = self.limiter.peek(counted, at, cost);
                // Less than that is a rounding.
                let over = if level - limit > 1e-9 * limit { level - limit } else { 0.0 };
                self.over = larger(self.over, over);
                self.limiter.record(counted, at, cost, true);
            }
            if passed.is_some() || !passes {
                self.limiter.record(truth, at, cost, passes);
            }
        }
        outcome
    }

    /// Decides by the state of the process. One that is synced will tell Redis.
    fn by_itself(&mut self, Asked { at, cost, key, .. }: Asked, process: usize) -> Option<Outcome> {
        let limiter = &self.limiter;
        let interval = self.interval();
        let own = self.keys.get_mut(key)?.own.get_mut(process)?;
        let outcome = limiter.peek(own.counted.state(), at, cost);
        own.counted.record(limiter, limiter, at, cost, outcome.is_allowed());
        if let Some(interval) = interval
            && own.due == Time::LAST
            && own.counted.pending() > 0.0
        {
            own.due = at.after(interval);
            self.due = self.due.min(own.due);
        }
        Some(outcome)
    }

    fn exact(&mut self, Asked { at, cost, key, .. }: Asked) -> Option<Outcome> {
        self.calls += 1;
        Some(self.limiter.check(&mut self.keys.get_mut(key)?.redis, at, cost))
    }

    fn leased(&mut self, asked: Asked, process: usize, length: Span) -> Option<Outcome> {
        let Asked { at, cost, key, .. } = asked;
        let limiter = &self.limiter;
        let Key { truth, redis, lent, own, .. } = self.keys.get_mut(key)?;
        let own = own.get_mut(process)?;
        let [sent, answered] = own.asked;
        let has_answer = at >= answered;
        if has_answer && at < sent.after(length) {
            if cost == own.cost && own.lease.spend(at) {
                let Outcome { level, limit, .. } = limiter.peek(truth, at, 0.0);
                return Some(Outcome::new(true, level, limit));
            }
            if own.lease.left(at) == 0 {
                let outcome = limiter.peek(&own.state, at, cost);
                if !outcome.is_allowed() {
                    own.refused += if counts_refused(limiter) { cost } else { 0.0 };
                    return Some(outcome);
                }
            }
        }
        self.calls += 1;
        let is_asking = answered != Time::LAST && !has_answer;
        let holds = own.lease.left(at) > 0;
        if is_asking || holds || cost <= 0.0 {
            return Some(limiter.check(redis, at, cost));
        }
        tell(limiter, redis, own, at);
        let may_ask = own.declined.is_none_or(|then| at >= then.after(length));
        let mut wanted = if may_ask { own.lease.wanted(at, length) } else { 1 };
        if wanted > 1 {
            let left = limiter.remaining(&own.state, at);
            wanted = wanted.min(lendable(limiter, left, cost, own.lease.holders)).max(1);
        }
        let used_up = own.lease.used_up();
        if let Some(unused) = own.lease.unused(at) {
            take_back(limiter, redis, lent, own, process, unused, at);
        }
        own.lease.asks(at);
        own.asked = [at, at.after(self.processes.call)];
        own.cost = cost;
        if wanted > 1 {
            self.serial += 1;
            let by = Borrower { process: process as u64, serial: self.serial, used_up };
            let amount = wanted as f64 * cost;
            let most = most_lent(limiter, cost) as f64 * cost;
            // The script lends only if the limit has room for all of it.
            let has_room = limiter.peek(redis, at, amount).is_allowed();
            let (may, holders) = lent.lend(by, at, length, amount, most);
            own.lease.holders = holders;
            if may && has_room {
                let outcome = limiter.check(redis, at, amount);
                let left = wanted - 1;
                let lasting = lasts(limiter, length, limiter.reset_after(redis, at));
                own.intact = intact(limiter, limiter, redis, at, left as f64 * cost);
                let unused = Unused { serial: self.serial, counted: at, left };
                own.lease.take(at, lasting, unused, holders);
                let quarter = Span::from_micros(length.micros_up().unsigned_abs() / 4);
                own.due = at.after(lasting).after(quarter).after(self.processes.call);
                self.due = self.due.min(own.due);
                own.state.clone_from(redis);
                return Some(outcome);
            }
            if may {
                lent.take_back(by.process, by.serial);
            }
            own.declined = Some(at);
            self.calls += 1;
        }
        let outcome = limiter.check(redis, at, cost);
        own.state.clone_from(redis);
        Some(outcome)
    }

    /// Does the work that the processes have due by `now`, in the order of time.
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            let due = self.due;
            let mut next = Time::LAST;
            let (interval, call) = (self.interval(), self.processes.call);
            for Key { redis, lent, own, .. } in &mut self.keys {
                for (process, own) in own.iter_mut().enumerate() {
                    if own.due <= due {
                        own.due = Time::LAST;
                        self.calls += u64::from(match interval {
                            Some(interval) => {
                                sync(&self.limiter, redis, own, due, [interval, call])
                            }
                            None => end_lease(&self.limiter, redis, lent, own, process, due),
                        });
                    }
                    next = next.min(own.due);
                }
            }
            self.due = next;
        }
    }

    /// Brings the processes up to date, and frees the parts of states that no longer count.
    pub(crate) fn close(&mut self, now: Time) {
        self.catch_up(now);
        if self.limiter.grows() {
            for key in &mut self.keys {
                self.limiter.forget(&mut key.truth, now);
                self.limiter.forget(&mut key.redis, now);
            }
        }
    }

    /// The outcome with the highest ratio of level to limit of these states, or of a new key.
    fn tightest<'a>(&self, states: impl Iterator<Item = &'a AnyState>, now: Time) -> Outcome {
        let each = states.map(|state| self.limiter.peek(state, now, 0.0));
        let fullness = |outcome: &Outcome| outcome.level / outcome.limit;
        let fuller = |a: Outcome, b: Outcome| if fullness(&b) > fullness(&a) { b } else { a };
        each.reduce(fuller).unwrap_or_else(|| self.limiter.peek(&self.limiter.initial(), now, 0.0))
    }

    /// The true level and the limit at `now`: of all keys the one with the highest ratio.
    pub(crate) fn truth(&self, now: Time) -> Outcome {
        self.tightest(self.keys.iter().map(|key| &key.truth), now)
    }

    /// How many other levels there are to draw: of the first few processes, or of the count on Redis with all leases.
    pub(crate) fn beliefs(&self) -> usize {
        match self.sharing {
            Sharing::Shared(Share::Exact | Share::Leased(_)) => usize::from(self.lends()),
            _ => super::CURVES.min(self.processes.count as usize),
        }
    }

    /// The level of this number at `now`.
    pub(crate) fn belief(&self, number: usize, now: Time) -> Outcome {
        match self.sharing {
            Sharing::Shared(Share::Exact | Share::Leased(_)) => {
                self.tightest(self.keys.iter().map(|key| &key.redis), now)
            }
            _ => {
                let own = self.keys.iter().filter_map(|key| key.own.get(number));
                self.tightest(own.map(|own| own.counted.state()), now)
            }
        }
    }

    /// The wait for an event of a key at the process that decided last.
    pub fn retry_after(&self, key: usize, now: Time, cost: f64) -> Retry {
        let known = self.keys.get(key);
        let state = known.and_then(|key| match self.sharing {
            Sharing::Shared(Share::Exact | Share::Leased(_)) => Some(&key.redis),
            _ => key.own.get(self.last).map(|own| own.counted.state()),
        });
        match state {
            Some(state) => self.limiter.retry_after(state, now, cost),
            None => self.limiter.retry_after(&self.limiter.initial(), now, cost),
        }
    }
}

/// Tells Redis of the events that a process refused by itself, where they count.
fn tell(limiter: &AnyLimiter, redis: &mut AnyState, own: &mut Own, at: Time) {
    let refused = core::mem::take(&mut own.refused);
    if refused > 0.0 {
        limiter.record(redis, at, refused, false);
    }
}

/// Ends a lease, unless it was used up. Returns whether Redis was called.
fn end_lease(
    limiter: &AnyLimiter,
    redis: &mut AnyState,
    lent: &mut Lent,
    own: &mut Own,
    process: usize,
    now: Time,
) -> bool {
    tell(limiter, redis, own, now);
    let unused = own.lease.unused(now);
    if let Some(unused) = unused {
        take_back(limiter, redis, lent, own, process, unused, now);
    }
    unused.is_some()
}

/// Tells Redis of the events of a process, or takes over the answer to that. Returns whether Redis was called.
fn sync(
    limiter: &AnyLimiter,
    redis: &mut AnyState,
    own: &mut Own,
    now: Time,
    [interval, call]: [Span; 2],
) -> bool {
    match own.answer.take() {
        None => {
            let sum = own.counted.claim(limiter, limiter, now);
            // A sum of costs is no bad number.
            let _ = limiter.charge(redis, now, sum);
            own.answer = Some(redis.clone());
            own.asked = [now, now.after(call)];
            own.due = now.after(call);
            true
        }
        Some(shared) => {
            own.counted.adopt(limiter, limiter, shared, now);
            let [asked, _] = own.asked;
            let is_idle = own.counted.pending() <= 0.0;
            own.due = if is_idle { Time::LAST } else { now.max(asked.after(interval)) };
            false
        }
    }
}

/// Gives a lease back, as far as Redis knows it.
fn take_back(
    limiter: &AnyLimiter,
    redis: &mut AnyState,
    lent: &mut Lent,
    own: &Own,
    process: usize,
    unused: Unused,
    now: Time,
) {
    if lent.take_back(process as u64, unused.serial) {
        let at = own.intact.min(now).max(unused.counted);
        limiter.undo(redis, at, now, unused.left as f64 * own.cost);
    }
}
