//! The hash of keys: SipHash-1-3, with a secret of the process.
//!
//! Source: Jean-Philippe Aumasson and Daniel J. Bernstein, "SipHash: a fast short-input PRF".

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A secret of 128 bits with which keys are hashed by SipHash-1-3.
///
/// std's [`RandomState`] is the same hash today, but std does not promise that it stays the same.
///
/// # On wasm32
/// There std has no randomness: without help, secrets are the same in every instance, and a sender can choose two keys
/// with one hash. The host gives random words once, before stores are made:
///
/// ```
/// use ratescope::store::Secret;
///
/// // Of crypto.getRandomValues, or of wasi:random.
/// let words = [0x9e37_79b9_7f4a_7c15, 0xf39c_c060_5ced_c835];
/// Secret::seed(words);
/// ```
///
/// The npm package does so itself. [`from_words`](Self::from_words) makes one secret, for
/// [`Keyed::with_hasher`](super::Keyed::with_hasher).
#[derive(Clone, Copy)]
pub struct Secret([u64; 2]);

/// The words from the host, and the number of secrets made so far.
static SEED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

impl Secret {
    /// A new secret, from the source that std uses and the [words of the host](Self::seed). Loom runs a program again
    /// and again with the same hashes, so there the secret is constant.
    pub fn new() -> Self {
        if cfg!(all(test, loom)) {
            return Secret([1, 2]);
        }
        let [a, b, made] = &SEED;
        let seed = [a, b].map(|word| word.load(Ordering::Relaxed));
        Secret::made(&RandomState::new(), seed, made.fetch_add(1, Ordering::Relaxed))
    }

    fn made(random: &impl BuildHasher, seed: [u64; 2], number: u64) -> Self {
        Secret([0, 1].map(|half: u64| random.hash_one((seed, number, half))))
    }

    /// Sets the random words from which all later secrets are made.
    pub fn seed(words: [u64; 2]) {
        SEED.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }

    pub(super) fn words(self) -> [u64; 2] {
        self.0
    }

    /// A secret made from these words, which nobody else should know.
    pub const fn from_words(words: [u64; 2]) -> Self {
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

/// Computes the hash of a key with a [`Secret`]. Forwards the methods for which SipHash has code of its own.
#[derive(Clone)]
pub struct SecretHasher(SipHasher13);

/// Does not print the secret.
impl fmt::Debug for SecretHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretHasher").finish_non_exhaustive()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// As on wasm32, where the hash of std is the same in every instance.
    #[test]
    fn secrets_are_of_the_words_of_the_host() {
        let constant = Secret::from_words([1, 2]);
        let made = |seed, number| Secret::made(&constant, seed, number).words();
        let all = [made([3, 4], 0), made([3, 4], 1), made([3, 5], 0), made([4, 4], 0)];
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])));
        assert_eq!(all[0], made([3, 4], 0));
    }
}
