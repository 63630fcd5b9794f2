//! A bounded table of states, without their keys: the memory of one shard.
//!
//! An entry has the 64-bit hash of its key. It lies in one of two [sets](super::tags) of eight, in the second only if
//! the first was full. An entry is only ever replaced by another, so a full set stays full. Therefore, if the first set
//! of a key has room and not the key, the key is not in the table.
//!
//! # Room for a new key
//! A new key goes into its first set, or else into the second. When both are full, one of their sixteen entries may
//! have room in its other set and moves there. So no entry is evicted before the table is about 85 % full, and of as
//! many keys as slots 98.4 % find one; with one set for each key, 86 % would.
//!
//! When there is no room, the table grows by a quarter, up to its largest number of sets; the hashes are enough to move
//! the entries. After that, an entry is evicted:
//!
//! 1. of the sixteen, the least recently used that is not being refused;
//! 2. if all sixteen are being refused: one of them moves to its other set, in place of the least
//!    recently used entry there that is not being refused;
//! 3. if all of these entries, up to 144, are being refused: the least recently used of the sixteen.
//!
//! Only here is an entry checked for being refused, and only if a refusal is remembered. So room for a new key costs at
//! most 144 such checks.

use super::tags::{Tags, WAYS, first_set, second_set, sets, tag};
use core::cmp::Reverse;

/// The memory of one key.
#[derive(Clone, Debug)]
pub(super) struct Entry<S> {
    /// The hash of the key, which stands for the key.
    pub(super) hash: u64,
    /// The number of its last use, which is even. Numbers wrap around after 2³¹ uses of the table; an entry that was
    /// not used for so long then seems recently used, and stays longer. The lowest bit says that the state came from
    /// another store and was not changed since.
    used: u32,
    /// The largest cost that was refused because of earlier events. Negative when an event that
    /// costs as much has passed since; 0 when there is none.
    pub(super) refused: f32,
    pub(super) state: S,
}

/// Eight entries, aligned to a cache line. The alignment wastes nothing: eight entries of whole words
/// are a multiple of 64 bytes.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set<S>([Entry<S>; WAYS]);

impl<S> Entry<S> {
    /// Marks the state as that of another store.
    pub(super) fn set_told(&mut self) {
        self.used |= 1;
    }

    /// True if the state is that of another store.
    pub(super) fn is_told(&self) -> bool {
        self.used & 1 == 1
    }

    /// The number of uses of the table since its last use; `uses` is the number of all uses.
    fn age(&self, uses: u32) -> u32 {
        uses.wrapping_sub(self.used & !1)
    }
}

/// Where an entry lies, counted over all sets. Valid until the next insertion. One number, since a pair would be kept
/// in memory, and be slower to read right after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

impl Slot {
    #[inline(always)]
    fn new(set: usize, way: usize) -> Self {
        Slot(set * WAYS + way)
    }

    #[inline(always)]
    fn set(self) -> usize {
        self.0 / WAYS
    }

    /// The number of the entry in the set.
    #[inline(always)]
    fn way(self) -> usize {
        self.0 % WAYS
    }
}

/// The states of a shard. The fields that every event needs come first: together with the lock and
/// the time before them they fill one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Table<S> {
    /// The tags of each set, apart from the entries: a megabyte for a million keys.
    tags: Box<[Tags]>,
    sets: Box<[Set<S>]>,
    /// Twice the number of uses.
    uses: u32,
    len: usize,
    /// The largest number of sets.
    most: usize,
    evicted: u64,
    /// The slot that is swept next, counted over all sets.
    next: usize,
    /// The state in free slots, which is never read.
    blank: S,
}

impl<S: Clone> Table<S> {
    /// An empty table that may grow to `most` sets.
    pub(super) fn new(most: usize, blank: S) -> Self {
        Table {
            tags: Box::default(),
            sets: Box::default(),
            uses: 0,
            len: 0,
            most,
            evicted: 0,
            next: 0,
            blank,
        }
    }

    /// Forgets all entries, and frees their memory.
    pub(super) fn clear(&mut self) {
        *self = Table::new(self.most, self.blank.clone());
    }

    pub(super) fn capacity(&self) -> usize {
        self.most * WAYS
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Where the entry with this hash is.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64) -> Option<Slot> {
        let first = first_set(hash, self.sets.len());
        match self.find_in(first, hash) {
            None => self.find_in_second(first, hash),
            found => found,
        }
    }

    /// A cold function: one key in ten is in its second set, and fewer of the frequently used keys.
    #[cold]
    #[inline(never)]
    fn find_in_second(&self, first: usize, hash: u64) -> Option<Slot> {
        if !self.tags.get(first)?.is_full() {
            return None;
        }
        self.find_in(second_set(hash, self.sets.len()), hash)
    }

    #[inline(always)]
    fn find_in(&self, set: usize, hash: u64) -> Option<Slot> {
        let (tags, entries) = (self.tags.get(set)?, self.sets.get(set)?);
        // The entry is known only once the tags have arrived. Measured: reading any entry of the set meanwhile is
        // faster, presumably because the page is then in the TLB.
        core::hint::black_box(entries.0[WAYS / 2].used);
        let is_it = |way: &usize| entries.0[*way % WAYS].hash == hash;
        tags.find(tag(hash)).find(is_it).map(|way| Slot::new(set, way))
    }

    /// The entry at a slot that was just found.
    #[inline(always)]
    pub(super) fn at(&self, slot: Slot) -> &Entry<S> {
        &self.sets[slot.set()].0[slot.way()]
    }

    /// The entry at a slot that was just found, to change it.
    #[inline(always)]
    pub(super) fn at_mut(&mut self, slot: Slot) -> &mut Entry<S> {
        &mut self.sets[slot.set()].0[slot.way()]
    }

    /// As [`at_mut`](Self::at_mut), and makes the entry the most recently used.
    #[inline(always)]
    pub(super) fn use_at(&mut self, slot: Slot) -> &mut Entry<S> {
        self.uses = self.uses.wrapping_add(2);
        let used = self.uses;
        let entry = self.at_mut(slot);
        entry.used = used;
        entry
    }

    /// All entries, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry<S>> {
        self.tags.iter().zip(&*self.sets).flat_map(|(tags, set)| set.0.iter().take(tags.len()))
    }

    /// All entries, the least recently used first.
    pub(super) fn by_use(&self) -> Vec<&Entry<S>> {
        let mut entries: Vec<_> = self.entries().collect();
        entries.sort_unstable_by_key(|entry| Reverse(entry.age(self.uses)));
        entries
    }

    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry<S>> {
        let each = self.tags.iter().zip(&mut self.sets);
        each.flat_map(|(tags, set)| set.0.iter_mut().take(tags.len()))
    }

    /// The next entry to be swept: each in turn, one with every eighth use of the table, since an entry is rarely in
    /// the cache, and a sweep with each use would slow down every event. Free slots are skipped.
    pub(super) fn sweep(&mut self) -> Option<&mut Entry<S>> {
        if !self.uses.is_multiple_of(16) {
            return None;
        }
        // A set is rarely empty, and several in a row hardly ever.
        for _ in 0..WAYS {
            let slot = Slot(self.next);
            let is_taken = self.tags.get(slot.set()).is_some_and(|tags| slot.way() < tags.len());
            // From a free slot, go on with the next set.
            self.next = if is_taken { self.next + 1 } else { (slot.set() + 1) * WAYS };
            if self.next >= self.sets.len() * WAYS {
                self.next = 0;
            }
            if is_taken {
                return Some(self.at_mut(slot));
            }
        }
        None
    }

    /// Inserts a key that is not there yet, as the most recently used. If an entry must be evicted, `is_refused` says
    /// whether an entry is being refused, given its state and the cost of its refusal.
    pub(super) fn insert(
        &mut self,
        hash: u64,
        state: S,
        is_refused: &mut dyn FnMut(&mut S, f32) -> bool,
    ) -> Slot {
        self.uses = self.uses.wrapping_add(2);
        let entry = Entry { hash, used: self.uses, refused: 0.0, state };
        self.put(entry, is_refused)
    }

    fn put(&mut self, entry: Entry<S>, is_refused: &mut dyn FnMut(&mut S, f32) -> bool) -> Slot {
        loop {
            if let Some(slot) = self.room(entry.hash) {
                self.len += 1;
                return self.write(slot, entry);
            }
            if self.sets.len() == self.most {
                self.evicted += 1;
                let slot = self.give_up_one(entry.hash, is_refused);
                return self.write(slot, entry);
            }
            self.grow(is_refused);
        }
    }

    fn write(&mut self, slot: Slot, entry: Entry<S>) -> Slot {
        self.tags[slot.set()] = self.tags[slot.set()].with(slot.way(), tag(entry.hash));
        *self.at_mut(slot) = entry;
        slot
    }

    /// A slot for a new key: a free one, or the slot of an entry that was moved.
    fn room(&mut self, hash: u64) -> Option<Slot> {
        let sets = sets(hash, self.sets.len());
        if let Some(free) = sets.into_iter().find_map(|set| self.free(set)) {
            return Some(free);
        }
        if self.len == self.sets.len() * WAYS {
            return None;
        }
        let (from, to) = slots(sets).find_map(|slot| Some((slot, self.free(self.other(slot))?)))?;
        self.shift(from, to);
        Some(from)
    }

    /// The first free slot of a set.
    fn free(&self, set: usize) -> Option<Slot> {
        let tags = self.tags.get(set).filter(|tags| !tags.is_full())?;
        Some(Slot::new(set, tags.len()))
    }

    /// The other of the two sets of the entry at a slot.
    fn other(&self, slot: Slot) -> usize {
        let [first, second] = sets(self.at(slot).hash, self.sets.len());
        if slot.set() == first { second } else { first }
    }

    /// Moves an entry to another set, swapping it with the entry there, which is to be overwritten.
    fn shift(&mut self, from: Slot, to: Slot) {
        let tag = self.tags[from.set()].at(from.way());
        self.tags[to.set()] = self.tags[to.set()].with(to.way(), tag);
        if let Ok([from_set, to_set]) = self.sets.get_disjoint_mut([from.set(), to.set()]) {
            core::mem::swap(&mut from_set.0[from.way()], &mut to_set.0[to.way()]);
        }
    }

    /// Evicts an entry for a new key and returns its slot.
    #[inline(never)]
    fn give_up_one(&mut self, hash: u64, is_refused: &mut dyn FnMut(&mut S, f32) -> bool) -> Slot {
        let candidates = sets(hash, self.sets.len());
        if let Some(calm) = self.oldest_calm(candidates, is_refused) {
            return calm;
        }
        for from in slots(candidates) {
            let other = self.other(from);
            if candidates.contains(&other) {
                continue;
            }
            if let Some(to) = self.oldest_calm([other; 2], is_refused) {
                self.shift(from, to);
                return from;
            }
        }
        self.oldest(candidates, |_| true).unwrap_or(Slot::new(candidates[0], 0))
    }

    /// The least recently used entry of two sets that is not being refused.
    fn oldest_calm(
        &mut self,
        sets: [usize; 2],
        is_refused: &mut dyn FnMut(&mut S, f32) -> bool,
    ) -> Option<Slot> {
        let mut refused: [Option<Slot>; 2 * WAYS] = [None; 2 * WAYS];
        for i in 0..refused.len() {
            let oldest = self.oldest(sets, |slot| !refused[..i].contains(&Some(slot)))?;
            let entry = self.at_mut(oldest);
            if entry.refused <= 0.0 || !is_refused(&mut entry.state, entry.refused) {
                return Some(oldest);
            }
            refused[i] = Some(oldest);
        }
        None
    }

    /// The least recently used entry of two full sets that `may` be evicted.
    fn oldest(&self, sets: [usize; 2], may: impl Fn(Slot) -> bool) -> Option<Slot> {
        let age = |slot: &Slot| self.at(*slot).age(self.uses);
        slots(sets).filter(|slot| may(*slot)).max_by_key(age)
    }

    /// Grows by a quarter, but at most to `most` sets.
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

/// The slots of two sets, or of one set that is given twice.
fn slots([first, second]: [usize; 2]) -> impl Iterator<Item = Slot> {
    let count = if first == second { WAYS } else { 2 * WAYS };
    (0..count).map(move |i| Slot::new(if i < WAYS { first } else { second }, i % WAYS))
}

#[cfg(all(test, not(loom)))]
mod tests;
