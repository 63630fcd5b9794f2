//! Saves the states of many keys as bytes, and restores them, so that a quota outlives a restart.
//!
//! ```
//! use ratescope::{Event, MemoryStore, Policy, Time};
//!
//! let day = "fixed-window 2/1d per user";
//! let ann = |time| Event { time, cost: 1.0, fields: &[("user", "ann")] };
//! let store = MemoryStore::new(day.parse::<Policy>()?, 100_000);
//! let evening = Time::try_from_secs_f64(72_000.0)?;
//! assert!(store.check(&ann(evening)).is_allowed() && store.check(&ann(evening)).is_allowed());
//!
//! // The process ends, with these bytes in a file, and another one begins.
//! let bytes = store.save(evening);
//! let store = MemoryStore::restore(day.parse::<Policy>()?, 100_000, &bytes)?;
//! assert!(!store.check(&ann(evening)).is_allowed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `ratescope::files` (not on wasm32) writes such bytes to a file atomically.
//!
//! # What survives
//! Each state in its [kept form](crate::limit::kept), the secret of the hash, and the protection of each key from
//! [eviction](super). So a restored store decides as one that never stopped, as long as there is room and the clock is
//! not set back. A full store may evict other keys than before, and about 1 in 10,000 when it is restored: keys that
//! were not used for long.
//!
//! The times are those of the events, so use a clock that outlives the process, such as the Unix time, not the time
//! since the start.
//!
//! A limit is found again by its key and the [shape](crate::limit::kept::Shape) of its states. So its numbers
//! may change from one version of a service to the next, and a limit that is new starts without states. If the numbers
//! have changed, the states change as by a [reload](crate::MemoryStore::reload) at the time of saving: a bucket is
//! never fuller than full. States that were counted by numbers of their own go on with the usual ones. Those of a
//! [limiter of your own](crate::limit::custom) are not saved: its keys start over.
//!
//! The bytes have only the hashes of keys, and their secret. A reader of the bytes can check whether a guessed key is
//! there, and can choose keys whose hashes collide: keep the bytes from those who choose keys.
//!
//! # The bytes
//! `ratescope`, the version, the sections, and a checksum of 64 bits: bytes that were cut, changed or
//! written by another program are refused as a whole. A section is a name, and the text of the limiter, the secret
//! (16 bytes), the latest time (8) and the entries of its keys, least recently used first. An entry is the hash (8), the
//! cost that was refused (4), and the content of the state. Names, sections and texts begin with their length in
//! 8 bytes. All numbers are little endian.

use super::keyed::Keyed;
use super::secret::Secret;
use crate::limit::kept::{Keeps, KeptError};
use crate::time::Time;
use core::fmt;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;

/// The version of the bytes. It only rises.
pub const VERSION: u8 = 1;

const MAGIC: &[u8; 9] = b"ratescope";

/// The length of the checksum.
const CHECK: usize = 8;

/// Why nothing was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// The bytes are not saved states.
    Foreign,
    /// The bytes have another version than [`VERSION`]. Bytes of a later version must not be overwritten.
    Version {
        /// The version in the bytes.
        found: u8,
    },
    /// The bytes were cut or changed after they were saved.
    Damaged,
    /// The bytes are whole, but a state in them can't be read.
    State(KeptError),
    /// The bytes are the states of another limiter.
    Shape {
        /// The shape of the states that were saved.
        saved: String,
        /// The shape of the states that the limiter has.
        wanted: String,
    },
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SavedError::Foreign => f.write_str("not a ratescope state file"),
            SavedError::Version { found } => {
                write!(f, "the saved states have version {found}, and this reads version {VERSION}")
            }
            SavedError::Damaged => f.write_str("the saved states were cut or changed"),
            SavedError::State(error) => write!(f, "a saved state can't be read: {error}"),
            SavedError::Shape { saved, wanted } => {
                write!(f, "the saved states are of {saved}, and the limiter's of {wanted}")
            }
        }
    }
}

impl core::error::Error for SavedError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SavedError::State(error) => Some(error),
            _ => None,
        }
    }
}

/// Bytes that are being saved.
pub(crate) struct Saving(Vec<u8>);

impl Saving {
    pub(crate) fn new() -> Self {
        Saving([MAGIC.as_slice(), &[VERSION]].concat())
    }

    pub(crate) fn add<L: Keeps<State: PartialEq>>(
        &mut self,
        name: &str,
        keyed: &Keyed<L>,
        now: Time,
    ) {
        let out = &mut self.0;
        out.extend((name.len() as u64).to_le_bytes());
        out.extend(name.as_bytes());
        let at = out.len();
        out.extend([0; 8]);
        keyed.write(now, out);
        let length = (out.len() - at - 8) as u64;
        out[at..at + 8].copy_from_slice(&length.to_le_bytes());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let check = checksum(&self.0);
        self.0.extend(check);
        self.0
    }
}

/// The sections that were saved, by their names.
pub(crate) struct Saved<'a>(Vec<(&'a str, &'a [u8])>);

impl<'a> Saved<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, SavedError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(SavedError::Foreign)?;
        let (&found, _) = rest.split_first().ok_or(SavedError::Damaged)?;
        if found != VERSION {
            return Err(SavedError::Version { found });
        }
        let (all, check) = bytes.split_last_chunk::<CHECK>().ok_or(SavedError::Damaged)?;
        if checksum(all) != *check {
            return Err(SavedError::Damaged);
        }
        let mut rest = all.get(MAGIC.len() + 1..).ok_or(SavedError::Damaged)?;
        let mut sections = Vec::new();
        while !rest.is_empty() {
            let name = core::str::from_utf8(part(&mut rest)?).map_err(|_| SavedError::Damaged)?;
            sections.push((name, part(&mut rest)?));
        }
        Ok(Saved(sections))
    }

    /// The states in the section of this name, if it is there.
    pub(crate) fn find<L: Keeps<State: PartialEq>>(
        &self,
        name: &str,
        limiter: L,
        capacity: usize,
    ) -> Result<Option<Keyed<L>>, SavedError> {
        let section = self.0.iter().find(|(known, _)| *known == name);
        section.map(|(_, section)| Keyed::read(limiter, capacity, section)).transpose()
    }
}

/// Reads a length and the bytes of that length after it.
fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], SavedError> {
    let length = usize::try_from(u64::from_le_bytes(*chunk(rest)?));
    let at = length.ok().and_then(|length| rest.split_at_checked(length));
    let (part, after) = at.ok_or(SavedError::Damaged)?;
    *rest = after;
    Ok(part)
}

fn chunk<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], SavedError> {
    let (chunk, after) = rest.split_first_chunk().ok_or(SavedError::Damaged)?;
    *rest = after;
    Ok(chunk)
}

fn checksum(bytes: &[u8]) -> [u8; CHECK] {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

impl<L: Keeps> Keyed<L>
where
    L::State: PartialEq,
{
    /// All states as bytes, as of `now`: see [saving](super::saved).
    ///
    /// It locks one shard after the other, so other threads can go on; an event that they decide meanwhile may be
    /// missing.
    pub fn save(&self, now: Time) -> Vec<u8> {
        let mut saving = Saving::new();
        saving.add(&self.limiter().kept_shape().to_string(), self, now);
        saving.finish()
    }

    /// A store for `limiter` with the states that were [saved](Self::save), for `capacity` keys.
    ///
    /// # Errors
    /// When the bytes are anything else, or of a limiter with another shape of states.
    pub fn restore(limiter: L, capacity: usize, bytes: &[u8]) -> Result<Self, SavedError> {
        let saved = Saved::read(bytes)?;
        let wanted = limiter.kept_shape().to_string();
        match saved.find(&wanted, limiter, capacity)? {
            Some(keyed) => Ok(keyed),
            None => {
                let names: Vec<&str> = saved.0.iter().map(|(name, _)| *name).collect();
                Err(SavedError::Shape { saved: names.join(", "), wanted })
            }
        }
    }

    fn write(&self, now: Time, out: &mut Vec<u8>) {
        let numbers = self.limiter().numbers();
        out.extend((numbers.len() as u64).to_le_bytes());
        out.extend(numbers.as_bytes());
        out.extend(self.hasher().words().map(u64::to_le_bytes).as_flattened());
        out.extend(self.latest().as_micros().to_le_bytes());
        if !self.limiter().kept_shape().can_be_kept() {
            return;
        }
        self.each_by_use(|hash, refused, state| {
            out.extend(hash.to_le_bytes());
            out.extend(refused.to_le_bytes());
            self.limiter().write_state(state, now, out);
        });
    }

    fn read(limiter: L, capacity: usize, mut bytes: &[u8]) -> Result<Self, SavedError> {
        let rest = &mut bytes;
        let is_changed = part(rest)? != limiter.numbers().as_bytes();
        let secret = [u64::from_le_bytes(*chunk(rest)?), u64::from_le_bytes(*chunk(rest)?)];
        let latest = Time::from_micros(i64::from_le_bytes(*chunk(rest)?));
        let keyed = Keyed::with_hasher(limiter, capacity, Secret::from_words(secret));
        while !rest.is_empty() {
            let hash = u64::from_le_bytes(*chunk(rest)?);
            let refused = f32::from_le_bytes(*chunk(rest)?);
            if !refused.is_finite() {
                return Err(SavedError::Damaged);
            }
            let mut state = keyed.limiter().read_state(rest).map_err(SavedError::State)?;
            if is_changed {
                keyed.limiter().cut(&mut state);
            }
            keyed.put_back(hash, refused, state, latest);
        }
        Ok(keyed)
    }
}
