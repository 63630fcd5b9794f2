//! The store on Redis: limits that many processes share.
//!
//! * [`Redis`] is a connection: to a server, a cluster, or the master that sentinels name.
//! * [`RedisStore`] has rules whose states are there. It is a [`Store`], as the store in memory is.
//! * [`Options`] has the deadline, the circuit breaker, the prefix of keys and the clock.
//!
//! ```no_run
//! use ratescope::rules::{Details, Rules, Store};
//! use ratescope::{Event, Time};
//! use ratescope_redis::{Options, RedisStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 10/1s burst 20 per user\n")?;
//! let store = RedisStore::open("redis://127.0.0.1:6379", rules, Options::default())?;
//! let fields = [("user", "ann")];
//! let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
//! println!("{}", store.check_async(&event, Details::default()).await);
//! # Ok(())
//! # }
//! ```
//!
//! **How it works.** `plan.rs` turns the limits of one or more events into one call of a script that `script.rs` puts
//! together from `lua/`. `link.rs` sends it to the server that has the keys and retries it only where nothing ran;
//! `server.rs` has the connection, `breaker.rs` the circuit breaker. `reply.rs` reads outcomes and states. A store in
//! this process takes over the states, and decides when Redis can't be asked.
//!
//! **What it promises.** Decisions, waits and the bits of rates are those of the store in memory. An event counts at
//! most once, and in all of its limits or in none. There is a decision within the deadline, whatever Redis does. A
//! decision that has begun runs to completion even if the caller gives up.
#![doc = include_str!("in_a_service.md")]
//! # The stores, and what each promises
#![doc = include_str!("stores.md")]
//!
#![doc = include_str!("chapter.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_debug_implementations)]

mod address;
mod algorithm;
mod breaker;
mod clear;
mod decide;
mod detach;
mod fallback;
mod keys;
mod link;
mod masters;
mod options;
mod plan;
mod refusal;
mod reply;
mod script;
mod server;
mod slots;

pub use clear::clear;
pub use options::{Options, TimeSource};
/// The clients that a [`Redis`] may be made from.
pub use redis;

use address::Address;
use arc_swap::ArcSwap;
use decide::{Decided, Request};
use detach::DetachOnDrop;
use fallback::{Clock, Fallback};
use link::Link;
use plan::{Op, Plan, Question};
use ratescope::event::{Event, Fields};
use ratescope::internal::{AskedOutcomes, RawQuota};
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{self, Per};
use ratescope::rules::{
    BoxFuture, Cause, Decision, Details, Fault, Intent, Load, MemoryStore, OpenError, Part,
    Reloaded, Rule, Rules, RulesError, StateSource, Store,
};
use ratescope::time::Time;
use reply::Reply;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// A list that usually has up to four items, and then needs no allocation.
type Few<T> = SmallVec<[T; 4]>;

/// A connection to Redis, for any number of stores. A clone is the same connection.
#[derive(Clone, Debug)]
pub struct Redis {
    link: Arc<Link>,
    options: Options,
    /// True if keys of different subjects are on different nodes.
    apart: bool,
    clock: Arc<Clock>,
}

/// Rules whose states are on Redis. A clone is the same store.
#[derive(Clone, Debug)]
pub struct RedisStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    redis: Redis,
    /// Made from the rules of `fallback`, again at each reload.
    plan: ArcSwap<Plan>,
    /// Held while the rules and the plan are replaced.
    replacing: Mutex<()>,
    /// Decides when Redis can't be asked.
    fallback: Fallback,
}

impl Redis {
    /// Connects to the Redis at `url`, as in `redis://127.0.0.1:6379/0`; to a Redis Cluster, as in
    /// `redis-cluster://127.0.0.1:7000,127.0.0.1:7001` with some of its nodes; or to the master that
    /// [sentinels](self#behind-sentinels) watch, as in `redis-sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster/0`.
    /// Nothing is sent yet, so a service starts whether Redis is there or not.
    ///
    /// # Errors
    /// If the address can't be read, or outside of a Tokio runtime.
    pub fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        Redis::at(Address::read(url).map_err(not_an_address)?, options)
    }

    /// Connects to the Redis of a client that a service has already, with its user, its password, its database, and its
    /// certificates of [TLS](self#tls). It makes connections of its own, so that it can replace silent ones.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_client(client: &redis::Client, options: Options) -> Result<Self, OpenError> {
        Redis::at(Address::One(Box::new(address::connection(client))), options)
    }

    /// Connects to a Redis Cluster, given clients of some of its nodes; the other nodes are found through these.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_cluster(nodes: &[redis::Client], options: Options) -> Result<Self, OpenError> {
        Redis::at(Address::Cluster(nodes.iter().map(address::connection).collect()), options)
    }

    /// Connects to the master that sentinels watch under `name`, given clients of these sentinels. `login` has the
    /// user, the password and the database of the master. Its connections use TLS if those of the first sentinel do.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_sentinels(
        sentinels: &[redis::Client],
        name: &str,
        login: redis::RedisConnectionInfo,
        options: Options,
    ) -> Result<Self, OpenError> {
        let sentinels: Vec<_> = sentinels.iter().map(address::connection).collect();
        let address = Address::behind(sentinels, name, login).map_err(not_an_address)?;
        Redis::at(address, options)
    }

    fn at(address: Address, options: Options) -> Result<Self, OpenError> {
        let apart = matches!(address, Address::Cluster(_)) && !options.one_node;
        tokio::runtime::Handle::try_current().map_err(|_| OpenError::Runtime)?;
        let link = Link::new(address, &options).map_err(not_an_address)?;
        let clock = Arc::new(Clock::new(options.clock));
        Ok(Redis { link: Arc::new(link), options, apart, clock })
    }

    /// A store for rules, or for a policy, on this connection. Stores on one connection can decide together: [all or
    /// none](Store::check_all).
    ///
    /// On a cluster, all keys of one event must be on one node. So either all limits are for the same
    /// fields, or [`Options::one_node`] puts all keys on one node.
    ///
    /// # Errors
    /// If a rule can't be computed there.
    pub fn store(&self, rules: impl Into<Rules>) -> Result<RedisStore, RulesError> {
        let rules = rules.into();
        computable(&rules, self.apart)?;
        let local = MemoryStore::new(rules, self.options.capacity);
        Ok(RedisStore::new(self.clone(), local))
    }

    /// Asks whether Redis counts: each master that has keys writes a small key with the [prefix](Options::prefix), which
    /// expires after a millisecond. So `Ok` means that each has just answered and written: it is no read-only replica,
    /// has memory and the replicas that it demands, and lets its user write these keys. It does not say that each event
    /// can be counted. A call since the last ping that Redis refused, as where something else is at a key, is an error,
    /// too.
    ///
    /// The timeout is a second, or the [deadline](Options::deadline) if that is longer. A ping is sent while the circuit
    /// breaker rests, too, and does not close it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or does not answer in time.
    pub async fn ping(&self) -> Result<(), Fault> {
        self.link.ping(&self.options).await
    }
}

impl RedisStore {
    /// Opens a store for rules, or for a policy, on a connection of its own: see [`Redis::open`] and [`Redis::store`].
    ///
    /// # Errors
    /// If the address can't be read, if a rule can't be computed there, or outside of a Tokio runtime.
    pub fn open(url: &str, rules: impl Into<Rules>, options: Options) -> Result<Self, OpenError> {
        Ok(Redis::open(url, options)?.store(rules)?)
    }

    /// The connection, on which there may be other stores.
    pub fn redis(&self) -> &Redis {
        &self.0.redis
    }

    /// A store with the same keys and states, and the numbers of other rules, such as those of a customer: see
    /// [`MemoryStore::with_limits`]. The numbers are arguments of the script, so Redis keeps no more than before.
    ///
    /// # Errors
    /// As for [`MemoryStore::with_limits`], and if a rule can't be computed there.
    pub fn with_limits(&self, rules: impl Into<Rules>) -> Result<Self, RulesError> {
        let redis = self.0.redis.clone();
        let local = self.0.fallback.store.with_limits(rules)?;
        computable(&local.rules(), redis.apart)?;
        Ok(RedisStore::new(redis, local))
    }

    fn new(redis: Redis, local: MemoryStore) -> Self {
        let plan = Plan::new(local.rules(), &redis.options);
        let fallback = Fallback::new(local, &redis);
        RedisStore(Arc::new(Inner {
            redis,
            plan: ArcSwap::from_pointee(plan),
            replacing: Mutex::default(),
            fallback,
        }))
    }

    /// See [`MemoryStore::set_load`].
    pub fn set_load(&self, load: Option<Load>) {
        self.0.fallback.store.set_load(load);
    }

    /// Frees the memory of states in this process that have no effect any more at `now`.
    pub fn forget(&self, now: Time) {
        self.0.fallback.forget(now);
    }

    async fn ask(&self, event: &Event<'_>, op: Op, details: Details) -> Decision {
        let inner = &*self.0;
        let plan = inner.plan.load_full();
        let asks = plan.rules.ask(event, inner.fallback.store.load());
        let question = plan.question(event, asks, Intent::Count);
        let with_states = details.quotas || details.retry;
        match inner.decide(vec![question], op, with_states, event.time).await {
            Ok((questions, replies)) => {
                let Some((question, reply)) = questions.iter().zip(replies).next() else {
                    return inner.fallback.decide(event, op != Op::Peek, details, Fault::Late);
                };
                let decision = answered(question, &reply, details);
                inner.fallback.adopt(event, question, reply);
                decision
            }
            Err(fault) => inner.fallback.decide(event, op != Op::Peek, details, fault),
        }
    }
}

impl Inner {
    /// Decides about questions on this connection. Once begun, it runs to completion.
    async fn decide(
        &self,
        questions: Vec<Question>,
        op: Op,
        with_states: bool,
        now: Time,
    ) -> Result<Decided, Fault> {
        let link = Arc::clone(&self.redis.link);
        let clock = self.redis.options.clock;
        let is_asked = questions.iter().any(|question| !question.keys.is_empty());
        if is_asked && clock != TimeSource::Redis && !options::is_time(now) {
            let help = "on Redis, times are from 0 to 2^52 microseconds, which is 1970 to 2112";
            return Err(Fault::failed(help));
        }
        let request = Request { link, questions, op, with_states, clock, now };
        DetachOnDrop::new(request.decide()).await
    }

    async fn check_all(&self, parts: &[Part<'_, RedisStore>], details: Details) -> Vec<Decision> {
        let Some(first) = parts.first() else { return Vec::new() };
        let plans = Part::once_each(parts, |store| store.0.plan.load_full());
        let mut questions = Vec::with_capacity(parts.len());
        for (part, plan) in parts.iter().zip(&plans) {
            let asks = plan.rules.ask(part.event, part.store.0.fallback.store.load());
            questions.push(plan.question(part.event, asks, part.intent));
        }
        let op = if details.at_once { Op::CheckAtOnce } else { Op::Check };
        let with_states = details.quotas || details.retry;
        match self.decide(questions, op, with_states, first.event.time).await {
            Ok((questions, replies)) => {
                let each = || questions.iter().zip(&replies);
                let decisions =
                    each().map(|(question, reply)| answered(question, reply, details)).collect();
                // What is given back comes last.
                for intent in [Intent::Count, Intent::GiveBack] {
                    for (part, (question, reply)) in parts.iter().zip(each()) {
                        if part.intent == intent {
                            part.store.0.fallback.adopt(part.event, question, reply.clone());
                        }
                    }
                }
                decisions
            }
            Err(fault) => self.fallback.decide_all(parts, details, &fault),
        }
    }

    async fn charge(&self, event: &Event<'_>, passed: Option<&Decision>) -> Result<(), Fault> {
        let plan = self.plan.load_full();
        let asks = plan.rules.ask_to_charge(event, self.fallback.store.load(), passed)?;
        let question = plan.question(event, asks, Intent::Count);
        let done = self.decide(vec![question], Op::Charge, false, event.time).await.map(drop);
        if done.is_err() {
            // This process counts the event instead.
            self.fallback.charge(event, passed)?;
        }
        done
    }

    async fn give_back(&self, event: &Event<'_>, passed: Option<&Decision>) -> Result<bool, Fault> {
        // One plan for the whole call, since a reload may replace it meanwhile.
        let plan = self.plan.load_full();
        let asks = plan.rules.ask_to_give_back(event, self.fallback.store.load(), passed);
        let mut limiters = asks.iter().filter_map(|ask| plan.limiter(ask));
        if !limiters.all(AnyLimiter::can_undo) {
            return Ok(false);
        }
        let question = plan.question(event, asks, Intent::GiveBack);
        let done = self.decide(vec![question], Op::Check, false, event.time).await.map(|_| true);
        if done.is_err() {
            // While Redis can't be asked, this process decides by its own counters.
            self.fallback.give_back(event, passed);
        }
        done
    }

    async fn reset(
        &self,
        fields: &dyn Fields,
        of: &(dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> Result<usize, Fault> {
        let Inner { redis, plan, fallback, .. } = self;
        fallback.store.reset(fields, of);
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        let calls = plan.load().resets(&event, of);
        let read = |bytes: &[u8]| core::str::from_utf8(bytes).ok()?.parse::<usize>().ok();
        let mut removed = 0;
        for call in calls {
            removed += redis.link.run(&call, redis.link.until(), read).await?.min(1);
        }
        Ok(removed)
    }
}

fn not_an_address(error: redis::RedisError) -> OpenError {
    let want = "the store is not the address of a Redis, as in redis://127.0.0.1:6379, of a cluster, as in \
                redis-cluster://127.0.0.1:7000,127.0.0.1:7001, or of a master behind sentinels, as in \
                redis-sentinel://127.0.0.1:26379/mymaster";
    OpenError::Address { want, cause: Cause::new(error) }
}

/// Refuses rules that Redis can't compute. If keys may be `apart` on several nodes, all limits must be for the same
/// fields.
fn computable(rules: &Rules, apart: bool) -> Result<(), RulesError> {
    let first = rules.subjects().first().copied().filter(|_| apart);
    rules.refuse(|limit| {
        let elsewhere = first.filter(|first| **first != limit.per);
        limit.not_in_f64().or_else(|| {
            elsewhere.map(|first| {
                format!(
                    "not for the same fields as others, which are per {first}: on a cluster their \
                     states may be on different nodes; put all on one node (--one-node, or \
                     Options::one_node), or take several stores"
                )
            })
        })
    })
}

fn answered(question: &Question, reply: &Reply, details: Details) -> Decision {
    let Question { plan, asks: asked, .. } = question;
    let states = reply.states.as_ref();
    let quota = |i: usize| {
        let (now, states) = states.filter(|_| details.quotas)?;
        Some(RawQuota::new(plan.limiter(&asked[i])?, states.get(i)?, *now))
    };
    let judged = AskedOutcomes { asked, outcomes: &reply.outcomes };
    let outcomes = judged.placed(|_| StateSource::Store, quota);
    let mut decision = Decision::with_outcomes(Arc::clone(&plan.rules), outcomes, None);
    let is_refused = !decision.is_allowed();
    let retry = states.filter(|_| details.retry && is_refused).map(|(now, states)| {
        policy::retry_after(*now, |at| {
            let firm = asked.iter().zip(states).filter(|(ask, _)| ask.is_firm());
            let limiters = firm.filter_map(|(ask, state)| Some((ask, plan.limiter(ask)?, state)));
            limiters.map(move |(ask, limiter, state)| limiter.retry_after(state, at, ask.cost))
        })
    });
    decision.retry_after = retry;
    decision
}

impl Store for RedisStore {
    fn rules(&self) -> Arc<Rules> {
        self.0.fallback.store.rules()
    }

    fn check_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        details: Details,
    ) -> BoxFuture<'a, Decision> {
        let op = if details.at_once { Op::CheckAtOnce } else { Op::Check };
        Box::pin(self.ask(event, op, details))
    }

    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
        Box::pin(self.ask(event, Op::Peek, details))
    }

    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a>],
        details: Details,
    ) -> BoxFuture<'a, Vec<Decision>> {
        let here = Part::all_of::<Self>(parts).filter(|parts| {
            let link = &self.0.redis.link;
            parts.iter().all(|part| Arc::ptr_eq(&part.store.0.redis.link, link))
        });
        match here {
            Some(parts) => Box::pin(async move { self.0.check_all(&parts, details).await }),
            None => Box::pin(Part::one_after_the_other(parts, details)),
        }
    }

    fn charge_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(self.0.charge(event, passed))
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        self.0.fallback.store.can_give_back(event)
    }

    fn give_back_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(self.0.give_back(event, passed))
    }

    /// Resets the keys on Redis and in this process, and returns their number on Redis.
    fn reset_async<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        Box::pin(self.0.reset(fields, of))
    }

    fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        Ok(Arc::new(self.with_limits(rules)?))
    }

    /// Puts `rules` in force if Redis can compute them. On Redis, the states of a rule go on if its name and the shapes
    /// of its limits stay the same.
    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        let Inner { redis, plan, replacing, fallback } = &*self.0;
        if let Err(error) = computable(&rules, redis.apart) {
            return Reloaded::Rejected(error);
        }
        let _alone = replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded = fallback.replace(rules, now);
        plan.store(Arc::new(Plan::new(fallback.store.rules(), &redis.options)));
        reloaded
    }
}

/// Runs the chapter of the library's guide that is about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../ratescope/src/guide/redis.md")]
struct Chapter;
