//! The trait of all stores that decide by rules, in this process or far away.
//!
//! A [`MemoryStore`] keeps its states in memory; it never waits and never fails. `RedisStore`, in the crate
//! `ratescope-redis`, keeps them on Redis. Both take a policy as well as rules.
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

use super::{Decision, Fault, MemoryStore, Part, Reloaded, Rule, Rules, RulesError};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::Time;
use core::any::Any;
use core::future::{Future, ready};
use core::pin::Pin;
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
/// The methods that may wait end in `_async`, and box their futures. A store in memory also has methods without this
/// ending, which answer at once; [`check_now`](Self::check_now) does so for any store that can. One call asks for
/// everything, so a remote store is asked once for an event. If a future is dropped while it waits, the event may have
/// been counted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store that decides by rules",
    note = "take a `MemoryStore`; of a policy, `MemoryStore::new(policy, capacity)`"
)]
pub trait Store: AsStore + Send + Sync {
    /// The rules that are in force.
    fn rules(&self) -> Arc<Rules>;

    /// Does what [`check_async`](Self::check_async) does if that needs no waiting. Otherwise returns `None` and
    /// counts nothing.
    fn check_now(&self, _event: &Event<'_>, _details: Details) -> Option<Decision> {
        None
    }

    /// The size of the memory, if the states are in this process.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Decides about an event, and counts it in all limits of all rules that apply, or in none. The
    /// decision has the `details` that are asked for.
    ///
    /// `event.time` is the time by the clock of this process. A store may use a clock of its own instead. There is
    /// always a decision: if the states can't be asked, each rule [says](super::OnStoreFailure) what happens, and
    /// [`Decision::fault`] says why.
    fn check_async<'a>(&'a self, event: &'a Event<'_>, details: Details)
    -> BoxFuture<'a, Decision>;

    /// Answers as [`check_async`](Self::check_async) would, and counts nothing.
    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision>;

    /// Decides about several events together: either all are counted, or none. Returns a decision for each. If some are
    /// refused, the others are not counted, not even by limiters that count refused events.
    ///
    /// A limit in which several events count at the same key is asked once, for the sum of the costs: they pass
    /// together or not at all. If their stores have [other numbers](MemoryStore::with_limits) for the limit, the first
    /// decides.
    ///
    /// The stores in memory, and those on one connection to Redis, decide in one step. By default, and for stores of
    /// several kinds, all events are first asked about, and then counted one after the other. If another event comes in
    /// between, some may be counted and others not.
    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a>],
        details: Details,
    ) -> BoxFuture<'a, Vec<Decision>> {
        Box::pin(Part::one_after_the_other(parts, details))
    }

    /// Counts an event that has passed, at any cost, for costs that are known only afterwards. See
    /// [`MemoryStore::charge`].
    ///
    /// # Errors
    /// If the store can't be reached; rules that decide in this process then count the event there. With a
    /// [`Fault::Cost`] nothing is counted.
    fn charge_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// Does what [`charge_async`](Self::charge_async) does if that needs no waiting, and returns whether it did.
    fn charge_now(&self, _event: &Event<'_>, _passed: Option<&Decision>) -> bool {
        false
    }

    /// True if the store, and all limits that apply to an event, can give back what it has counted.
    fn can_give_back(&self, _event: &Event<'_>) -> bool {
        false
    }

    /// Gives back the cost of an event if possible, and returns whether it is possible: see
    /// [`MemoryStore::give_back`].
    ///
    /// # Errors
    /// If the store can't be reached; the cost may have been given back all the same.
    fn give_back_async<'a>(
        &'a self,
        _event: &'a Event<'_>,
        _passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(ready(Ok(false)))
    }

    /// Does what [`give_back_async`](Self::give_back_async) does if that needs no waiting, and returns whether it needed
    /// none. So it is also true if nothing can be given back.
    fn give_back_now(&self, _event: &Event<'_>, _passed: Option<&Decision>) -> bool {
        false
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key.
    /// Returns how many keys were remembered: see [`MemoryStore::reset`].
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

    /// A store with the same keys and states, and the numbers of other rules, such as those of a customer:
    /// [`MemoryStore::with_limits`] for any store.
    ///
    /// # Errors
    /// As for [`MemoryStore::with_limits`], and if the store does not have this method.
    fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        Err(rules.wrong("this store takes no limits of a customer's own".to_owned()))
    }

    /// Puts `rules` in force: see [`MemoryStore::replace`]. A store that can't compute them, or does not implement
    /// this, rejects them.
    fn replace(&self, rules: Rules, _now: Time) -> Reloaded {
        Reloaded::Rejected(rules.wrong("this store takes no other rules".to_owned()))
    }

    /// Reads rules, and [puts them in force](Self::replace) if they have no mistakes. `file` is their name,
    /// for errors.
    fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
        match Rules::read(file, text) {
            Ok(rules) => self.replace(rules.with_key_secret(self.rules().key_secret()), now),
            Err(error) => Reloaded::Rejected(error),
        }
    }
}

/// Any store as an object: for pointers to stores that may be objects already.
#[doc(hidden)]
pub trait AsStore: Any {
    fn as_store(&self) -> &dyn Store;
}

impl<S: Store> AsStore for S {
    fn as_store(&self) -> &dyn Store {
        self
    }
}

/// What to compute besides the outcomes; nothing by default.
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
    /// The event can't wait. If it would pass only after a wait, it is not counted, and the decision has the
    /// wait.
    pub at_once: bool,
}

impl Details {
    /// All details about an event that can wait.
    pub const ALL: Details = Details { quotas: true, retry: true, at_once: false };

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
        Details { at_once: true, ..self }
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

impl Store for MemoryStore {
    fn rules(&self) -> Arc<Rules> {
        MemoryStore::rules(self)
    }

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        Some(self.answer(event, details, true))
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory { keys: self.len(), evicted: self.evicted() })
    }

    fn check_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        details: Details,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move { self.answer(event, details, true) })
    }

    fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
        Box::pin(async move { self.answer(event, details, false) })
    }

    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a>],
        details: Details,
    ) -> BoxFuture<'a, Vec<Decision>> {
        match Part::all_of::<Self>(parts) {
            Some(parts) => Box::pin(async move { MemoryStore::answer_all(&parts, details) }),
            None => Box::pin(Part::one_after_the_other(parts, details)),
        }
    }

    fn charge_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move { Ok(self.charge(event, passed)?) })
    }

    fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        self.charge(event, passed).is_ok()
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        MemoryStore::can_give_back(self, event)
    }

    fn give_back_async<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(async move { Ok(self.give_back(event, passed)) })
    }

    fn give_back_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        self.give_back(event, passed);
        true
    }

    fn reset_async<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<usize, Fault>> {
        Box::pin(async move { Ok(self.reset(fields, of)) })
    }

    fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        Ok(Arc::new(self.with_limits(rules)?))
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        MemoryStore::replace(self, rules, now)
    }
}

/// A pointer to a store is a store. Each method is passed on, also those that have a default.
macro_rules! pass_on {
    ($($pointer:ident),*) => {$(
        /// The store behind the pointer.
        impl<S: Store + ?Sized> Store for $pointer<S> {
            fn rules(&self) -> Arc<Rules> {
                (**self).rules()
            }

            fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
                (**self).check_now(event, details)
            }

            fn memory(&self) -> Option<Memory> {
                (**self).memory()
            }

            fn check_async<'a>(
                &'a self,
                event: &'a Event<'_>,
                details: Details,
            ) -> BoxFuture<'a, Decision> {
                (**self).check_async(event, details)
            }

            fn peek_async<'a>(&'a self, event: &'a Event<'_>, details: Details) -> BoxFuture<'a, Decision> {
                (**self).peek_async(event, details)
            }

            fn check_all<'a>(
                &'a self,
                parts: &'a [Part<'a>],
                details: Details,
            ) -> BoxFuture<'a, Vec<Decision>> {
                let Some(pointers) = Part::all_of::<Self>(parts) else {
                    return Box::pin(Part::one_after_the_other(parts, details));
                };
                Box::pin(async move {
                    let within: Vec<Part<'_>> =
                        pointers.iter().map(|part| part.of_store((**part.store).as_store())).collect();
                    (**self).check_all(&within, details).await
                })
            }

            fn charge_async<'a>(
                &'a self,
                event: &'a Event<'_>,
                passed: Option<&'a Decision>,
            ) -> BoxFuture<'a, Result<(), Fault>> {
                (**self).charge_async(event, passed)
            }

            fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
                (**self).charge_now(event, passed)
            }

            fn can_give_back(&self, event: &Event<'_>) -> bool {
                (**self).can_give_back(event)
            }

            fn give_back_async<'a>(
                &'a self,
                event: &'a Event<'_>,
                passed: Option<&'a Decision>,
            ) -> BoxFuture<'a, Result<bool, Fault>> {
                (**self).give_back_async(event, passed)
            }

            fn give_back_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
                (**self).give_back_now(event, passed)
            }

            fn reset_async<'a>(
                &'a self,
                fields: &'a dyn Fields,
                of: &'a (dyn Fn(&Rule, &Per) -> bool + Send + Sync),
            ) -> BoxFuture<'a, Result<usize, Fault>> {
                (**self).reset_async(fields, of)
            }

            fn with_rules(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
                (**self).with_rules(rules)
            }

            fn replace(&self, rules: Rules, now: Time) -> Reloaded {
                (**self).replace(rules, now)
            }

            fn reload(&self, file: &str, text: &str, now: Time) -> Reloaded {
                (**self).reload(file, text, now)
            }
        }
    )*};
}

pass_on!(Arc, Box);
