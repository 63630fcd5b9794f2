//! Space-Saving: the heaviest of many keys, in a fixed number of places, with a bound on the error.
//!
//! Source: Ahmed Metwally, Divyakant Agrawal, Amr El Abbadi, "Efficient Computation of Frequent and
//! Top-k Elements in Data Streams", 2005.
//!
//! A key with a place is counted there. A key without one takes the place with the least count, goes on from this
//! count, and keeps it as its error, since so much of its count may belong to other keys. Therefore, for a key with
//! count c and error e, the true count t is `c - e <= t <= c`. For a key without a place, t is at most the least count:
//! if it had a place before, its count was the least when it lost the place, and the least count never falls. The k
//! counts add up to all that was added, so the least is at most a k-th of the sum: any key with more has a place.

use core::cmp::Reverse;
use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

/// The heaviest keys, by their 64-bit hashes; `T` is the value of a key.
///
/// Two keys with the same hash are counted as one, so the hash needs a secret if others choose the keys. The hash is
/// not hashed again.
#[derive(Clone, Debug)]
pub struct Sketch<T> {
    most: usize,
    /// The place of each hash.
    places: HashMap<u64, usize, BuildHasherDefault<AsItIs>>,
    /// The counts are apart from the rest, because the search for the least reads all of them.
    counts: Vec<u64>,
    rest: Vec<Rest<T>>,
    /// A lower bound of all counts: the least at the last full search.
    least: u64,
    /// The place at which the next search begins.
    next: usize,
}

#[derive(Clone, Debug)]
struct Rest<T> {
    hash: u64,
    error: u64,
    what: T,
}

/// A hasher for numbers that are hashes already: it leaves them as they are.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        // The trait demands this method. Keys are u64, so nothing calls it.
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The place of a key that was just counted.
#[derive(Debug)]
pub struct Placed<'a, T> {
    /// From 0 to one less than the number of places.
    pub place: usize,
    /// The value of the key: the default one until another is set.
    pub what: &'a mut T,
    /// True if the key had no place before.
    pub is_new: bool,
    /// How much of its count may belong to other keys.
    pub error: u64,
}

/// A key in a sketch: its true count is at most `count`, and at least `count - error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed<'a, T> {
    /// The hash of the key.
    pub hash: u64,
    /// The value of the key.
    pub what: &'a T,
    /// The count of its place, which may include counts of earlier keys: at least its true count.
    pub count: u64,
    /// How much of the count may belong to other keys.
    pub error: u64,
}

impl<T: Default> Sketch<T> {
    /// An empty sketch with `most` places, at least one.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Sketch {
            most,
            places: HashMap::default(),
            counts: Vec::new(),
            rest: Vec::new(),
            least: 0,
            next: 0,
        }
    }

    /// Adds `n` to the count of a key, and returns its place; `None` if `n` is 0.
    pub fn add(&mut self, hash: u64, n: u64) -> Option<Placed<'_, T>> {
        if n == 0 {
            return None;
        }
        let known = self.places.get(&hash).copied();
        let place = match known {
            Some(place) => place,
            None if self.counts.len() < self.most => {
                self.counts.push(0);
                self.rest.push(Rest { hash, error: 0, what: T::default() });
                self.counts.len() - 1
            }
            None => self.lightest(),
        };
        let count = self.counts.get_mut(place)?;
        let rest = self.rest.get_mut(place)?;
        if known.is_none() {
            self.places.remove(&rest.hash);
            self.places.insert(hash, place);
            *rest = Rest { hash, error: *count, what: T::default() };
        }
        *count = count.saturating_add(n);
        Some(Placed { place, error: rest.error, what: &mut rest.what, is_new: known.is_none() })
    }

    /// A place with the least count. The search goes on where the last one ended, since with many keys that come once
    /// the next such place is near. Counts never fall, so a count equal to the least of an earlier search is still the
    /// least.
    fn lightest(&mut self) -> usize {
        let (before, after) = self.counts.split_at(self.next.min(self.counts.len()));
        let is_least = |count: &u64| *count == self.least;
        let found = after.iter().position(is_least).map(|place| place + before.len());
        let place = found.or_else(|| before.iter().position(is_least)).unwrap_or_else(|| {
            let counts = self.counts.iter().copied().enumerate();
            let (place, least) = counts.min_by_key(|&(_, count)| count).unwrap_or_default();
            self.least = least;
            place
        });
        self.next = place + 1;
        place
    }

    /// The most that may have been counted for any key without a place: 0 while there are free places.
    pub fn least(&self) -> u64 {
        let least = self.counts.iter().copied().min().unwrap_or(0);
        if self.counts.len() < self.most { 0 } else { least }
    }

    /// The heaviest keys, at most `most`, the heaviest first.
    pub fn top(&self, most: usize) -> Vec<Weighed<'_, T>> {
        let each = self.counts.iter().zip(&self.rest);
        let weighed =
            |(&count, &Rest { hash, error, ref what })| Weighed { hash, what, count, error };
        let mut all: Vec<_> = each.map(weighed).collect();
        all.sort_by_key(|key| (Reverse(key.count), key.error, key.hash));
        all.truncate(most);
        all
    }

    /// The value of a key; `None` if the key has no place.
    pub fn get(&self, hash: u64) -> Option<&T> {
        self.places.get(&hash).and_then(|&place| Some(&self.rest.get(place)?.what))
    }
}
