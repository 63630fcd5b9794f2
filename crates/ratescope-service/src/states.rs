//! Where the states of a service are: in its memory, or on Redis.

use ratescope::internal::escaped;
use ratescope::rules::{Fault, MemoryStore, OpenError, Rules, RulesError, Store};
use ratescope::store::SavedError;
use ratescope::time::Time;
use ratescope_redis::{Options, Redis};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The first line of saved states, with the version of the format.
const BEGIN: &[u8] = b"ratescope states 1\n";

/// Opens a store for the rules of each file.
pub struct States {
    open: Box<Open>,
    redis: Option<Redis>,
}

type Open = dyn Fn(Rules) -> Result<Opened, RulesError> + Send + Sync;

/// A store that was opened.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    /// The same store, if its states are in the memory of this process and can be saved.
    pub(super) memory: Option<MemoryStore>,
}

impl States {
    /// States in the stores that `open` makes; `open` fails if the store can't compute the rules.
    pub fn new(
        open: impl Fn(Rules) -> Result<Arc<dyn Store>, RulesError> + Send + Sync + 'static,
    ) -> Self {
        let open = move |rules| Ok(Opened { store: open(rules)?, memory: None });
        States { open: Box::new(open), redis: None }
    }

    /// States in the memory of this process; `keys` is the most keys of each limit.
    pub fn in_memory(keys: usize) -> Self {
        Self::of_saved(keys, BTreeMap::new())
    }

    /// States in the memory of this process, which go on from those that [`Service::save`](super::Service::save) wrote.
    /// A limit finds its states by its domain, its rule, its key and the shape of its states; otherwise it begins anew.
    ///
    /// # Errors
    /// If the bytes are anything else. Those of a domain that were cut or changed are logged when its rules are added,
    /// and the domain begins anew.
    pub fn saved(keys: usize, bytes: &[u8]) -> Result<Self, SavedError> {
        Ok(Self::of_saved(keys, read(bytes).ok_or(SavedError::Foreign)?))
    }

    fn of_saved(keys: usize, saved: BTreeMap<String, Vec<u8>>) -> Self {
        let saved = Mutex::new(saved);
        let open = move |rules: Rules| {
            let of_domain =
                saved.lock().unwrap_or_else(PoisonError::into_inner).remove(rules.domain());
            let restored = of_domain.and_then(|bytes| {
                let restored = MemoryStore::restore(rules.clone(), keys, &bytes);
                restored.map_err(|error| note_lost(rules.domain(), &error)).ok()
            });
            let memory = restored.unwrap_or_else(|| MemoryStore::new(rules, keys));
            Ok(Opened { store: Arc::new(memory.clone()), memory: Some(memory) })
        };
        States { open: Box::new(open), redis: None }
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

    pub(super) fn open(&self, rules: Rules) -> Result<Opened, RulesError> {
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

fn note_lost(domain: &str, error: &SavedError) {
    tracing::error!(target: "ratescope", layer = domain, "the saved states are not used: {error}");
}

/// Writes the states of each domain: a line with its name and the number of bytes, and then these.
pub(super) fn write<'a>(
    stores: impl Iterator<Item = (&'a String, &'a MemoryStore)>,
    now: Time,
    to: &mut impl Write,
) -> io::Result<()> {
    to.write_all(BEGIN)?;
    for (domain, store) in stores {
        let bytes = store.save(now);
        writeln!(to, "{} {}", escaped(domain), bytes.len())?;
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// The bytes of each domain; `None` if they were not written by [`write`].
fn read(bytes: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut rest = bytes.strip_prefix(BEGIN)?;
    let mut saved = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = rest.split_at(end);
        let (domain, length) = core::str::from_utf8(line).ok()?.split_once(' ')?;
        let domain = percent_encoding::percent_decode_str(domain).decode_utf8().ok()?;
        let (bytes, after) = after.get(1..)?.split_at_checked(length.parse().ok()?)?;
        saved.insert(domain.into_owned(), bytes.to_vec());
        rest = after;
    }
    Some(saved)
}
