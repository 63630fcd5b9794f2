//! Space-Saving: the heaviest of many keys, in a fixed number of places, with a bound on the error.
//!
//! Source: Ahmed Metwally, Divyakant Agrawal, Amr El Abbadi, "Efficient Computation of Frequent and
//! Top-k Elements in Data Streams", 2005.
//!
//! A key that has a place is counted there. One that has none takes the place with the least count, goes
//! on from that count, and remembers it as its error, since as much of the count may be of others.
//! Therefore, for a key with count c and error e, the true count t is `c - e <= t <= c`. For a key without
//! a place, t is at most the least count: its own last count in a place, if it had one, was not above the
//! least count then, and the least count never falls. The counts add up to all that was added, so the
//! least of k is at most a k-th of that: any key with more than that has a place.

use core::cmp::Reverse;
use std::collections::HashMap;

/// The heaviest keys, by their 64-bit hashes; `T` is the value of a key.
///
/// Two keys of the same hash are counted as one, so the hash needs a secret where others choose the keys.
#[derive(Clone, Debug)]
pub struct Sketch<T> {
    most: usize,
    /// The place of each hash.
    places: HashMap<u64, usize>,
    /// Apart from the rest, because all of them are looked at to find the least.
    counts: Vec<u64>,
    rest: Vec<Rest<T>>,
    /// A count that none is below, and the place from which one with the least count is looked for.
    least: u64,
    next: usize,
}

#[derive(Clone, Debug)]
struct Rest<T> {
    hash: u64,
    error: u64,
    what: T,
}

/// A key in a sketch: its true count is at most `count`, and at least `count - error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed<'a, T> {
    /// The hash of the key.
    pub hash: u64,
    /// The value of the key.
    pub what: &'a T,
    /// The most that was counted for it.
    pub count: u64,
    /// How much of that may be of other keys.
    pub error: u64,
}

impl<T> Sketch<T> {
    /// An empty sketch with a number of places, at least one.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        let (places, counts, rest) = (HashMap::new(), Vec::new(), Vec::new());
        Sketch { most, places, counts, rest, least: 0, next: 0 }
    }

    /// Adds `n` to the count of a key; `what` is only asked of one that had no place.
    pub fn add(&mut self, hash: u64, n: u64, what: impl FnOnce() -> T) {
        if n == 0 {
            return;
        }
        if let Some(count) = self.places.get(&hash).and_then(|&place| self.counts.get_mut(place)) {
            *count = count.saturating_add(n);
        } else if self.counts.len() < self.most {
            self.places.insert(hash, self.counts.len());
            self.counts.push(n);
            self.rest.push(Rest { hash, error: 0, what: what() });
        } else {
            let place = self.lightest();
            let error = self.least;
            if let (Some(count), Some(rest)) =
                (self.counts.get_mut(place), self.rest.get_mut(place))
            {
                self.places.remove(&rest.hash);
                self.places.insert(hash, place);
                *count = error.saturating_add(n);
                *rest = Rest { hash, error, what: what() };
            }
        }
    }

    /// A place with the least count. It is looked for where the search before ended: of many keys that come
    /// once, the next is near. No count ever falls, so one that is what the least was then is the least.
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

    /// The most that any key was counted that has no place: 0 while there are free ones.
    pub fn least(&self) -> u64 {
        let least = self.counts.iter().copied().min().unwrap_or(0);
        if self.counts.len() < self.most { 0 } else { least }
    }

    /// The heaviest keys, at most so many, the heaviest first.
    pub fn top(&self, most: usize) -> Vec<Weighed<'_, T>> {
        let each = self.counts.iter().zip(&self.rest);
        let weighed =
            |(&count, &Rest { hash, error, ref what })| Weighed { hash, what, count, error };
        let mut all: Vec<_> = each.map(weighed).collect();
        all.sort_by_key(|key| (Reverse(key.count), key.error, key.hash));
        all.truncate(most);
        all
    }

    /// The value of a key that has a place.
    pub fn get(&self, hash: u64) -> Option<&T> {
        self.places.get(&hash).and_then(|&place| Some(&self.rest.get(place)?.what))
    }
}
