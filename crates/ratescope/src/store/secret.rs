//! The hash of keys: SipHash-1-3, with a secret of the process.
//!
//! Source: Jean-Philippe Aumasson and Daniel J. Bernstein, "SipHash: a fast short-input PRF".

use core::fmt;
use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A secret of 128 bits with which keys are hashed by SipHash-1-3.
///
/// std's [`RandomState`] is the same hash today, but std does not promise that it stays the same.
#[derive(Clone, Copy)]
pub struct Secret([u64; 2]);

impl Secret {
    /// A new secret, from the source that std uses. Loom runs the same program again and again and
    /// needs the same hashes, so there it is constant.
    pub fn new() -> Self {
        if cfg!(all(test, loom)) {
            return Secret([1, 2]);
        }
        let random = RandomState::new();
        Secret([0, 1].map(|half: u64| random.hash_one(half)))
    }

    pub(super) fn words(self) -> [u64; 2] {
        self.0
    }

    pub(super) fn from_words(words: [u64; 2]) -> Self {
        Secret(words)
    }
}

impl Default for Secret {
    fn default() -> Self {
        Self::new()
    }
}

/// Does not print the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

impl BuildHasher for Secret {
    type Hasher = SecretHasher;

    #[inline(always)]
    fn build_hasher(&self) -> SecretHasher {
        let [a, b] = self.0;
        SecretHasher(SipHasher13::new_with_keys(a, b))
    }
}

/// The hash of a key, while it is computed with a [`Secret`]. It passes on the methods that SipHash has its
/// own code for.
#[derive(Clone)]
pub struct SecretHasher(SipHasher13);

impl Hasher for SecretHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline(always)]
    fn write_u8(&mut self, n: u8) {
        self.0.write_u8(n);
    }

    #[inline(always)]
    fn write_u16(&mut self, n: u16) {
        self.0.write_u16(n);
    }

    #[inline(always)]
    fn write_u32(&mut self, n: u32) {
        self.0.write_u32(n);
    }

    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.0.write_u64(n);
    }

    #[inline(always)]
    fn write_usize(&mut self, n: usize) {
        self.0.write_usize(n);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}
