//! The table validates its own structure. Its behaviour is compared with a plain map and with the rules of eviction.
#![cfg(not(target_arch = "wasm32"))]

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

impl<S: Clone> Table<S> {
    /// Checks the structure.
    fn validate(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for (set, (tags, entries)) in self.tags.iter().zip(&self.sets).enumerate() {
            for way in 0..WAYS {
                let hash = entries.0[way].hash;
                if way >= tags.len() {
                    (tags.at(way) == 0).then_some(()).ok_or("a gap in a set")?;
                    continue;
                }
                (tags.at(way) == tag(hash)).then_some(()).ok_or("a tag of another key")?;
                seen.insert(hash).then_some(()).ok_or("the same key twice")?;
                let [first, second] = sets(hash, self.sets.len());
                let is_found = set == first || (set == second && self.tags[first].is_full());
                is_found.then_some(()).ok_or("a key where it is not looked for")?;
            }
        }
        (seen.len() == self.len).then_some(()).ok_or("another number of keys")?;
        let sizes = self.tags.len() == self.sets.len() && self.sets.len() <= self.most;
        Ok(sizes.then_some(()).ok_or("another number of sets")?)
    }

    fn hashes(&self) -> BTreeSet<u64> {
        self.entries().map(|entry| entry.hash).collect()
    }

    fn entry(&self, hash: u64) -> Option<&Entry<S>> {
        self.find(hash).map(|slot| self.at(slot))
    }

    /// The entries in these sets.
    fn within(&self, sets: &BTreeSet<usize>) -> Vec<&Entry<S>> {
        sets.iter().flat_map(|&set| &self.sets[set].0).collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// It is used, and put in if it is not there.
    Use,
    /// It is used and refused.
    Refuse,
    /// The refusal is over, if there was one.
    Calm,
}

/// Operations on keys: mostly uses, or mostly refusals.
fn ops(keys: u64) -> impl Strategy<Value = Vec<(Op, u64)>> {
    let mostly = |op| prop_oneof![4 => Just(op), 1 => Just(Op::Calm), 1 => Just(Op::Use)];
    let some = |op| prop::collection::vec((mostly(op), 0..keys), 1..400);
    prop_oneof![some(Op::Use), some(Op::Refuse)]
}

fn hash(key: u64) -> u64 {
    let x = (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// A state says whether its key is being refused, and which key it is.
type State = (bool, u64);

/// Does an operation and returns the hashes that were evicted.
fn run(table: &mut Table<State>, op: Op, key: u64) -> BTreeSet<u64> {
    let (hash, refused) = (hash(key), matches!(op, Op::Refuse));
    let before = table.hashes();
    let slot = match (table.find(hash), op) {
        (Some(slot), _) => {
            table.use_at(slot);
            slot
        }
        (None, Op::Calm) => return BTreeSet::new(),
        (None, _) => table.insert(hash, (refused, key), &mut |state, _| state.0),
    };
    let entry = table.at_mut(slot);
    entry.state.0 = refused;
    // The note of a refusal may outlive the refusal.
    entry.refused = if refused { 1.0 } else { entry.refused };
    before.difference(&table.hashes()).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// As long as there is room, it is a map.
    #[test]
    fn with_room_it_is_a_plain_map(ops in ops(300)) {
        let mut table = Table::new(300 / WAYS * 2, (false, 0));
        let mut plain = BTreeMap::new();
        for (op, key) in ops {
            let forgotten = run(&mut table, op, key);
            prop_assert!(forgotten.is_empty());
            if !matches!(op, Op::Calm) || plain.contains_key(&key) {
                plain.insert(key, (matches!(op, Op::Refuse), key));
            }
            prop_assert_eq!(table.validate(), Ok(()));
            prop_assert_eq!(table.len(), plain.len());
        }
        for key in 0..300 {
            prop_assert_eq!(table.entry(hash(key)).map(|entry| entry.state), plain.get(&key).copied());
        }
        prop_assert_eq!(table.evicted(), 0);
    }

    /// Without room, exactly one entry is evicted, and it is the right one.
    #[test]
    fn what_is_given_up_follows_the_rules(ops in ops(200), most in 1usize..12) {
        let mut table = Table::new(most, (false, 0));
        for (op, key) in ops {
            let before = table.clone();
            let forgotten = run(&mut table, op, key);
            prop_assert_eq!(table.validate(), Ok(()));
            prop_assert!(table.len() <= table.capacity());
            prop_assert_eq!(table.evicted() - before.evicted(), forgotten.len() as u64);
            // Growing may also evict keys, any of them.
            if forgotten.is_empty() || before.sets.len() < most {
                continue;
            }
            prop_assert_eq!(forgotten.len(), 1);
            let gone = forgotten.iter().find_map(|&hash| before.entry(hash));
            let Some(gone) = gone else { return Err(TestCaseError::fail("was not there")) };

            let own: BTreeSet<usize> = sets(hash(key), most).into_iter().collect();
            let both = |entry: &&Entry<State>| sets(entry.hash, most);
            let others = before.within(&own).iter().flat_map(both).filter(|set| !own.contains(set)).collect();
            let age = |entry: &&Entry<State>| before.uses.wrapping_sub(entry.used);
            let oldest = |of: Vec<&Entry<State>>, calm: bool| {
                let may = |entry: &&Entry<State>| !(calm && entry.state.0);
                of.into_iter().filter(may).max_by_key(age).map(|entry| entry.hash)
            };
            match oldest(before.within(&own), true) {
                Some(calm) => prop_assert_eq!(gone.hash, calm),
                None if oldest(before.within(&others), true).is_some() => {
                    prop_assert!(!gone.state.0);
                    let slot = before.find(gone.hash).map(Slot::set);
                    prop_assert!(slot.is_some_and(|set| others.contains(&set)));
                }
                None => prop_assert_eq!(Some(gone.hash), oldest(before.within(&own), false)),
            }
        }
    }
}

/// The share of keys that find no place when there are as many keys as slots.
fn lost(sets: usize) -> f64 {
    let keys = (sets * WAYS) as u64;
    let mut table = Table::new(sets, ());
    for key in 0..keys {
        table.insert(hash(key), (), &mut |(), _| false);
    }
    assert_eq!(table.validate(), Ok(()));
    assert_eq!(table.evicted() + table.len() as u64, keys);
    table.evicted() as f64 / keys as f64
}

/// As documented: 98.4 % find a place, and the table grows when it is about 85 % full.
#[test]
fn nearly_all_find_a_place() {
    assert!((lost(4_000) - 0.016).abs() < 0.004, "{}", lost(4_000));
    for sets in [1, 2] {
        assert_eq!(lost(sets), 0.0);
    }
    for sets in [3, 10, 100, 1000] {
        assert!(lost(sets) < 0.04, "{sets}: {}", lost(sets));
    }
    let (mut table, mut fullest): (_, Vec<f64>) = (Table::new(4_000, ()), Vec::new());
    let (mut keys, mut sets) = (0, 0);
    while table.sets.len() < table.most {
        if table.sets.len() > sets {
            fullest.push(keys as f64 / (sets * WAYS).max(1) as f64);
            sets = table.sets.len();
        }
        table.insert(hash(keys), (), &mut |(), _| false);
        keys += 1;
    }
    assert_eq!(table.evicted(), 0);
    let large = &fullest[fullest.len() - 10..];
    assert!(large.iter().all(|full| (0.78..0.96).contains(full)), "{fullest:?}");
}

/// The number of the last use may wrap around.
#[test]
fn the_order_of_use_survives_its_overflow() {
    let mut table = Table::new(1, 0);
    table.uses = u32::MAX - 5;
    for key in 0..8 {
        table.insert(hash(key), key, &mut |_, _| false);
    }
    table.insert(hash(8), 8, &mut |_, _| false);
    assert!(table.find(hash(0)).is_none());
    assert!((1..9).all(|key| table.find(hash(key)).is_some()));
}
