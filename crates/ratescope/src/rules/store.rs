//! The trait of all stores that decide by rules, in this process or far away.
//!
//! A [`MemoryStore`](super::MemoryStore) keeps its states in memory; it never waits and never fails. `RedisStore`, in the
//! crate `ratescope-redis`, keeps them on Redis. Both take a policy as well as rules.
//!
//! ```
//! use ratescope::rules::{Details, MemoryStore, Store};
//! use ratescope::{Event, Policy, Time};
//!
//! async fn is_welcome(store: &dyn Store, user: &str) -> bool {
//!     let fields = [("user", user)];
//!     let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
//!     store.check_async(&event, Details::default()).await.is_allowed()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy: Policy = "gcra 1/1m per user".parse()?;
//! let store = MemoryStore::new(policy, 1000);
//! // Events and stores can be used in tasks that move between threads.
//! let task = tokio::spawn(async move {
//!     [is_welcome(&store, "ann").await, is_welcome(&store, "ann").await]
//! });
//! assert_eq!(task.await?, [true, false]);
//! # Ok(())
//! # }
//! ```

use super::{Decision, Exception, Fault, Load, Part, Reloaded, Rule, Rules};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::{Span, Time};
use core::future::{Future, ready};
use core::ops::Deref;
use core::pin::Pin;
use smallvec::SmallVec;
use std::sync::Arc;

/// A future in a box.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Rules, and the states of their limits. The store can be chosen at run time:
///
/// ```
/// use ratescope::rules::{MemoryStore, Rules, Store};
/// use std::sync::Arc;
///
/// fn open(rules: Rules, redis: Option<&str>) -> Arc<dyn Store> {
///     match redis {
///         # #[cfg(any())]
///         Some(url) => Arc::new(ratescope_redis::RedisStore::open(url, rules, Default::default())?),
///         _ => Arc::new(MemoryStore::new(rules, 100_000)),
///     }
/// }
/// # let rules = Rules::read("rules.yaml", "domain: web\nlimit: 9/1s")?;
/// # open(rules, None);
/// # Ok::<(), ratescope::rules::RulesError>(())
/// ```
///
/// [`decide`](Self::decide) is all that a store must do; the guide has one of a page's length. One call asks for
/// everything, so a remote store is asked once. If a future is dropped while it waits, the events may have been counted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store that decides by rules",
    note = "take a `MemoryStore`; of a policy, `MemoryStore::new(policy, capacity)`"
)]
pub trait Store: Send + Sync + 'static {
    /// The rules that are in force.
    fn rules(&self) -> Arc<Rules>;

    /// Decides about events together: either all are counted in all limits of all rules that apply, or none is. Returns a
    /// decision for each, with the `details` that are asked for. If some are refused, the others are not counted, not
    /// even by limiters that count refused events. [`Intent`](super::Intent) says what else there is besides counting.
    ///
    /// A limit in which several events count at the same key is asked once, for the sum of the costs: they pass
    /// together or not at all. If they have different [numbers](super::Numbers) for the limit, the first decides, and
    /// each gets the remaining quota and the time of a retry by its own numbers.
    ///
    /// `event.time` is the time by the clock of this process. A store may use a clock of its own instead. There is
    /// always a decision: if the states can't be asked, each rule [says](super::OnStoreFailure) how to decide, and
    /// [`Decision::fault`] says why.
    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions>;

    /// Does what [`decide`](Self::decide) does if that needs no waiting. Otherwise returns `None` and counts nothing.
    fn decide_now(&self, _parts: &[Part<'_>], _details: Details) -> Option<Decisions> {
        None
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key.
    /// Returns how many keys were remembered: see [`MemoryStore::reset`](super::MemoryStore::reset).
    ///
    /// # Errors
    /// If the store can't be reached; some keys may have been reset. A [`Fault::Failed`] if the store does not
    /// implement this.
    fn reset_async<'a>(
        &'a self,
        _fields: &'a dyn Fields,
        _of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        Box::pin(ready(Err(Fault::Failed("this store resets no keys".to_owned()))))
    }

    /// The [exceptions](super::Exceptions) that are kept where the states are, after this change at its time, if there is
    /// one. `None` if the store keeps none, as one in memory.
    ///
    /// # Errors
    /// If the store can't be reached.
    fn exceptions<'a>(
        &'a self,
        _change: Option<(&'a Exception, Time)>,
    ) -> BoxFuture<'a, Result<Option<Vec<Exception>>, Fault>> {
        Box::pin(ready(Ok(None)))
    }

    /// Puts `rules` in force: see [`MemoryStore::replace`](super::MemoryStore::replace). A store that can't compute them,
    /// or does not implement this, rejects them.
    fn replace(&self, rules: Rules, _now: Time) -> Reloaded {
        Reloaded::Rejected(rules.wrong("this store takes no other rules".to_owned()))
    }

    /// Sets the load of the service, on which elastic rules depend: see
    /// [`MemoryStore::set_load`](super::MemoryStore::set_load). A store that does not implement this has no load, and
    /// its elastic rules are hard.
    fn set_load(&self, _load: Option<Load>) {}

    /// The size of the memory, if the states are in this process.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Reads rules, and [puts them in force](Self::replace) if they have no mistakes. `file` is their name, for errors.
    fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        match Rules::read(file, text) {
            Ok(rules) => self.replace(rules.with_key_secret(self.rules().key_secret()), now),
            Err(error) => Reloaded::Rejected(error),
        }
    }

    /// Decides about an event, and counts it in all limits of all rules that apply, or in none.
    fn check_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        details: Details,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(one(self, Part::count(event), details))
    }

    /// Answers as [`check_async`](Self::check_async) would, and counts nothing.
    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
        Box::pin(one(self, Part::look(event), details))
    }

    /// Settles an event that passed, and costs so much more or less than was counted: see
    /// [`Intent::Settle`](super::Intent::Settle).
    ///
    /// # Errors
    /// If the store can't be reached; rules that decide in this process then settle the event there. With a
    /// [`Fault::Cost`] nothing is counted.
    fn settle_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        now: Time,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        let decision = one(self, Part::settle(event, now, passed), Details::default());
        Box::pin(async move { decision.await.fault.map_or(Ok(()), Err) })
    }
}

async fn one<'a, S: Store + ?Sized>(store: &'a S, part: Part<'a>, details: Details) -> Decision {
    let parts = [part];
    let decision = store.decide(&parts, details).await.into_only();
    decision.unwrap_or_else(|| {
        // A store of a user's own that has returned no decision.
        let mut decision = Decision::new(store.rules(), part.now());
        decision.fault = Some(Fault::Failed("the store made no decision".to_owned()));
        decision
    })
}

/// The methods of a store around another one that change neither decisions nor exceptions.
macro_rules! pass_on_all_else {
    ($self:ident => $inner:expr) => {
        fn rules(&$self) -> std::sync::Arc<$crate::rules::Rules> {
            ($inner).rules()
        }

        fn reset_async<'a>(
            &'a $self,
            fields: &'a dyn $crate::event::Fields,
            of: &'a (dyn Fn(&$crate::rules::Rule, &$crate::policy::Per) -> bool + Send + Sync),
        ) -> $crate::rules::BoxFuture<'a, Result<usize, $crate::rules::Fault>> {
            ($inner).reset_async(fields, of)
        }

        fn replace(
            &$self,
            rules: $crate::rules::Rules,
            now: $crate::time::Time,
        ) -> $crate::rules::Reloaded {
            ($inner).replace(rules, now)
        }

        fn set_load(&$self, load: Option<$crate::rules::Load>) {
            ($inner).set_load(load);
        }

        fn memory(&$self) -> Option<$crate::rules::Memory> {
            ($inner).memory()
        }
    };
}

pub(super) use pass_on_all_else;

/// A pointer to a store is a store. (Not a plain reference: a store outlives the request that asks it.)
macro_rules! pass_on {
    ($($pointer:ident),*) => {$(
        /// The store behind the pointer.
        impl<S: Store + ?Sized> Store for $pointer<S> {
        pass_on_all_else!(self => **self);

        fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
            (**self).decide(parts, details)
        }

        #[inline]
        fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
            (**self).decide_now(parts, details)
        }

        fn exceptions<'a>(
            &'a self,
            change: Option<(&'a Exception, Time)>,
        ) -> BoxFuture<'a, Result<Option<Vec<Exception>>, Fault>> {
            (**self).exceptions(change)
        }

        }
    )*};
}

pass_on!(Arc, Box);

/// The decisions about events, in their order.
#[derive(Clone, Debug, Default)]
pub struct Decisions(SmallVec<[Decision; 1]>);

impl Decisions {
    /// The decision about a single event.
    #[inline]
    pub fn one(decision: Decision) -> Self {
        Decisions(SmallVec::from_buf([decision]))
    }

    /// The decision about a single event.
    #[inline]
    pub fn into_only(self) -> Option<Decision> {
        self.0.into_iter().next()
    }
}

impl Deref for Decisions {
    type Target = [Decision];

    fn deref(&self) -> &[Decision] {
        &self.0
    }
}

impl FromIterator<Decision> for Decisions {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Self {
        Decisions(decisions.into_iter().collect())
    }
}

impl IntoIterator for Decisions {
    type Item = Decision;
    type IntoIter = IntoDecisions;

    fn into_iter(self) -> IntoDecisions {
        IntoDecisions(self.0.into_iter())
    }
}

/// Iterates over [`Decisions`].
#[derive(Debug)]
#[doc(hidden)]
pub struct IntoDecisions(smallvec::IntoIter<[Decision; 1]>);

impl Iterator for IntoDecisions {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoDecisions {}

/// The details to compute besides the outcomes; none by default.
///
/// ```
/// use ratescope::rules::Details;
///
/// let details = Details::default().with_quotas();
/// assert!(details.quotas && !details.retry);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Details {
    /// Gives the outcomes their [quotas](super::LimitOutcome::quota) after the event.
    pub quotas: bool,
    /// Computes when a refused event would pass.
    pub retry: bool,
    /// The longest that an event can wait. If it would pass only after a longer wait, it is not counted, and the decision
    /// has the wait. `None`: it waits for as long as it must.
    pub longest: Option<Span>,
}

impl Details {
    /// All details about an event that can wait.
    pub const ALL: Details = Details { quotas: true, retry: true, longest: None };

    /// These details, with the quotas.
    pub const fn with_quotas(self) -> Self {
        Details { quotas: true, ..self }
    }

    /// These details, with the time when a refused event would pass.
    pub const fn with_retry(self) -> Self {
        Details { retry: true, ..self }
    }

    /// These details, for an event that can't wait.
    pub const fn at_once(self) -> Self {
        self.within(Span::ZERO)
    }

    /// These details, for an event that can wait for so long.
    pub const fn within(self, longest: Span) -> Self {
        Details { longest: Some(longest), ..self }
    }

    /// True if an event passes with this wait of a decision or an outcome, which is `None` if it is refused.
    pub fn lets_pass(&self, wait: Option<Span>) -> bool {
        wait.is_some_and(|wait| !self.is_too_long(wait))
    }

    /// True if an event can't wait for so long.
    pub fn is_too_long(&self, wait: Span) -> bool {
        self.longest.is_some_and(|longest| wait > longest)
    }
}

/// The size of a store's memory, for all limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The number of keys.
    pub keys: usize,
    /// The number of keys that were evicted because there was no room.
    pub evicted: u64,
}

impl Memory {
    /// A memory of `keys` keys, from which `evicted` keys were evicted because there was no room.
    pub const fn new(keys: usize, evicted: u64) -> Self {
        Memory { keys, evicted }
    }
}
