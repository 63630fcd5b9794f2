//! Where the states of a service are: in its memory, or on Redis.

use crate::redis_store::{Options, RedisStore};
use crate::rules::{AsyncStore, OpenError, Reloaded, Ruled, Rules, RulesError};
use crate::time::Time;

/// Opens a store for each file of rules.
pub trait States: Send + Sync + 'static {
    /// The store of one file.
    type Store: AsyncStore;

    /// A store for these rules.
    ///
    /// # Errors
    /// If they can't be computed there.
    fn open(&self, rules: Rules) -> Result<Self::Store, RulesError>;

    /// Puts other rules in force, and keeps the states that still mean the same.
    fn replace(&self, store: &Self::Store, rules: Rules, now: Time) -> Reloaded;
}

/// In the memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct InMemory {
    /// The most keys of each limit.
    pub keys: usize,
}

impl States for InMemory {
    type Store = Ruled;

    fn open(&self, rules: Rules) -> Result<Ruled, RulesError> {
        Ok(Ruled::new(rules, self.keys))
    }

    fn replace(&self, store: &Ruled, rules: Rules, now: Time) -> Reloaded {
        store.replace(rules, now)
    }
}

/// On Redis, or on a cluster, shared with other processes.
#[derive(Clone, Debug)]
pub struct OnRedis(RedisStore);

impl OnRedis {
    /// The Redis at a URL, as [`RedisStore::open`] takes it.
    ///
    /// # Errors
    /// If the URL can't be read, or outside of a Tokio runtime.
    pub fn new(url: &str, options: Options) -> Result<Self, OpenError> {
        let none = Rules::read("none", "domain: none\ndescriptors:\n- key: none\n")?;
        Ok(OnRedis(RedisStore::open(url, none, options)?))
    }
}

impl States for OnRedis {
    type Store = RedisStore;

    fn open(&self, rules: Rules) -> Result<RedisStore, RulesError> {
        self.0.beside(rules)
    }

    fn replace(&self, store: &RedisStore, rules: Rules, now: Time) -> Reloaded {
        store.replace(rules, now)
    }
}
