//! The hash of keys: SipHash-1-3, with a secret of the process.
//!
//! Source: Jean-Philippe Aumasson and Daniel J. Bernstein, "SipHash: a fast short-input PRF". It is
//! what std hashes with, and gives the same hashes, which a test holds. Std keeps the four words of
//! its state in memory and takes any number of bytes by way of a call; here they stay in registers,
//! and a number goes in as a number. Where the hash is all that is done before memory is waited
//! for, that is a tenth of a decision.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A secret of 128 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secret([u64; 2]);

impl Secret {
    /// A new one, from where std gets its own. Loom runs the same program again and again, and
    /// needs the same hashes.
    pub(super) fn new() -> Self {
        if cfg!(all(test, loom)) {
            return Secret([1, 2]);
        }
        let random = RandomState::new();
        Secret([0, 1].map(|half: u64| random.hash_one(half)))
    }
}

impl BuildHasher for Secret {
    type Hasher = Sip;

    #[inline(always)]
    fn build_hasher(&self) -> Sip {
        let [a, b] = self.0;
        // "somepseudorandomlygeneratedbytes", as the paper has it.
        let v = [
            a ^ 0x736f_6d65_7073_6575,
            b ^ 0x646f_7261_6e64_6f6d,
            a ^ 0x6c79_6765_6e65_7261,
            b ^ 0x7465_6462_7974_6573,
        ];
        Sip { v, tail: 0, length: 0 }
    }
}

/// A hash that is being made.
pub(super) struct Sip {
    v: [u64; 4],
    /// The bytes that do not fill a word yet, the first lowest.
    tail: u64,
    /// How many bytes were hashed.
    length: u64,
}

impl Sip {
    #[inline(always)]
    fn round(&mut self) {
        let [a, b, c, d] = &mut self.v;
        *a = a.wrapping_add(*b);
        *c = c.wrapping_add(*d);
        *b = b.rotate_left(13) ^ *a;
        *d = d.rotate_left(16) ^ *c;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*b);
        *a = a.wrapping_add(*d);
        *b = b.rotate_left(17) ^ *c;
        *d = d.rotate_left(21) ^ *a;
        *c = c.rotate_left(32);
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
    }

    /// Hashes the lowest `count` bytes of a number, from 1 to 8, whose others are 0.
    #[inline(always)]
    fn bytes(&mut self, bytes: u64, count: u32) {
        let there = (self.length % 8) as u32;
        self.length = self.length.wrapping_add(count.into());
        self.tail |= bytes << (8 * there);
        if there + count >= 8 {
            self.word(self.tail);
            self.tail = if there == 0 { 0 } else { bytes >> (64 - 8 * there) };
        }
    }
}

impl Hasher for Sip {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            self.bytes(u64::from_le_bytes(word), part.len() as u32);
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, n: u8) {
        self.bytes(n.into(), 1);
    }

    #[inline(always)]
    fn write_u32(&mut self, n: u32) {
        self.bytes(n.into(), 4);
    }

    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.bytes(n, 8);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        let mut end = Sip { v: self.v, tail: 0, length: 0 };
        end.word(self.length << 56 | self.tail);
        end.v[2] ^= 0xff;
        (0..3).for_each(|_| end.round());
        let [a, b, c, d] = end.v;
        a ^ b ^ c ^ d
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    /// What is put in here and into the hasher of std, which has no secret when it is new.
    fn both(put: impl Fn(&mut dyn Hasher)) -> [u64; 2] {
        let (mut ours, mut std) = (Secret([0, 0]).build_hasher(), DefaultHasher::new());
        put(&mut ours);
        put(&mut std);
        [ours.finish(), std.finish()]
    }

    #[test]
    fn the_hashes_are_those_of_std() {
        let text: Vec<u8> = (0..40).collect();
        for (a, b) in (0..20).flat_map(|a| (0..20).map(move |b| (a, b))) {
            let [ours, std] = both(|hasher| {
                hasher.write(&text[..a]);
                hasher.write_u8(a as u8);
                hasher.write(&text[..b]);
                hasher.write(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
                hasher.write(&[]);
                hasher.write(&77_u32.to_le_bytes());
            });
            assert_eq!(ours, std, "{a} and {b} bytes");
        }
    }

    /// A number is its bytes, the lowest first, on every machine.
    #[test]
    fn numbers_are_their_bytes() {
        let hash = |put: &dyn Fn(&mut Sip)| {
            let mut hasher = Secret([3, 4]).build_hasher();
            hasher.write(b"xyz");
            put(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&|h| h.write_u64(1)), hash(&|h| h.write(&[1, 0, 0, 0, 0, 0, 0, 0])));
        assert_eq!(hash(&|h| h.write_u32(1)), hash(&|h| h.write(&[1, 0, 0, 0])));
        assert_eq!(hash(&|h| h.write_u8(1)), hash(&|h| h.write(&[1])));
    }

    #[test]
    fn secrets_differ() {
        let [a, b] = [Secret::new(), Secret::new()].map(|secret| secret.hash_one("ann"));
        assert_ne!(a, b);
    }
}
