//! The store on Redis: limits that many processes share.
//!
//! * [`Redis`] is a connection: to a server, a cluster, or the master that sentinels name.
//! * [`RedisStore`] has rules whose states are there. It is a [`Store`], as the store in memory is.
//! * [`Options`] has the deadline, the circuit breaker, the prefix of keys, the clock, and how limits are
//!   [shared](ratescope::share).
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
//! **How it works.** `plan.rs` groups the limits of rules by the keys that they share, and `call.rs` makes one call of the questions
//! about one or more events, of a script that `script.rs` puts
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
mod alone;
mod breaker;
mod call;
mod clear;
mod decide;
mod detach;
mod exceptions;
mod fallback;
mod keys;
mod leases;
mod link;
mod masters;
mod options;
mod plan;
mod question;
mod refusal;
mod reply;
mod script;
mod server;
mod slots;

pub use alone::{KeptLimit, NotAlone, decode, stand_alone};
pub use clear::clear;
pub use leases::Leased;
pub use options::{Options, TimeSource};
/// The clients that a [`Redis`] may be made from.
pub use redis;

use address::Address;
use arc_swap::ArcSwap;
use call::Op;
use core::time::Duration;
use decide::{Decided, Request};
use detach::DetachOnDrop;
use fallback::{Clock, Fallback};
use leases::{Asking, Here, Leases, Tally};
use link::Link;
use plan::Plan;
use question::{Does, Question};
use ratescope::event::{Event, Fields};
use ratescope::internal::{Ask, Asked, RawQuota};
use ratescope::limit::Limiter;
use ratescope::policy::{self, Per};
use ratescope::rules::{
    BoxFuture, Cause, Decision, Decisions, Details, Exception, Fault, Intent, Load, MemoryStore,
    OpenError, Part, Reloaded, Rule, Rules, RulesError, StateSource, Store,
};
use ratescope::time::Time;
use reply::Reply;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::task::JoinSet;

/// A list that usually has up to four items, and then needs no allocation.
type Few<T> = SmallVec<[T; 4]>;

/// A connection to Redis, for any number of stores. A clone is the same connection.
#[derive(Clone, Debug)]
pub struct Redis {
    link: Arc<Link>,
    options: Options,
    clock: Arc<Clock>,
    tally: Arc<Tally>,
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
    leases: Arc<Leases>,
}

impl Redis {
    /// Connects to the Redis at `url`, as in `redis://127.0.0.1:6379/0`; to a Redis Cluster, as in
    /// `redis-cluster://127.0.0.1:7000,127.0.0.1:7001` with some of its nodes; or to the master that
    /// [sentinels](self#behind-sentinels) watch, as in `redis-sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster/0`.
    /// Nothing is sent yet, so a service starts whether Redis is there or not.
    ///
    /// # Errors
    /// If the address can't be read, if the prefix has braces, or outside of a Tokio runtime.
    pub fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        Redis::at(Address::read(url).map_err(not_an_address)?, options)
    }

    /// As [`open`](Self::open) for an address by TLS, with roots of one's own or a certificate of the client.
    ///
    /// # Errors
    /// As for `open`, and if the certificates can't be read.
    #[cfg(feature = "tls")]
    pub fn open_with_tls(
        url: &str,
        certificates: &redis::TlsCertificates,
        options: Options,
    ) -> Result<Self, OpenError> {
        let address =
            Address::read(url).and_then(|address| address.with_certificates(certificates));
        Redis::at(address.map_err(not_an_address)?, options)
    }

    /// Connects to the Redis of a client that a service has already, with its user, its password, its database, and its
    /// certificates of [TLS](self#tls). It makes connections of its own, so that it can replace silent ones.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_client(client: &redis::Client, options: Options) -> Result<Self, OpenError> {
        Redis::at(Address::of_one(address::connection(client)), options)
    }

    /// Connects to a Redis Cluster, given clients of some of its nodes; the other nodes are found through these.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_cluster(nodes: &[redis::Client], options: Options) -> Result<Self, OpenError> {
        let address = Address::of_cluster(nodes.iter().map(address::connection).collect());
        Redis::at(address.map_err(not_an_address)?, options)
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
        if options.prefix.contains(['{', '}']) {
            return Err(OpenError::Option {
                problem: "the prefix of keys must have no braces, since the text between the first braces of a key \
                          chooses the node of a cluster",
            });
        }
        tokio::runtime::Handle::try_current().map_err(|_| OpenError::Runtime)?;
        let link = Link::new(address, &options).map_err(not_an_address)?;
        let clock = Arc::new(Clock::new(options.clock));
        Ok(Redis { link: Arc::new(link), options, clock, tally: Arc::default() })
    }

    /// A store for rules, or for a policy, on this connection. A clone is the same store.
    ///
    /// On a cluster, limits for different fields may be on several nodes: see [there](self#on-a-cluster).
    /// [`Options::one_node`] puts all keys on one node.
    ///
    /// # Errors
    /// If a rule can't be computed there.
    pub fn store(&self, rules: impl Into<Rules>) -> Result<RedisStore, RulesError> {
        let rules = rules.into().with_share(self.options.share);
        rules.exact_in_f64()?;
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

impl Redis {
    /// The counts of the leases and syncs of all stores on this connection so far.
    pub fn leased(&self) -> Leased {
        self.tally.counts()
    }

    /// Tells Redis of all events that the stores on this connection have counted and not told, and gives back the rest
    /// of their [leases](ratescope::share). Await it before the process ends. (A store whose last clone is dropped does
    /// the same in a task, which ends with its runtime.)
    ///
    /// It takes at most a second, or the [deadline](Options::deadline) if that is longer. Events that Redis was not
    /// told of by then are lost, and the log says so.
    pub async fn close(&self) {
        let until = self.link.until_in_background();
        let mut stores = JoinSet::new();
        for leases in self.tally.stores() {
            stores.spawn(leases.close(until));
        }
        while stores.join_next().await.is_some() {}
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

    fn new(redis: Redis, local: MemoryStore) -> Self {
        let plan = Plan::new(local.rules(), &redis.options);
        let fallback = Fallback::new(local, &redis);
        let leases = Leases::new(&redis);
        RedisStore(Arc::new(Inner {
            redis,
            plan: ArcSwap::from_pointee(plan),
            replacing: Mutex::default(),
            fallback,
            leases,
        }))
    }

    /// See [`MemoryStore::set_load`].
    pub fn set_load(&self, load: Option<Load>) {
        self.0.fallback.store.set_load(load);
    }

    /// How many events this store has taken in advance, and may decide about now.
    pub fn held(&self) -> u64 {
        self.0.leases.held()
    }

    /// Frees the memory of states in this process that have no effect any more at `now`.
    pub fn forget(&self, now: Time) {
        self.0.fallback.forget(now);
    }
}

/// Nothing that was counted is lost when the rules of a domain are removed.
impl Drop for Inner {
    fn drop(&mut self) {
        if !self.leases.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let until = self.redis.link.until_in_background();
            runtime.spawn(Arc::clone(&self.leases).close(until));
        }
    }
}

impl Inner {
    /// Decides by leases, and asks Redis about the keys that lack one.
    async fn decide_by_leases(
        &self,
        parts: &[Part<'_>],
        details: Details,
        (asking, pause): (Asking, Duration),
    ) -> Decisions {
        if let Some(here) = self.here(&asking, pause) {
            return here.decided(&asking.questions, details);
        }
        // Apart, since the future that asks is large, and a decision without a call need not make it.
        Box::pin(self.ask_by_leases(parts, details, asking)).await
    }

    async fn ask_by_leases(
        &self,
        parts: &[Part<'_>],
        details: Details,
        asking: Asking,
    ) -> Decisions {
        let (leases, sent) = (Arc::clone(&self.leases), Instant::now());
        match DetachOnDrop::new(leases.ask(asking)).await {
            Ok(((questions, replies), counted)) => {
                replies.iter().for_each(|reply| self.redis.clock.set(reply, sent));
                for (part, (question, reply)) in parts.iter().zip(questions.iter().zip(&replies)) {
                    self.fallback.adopt(part.event, question, reply.clone());
                }
                decided_by_leases(&questions, &replies, counted, StateSource::Store, details)
            }
            Err((fault, asking)) => {
                let decisions = self.fallback.decide(parts, details, &fault);
                let mut each = parts.iter().zip(&*decisions);
                if each.all(|(part, decision)| part.passes(decision, details)) {
                    self.leases.count_synced(&asking);
                }
                decisions
            }
        }
    }

    /// Decides without a call, if that is possible. Starts the task of the leases.
    fn here(&self, asking: &Asking, pause: Duration) -> Option<Here> {
        self.leases.sweep(pause);
        self.leases.decide(&asking.questions, &asking.units, asking.now)
    }

    /// The questions about parts that may be decided by leases, and how often to look for leases that have ended. `None` if
    /// each event is to ask Redis.
    fn leasing(&self, parts: &[Part<'_>], details: Details) -> Option<(Asking, Duration)> {
        let plan = self.plan.load();
        let pause = (plan.shortest?.as_secs_f64() / 4.0).max(0.01);
        let plan = Arc::clone(&plan);
        let load = self.fallback.store.load();
        let questions: Result<Vec<_>, _> =
            parts.iter().map(|part| plan.question(part, load)).collect();
        let questions = questions.ok()?;
        let Redis { link, clock, .. } = &self.redis;
        let units = leases::units(&questions, link)?;
        let event = parts.first().map_or(Time::ZERO, Part::now);
        let asking = Asking {
            questions,
            units,
            details,
            event,
            now: clock.time(event),
            until: link.until(),
        };
        Some((asking, Duration::from_secs_f64(pause)))
    }

    /// Decides about parts together. A charge passes whatever the limits say. So each follows in a call of its own if all
    /// else has passed: a script reads all of its keys before it writes any, and another part may count at the same key.
    async fn decide(&self, parts: &[Part<'_>], details: Details) -> Decisions {
        let is_charge = |part: &Part<'_>| part.intent.is_settle() && part.event.cost >= 0.0;
        if parts.len() < 2 || !parts.iter().any(is_charge) {
            return self.decide_in_one_call(parts, details).await;
        }
        let others: Few<Part<'_>> = parts.iter().filter(|part| !is_charge(part)).copied().collect();
        let decided = self.decide_in_one_call(&others, details).await;
        let mut each = others.iter().zip(&*decided);
        let all_pass = each.all(|(part, decision)| part.passes(decision, details));
        let mut decided = decided.into_iter();
        let mut each = Vec::with_capacity(parts.len());
        for part in parts {
            if !is_charge(part) {
                each.extend(decided.next());
                continue;
            }
            let part = if all_pass { *part } else { Part { intent: Intent::Look, ..*part } };
            each.extend(self.decide_in_one_call(&[part], details).await);
        }
        each.into_iter().collect()
    }

    async fn decide_in_one_call(&self, parts: &[Part<'_>], details: Details) -> Decisions {
        let sent = Instant::now();
        match self.ask(parts, details).await {
            Ok((questions, replies)) => {
                replies.iter().for_each(|reply| self.redis.clock.set(reply, sent));
                let each = || questions.iter().zip(&replies);
                let decided =
                    |(question, reply)| decided(question, reply, StateSource::Store, details);
                let decisions = each().map(decided).collect();
                let settles =
                    |question: &Question| matches!(question.does, Does::Charge | Does::GiveBack(_));
                // A state that was only looked at may be older than one that was counted, and settled parts come last.
                for is_last in [false, true] {
                    for (part, (question, reply)) in parts.iter().zip(each()) {
                        if settles(question) == is_last {
                            self.leases.adopt(question, reply);
                        }
                        if question.does != Does::Look && settles(question) == is_last {
                            self.fallback.adopt(part.event, question, reply.clone());
                        }
                    }
                }
                decisions
            }
            Err(fault) => self.fallback.decide(parts, details, &fault),
        }
    }

    /// Asks Redis. Once begun, it runs to completion.
    async fn ask(&self, parts: &[Part<'_>], details: Details) -> Result<Decided, Fault> {
        // One plan for the whole call, since a reload may replace it meanwhile.
        let plan = self.plan.load_full();
        let load = self.fallback.store.load();
        let mut questions = Vec::with_capacity(parts.len());
        for part in parts {
            questions.push(plan.question(part, load)?);
        }
        let now = parts.first().map_or(Time::ZERO, Part::now);
        let link = Arc::clone(&self.redis.link);
        let clock = self.redis.options.clock;
        let is_asked = questions.iter().any(|question| !question.keys.is_empty());
        if is_asked && clock != TimeSource::Redis && !options::is_time(now) {
            let help = "on Redis, times are from 0 to 2^52 microseconds, which is 1970 to 2112";
            return Err(Fault::failed(help));
        }
        let only_looks = parts.iter().all(|part| matches!(part.intent, Intent::Look));
        let op = if only_looks { Op::Peek } else { Op::Check };
        let until = link.until();
        let leases = plan.shortest.map(|_| Arc::clone(&self.leases));
        let decided = async move {
            if let Some(leases) = leases {
                leases.tell_before(&questions, until).await;
                leases.date(&mut questions);
            }
            Request { link, questions, op, details, clock, now }.decide(until).await
        };
        DetachOnDrop::new(decided).await
    }

    async fn reset(
        &self,
        fields: &dyn Fields,
        of: &(dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> Result<usize, Fault> {
        let Inner { redis, plan, fallback, .. } = self;
        fallback.store.reset(fields, of);
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        let plan = plan.load_full();
        let calls = plan.resets(&event, of);
        let read = |bytes: &[u8]| core::str::from_utf8(bytes).ok()?.parse::<usize>().ok();
        let mut removed = 0;
        for mut call in calls {
            self.leases.reset(&call.keys);
            if plan.shortest.is_some() {
                call.remove_leases();
            }
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

impl Here {
    fn decided(&self, questions: &[Question], details: Details) -> Decisions {
        decided_by_leases(questions, &self.replies, self.counted, StateSource::Here, details)
    }
}

/// Decisions by leases, which are settled by the time at which the lease was counted.
fn decided_by_leases(
    questions: &[Question],
    replies: &[Reply],
    counted: Time,
    source: StateSource,
    details: Details,
) -> Decisions {
    let each = questions.iter().zip(replies).map(|(question, reply)| {
        let mut decision = decided(question, reply, source, details);
        decision.time = counted;
        decision
    });
    each.collect()
}

fn decided(question: &Question, reply: &Reply, source: StateSource, details: Details) -> Decision {
    let Question { plan, asks, numbers, fault, .. } = question;
    let Reply { outcomes, time, states } = reply;
    let limiter = |ask: &Ask| question.item(ask).map(|item| &item.limiter);
    let quota = |i: usize| {
        let states = states.as_ref().filter(|_| details.quotas)?;
        Some(RawQuota::of(limiter(&asks[i])?, states.get(i)?, *time))
    };
    let outcomes = Asked { asks, outcomes }.placed(|_| source, quota);
    let decision = Decision::with_outcomes(Arc::clone(&plan.rules), outcomes, None, *time);
    let mut decision = decision.with_numbers(numbers.clone());
    decision.fault = fault.clone();
    let is_refused = details.retry && !decision.is_allowed();
    decision.with_retry_after(states.as_ref().filter(|_| is_refused).map(|states| {
        policy::retry_after(*time, |at| {
            let firm = asks.iter().zip(states).filter(|(ask, _)| ask.is_firm());
            firm.filter_map(move |(ask, state)| {
                Some(limiter(ask)?.retry_after(state, at, ask.cost))
            })
        })
    }))
}

impl Store for RedisStore {
    fn rules(&self) -> Arc<Rules> {
        self.0.fallback.store.rules()
    }

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        match self.0.leasing(parts, details) {
            None => Box::pin(self.0.decide(parts, details)),
            Some(leasing) => Box::pin(self.0.decide_by_leases(parts, details, leasing)),
        }
    }

    /// Decides by leases, if that is possible.
    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        let (asking, pause) = self.0.leasing(parts, details)?;
        let here = self.0.here(&asking, pause)?;
        Some(here.decided(&asking.questions, details))
    }

    fn reset_async<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        Box::pin(self.0.reset(fields, of))
    }

    fn exceptions<'a>(
        &'a self,
        change: Option<(&'a Exception, Time)>,
    ) -> BoxFuture<'a, Result<Option<Vec<Exception>>, Fault>> {
        Box::pin(async move { self.0.exceptions(change).await.map(Some) })
    }

    fn set_load(&self, load: Option<Load>) {
        RedisStore::set_load(self, load);
    }

    /// Puts `rules` in force if Redis can compute them. On Redis, the states of a rule go on if its name and the shapes
    /// of its limits stay the same.
    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        let Inner { redis, plan, replacing, fallback, leases } = &*self.0;
        let rules = rules.with_share(redis.options.share);
        if let Err(error) = rules.exact_in_f64() {
            return Reloaded::Rejected(error);
        }
        let _alone = replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded = fallback.replace(rules, now);
        plan.store(Arc::new(Plan::new(fallback.store.rules(), &redis.options)));
        leases.cancel();
        reloaded
    }
}

/// Runs the chapter of the library's guide that is about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../ratescope/src/guide/redis.md")]
struct Chapter;

/// Runs the example of this crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfCrate;
