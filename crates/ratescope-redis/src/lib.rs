//! The same decisions on Redis, shared by many processes.
//!
//! ```no_run
//! use ratescope_redis::{Options, RedisStore};
//! use ratescope::rules::{AsyncStore, Details, Rules};
//! use ratescope::{Event, Time};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::read("rules.yaml", "domain: web\nlimit: gcra 10/1s burst 20 per user\n")?;
//! let store = RedisStore::open("redis://127.0.0.1:6379", rules, Options::default())?;
//! let fields = [("user", "ann")];
//! let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
//! let answer = store.check(&event, Details::default()).await;
//! println!("{}", answer);
//! # Ok(())
//! # }
//! ```
//!
//! A service asks any [`AsyncStore`], so a layer (`middleware`) takes a [`RedisStore`] as it takes a
//! [`Ruled`](ratescope::rules::Ruled), whose states are in memory. The command
//! `ratescope simulate --store redis://127.0.0.1:6379` puts a log through Redis in the time of its events,
//! and prints the same as without Redis, except that levels near 1e12 may differ in the last digit. Each run has keys
//! of its own and removes them at its end.
//!
#![doc = include_str!("in_a_service.md")]
//!
//! # The stores, and what each promises
#![doc = include_str!("stores.md")]
//!
#![doc = include_str!("chapter.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod address;
mod algorithm;
mod breaker;
mod clear;
mod decide;
mod keys;
mod link;
mod masters;
mod meaning;
mod options;
mod plan;
mod reply;
mod script;
mod server;
mod slots;
mod to_the_end;

pub use clear::clear;
pub use options::{Options, TimeSource};
/// The client that [`RedisStore::of`] takes.
pub use redis;

use address::Address;
use arc_swap::ArcSwap;
use core::sync::atomic::{AtomicI64, Ordering};
use decide::{Decided, Request};
use link::Link;
use plan::{Deed, Plan, Question};
use ratescope::event::{Event, Fields};
use ratescope::internal::Few;
use ratescope::internal::{AskedOutcomes, RawQuota, not_in_f64, one_after_the_other};
use ratescope::limit::Limiter;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{self, Per};
use ratescope::rules::{
    AsyncStore, Cause, Decision, Details, Fault, Intent, Load, OpenError, Part, Reloaded, Rule,
    Ruled, Rules, RulesError, StateSource,
};
use ratescope::time::Time;
use reply::Reply;
use std::sync::{Arc, Mutex, PoisonError};
use to_the_end::ToTheEnd;

/// Rules whose states are on Redis. A clone is the same store.
#[derive(Clone, Debug)]
pub struct RedisStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: Arc<Link>,
    /// Made of the rules of `local`, whenever these are replaced.
    plan: ArcSwap<Plan>,
    /// Held while both are replaced.
    replacing: Mutex<()>,
    /// The same rules in this process, for times when Redis can't be asked.
    local: Ruled,
    /// By how many microseconds the clock of Redis is ahead of that of the events, as of its latest answer.
    ahead: AtomicI64,
    options: Options,
    /// Whether keys of different subjects are on different nodes.
    apart: bool,
}

impl RedisStore {
    /// Opens a store for `rules` on the Redis at `url`, as in `redis://127.0.0.1:6379/0`; on a Redis Cluster,
    /// as in `redis-cluster://127.0.0.1:7000,127.0.0.1:7001` with some of its nodes; or on the master of a
    /// name that [sentinels](self#behind-sentinels) watch, as in
    /// `redis-sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster/0`. Nothing is sent yet, so a service starts
    /// whether Redis is there or not.
    ///
    /// On a cluster, all keys of one event must be on one node. So either all limits are for the same
    /// fields, or [`Options::one_node`] puts all keys on one node.
    ///
    /// # Errors
    /// If the address can't be read, if a rule can't be computed there, or outside of a Tokio runtime.
    pub fn open(url: &str, rules: Rules, options: Options) -> Result<Self, OpenError> {
        RedisStore::at(Address::read(url).map_err(not_an_address)?, rules, options)
    }

    /// Opens a store for `rules` on the Redis of a client that a service has already, with its user, its
    /// password, its database, and its certificates of [TLS](self#tls). The store makes connections of its
    /// own there, since it has to replace those that fell silent.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn of(client: &redis::Client, rules: Rules, options: Options) -> Result<Self, OpenError> {
        RedisStore::at(Address::One(Box::new(address::of(client))), rules, options)
    }

    /// Opens a store on a Redis Cluster, given clients of some of its nodes; the other nodes are found through these.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn of_cluster(
        nodes: &[redis::Client],
        rules: Rules,
        options: Options,
    ) -> Result<Self, OpenError> {
        RedisStore::at(Address::Cluster(nodes.iter().map(address::of).collect()), rules, options)
    }

    /// Opens a store on the master that sentinels watch under `name`, given clients of these sentinels. `login` has the
    /// user, the password and the database of the master. Its connections use TLS if those of the first sentinel do.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn of_sentinels(
        sentinels: &[redis::Client],
        name: &str,
        login: redis::RedisConnectionInfo,
        rules: Rules,
        options: Options,
    ) -> Result<Self, OpenError> {
        let sentinels: Vec<_> = sentinels.iter().map(address::of).collect();
        let address = Address::watched(sentinels, name, login).map_err(not_an_address)?;
        RedisStore::at(address, rules, options)
    }

    fn at(address: Address, rules: Rules, options: Options) -> Result<Self, OpenError> {
        let options = options.bounded();
        let apart = matches!(address, Address::Cluster(_)) && !options.one_node;
        computable(&rules, apart)?;
        tokio::runtime::Handle::try_current().map_err(|_| OpenError::Runtime)?;
        let link = Link::new(address, &options).map_err(not_an_address)?;
        Ok(RedisStore::new(Arc::new(link), rules, options, apart))
    }

    /// A store for other rules on the same connections.
    ///
    /// # Errors
    /// If a rule can't be computed there.
    pub fn beside(&self, rules: Rules) -> Result<Self, RulesError> {
        let Inner { link, options, apart, .. } = &*self.0;
        computable(&rules, *apart)?;
        Ok(RedisStore::new(Arc::clone(link), rules, options.clone(), *apart))
    }

    fn new(link: Arc<Link>, rules: Rules, options: Options, apart: bool) -> Self {
        let local = Ruled::new(rules, options.capacity);
        let plan = ArcSwap::from_pointee(Plan::new(local.rules()));
        let (replacing, ahead) = (Mutex::default(), AtomicI64::default());
        RedisStore(Arc::new(Inner { link, plan, replacing, local, ahead, options, apart }))
    }

    /// Reads rules, and puts them in force if they are right and Redis can compute them. See
    /// [`Ruled::reload`]. On Redis, the states of a rule go on if its name and the shapes of its limits
    /// stay the same.
    pub fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        AsyncStore::reload(self, file, text, now)
    }

    /// Puts `rules` in force if Redis can compute them.
    pub fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        if let Err(error) = computable(&rules, self.0.apart) {
            return Reloaded::Rejected(error);
        }
        let _alone = self.0.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded = self.0.local.replace(rules, self.0.as_redis_has_it(now));
        let plan = Plan::new(self.0.local.rules());
        self.0.plan.store(Arc::new(plan));
        reloaded
    }

    /// See [`Ruled::set_load`].
    pub fn set_load(&self, load: Option<Load>) {
        self.0.local.set_load(load);
    }

    /// Frees the memory of states in this process that no longer count at `now`.
    pub fn forget(&self, now: Time) {
        self.0.local.forget(self.0.as_redis_has_it(now));
    }

    /// Asks whether Redis answers; on a cluster, whether all masters do. The answer may take a second, or the
    /// [deadline](Options::deadline) if that is longer.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or does not answer in time.
    pub async fn ping(&self) -> Result<(), Fault> {
        self.0.link.ping().await
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key, on
    /// Redis and in this process. Returns how many there were on Redis. [`peek`](AsyncStore::peek) tells how a key
    /// stands.
    ///
    /// # Errors
    /// When Redis can't be asked in time; some keys may have been reset then.
    pub async fn reset(
        &self,
        fields: &dyn Fields,
        of: impl Fn(&Rule, &Per) -> bool,
    ) -> Result<usize, Fault> {
        let Inner { link, plan, local, options, .. } = &*self.0;
        local.reset(fields, &of);
        let event = Event { time: Time::ZERO, cost: 0.0, fields };
        let calls = plan.load().resets(&event, options, of);
        let mut removed: usize = 0;
        for call in calls {
            removed += link
                .run(&call, link.until(), |bytes| {
                    core::str::from_utf8(bytes).ok()?.parse::<usize>().ok()
                })
                .await?
                .min(1);
        }
        Ok(removed)
    }

    async fn ask(&self, event: &Event<'_>, deed: Deed, details: Details) -> Decision {
        let inner = &*self.0;
        let plan = inner.plan.load_full();
        let asks = plan.rules.ask(event, inner.local.load());
        let question = plan.question(event, asks, Intent::Count, &inner.options);
        let with_states = details.quotas || details.retry;
        match inner.decide(Few::from_iter([question]), deed, with_states, event.time).await {
            Ok((questions, replies)) => {
                let Some((question, reply)) = questions.iter().zip(replies).next() else {
                    return inner.instead(event, deed, details, Fault::Late);
                };
                let decision = answered(question, &reply, details);
                inner.adopt(event, question, reply);
                decision
            }
            Err(fault) => inner.instead(event, deed, details, fault),
        }
    }
}

impl Inner {
    /// Decides about questions on these connections. Once begun, that goes on to its end.
    async fn decide(
        &self,
        questions: Few<Question>,
        deed: Deed,
        with_states: bool,
        now: Time,
    ) -> Result<Decided, Fault> {
        let (link, clock) = (Arc::clone(&self.link), self.options.clock);
        let is_asked = questions.iter().any(|question| !question.keys.is_empty());
        if is_asked && clock != TimeSource::Redis && !options::is_time(now) {
            let help = "on Redis, times are from 0 to 2^52 microseconds, which is 1970 to 2112";
            return Err(Fault::failed(help));
        }
        let request = Request { link, questions, deed, with_states, clock, now };
        ToTheEnd::new(request.decide()).await
    }

    /// Decides in this process, because Redis could not be asked.
    fn instead(&self, event: &Event<'_>, deed: Deed, details: Details, fault: Fault) -> Decision {
        let (event, count) = (&self.in_its_time(event), deed != Deed::Peek);
        let mut decision = self.local.answer_instead(event, details, count, self.times());
        decision.fault = Some(fault);
        decision
    }

    /// Takes over the states of an answer, if it has them, so that this process goes on from there.
    fn adopt(&self, event: &Event<'_>, question: &Question, reply: Reply) {
        // Beside what is counted, what is only looked at may be out of date.
        if question.intent == Intent::Look {
            return;
        }
        let Some((now, states)) = reply.states.filter(|(_, states)| !states.is_empty()) else {
            return;
        };
        let ahead = now.as_micros().saturating_sub(event.time.as_micros());
        self.ahead.store(ahead, Ordering::Relaxed);
        let event = &Event { time: now, ..*event };
        let Question { plan, asks, .. } = question;
        self.local.adopt(&plan.rules, event, asks, &reply.outcomes, states);
    }

    /// How often an event counts in this process: in place of all that share the states.
    fn times(&self) -> f64 {
        self.options.processes.max(1).into()
    }

    /// An event at the time that Redis has then, since the states are in its time.
    fn in_its_time<'a>(&self, event: &Event<'a>) -> Event<'a> {
        Event { time: self.as_redis_has_it(event.time), ..*event }
    }

    fn as_redis_has_it(&self, time: Time) -> Time {
        let ahead = self.ahead.load(Ordering::Relaxed);
        Time::from_micros(time.as_micros().saturating_add(ahead))
    }
}

fn not_an_address(error: redis::RedisError) -> OpenError {
    let want = "the store is not the address of a Redis, as in redis://127.0.0.1:6379, of a cluster, as in \
                redis-cluster://127.0.0.1:7000,127.0.0.1:7001, or of a master behind sentinels, as in \
                redis-sentinel://127.0.0.1:26379/mymaster";
    OpenError::Address { want, cause: Cause::new(error) }
}

/// Refuses rules that Redis can't compute. If subjects are `apart` on several nodes, all limits must be
/// for the same fields.
fn computable(rules: &Rules, apart: bool) -> Result<(), RulesError> {
    let first = rules.subjects().first().copied().filter(|_| apart);
    rules.refuse(|limit| {
        let elsewhere = first.filter(|first| **first != limit.per);
        not_in_f64(limit).or_else(|| {
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

impl Reply {
    fn nothing() -> Self {
        Reply { outcomes: Few::new(), states: Some((Time::ZERO, Few::new())) }
    }
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

impl AsyncStore for RedisStore {
    fn rules(&self) -> Arc<Rules> {
        self.0.local.rules()
    }

    async fn check(&self, event: &Event<'_>, details: Details) -> Decision {
        let deed = if details.at_once { Deed::CheckAtOnce } else { Deed::Check };
        self.ask(event, deed, details).await
    }

    async fn peek(&self, event: &Event<'_>, details: Details) -> Decision {
        self.ask(event, Deed::Peek, details).await
    }

    async fn check_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        let Some(first) = parts.first() else { return Vec::new() };
        let inner = &*first.store.0;
        if !parts.iter().all(|part| Arc::ptr_eq(&part.store.0.link, &inner.link)) {
            return one_after_the_other(parts, details).await;
        }
        let plans = Part::once_each(parts, |store| store.0.plan.load_full());
        let question = |(part, plan): (&Part<'_, Self>, &Arc<Plan>)| {
            let Inner { local, options, .. } = &*part.store.0;
            let asks = plan.rules.ask(part.event, local.load());
            plan.question(part.event, asks, part.intent, options)
        };
        let questions = parts.iter().zip(&plans).map(question).collect();
        let deed = if details.at_once { Deed::CheckAtOnce } else { Deed::Check };
        let with_states = details.quotas || details.retry;
        match inner.decide(questions, deed, with_states, first.event.time).await {
            Ok((questions, replies)) => {
                let each = || questions.iter().zip(&replies);
                let answers = each().map(|(question, reply)| answered(question, reply, details));
                let answers = answers.collect();
                // What is given back comes last.
                for intent in [Intent::Count, Intent::GiveBack] {
                    for (part, (question, reply)) in parts.iter().zip(each()) {
                        if part.intent == intent {
                            part.store.0.adopt(part.event, question, reply.clone());
                        }
                    }
                }
                answers
            }
            Err(fault) => {
                // This process decides instead.
                let own = parts.iter().map(|&Part { store, event, .. }| store.0.in_its_time(event));
                let events: Vec<Event<'_>> = own.collect();
                let local: Vec<Part<'_, Ruled>> = parts
                    .iter()
                    .zip(&events)
                    .map(|(part, event)| Part {
                        store: &part.store.0.local,
                        event,
                        intent: part.intent,
                    })
                    .collect();
                let mut answers = Ruled::answer_all_instead(&local, details, inner.times());
                answers.iter_mut().for_each(|answer| answer.fault = Some(fault.clone()));
                answers
            }
        }
    }

    async fn charge(&self, event: &Event<'_>, passed: Option<&Decision>) -> Result<(), Fault> {
        let inner = &*self.0;
        let plan = inner.plan.load_full();
        let asks = plan.rules.ask_to_charge(event, inner.local.load(), passed)?;
        let question = plan.question(event, asks, Intent::Count, &inner.options);
        let question = Few::from_iter([question]);
        let done = inner.decide(question, Deed::Charge, false, event.time).await.map(drop);
        if done.is_err() {
            // This process counts the event instead.
            inner.local.charge_instead(&inner.in_its_time(event), passed, inner.times())?;
        }
        done
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        self.0.local.can_give_back(event)
    }

    async fn give_back(&self, event: &Event<'_>) -> Result<bool, Fault> {
        let inner = &*self.0;
        // The rules of one reading, as they may be replaced meanwhile.
        let plan = inner.plan.load_full();
        let asks = plan.rules.ask(event, inner.local.load());
        let mut limiters = asks.iter().filter_map(|ask| plan.limiter(ask));
        if !limiters.all(AnyLimiter::can_give_back) {
            return Ok(false);
        }
        let question = plan.question(event, asks, Intent::GiveBack, &inner.options);
        let question = Few::from_iter([question]);
        let done = inner.decide(question, Deed::Check, false, event.time).await.map(|_| true);
        if done.is_err() {
            // While Redis can't be asked, this process decides by its own counters.
            inner.local.give_back_times(&inner.in_its_time(event), inner.times());
        }
        done
    }

    async fn reset(
        &self,
        fields: &dyn Fields,
        of: impl Fn(&Rule, &Per) -> bool + Send + Sync,
    ) -> Result<usize, Fault> {
        RedisStore::reset(self, fields, of).await
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        RedisStore::replace(self, rules, now)
    }
}

/// Runs the chapter of the library's guide that is about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../ratescope/src/guide/redis.md")]
struct Chapter;
