//! Where the states of a service are: in its memory, or on Redis.

use ratescope::rules::{Fault, MemoryStore, OpenError, Rules, RulesError, Store};
use ratescope_redis::{Options, Redis};
use std::sync::Arc;

/// Opens a store for the rules of each file.
pub struct States {
    open: Box<Open>,
    redis: Option<Redis>,
}

type Open = dyn Fn(Rules) -> Result<Arc<dyn Store>, RulesError> + Send + Sync;

impl States {
    /// States in the stores that `open` makes; `open` fails if the store can't compute the rules.
    pub fn new(
        open: impl Fn(Rules) -> Result<Arc<dyn Store>, RulesError> + Send + Sync + 'static,
    ) -> Self {
        States { open: Box::new(open), redis: None }
    }

    /// States in the memory of this process; `keys` is the most keys of each limit.
    pub fn in_memory(keys: usize) -> Self {
        Self::new(move |rules| Ok(Arc::new(MemoryStore::new(rules, keys))))
    }

    /// States on the Redis or the cluster at a URL, as [`Redis::open`] takes it, shared with other processes.
    ///
    /// # Errors
    /// If the URL can't be read, or outside of a Tokio runtime.
    pub fn on_redis(url: &str, options: Options) -> Result<Self, OpenError> {
        let redis = Redis::open(url, options)?;
        let connection = redis.clone();
        let states = Self::new(move |rules| Ok(Arc::new(connection.store(rules)?)));
        Ok(States { redis: Some(redis), ..states })
    }

    pub(super) fn open(&self, rules: Rules) -> Result<Arc<dyn Store>, RulesError> {
        (self.open)(rules)
    }

    pub(super) fn is_on_redis(&self) -> bool {
        self.redis.is_some()
    }

    pub(super) async fn ping(&self) -> Result<(), Fault> {
        match &self.redis {
            Some(redis) => redis.ping().await,
            None => Ok(()),
        }
    }
}
