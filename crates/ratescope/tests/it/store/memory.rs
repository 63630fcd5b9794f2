//! The memory of a key.

use ratescope::limit::any::AnyLimiter;
use ratescope::limit::gcra::Gcra;
use ratescope::store::Keyed;
use ratescope::{Limiter, Time};
use std::hash::Hash;

/// The bytes of a place in a table that is as large as it gets, and of a key there.
fn bytes<K: Hash, L>(limiter: L, key: impl Fn(u32) -> K) -> (f64, f64)
where
    L: Limiter<State: PartialEq>,
{
    let keyed = Keyed::new(limiter, 50_000);
    let keys = keyed.capacity() as u32;
    let used = allocation_counter::measure(|| {
        for i in 0..keys {
            let _ = keyed.check(&key(i), Time::ZERO, 1.0);
        }
    });
    let bytes = used.bytes_current as f64;
    (bytes / f64::from(keys), bytes / keyed.len() as f64)
}

/// As documented, a key takes its state, 16 bytes and a byte of tag, however long the key is.
#[test]
fn the_bytes_of_a_key_are_as_documented() {
    let gcra = Gcra::new("1/1m".parse().unwrap(), 1.0).unwrap();
    let any = |text: &str| text.parse::<AnyLimiter>().unwrap();
    let text = |i| format!("user-{i:07}");
    for (measured, counted) in [
        (bytes(gcra, u64::from), 24 + 16 + 1),
        (bytes(gcra, text), 24 + 16 + 1),
        (bytes(any("gcra 1/1m"), text), 32 + 16 + 1),
    ] {
        let (place, key) = (measured.0, measured.1);
        assert!((place - f64::from(counted)).abs() < 0.1, "{place}, should be {counted}");
        assert!(key < place * 1.04, "{key}, of {place}");
    }
}

/// Memory follows the keys and not the capacity: at every number of keys, a key costs at most half
/// as much again as its place.
#[test]
fn memory_follows_the_keys() {
    let gcra = Gcra::new("1/1m".parse().unwrap(), 1.0).unwrap();
    let mut keyed = None;
    let empty = allocation_counter::measure(|| keyed = Some(Keyed::new(gcra, 10_000_000)));
    // The locks of 32 shards.
    assert!(empty.bytes_current < 32 * 300, "{empty:?}");
    let keyed = keyed.unwrap();
    let (mut keys, mut used) = (0u32, 0);
    for goal in [20_000, 30_000, 45_000, 70_000, 100_000, 140_000, 200_000] {
        used += allocation_counter::measure(|| {
            for key in keys..goal {
                assert!(keyed.check(&key, Time::ZERO, 1.0).is_allowed());
            }
        })
        .bytes_current;
        keys = goal;
        let bytes = used as f64 / f64::from(keys);
        assert!((41.0..62.0).contains(&bytes), "{bytes} for {keys}");
    }
    assert_eq!((keyed.len(), keyed.evicted()), (200_000, 0));
}
