//! Where the states of a service are: in its memory, or on Redis.

use ratescope::rules::{AnyStore, Fault, OpenError, Ruled, Rules, RulesError};
use ratescope_redis::{Options, RedisStore};

/// Opens a store for the rules of each file.
pub struct States {
    open: Box<Open>,
    redis: Option<RedisStore>,
}

type Open = dyn Fn(Rules) -> Result<AnyStore, RulesError> + Send + Sync;

impl States {
    /// States in the stores that `open` makes; `open` fails if the rules can't be computed there.
    pub fn new(
        open: impl Fn(Rules) -> Result<AnyStore, RulesError> + Send + Sync + 'static,
    ) -> Self {
        States { open: Box::new(open), redis: None }
    }

    /// States in the memory of this process; `keys` is the most keys of each limit.
    pub fn in_memory(keys: usize) -> Self {
        Self::new(move |rules| Ok(AnyStore::new(Ruled::new(rules, keys))))
    }

    /// States on the Redis or the cluster at a URL, as [`RedisStore::open`] takes it, shared with other processes.
    ///
    /// # Errors
    /// If the URL can't be read, or outside of a Tokio runtime.
    pub fn on_redis(url: &str, options: Options) -> Result<Self, OpenError> {
        let none = Rules::read("none", "domain: none\ndescriptors:\n- key: none\n")?;
        let redis = RedisStore::open(url, none, options)?;
        let beside = redis.clone();
        let states = Self::new(move |rules| beside.beside(rules).map(AnyStore::new));
        Ok(States { redis: Some(redis), ..states })
    }

    pub(super) fn open(&self, rules: Rules) -> Result<AnyStore, RulesError> {
        (self.open)(rules)
    }

    pub(super) async fn ping(&self) -> Result<(), Fault> {
        match &self.redis {
            Some(redis) => redis.ping().await,
            None => Ok(()),
        }
    }
}
