//! A store whose kind is chosen at run time.

use super::together::one_after_the_other;
use super::{AsyncStore, Decision, Details, Fault, Memory, Part, Reloaded, Rule, Rules};
use crate::event::{Event, Fields};
use crate::policy::Per;
use crate::time::Time;
use core::any::Any;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use std::sync::Arc;

/// A store of any kind, chosen at run time, such as by the configuration of a service. A clone is the
/// same store.
///
/// A store in memory answers at once. A check on a store that is far away allocates its future. The methods of
/// [`AsyncStore`] also [reset](AsyncStore::reset) keys and [replace](AsyncStore::replace) rules.
///
/// ```
/// use ratescope::rules::{AnyStore, Ruled, Rules};
///
/// fn open(rules: Rules, redis: Option<&str>) -> AnyStore {
///     match redis {
///         # #[cfg(feature = "redis")]
///         Some(url) => {
///             use ratescope_redis::{Options, RedisStore};
///             AnyStore::new(RedisStore::open(url, rules, Options::default()).unwrap())
///         }
///         _ => AnyStore::new(Ruled::new(rules, 100_000)),
///     }
/// }
/// # let rules = Rules::read("rules.yaml", "domain: web\nlimit: 9/1s")?;
/// # open(rules, None);
/// # Ok::<(), ratescope::rules::RulesError>(())
/// ```
#[derive(Clone)]
pub struct AnyStore(Arc<dyn DynStore>);

impl AnyStore {
    /// A store as one of any kind.
    pub fn new(store: impl AsyncStore) -> Self {
        AnyStore(Arc::new(store))
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyStore").finish_non_exhaustive()
    }
}

impl AsyncStore for AnyStore {
    crate::forward!(self to self.0);

    async fn check_all(parts: &[Part<'_, Self>], details: Details) -> Vec<Decision> {
        match parts.first() {
            Some(first) => first.store.0.check_all(parts, details).await,
            None => Vec::new(),
        }
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An [`AsyncStore`] behind a pointer: its futures are boxed.
trait DynStore: Any + Send + Sync {
    fn rules(&self) -> Arc<Rules>;
    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision>;
    fn memory(&self) -> Option<Memory>;
    fn check<'a>(&'a self, event: &'a Event<'_>, details: Details) -> Boxed<'a, Decision>;
    fn peek<'a>(&'a self, event: &'a Event<'_>, details: Details) -> Boxed<'a, Decision>;
    /// Decides as one if all stores are of the kind of this one.
    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a, AnyStore>],
        details: Details,
    ) -> Boxed<'a, Vec<Decision>>;
    fn charge<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> Boxed<'a, Result<(), Fault>>;
    fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool;
    fn can_give_back(&self, event: &Event<'_>) -> bool;
    fn give_back<'a>(&'a self, event: &'a Event<'_>) -> Boxed<'a, Result<bool, Fault>>;
    fn reset<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a Of<'a>,
    ) -> Boxed<'a, Result<usize, Fault>>;
    fn replace(&self, rules: Rules, now: Time) -> Reloaded;
}

/// Chooses limits by their rule and key.
type Of<'a> = dyn Fn(&Rule, &Per) -> bool + Send + Sync + 'a;

impl<S: AsyncStore> DynStore for S {
    fn rules(&self) -> Arc<Rules> {
        S::rules(self)
    }

    fn check_now(&self, event: &Event<'_>, details: Details) -> Option<Decision> {
        S::check_now(self, event, details)
    }

    fn memory(&self) -> Option<Memory> {
        S::memory(self)
    }

    fn check<'a>(&'a self, event: &'a Event<'_>, details: Details) -> Boxed<'a, Decision> {
        Box::pin(S::check(self, event, details))
    }

    fn peek<'a>(&'a self, event: &'a Event<'_>, details: Details) -> Boxed<'a, Decision> {
        Box::pin(S::peek(self, event, details))
    }

    fn check_all<'a>(
        &'a self,
        parts: &'a [Part<'a, AnyStore>],
        details: Details,
    ) -> Boxed<'a, Vec<Decision>> {
        let same = |part: &Part<'a, AnyStore>| {
            let any: &'a dyn Any = &*part.store.0;
            let store = any.downcast_ref::<S>()?;
            Some(part.within(|_| store))
        };
        match parts.iter().map(same).collect::<Option<Vec<Part<'a, S>>>>() {
            Some(parts) => Box::pin(async move { S::check_all(&parts, details).await }),
            None => Box::pin(one_after_the_other(parts, details)),
        }
    }

    fn charge<'a>(
        &'a self,
        event: &'a Event<'_>,
        passed: Option<&'a Decision>,
    ) -> Boxed<'a, Result<(), Fault>> {
        Box::pin(S::charge(self, event, passed))
    }

    fn charge_now(&self, event: &Event<'_>, passed: Option<&Decision>) -> bool {
        S::charge_now(self, event, passed)
    }

    fn can_give_back(&self, event: &Event<'_>) -> bool {
        S::can_give_back(self, event)
    }

    fn give_back<'a>(&'a self, event: &'a Event<'_>) -> Boxed<'a, Result<bool, Fault>> {
        Box::pin(S::give_back(self, event))
    }

    fn reset<'a>(
        &'a self,
        fields: &'a dyn Fields,
        of: &'a Of<'a>,
    ) -> Boxed<'a, Result<usize, Fault>> {
        Box::pin(S::reset(self, fields, of))
    }

    fn replace(&self, rules: Rules, now: Time) -> Reloaded {
        S::replace(self, rules, now)
    }
}
