//! A bounded table of states, without their keys: what one shard remembers.
//!
//! An entry has the hash of its key, all 64 bits, and lies in one of two [sets](super::tags) of
//! eight: in the second only where the first was full. Sets never lose an entry but to another,
//! so one that is full stays full, and a key that is not found in a first set with room is not
//! there at all.
//!
//! # Room for a new key
//! In the first set, or else the second. When both are full, one of the sixteen may have room in
//! its other set and moves there. So nothing has to be given up before the table is about 85 %
//! full, and 98.4 % of the keys find a place in a table of as many places. With one set for each
//! key, it would be 86 %.
//!
//! When there is no room, the table grows by a quarter, for which the hashes are enough, until it
//! has as many sets as it may. Then an entry is given up:
//!
//! 1. the least recently used of the sixteen that are not being refused;
//! 2. or, when all are, the least recently used of those that are not being refused in the other
//!    set of one of the sixteen, which moves there;
//! 3. or, when all of these, up to 144 entries, are being refused, the least recently used of the
//!    sixteen.
//!
//! Whether an entry is being refused is asked only here, and only of those of which a refusal is
//! remembered. So room for a new key costs 144 questions at most, whatever others have sent.

use super::tags::{Tags, WAYS, first_set, second_set, sets, tag};

/// What is remembered of a key.
#[derive(Clone, Debug)]
pub(super) struct Entry<S> {
    /// The hash of the key, which stands for the key.
    hash: u64,
    /// The number of its last use. The numbers begin anew after 2³² uses of the table, so what was
    /// not used for so long may seem to have been used since: it then stays a while longer.
    used: u32,
    /// The largest cost that was refused for what came before it, negative when one that costs as
    /// much has passed since; 0 when there is none.
    pub(super) refused: f32,
    pub(super) state: S,
}

/// Eight entries, from the beginning of a cache line on. That wastes nothing, since an entry takes
/// whole words.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set<S>([Entry<S>; WAYS]);

/// Where an entry is, until the next one is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    set: usize,
    way: usize,
}

/// The states of a shard. What every event needs comes first, and is one cache line together with
/// the lock and the time before it.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Table<S> {
    /// The tags of each set, apart from the entries: of a million keys they are a megabyte.
    tags: Box<[Tags]>,
    sets: Box<[Set<S>]>,
    uses: u32,
    len: usize,
    /// The most sets.
    most: usize,
    forgotten: u64,
    /// What stands where no entry is; it is never looked at.
    blank: S,
}

impl<S: Clone> Table<S> {
    /// A table of up to `most` sets, and of none yet.
    pub(super) fn new(most: usize, blank: S) -> Self {
        let (tags, sets) = (Box::default(), Box::default());
        Table { tags, sets, uses: 0, len: 0, most, forgotten: 0, blank }
    }

    /// The most entries.
    pub(super) fn capacity(&self) -> usize {
        self.most * WAYS
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many entries were given up.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Where the entry with this hash is.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64) -> Option<Place> {
        let first = first_set(hash, self.sets.len());
        match self.find_in(first, hash) {
            None => self.find_in_second(first, hash),
            found => found,
        }
    }

    /// Apart, since one in ten is found there, and fewer of those that are used often.
    #[cold]
    #[inline(never)]
    fn find_in_second(&self, first: usize, hash: u64) -> Option<Place> {
        if !self.tags.get(first)?.is_full() {
            return None;
        }
        self.find_in(second_set(hash, self.sets.len()), hash)
    }

    #[inline(always)]
    fn find_in(&self, set: usize, hash: u64) -> Option<Place> {
        let (tags, entries) = (self.tags.get(set)?, self.sets.get(set)?);
        let is_it = |way: &usize| entries.0[*way % WAYS].hash == hash;
        tags.find(tag(hash)).find(is_it).map(|way| Place { set, way })
    }

    /// The entry at a place that was just found.
    #[inline(always)]
    pub(super) fn at(&self, place: Place) -> &Entry<S> {
        &self.sets[place.set].0[place.way % WAYS]
    }

    /// The entry at a place that was just found, to change it.
    #[inline(always)]
    pub(super) fn at_mut(&mut self, place: Place) -> &mut Entry<S> {
        &mut self.sets[place.set].0[place.way % WAYS]
    }

    /// The same, now the most recently used.
    #[inline(always)]
    pub(super) fn use_at(&mut self, place: Place) -> &mut Entry<S> {
        self.uses = self.uses.wrapping_add(1);
        let used = self.uses;
        let entry = self.at_mut(place);
        entry.used = used;
        entry
    }

    /// All entries, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry<S>> {
        self.tags.iter().zip(&*self.sets).flat_map(|(tags, set)| set.0.iter().take(tags.len()))
    }

    /// All entries, to change them.
    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry<S>> {
        let each = self.tags.iter().zip(&mut self.sets);
        each.flat_map(|(tags, set)| set.0.iter_mut().take(tags.len()))
    }

    /// Puts in a key that is not there yet, as the most recently used. Where something must be
    /// given up for it, `is_refused` says whether an entry with this state is being refused, given
    /// the cost of its last refusal.
    pub(super) fn insert(
        &mut self,
        hash: u64,
        state: S,
        is_refused: &mut dyn FnMut(&mut S, f32) -> bool,
    ) -> Place {
        self.uses = self.uses.wrapping_add(1);
        let entry = Entry { hash, used: self.uses, refused: 0.0, state };
        self.put(entry, is_refused)
    }

    fn put(&mut self, entry: Entry<S>, is_refused: &mut dyn FnMut(&mut S, f32) -> bool) -> Place {
        loop {
            if let Some(place) = self.room(entry.hash) {
                self.len += 1;
                return self.write(place, entry);
            }
            if self.sets.len() == self.most {
                self.forgotten += 1;
                let place = self.give_up_one(entry.hash, is_refused);
                return self.write(place, entry);
            }
            self.grow(is_refused);
        }
    }

    fn write(&mut self, place: Place, entry: Entry<S>) -> Place {
        self.tags[place.set] = self.tags[place.set].with(place.way, tag(entry.hash));
        *self.at_mut(place) = entry;
        place
    }

    /// A place for a new key that is free, or left by one that moved.
    fn room(&mut self, hash: u64) -> Option<Place> {
        let sets = sets(hash, self.sets.len());
        if let Some(free) = sets.into_iter().find_map(|set| self.free(set)) {
            return Some(free);
        }
        if self.len == self.sets.len() * WAYS {
            return None;
        }
        let (from, to) =
            places(sets).find_map(|place| Some((place, self.free(self.other(place))?)))?;
        self.shift(from, to);
        Some(from)
    }

    /// The first free place of a set.
    fn free(&self, set: usize) -> Option<Place> {
        let tags = self.tags.get(set).filter(|tags| !tags.is_full())?;
        Some(Place { set, way: tags.len() })
    }

    /// The other set in which the entry at a place may lie.
    fn other(&self, place: Place) -> usize {
        let [first, second] = sets(self.at(place).hash, self.sets.len());
        if place.set == first { second } else { first }
    }

    /// Moves an entry to another set. What was there comes to its place, to be overwritten.
    fn shift(&mut self, from: Place, to: Place) {
        let tag = self.tags[from.set].at(from.way);
        self.tags[to.set] = self.tags[to.set].with(to.way, tag);
        if let Ok([from_set, to_set]) = self.sets.get_disjoint_mut([from.set, to.set]) {
            core::mem::swap(&mut from_set.0[from.way % WAYS], &mut to_set.0[to.way % WAYS]);
        }
    }

    /// A place that was given up for a new key.
    #[inline(never)]
    fn give_up_one(&mut self, hash: u64, is_refused: &mut dyn FnMut(&mut S, f32) -> bool) -> Place {
        let candidates = sets(hash, self.sets.len());
        if let Some(calm) = self.oldest_calm(candidates, is_refused) {
            return calm;
        }
        for from in places(candidates) {
            let other = self.other(from);
            if candidates.contains(&other) {
                continue;
            }
            if let Some(to) = self.oldest_calm([other; 2], is_refused) {
                self.shift(from, to);
                return from;
            }
        }
        self.oldest(candidates, |_| true).unwrap_or(Place { set: candidates[0], way: 0 })
    }

    /// The least recently used entry of two sets that is not being refused.
    fn oldest_calm(
        &mut self,
        sets: [usize; 2],
        is_refused: &mut dyn FnMut(&mut S, f32) -> bool,
    ) -> Option<Place> {
        let mut refused: [Option<Place>; 2 * WAYS] = [None; 2 * WAYS];
        for i in 0..refused.len() {
            let oldest = self.oldest(sets, |place| !refused[..i].contains(&Some(place)))?;
            let entry = self.at_mut(oldest);
            if entry.refused <= 0.0 || !is_refused(&mut entry.state, entry.refused) {
                return Some(oldest);
            }
            refused[i] = Some(oldest);
        }
        None
    }

    /// The least recently used entry of two full sets, of those that `may` go.
    fn oldest(&self, sets: [usize; 2], may: impl Fn(Place) -> bool) -> Option<Place> {
        let age = |place: &Place| self.uses.wrapping_sub(self.at(*place).used);
        places(sets).filter(|place| may(*place)).max_by_key(age)
    }

    /// Grows by a quarter, or by what is left to the most.
    #[inline(never)]
    fn grow(&mut self, is_refused: &mut dyn FnMut(&mut S, f32) -> bool) {
        let count = (self.sets.len() + (self.sets.len() / 4).max(1)).min(self.most);
        let blank = Entry { hash: 0, used: 0, refused: 0.0, state: self.blank.clone() };
        let set = Set(core::array::from_fn(|_| blank.clone()));
        let tags = core::mem::replace(&mut self.tags, vec![Tags::default(); count].into());
        let sets = core::mem::replace(&mut self.sets, vec![set; count].into());
        self.len = 0;
        for (tags, set) in tags.iter().zip(sets) {
            for entry in set.0.into_iter().take(tags.len()) {
                self.put(entry, is_refused);
            }
        }
    }
}

/// The places of two sets, or of one that is given twice.
fn places([first, second]: [usize; 2]) -> impl Iterator<Item = Place> {
    let count = if first == second { WAYS } else { 2 * WAYS };
    (0..count).map(move |i| Place { set: if i < WAYS { first } else { second }, way: i % WAYS })
}

#[cfg(test)]
mod tests;
