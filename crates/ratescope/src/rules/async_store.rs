//! The trait of all stores that decide by rules, in this process or far away.
//!
//! [`Ruled`] keeps its states in memory; it never waits and never fails. The other store keeps them on
//! Redis (feature `redis`). For a store of a single policy, see [`Rules::from`].
//!
//! ```
//! use ratescope::rules::{AsyncStore, Details, Ruled, Rules};
//! use ratescope::{Event, Policy, Time};
//!
//! async fn is_welcome(store: &impl AsyncStore, user: &str) -> bool {
//!     let fields = [("user", user)];
//!     let event = Event { time: Time::ZERO, cost: 1.0, fields: &fields };
//!     store.check(&event, Details::default()).await.is_allowed()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy: Policy = "gcra 1/1m per user".parse()?;
//! let store = Ruled::new(Rules::from(policy), 1000);
//! // Events and stores can be used in tasks that move between threads.
//! let task = tokio::spawn(async move {
//!     [is_welcome(&store, "ann").await, is_welcome(&store, "ann").await]
//! });
//! assert_eq!(task.await?, [true, false]);
//! # Ok(())
//! # }
//! ```

use super::together::one_after_the_other;
use super::{Decision, Fault, Part, Reloaded, Rule, Ruled, Rules};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::Time;
use core::future::Future;
use std::sync::Arc;

/// Rules, and the states of their limits.
///
/// All stores here are cheap to clone, and a clone is the same store. So there is no store in an `Arc`: the methods of
/// this trait would hide those of a [`Ruled`] in it, which have the same names and do not wait.
///
/// An implementation can write its methods as `async fn`. One call asks for everything, so a store that is
/// far away is asked once for an event. A future that is dropped while it waits leaves nothing behind, but
/// the event may have been counted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store that decides by rules",
    note = "for a policy, take `Ruled::new(Rules::from(policy), capacity)`"
)]
pub trait AsyncStore: Send + Sync + 'static {
    /// The rules that are in force.
    fn rules(&self) -> Arc<Rules>;

    /// Does what [`check`](Self::check) does if that needs no waiting. Otherwise returns `None` and
    /// counts nothing.
    fn check_now(&self, _event: &Event<'_>, _details: Details) -> Option<Decision> {
        None
    }

    /// The size of the memory, if the states are in this process.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Decides about an event, and counts it in all limits of all rules that apply, or in none. The
    /// answer has the `details` that are asked for.
    ///
    /// `event.time` is the time by the clock of this process. A store with a clock of its own may
    /// take that instead. There is always an answer: if the states can't be asked, each rule
    /// [says](super::OnStoreFailure) what happens, and `fault` says why.
    fn check(&self, event: &Event<'_>, details: Details) -> impl Future<Output = Decision> + Send;

    /// Answers as [`check`](Self::check) would, and counts nothing.
    fn peek(&self, event: &Event<'_>, details: Details) -> impl Future<Output = Decision> + Send;

    /// Decides about several events as one: either all are counted, or none. Returns an answer for each. If some
    /// refuse, the others are not counted, and are not told either to limiters that count what they refuse.
    ///
    /// Events that are counted in the same limit at the same key are asked about once, for the sum of their
    /// costs: they pass together or not at all. The stores must be of one kind, such as those that
    /// `RedisStore::beside` returns.
    ///
    /// The stores of this crate decide in one step, and on Redis in one call. A store that does not have this method
    /// looks at all events, and then counts one after the other. If another event comes in between, some may be counted
    /// and others not.
    fn check_all(
        parts: &[Part<'_, Self>],
        details: Details,
    ) -> impl Future<Output = Vec<Decision>> + Send
    where
        Self: Sized,
    {
        one_after_the_other(parts, details)
    }

    /// Counts an event that has passed, at any cost, for costs that are known only afterwards. See
    /// [`Ruled::charge`].
    ///
    /// # Errors
    /// If the store could not be told; rules that decide in this process then count the event there. With a
    /// [`Fault::Cost`] nothing is counted.
    fn charge(
        &self,
        event: &Event<'_>,
        passed: Option<&Decision>,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Does what [`charge`](Self::charge) does if that needs no waiting, and returns whether it did.
    fn charge_now(&self, _event: &Event<'_>, _passed: Option<&Decision>) -> bool {
        false
    }

    /// Whether the store, and all limits that apply to an event, can give back what it has counted.
    fn can_give_back(&self, _event: &Event<'_>) -> bool {
        false
    }

    /// Gives back the cost of an event if possible, and returns whether it is possible: see [`Ruled::give_back`].
    ///
    /// # Errors
    /// If the store could not be told; the cost may have been given back all the same.
    fn give_back(&self, _event: &Event<'_>) -> impl Future<Output = Result<bool, Fault>> + Send {
        core::future::ready(Ok(false))
    }

    /// Resets the keys that an event with these fields has in the limits that `of` chooses by their rule and key.
    /// Returns how many keys were remembered: see [`Ruled::reset`].
    ///
    /// # Errors
    /// If the store could not be told, and some keys may have been reset; or with a [`Fault::Failed`] if the
    /// store does not have this method.
    fn reset(
        &self,
        _fields: &dyn Fields,
        _of: impl Fn(&Rule, &Per) -> bool + Send + Sync,
    ) -> impl Future<Output = Result<usize, Fault>> + Send {
        core::future::ready(Err(Fault::Failed("this store resets no keys".to_owned())))
    }

    /// Puts `rules` in force: see [`Ruled::replace`]. A store that can't compute them rejects them, and so
    /// does one that does not have this method.
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

/// What a decision has beside the outcomes; nothing by default.
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
    /// Whether the outcomes have their [quotas](super::LimitOutcome::quota) after the event.
    pub quotas: bool,
    /// Whether to tell when a refused event would pass.
    pub retry: bool,
    /// Whether the event cannot wait: one that passes only after a wait is then not counted, and its
    /// decision says how long it would wait.
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

    /// These details, for an event that cannot wait.
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
    /// The number of keys that were forgotten because there was no room.
    pub forgotten: u64,
}

impl Memory {
    /// A memory of `keys` keys, from which `forgotten` keys were forgotten because there was no room.
    pub const fn new(keys: usize, forgotten: u64) -> Self {
        Memory { keys, forgotten }
    }
}

impl AsyncStore for Ruled {
    fn rules(&self) -> Arc<Rules> {
        Ruled::rules(self)
    }

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        Some(self.answer(event, details, true))
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory { keys: self.len(), forgotten: self.forgotten() })
    }

    async fn check(&self, event: &Event<'_>, details: Details) -> Decision {
        self.answer(event, details, true)
    }

    async fn peek(&self, event: &Event<'_>, details: Details) -> Decision {
        self.answer(event, details, false)
    }

    async fn check_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        Ruled::answer_all(parts, details)
    }

    async fn charge(&self, event: &Event<'_>, passed: Option<&Decision>) -> Result<(), Fault> {
        Ok(Ruled::charge(self, event, passed)?)
    }

    fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        Ruled::charge(self, event, passed).is_ok()
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        Ruled::can_give_back(self, event)
    }

    async fn give_back(&self, event: &Event<'_>) -> Result<bool, Fault> {
        Ok(Ruled::give_back(self, event))
    }

    async fn reset(
        &self,
        fields: &dyn Fields,
        of: impl Fn(&Rule, &Per) -> bool + Send + Sync,
    ) -> Result<usize, Fault> {
        Ok(Ruled::reset(self, fields, of))
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        Ruled::replace(self, rules, now)
    }
}

/// The methods of a store that hands all calls to another one, or all but the checks.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($self:ident to $store:expr) => {
        $crate::forward!($self to $store, but for checks);

        fn check_now(&$self, event: &Event<'_>, details: Details) -> Option<Decision> {
            $store.check_now(event, details)
        }

        async fn check(&$self, event: &Event<'_>, details: Details) -> Decision {
            $store.check(event, details).await
        }
    };
    ($self:ident to $store:expr, but for checks) => {
        fn rules(&$self) -> Arc<Rules> {
            $store.rules()
        }

        fn memory(&$self) -> Option<Memory> {
            $store.memory()
        }

        async fn peek(&$self, event: &Event<'_>, details: Details) -> Decision {
            $store.peek(event, details).await
        }

        async fn charge(
            &$self,
            event: &Event<'_>,
            passed: Option<&Decision>,
        ) -> Result<(), Fault> {
            $store.charge(event, passed).await
        }

        fn charge_now(&$self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
            $store.charge_now(event, passed)
        }

        fn can_give_back(&$self, event: &Event<'_>) -> bool {
            $store.can_give_back(event)
        }

        async fn give_back(&$self, event: &Event<'_>) -> Result<bool, Fault> {
            $store.give_back(event).await
        }

        async fn reset(
            &$self,
            fields: &dyn Fields,
            of: impl Fn(&Rule, &Per) -> bool + Send + Sync,
        ) -> Result<usize, Fault> {
            $store.reset(fields, &of).await
        }

        fn replace(&$self, rules: Rules, now: Time) -> Reloaded {
            $store.replace(rules, now)
        }
    };
}
