//! The sets in which a key may lie, chosen by its hash, and the tags that find it there.
//!
//! # Which bits of the hash choose what
//! A key is hashed to 64 bits on every target. Nothing is computed in `usize`, which has only 32
//! bits on some targets.
//!
//! ```text
//! bits   63 ........ 37 | 36 .. 32 | 31 ......... 8 | 7 ... 0
//!        the first set  |  shard   | the second set |   tag
//! ```
//!
//! A set is chosen by *multiply and shift*: of n sets, a number x of 32 bits chooses the set
//! ⌊x n / 2³²⌋. The number of sets need not be a power of two, so a table can grow by a quarter. The
//! upper bits of x decide. The upper half of the hash chooses the first set, the lower half the
//! second. The last bits of each half change the choice by at most one, so they are free for the
//! shard and the tag.
//!
//! Within a shard, five bits of the first choice are the same for all keys. With the remaining 2²⁷ values, some of n
//! sets are chosen more often than others, by one part in 2²⁷/n: by 1 % with 1.3 million sets, which is a store of 300
//! million keys. Larger tables work, too, less evenly.
//!
//! The hash has a secret, so it looks random to those who choose keys: nobody can aim at a set, a
//! shard or a tag.

/// How many entries a set has.
pub(super) const WAYS: usize = 8;

/// The most shards of a store. Each costs a cache line that is used constantly. With 32, two threads that do nothing
/// else contend once in 32 times.
pub(super) const SHARDS: usize = 32;

/// The shard of a key; `count`, the number of shards, is a power of two up to [`SHARDS`].
#[inline(always)]
pub(super) fn shard(hash: u64, count: usize) -> usize {
    (hash >> 32) as u32 as usize & (count - 1)
}

/// The two of `count` sets in which a key may lie, the preferred one first.
pub(super) fn sets(hash: u64, count: usize) -> [usize; 2] {
    [first_set(hash, count), second_set(hash, count)]
}

/// The one of `count` sets that a key prefers.
#[inline(always)]
pub(super) fn first_set(hash: u64, count: usize) -> usize {
    choose(hash >> 32, count)
}

/// The second of `count` sets in which a key may lie; the first if there is only one set.
pub(super) fn second_set(hash: u64, count: usize) -> usize {
    let (first, second) = (first_set(hash, count), choose(hash & 0xffff_ffff, count));
    match second {
        _ if second != first => second,
        _ if first + 1 < count => first + 1,
        _ => 0,
    }
}

/// Multiplies and shifts a number of 32 bits.
#[inline(always)]
fn choose(x: u64, count: usize) -> usize {
    ((x * count as u64) >> 32) as usize
}

/// The tag of a key: a byte of its hash, but never 0.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

/// The tags of a set, one byte each, the first in the lowest byte; 0 for a free slot. Entries fill
/// a set from the first slot on, without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags(u64);

/// A one in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// All bits of each byte except the highest.
const LOW: u64 = 0x7f * ONES;

impl Tags {
    /// How many entries there are: up to the highest byte that is not 0.
    pub(super) fn len(self) -> usize {
        WAYS - self.0.leading_zeros() as usize / 8
    }

    pub(super) fn is_full(self) -> bool {
        self.0 >> 56 != 0
    }

    /// The tag at a slot.
    pub(super) fn at(self, way: usize) -> u8 {
        (self.0 >> (8 * way)) as u8
    }

    /// These tags, with `tag` at a slot.
    pub(super) fn with(self, way: usize, tag: u8) -> Self {
        let shift = 8 * way;
        Tags(self.0 & !(0xff << shift) | u64::from(tag) << shift)
    }

    /// The slots with this tag, which must not be 0.
    ///
    /// All eight tags are compared in one integer. Let b be a byte of x; it is 0 where the tags are
    /// equal. `(b & 0x7f) + 0x7f` has its highest bit set unless the lower seven bits of b are 0.
    /// It is at most 0xfe, so nothing is carried into the next byte. Or'ed with b itself, its highest
    /// bit is clear only if b is 0. (A shorter form of the trick, with a subtraction, borrows from
    /// the next byte and can then also report the tag beside.)
    ///
    /// So the result is exact. A slot with this tag may hold another key, one time in 255;
    /// therefore the caller compares the whole hash. A free slot has tag 0 and is not found.
    #[inline(always)]
    pub(super) fn find(self, tag: u8) -> Ways {
        let x = self.0 ^ (ONES * u64::from(tag));
        Ways(!(((x & LOW) + LOW) | x | LOW))
    }
}

/// Places in a set, each marked by the highest bit of its byte.
pub(super) struct Ways(u64);

impl Iterator for Ways {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let way = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(bytes: [u8; 8]) -> Tags {
        let slot = |tags: Tags, (way, &tag): (usize, &u8)| tags.with(way, tag);
        bytes.iter().enumerate().fold(Tags::default(), slot)
    }

    /// Every tag beside every other, where carries and borrows would show.
    #[test]
    fn the_trick_finds_exactly_the_equal_bytes() {
        for sought in 1..=255 {
            for beside in 0..=255 {
                let other = beside ^ 0x80;
                let bytes = [beside, sought, beside, other, sought, sought, other, beside];
                let plain: Vec<usize> = (0..8).filter(|&way| bytes[way] == sought).collect();
                assert_eq!(tags(bytes).find(sought).collect::<Vec<_>>(), plain);
            }
        }
    }

    #[test]
    fn entries_fill_a_set_from_the_first_place() {
        let mut set = Tags::default();
        for way in 0..WAYS {
            assert_eq!((set.len(), set.is_full()), (way, false));
            set = set.with(way, 1);
            assert_eq!(set.at(way), 1);
        }
        assert_eq!((set.len(), set.is_full()), (8, true));
    }

    #[test]
    fn sets_are_in_range_and_differ() {
        for count in [1, 2, 3, 5, 1 << 20, (1 << 24) + 1] {
            for hash in [0, 1, u64::MAX, u64::MAX << 32, u64::MAX >> 32, 0x1234_5678_9abc_def0] {
                let [first, second] = sets(hash, count);
                assert!(first < count && second < count);
                assert_eq!(first == second, count == 1);
            }
        }
    }

    /// Keys of one shard and one tag are spread over all sets, by either choice.
    #[test]
    fn shard_and_tag_leave_the_sets_alone() {
        let (mut first, mut second) = ([0; 100], [0; 100]);
        for i in 0..100_000u64 {
            // Multiples of the golden ratio are spread evenly.
            let hash = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let hash = hash & !(0xff << 32) & !0xff | 7 << 32 | 9;
            assert_eq!((shard(hash, SHARDS), tag(hash)), (7, 9));
            let [a, b] = sets(hash, 100);
            first[a] += 1;
            second[b] += 1;
        }
        let even = |counts: [i32; 100]| counts.iter().all(|count| (900..1100).contains(count));
        assert!(even(first) && even(second));
    }
}
