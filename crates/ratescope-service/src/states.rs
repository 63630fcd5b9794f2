//! Where the states of a service are: in its memory, or on Redis.

use ratescope::internal::escaped;
use ratescope::rules::{Exception, Fault, MemoryStore, OpenError, Rules, RulesError, Store};
use ratescope::store::SavedError;
use ratescope::time::Time;
use ratescope_redis::{Leased, Options, Redis};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The first line of saved states, with the version of the format.
const BEGIN: &[u8] = b"ratescope states 1\n";

/// The saved states of a domain: those of its keys, and its exceptions.
#[derive(Default)]
struct Saved {
    keys: Vec<u8>,
    exceptions: Vec<Exception>,
}

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
    /// Those that were saved.
    pub(super) exceptions: Vec<Exception>,
}

impl States {
    /// States in the stores that `open` makes; `open` fails if the store can't compute the rules.
    pub fn new(
        open: impl Fn(Rules) -> Result<Arc<dyn Store>, RulesError> + Send + Sync + 'static,
    ) -> Self {
        let open =
            move |rules| Ok(Opened { store: open(rules)?, memory: None, exceptions: Vec::new() });
        States { open: Box::new(open), redis: None }
    }

    /// States in the memory of this process; `keys` is the most keys of each limit.
    pub fn in_memory(keys: usize) -> Self {
        Self::of_saved(keys, BTreeMap::new())
    }

    /// States in the memory of this process, which go on from those that [`Service::save`](super::Service::save) wrote.
    /// A limit finds its states by its domain, its rule, its key and the shape of its states; otherwise it starts over.
    ///
    /// # Errors
    /// If the bytes are anything else. Those of a domain that were cut or changed are logged when its rules are added,
    /// and the domain starts over.
    pub fn saved(keys: usize, bytes: &[u8]) -> Result<Self, SavedError> {
        Ok(Self::of_saved(keys, read(bytes).ok_or(SavedError::Foreign)?))
    }

    fn of_saved(keys: usize, saved: BTreeMap<String, Saved>) -> Self {
        let saved = Mutex::new(saved);
        let open = move |rules: Rules| {
            rules.refuse_shares()?;
            let of_domain =
                saved.lock().unwrap_or_else(PoisonError::into_inner).remove(rules.domain());
            let (of_keys, exceptions) = of_domain.map(|it| (it.keys, it.exceptions)).unzip();
            let restored = of_keys.and_then(|bytes| {
                let restored = MemoryStore::restore(rules.clone(), keys, &bytes);
                restored.map_err(|error| note_lost(rules.domain(), &error)).ok()
            });
            let memory = restored.unwrap_or_else(|| MemoryStore::new(rules, keys));
            let exceptions = exceptions.unwrap_or_default();
            Ok(Opened { store: Arc::new(memory.clone()), memory: Some(memory), exceptions })
        };
        States { open: Box::new(open), redis: None }
    }

    /// States on the Redis or the cluster at a URL, as [`Redis::open`] takes it, shared with other processes.
    ///
    /// # Errors
    /// If the URL can't be read, or outside of a Tokio runtime.
    pub fn on_redis(url: &str, options: Options) -> Result<Self, OpenError> {
        Ok(Self::on(Redis::open(url, options)?))
    }

    /// States on the Redis of this connection, shared with other processes.
    pub fn on(redis: Redis) -> Self {
        let connection = redis.clone();
        let states = Self::new(move |rules| Ok(Arc::new(connection.store(rules)?)));
        States { redis: Some(redis), ..states }
    }

    pub(super) fn open(&self, rules: Rules) -> Result<Opened, RulesError> {
        (self.open)(rules)
    }

    pub(super) fn is_on_redis(&self) -> bool {
        self.redis.is_some()
    }

    /// The counts of leases on Redis.
    pub(super) fn leased(&self) -> Option<Leased> {
        self.redis.as_ref().map(Redis::leased)
    }

    pub(super) async fn close(&self) {
        if let Some(redis) = &self.redis {
            redis.close().await;
        }
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

/// Writes the states of each domain: a line with its name and the numbers of bytes, and then these: the states of its
/// keys, and its exceptions as lines.
pub(super) fn write<'a>(
    stores: impl Iterator<Item = (&'a String, &'a MemoryStore, Vec<Exception>)>,
    now: Time,
    to: &mut impl Write,
) -> io::Result<()> {
    to.write_all(BEGIN)?;
    for (domain, store, exceptions) in stores {
        let bytes = store.save(now);
        let lines: String = exceptions.iter().map(|one| format!("{one}\n")).collect();
        writeln!(to, "{} {} {}", escaped(domain), bytes.len(), lines.len())?;
        to.write_all(&bytes)?;
        to.write_all(lines.as_bytes())?;
    }
    Ok(())
}

/// The saved states of each domain; `None` if the bytes were not written by [`write`].
fn read(bytes: &[u8]) -> Option<BTreeMap<String, Saved>> {
    let mut rest = bytes.strip_prefix(BEGIN)?;
    let mut saved = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = rest.split_at(end);
        let (domain, lengths) = core::str::from_utf8(line).ok()?.split_once(' ')?;
        let (of_keys, of_exceptions) = lengths.split_once(' ')?;
        let domain = percent_encoding::percent_decode_str(domain).decode_utf8().ok()?;
        let (keys, after) = after.get(1..)?.split_at_checked(of_keys.parse().ok()?)?;
        let (lines, after) = after.split_at_checked(of_exceptions.parse().ok()?)?;
        let lines = core::str::from_utf8(lines).ok()?.lines();
        let exceptions = lines.map(|line| line.parse().ok()).collect::<Option<_>>()?;
        saved.insert(domain.into_owned(), Saved { keys: keys.to_vec(), exceptions });
        rest = after;
    }
    Some(saved)
}
