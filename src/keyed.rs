//! One limiter for many keys, in bounded memory.
//!
//! A key is whatever is limited: a user, an address, both. Each has its own state, made when it is
//! first seen, and at most `capacity` of them are remembered. The limiter is any of [`limit`].
//!
//! ```
//! use ratescope::Time;
//! use ratescope::keyed::Keyed;
//! use ratescope::limit::any::AnyLimiter;
//!
//! let limiter: AnyLimiter = "gcra 2/1m".parse()?;
//! let mut senders = Keyed::<String, _>::new(limiter, 100_000);
//!
//! let now = Time::ZERO;
//! let mut passes = |who: &str| senders.check(who, now, 1.0).is_allowed();
//! assert!(passes("ann") && passes("ann"));
//! assert!(!passes("ann"));
//! assert!(passes("bob"));
//! assert_eq!(senders.len(), 2);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! [`limit`]: crate::limit
//!
//! # What is forgotten
//! When there is no room for a new key, the one that was used least recently goes. No key expires
//! by age: John Berryman's article on EARRRL says why. A time to live makes a limiter forget past
//! offences, whereas one that goes on offending is used, and so stays; and a key that was not used
//! for long has little to be remembered for.
//!
//! With one exception: a key that is *being refused*, whose last event was refused and may not yet
//! come back, is not forgotten before one that is not. Otherwise a sender that is held back would
//! only have to wait until enough others have passed, or to send under enough other names. So keys
//! are kept in two orders of use, and a new key pushes out, in constant time,
//!
//! 1. the least recently used of those that are not being refused; some whose refusal is over are
//!    still among the others, and are noticed when they are one of the [`LOOK`] least recently
//!    used there,
//! 2. or, when all are being refused, the least recently used of all.
//!
//! This has a price: keys that are all being refused leave no room in which to remember others. Let
//! the capacity be larger than the number of senders that may be refused at once.
//!
//! # Memory
//! A key takes the bytes of the key, of the state, and 32 more, in an allocation of its own, and 9
//! for each slot of a table that is between 7/16 and 7/8 full. Where it is as full as it gets that
//! is 66 bytes for a `u64` with a state of 16 bytes, besides what the allocator itself takes;
//! `tests/keyed.rs` measures it. Nothing is allocated before it is needed.

use crate::limit::Limiter;
use crate::outcome::{Outcome, Retry};
use crate::time::Time;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use hashlink::LinkedHashMap;
use hashlink::linked_hash_map::RawEntryMut;
use std::hash::RandomState;

/// How many of the keys that were refused are looked at for one whose refusal is over.
pub const LOOK: usize = 8;

/// A limiter and the states of its keys.
///
/// Keys are hashed with a secret of the process, since they are often the senders' own choice.
#[derive(Debug)]
pub struct Keyed<K, L: Limiter> {
    limiter: L,
    capacity: usize,
    hasher: RandomState,
    /// Least recently used first, as the other.
    calm: Keys<K, L>,
    /// Those whose last event was refused.
    refused: Keys<K, L>,
    /// How often a key was used.
    uses: u64,
    forgotten: u64,
}

type Keys<K, L> = LinkedHashMap<K, Entry<<L as Limiter>::State>, RandomState>;

#[derive(Debug)]
struct Entry<S> {
    state: S,
    /// The number of the last use.
    used: u64,
    /// When the key is no longer being refused.
    until: Time,
}

impl<K: Hash + Eq, L: Limiter> Keyed<K, L> {
    /// `limiter` for each of at most `capacity` keys, and one at least.
    pub fn new(limiter: L, capacity: usize) -> Self {
        let hasher = RandomState::new();
        Keyed {
            limiter,
            capacity: capacity.max(1),
            calm: LinkedHashMap::with_hasher(hasher.clone()),
            refused: LinkedHashMap::with_hasher(hasher.clone()),
            hasher,
            uses: 0,
            forgotten: 0,
        }
    }

    /// Decides about an event of `key`, and counts it.
    pub fn check<Q>(&mut self, key: &Q, now: Time, cost: f64) -> Outcome
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let (key, mut state) = self.take(key);
        let outcome = self.limiter.check(&mut state, now, cost);
        let refused = match outcome.is_allowed() {
            true => Retry::NOW,
            false => self.limiter.retry_after(&state, now, cost),
        };
        self.put(key, state, now, refused);
        outcome
    }

    /// Decides as [`check`](Self::check) would; counts nothing, and does not use the key.
    pub fn peek<Q>(&self, key: &Q, now: Time, cost: f64) -> Outcome
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self.state(key) {
            Some(state) => self.limiter.peek(state, now, cost),
            None => self.limiter.peek(&self.limiter.initial(), now, cost),
        }
    }

    /// What is remembered of `key`.
    pub fn state<Q>(&self, key: &Q) -> Option<&L::State>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.calm.get(key).or_else(|| self.refused.get(key)).map(|entry| &entry.state)
    }

    /// The limiter.
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// The most keys that are remembered.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many keys are remembered.
    pub fn len(&self) -> usize {
        self.calm.len() + self.refused.len()
    }

    /// Whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Takes out a key and its state; a new key has a fresh one.
    fn take<Q>(&mut self, key: &Q) -> (K, L::State)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        for keys in [&mut self.calm, &mut self.refused] {
            let found = keys.raw_entry_mut().from_key_hashed_nocheck(hash, key);
            if let RawEntryMut::Occupied(found) = found {
                let (key, entry) = found.remove_entry();
                return (key, entry.state);
            }
        }
        (key.to_owned(), self.limiter.initial())
    }

    /// Puts a key in as the most recently used.
    fn put(&mut self, key: K, state: L::State, now: Time, refused: Retry) {
        while self.len() >= self.capacity {
            self.forget_one(now);
        }
        self.uses += 1;
        let until = match refused {
            Retry::After(wait) => now.after(wait),
            Retry::Never => now, // An event too large is no offence of the key.
        };
        let entry = Entry { state, used: self.uses, until };
        let keys = if until > now { &mut self.refused } else { &mut self.calm };
        keys.insert(key, entry);
    }

    fn forget_one(&mut self, now: Time) {
        self.forgotten += 1;
        let oldest = self.calm.front().map_or(u64::MAX, |(_, entry)| entry.used);
        let mut refused = self.refused.cursor_front_mut();
        for _ in 0..LOOK {
            match refused.current() {
                Some((_, entry)) if entry.used < oldest && entry.until <= now => {
                    if let Ok(over) = refused.current_entry() {
                        over.remove_entry();
                    }
                    return;
                }
                Some(_) => refused.move_next(),
                None => break,
            }
        }
        if self.calm.pop_front().is_none() {
            self.refused.pop_front();
        }
    }
}
