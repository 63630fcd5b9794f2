//! One limiter for many keys, in bounded memory, for many threads.
//!
//! A key names a sender: a user, an address, or both. Each key has its own state, created
//! when it is first needed. At most [`capacity`](Keyed::capacity) keys are remembered.
//!
//! ```
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::store::Keyed;
//! use ratescope::Time;
//!
//! let senders = Keyed::new(Gcra::new("2/1m".parse()?, 2.0)?, 100_000);
//! let passes = |who: &str| senders.check(who, Time::ZERO, 1.0).is_allowed();
//! assert!(passes("ann") && passes("ann"));
//! assert!(!passes("ann"));
//! assert!(passes("bob"));
//! assert_eq!(senders.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//

use super::held::{Held, Memory};
use super::secret::Secret;
use super::sync::{Mutex, MutexGuard, lock};
use super::table::Table;
use super::tags::{SHARDS, WAYS, shard};
use crate::limit::Limiter;
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// The least number of entries of a shard if there are several: fewer would spread unevenly.
const PER_SHARD: usize = 1024;

/// A limiter and the states of its keys: [the store](super) says which keys are evicted.
///
/// A key is anything that can be hashed. It is neither kept nor copied. Two keys are the same when
/// they hash the same, as `String` and `str` do.
///
/// A clone is the same store, as a server that clones its state for each request expects. [`fork`](Self::fork) copies
/// the states.
pub struct Keyed<L: Limiter, H = Secret> {
    limiter: L,
    initial: L::State,
    hasher: H,
    /// Shared by all clones. The slice follows its reference counts, so it is found as fast as in a box.
    shards: Arc<[Shard<L::State>]>,
}

/// A lock and the states that it guards, aligned to two cache lines, since processors fetch them in pairs.
#[repr(align(128))]
struct Shard<S>(Mutex<Memory<S>>);

impl<L: Limiter> Keyed<L>
where
    L::State: PartialEq,
{
    /// A store for `limiter` with room for `capacity` keys or slightly more: see
    /// [`capacity`](Self::capacity).
    pub fn new(limiter: L, capacity: usize) -> Self {
        Self::with_hasher(limiter, capacity, Secret::new())
    }
}

impl<L: Limiter, H: BuildHasher> Keyed<L, H>
where
    L::State: PartialEq,
{
    /// Decides about an event of `key`, and counts it.
    pub fn check<K: Hash + ?Sized>(&self, key: &K, now: Time, cost: f64) -> Outcome {
        self.hold(self.hash(key)).check(&self.limiter, now, cost)
    }

    /// Counts an event if it passes within `most`. Otherwise counts nothing, and returns its wait, or when to retry.
    pub fn pass<K: Hash + ?Sized>(
        &self,
        key: &K,
        now: Time,
        cost: f64,
        most: Span,
    ) -> Result<Outcome, Retry> {
        self.pass_by_hash(self.hash(key), now, cost, most)
    }

    /// Answers as [`check`](Self::check) would. Nothing is counted, and the key does not count as used.
    pub fn peek<K: Hash + ?Sized>(&self, key: &K, now: Time, cost: f64) -> Outcome {
        self.limiter.peek(self.hold(self.hash(key)).state(), now, cost)
    }

    /// Counts an event that passed, at a cost that is known only afterwards, such as the bytes that
    /// were sent: see [`Limiter::charge`].
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    pub fn charge<K: Hash + ?Sized>(&self, key: &K, now: Time, cost: f64) -> Result<(), BadNumber> {
        self.hold(self.hash(key)).charge(&self.limiter, now, cost)
    }

    /// How long after `now` an event of `key` would pass if nothing is counted until then.
    pub fn retry_after<K: Hash + ?Sized>(&self, key: &K, now: Time, cost: f64) -> Retry {
        self.limiter.retry_after(self.hold(self.hash(key)).state(), now, cost)
    }

    /// How much may still be counted of `key`: see [`Limiter::remaining`].
    pub fn remaining<K: Hash + ?Sized>(&self, key: &K, now: Time) -> f64 {
        self.limiter.remaining(self.hold(self.hash(key)).state(), now)
    }

    /// How long until `key` is as good as new: see [`Limiter::reset_after`].
    pub fn reset_after<K: Hash + ?Sized>(&self, key: &K, now: Time) -> Span {
        self.limiter.reset_after(self.hold(self.hash(key)).state(), now)
    }

    /// Takes back an event of `key` that was allowed at `at`, such as a call that failed, as far as it certainly still
    /// counts. Returns whether the limiter can undo: see [`Limiter::undo`].
    pub fn undo<K: Hash + ?Sized>(&self, key: &K, at: Time, now: Time, cost: f64) -> bool {
        self.hold(self.hash(key)).undo(&self.limiter, at, now, cost)
    }

    /// Resets `key`, and returns whether it was remembered. Its entry may still take room.
    pub fn reset<K: Hash + ?Sized>(&self, key: &K) -> bool {
        self.hold(self.hash(key)).reset()
    }

    /// The state of `key`, if it is remembered.
    pub fn state<K: Hash + ?Sized>(&self, key: &K) -> Option<L::State> {
        let held = self.hold(self.hash(key));
        held.slot.map(|slot| held.memory.table.at(slot).state.clone())
    }

    pub(crate) fn hash<K: Hash + ?Sized>(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl<L: Limiter, H> Keyed<L, H>
where
    L::State: PartialEq,
{
    /// As [`new`](Self::new), with another hash. All of its 64 bits must be good: two keys with one hash are one key.
    /// Use a faster hash than [`Secret`] only for keys that no sender can choose, such as numbers that you assign
    /// yourself.
    pub fn with_hasher(limiter: L, capacity: usize, hasher: H) -> Self {
        // Half of the range, so that the sum over all shards does not overflow.
        let entries = capacity.saturating_add(capacity / 8).clamp(1, usize::MAX / 2);
        let shards = (entries / PER_SHARD).clamp(1, SHARDS);
        let shards = 1 << shards.ilog2();
        let initial = limiter.initial();
        let table = Table::new(entries.div_ceil(shards * WAYS), initial.clone());
        let memory = Memory { table, latest: Time::from_micros(i64::MIN) };
        let shards = (0..shards).map(|_| Shard(Mutex::new(memory.clone()))).collect();
        Keyed { limiter, initial, hasher, shards }
    }

    /// The limiter.
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// The most keys that can be remembered: an eighth more than was asked for, in whole sets. Sets do not fill evenly;
    /// with the additional room, almost none of the keys that were asked for is evicted.
    pub fn capacity(&self) -> usize {
        self.sum(|memory| memory.table.capacity())
    }

    /// How many keys are remembered.
    pub fn len(&self) -> usize {
        self.sum(|memory| memory.table.len())
    }

    /// True if no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys were evicted for lack of room.
    pub fn evicted(&self) -> u64 {
        self.shards.iter().map(|shard| lock(&shard.0).table.evicted()).sum()
    }

    /// Frees the entries that logs and windows no longer count at `now`. Decisions at that time and
    /// later stay the same. This looks at every key; every eighth event does the same for one other key.
    pub fn forget(&self, now: Time) {
        self.each_mut(|state| self.limiter.forget(state, now));
    }

    pub(crate) fn clear(&self) {
        for shard in &*self.shards {
            let mut memory = lock(&shard.0);
            memory.latest = Time::from_micros(i64::MIN);
            memory.table.clear();
        }
    }

    /// Locks a key, for as long as the result lives.
    #[inline(always)]
    pub(crate) fn hold(&self, hash: u64) -> Held<'_, L::State> {
        let mut held = self.lock(hash);
        held.find();
        held
    }

    /// Counts an event of the key with this hash, as [`pass`](Self::pass) does.
    pub(crate) fn pass_by_hash(
        &self,
        hash: u64,
        now: Time,
        cost: f64,
        most: Span,
    ) -> Result<Outcome, Retry> {
        self.hold(hash).pass(&self.limiter, now, cost, most)
    }

    /// As [`hold`](Self::hold), without [finding](Held::find) the state of the key.
    #[inline(always)]
    pub(super) fn lock(&self, hash: u64) -> Held<'_, L::State> {
        self.within(self.lock_shard(self.shard(hash)), hash)
    }

    /// The index of the shard of a key.
    #[inline(always)]
    pub(super) fn shard(&self, hash: u64) -> usize {
        shard(hash, self.shards.len())
    }

    #[inline(always)]
    pub(super) fn lock_shard(&self, shard: usize) -> MutexGuard<'_, Memory<L::State>> {
        lock(&self.shards[shard].0)
    }

    /// A key whose shard is locked, without [finding](Held::find) its state.
    #[inline(always)]
    pub(super) fn within<M>(&self, memory: M, hash: u64) -> Held<'_, L::State, M> {
        Held { initial: &self.initial, memory, hash, slot: None }
    }

    /// The state of a new key.
    pub(super) fn initial(&self) -> &L::State {
        &self.initial
    }

    /// A store with a copy of all states. It locks one shard after the other, so an event that another thread decides
    /// meanwhile may be missing.
    ///
    /// ```
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::store::Keyed;
    /// use ratescope::Time;
    ///
    /// let one = Keyed::new(Gcra::new("1/1m".parse()?, 1.0)?, 1000);
    /// let passes = |keyed: &Keyed<Gcra>| keyed.check("ann", Time::ZERO, 1.0).is_allowed();
    /// let (same, fork) = (one.clone(), one.fork());
    /// assert!(passes(&one) && !passes(&same) && passes(&fork));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fork(&self) -> Self
    where
        L: Clone,
        H: Clone,
    {
        self.turned(self.limiter.clone(), |_| ())
    }

    /// A copy for another limiter; `turn` converts each state.
    pub(super) fn turned(&self, limiter: L, turn: impl FnMut(&mut L::State)) -> Self
    where
        H: Clone,
    {
        let copy = |shard: &Shard<L::State>| Shard(Mutex::new(lock(&shard.0).clone()));
        let shards = self.shards.iter().map(copy).collect();
        let initial = limiter.initial();
        let hasher = self.hasher.clone();
        let turned = Keyed { limiter, initial, hasher, shards };
        turned.each_mut(turn);
        turned
    }

    pub(crate) fn each(&self, mut see: impl FnMut(&L::State)) {
        for shard in &*self.shards {
            lock(&shard.0).table.entries().for_each(|entry| see(&entry.state));
        }
    }

    pub(super) fn each_mut(&self, mut change: impl FnMut(&mut L::State)) {
        for shard in &*self.shards {
            lock(&shard.0).table.entries_mut().for_each(|entry| change(&mut entry.state));
        }
    }

    /// The hash, the refused cost and the state of each key, in each shard the least recently used first.
    pub(super) fn each_by_use(&self, mut see: impl FnMut(u64, f32, &L::State)) {
        for shard in &*self.shards {
            let memory = lock(&shard.0);
            for entry in memory.table.by_use() {
                see(entry.hash, entry.refused, &entry.state);
            }
        }
    }

    /// Inserts a saved key as the most recently used.
    pub(super) fn put_back(&self, hash: u64, refused: f32, state: L::State, latest: Time) {
        let mut held = self.hold(hash);
        held.update(&self.limiter, latest, |old| *old = state);
        if let Some(slot) = held.slot {
            held.memory.table.at_mut(slot).refused = refused;
        }
    }

    /// The latest time of an event.
    pub(super) fn latest(&self) -> Time {
        let each = self.shards.iter().map(|shard| lock(&shard.0).latest);
        each.max().unwrap_or(Time::from_micros(i64::MIN))
    }

    pub(super) fn hasher(&self) -> &H {
        &self.hasher
    }

    fn sum(&self, of: impl Fn(&Memory<L::State>) -> usize) -> usize {
        self.shards.iter().map(|shard| of(&lock(&shard.0))).sum()
    }
}

/// The states are shared.
impl<L: Limiter + Clone, H: Clone> Clone for Keyed<L, H> {
    fn clone(&self) -> Self {
        Keyed {
            limiter: self.limiter.clone(),
            initial: self.initial.clone(),
            hasher: self.hasher.clone(),
            shards: Arc::clone(&self.shards),
        }
    }
}

impl<L: Limiter + fmt::Debug, H> fmt::Debug for Keyed<L, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shards = self.shards.len();
        f.debug_struct("Keyed")
            .field("limiter", &self.limiter)
            .field("shards", &shards)
            .finish_non_exhaustive()
    }
}
