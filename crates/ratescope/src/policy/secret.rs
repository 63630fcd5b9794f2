//! The hash of a secret field in the text of a key.
//!
//! It is HMAC-SHA-1 (RFC 2104), of which a key shows the first 128 bits. Collisions of SHA-1 do not matter here (RFC
//! 6194): to share the limit of another sender needs a second preimage.

use alloc::sync::Arc;
use core::fmt::{self, Write};
use sha1_smol::Sha1;

/// The block size of SHA-1 in bytes; HMAC hashes a longer secret first.
const BLOCK: usize = 64;

/// The secret with which the values of secret fields are hashed in the texts of [keys](super::Per::key). Processes that
/// share a Redis need the same secret, since keys on Redis are such texts.
///
/// The default is empty, and so the same for everybody: it protects long random values, but not values that can be
/// guessed, such as short passwords, by trying each. With the secret, anybody can compute the hash of a value:
///
/// ```text
/// printf %s VALUE | openssl dgst -sha1 -hmac SECRET | tail -c 41 | head -c 32
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct KeySecret(Option<Arc<[u8; BLOCK]>>);

impl KeySecret {
    /// The default.
    pub const EMPTY: KeySecret = KeySecret(None);

    /// A secret of any length. Use at least 16 random bytes.
    pub fn new(secret: &[u8]) -> Self {
        if secret.is_empty() {
            return KeySecret::EMPTY;
        }
        let digest = Sha1::from(secret).digest().bytes();
        let secret = if secret.len() > BLOCK { digest.as_slice() } else { secret };
        let mut block = [0; BLOCK];
        block.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
        KeySecret(Some(Arc::new(block)))
    }

    /// A random secret, for a process that shares its keys with no other. Not on wasm32, where std has no randomness.
    #[cfg(all(feature = "std", not(target_arch = "wasm32")))]
    pub fn random() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let random = RandomState::new();
        KeySecret::new([0, 1].map(|half: u64| random.hash_one(half).to_le_bytes()).as_flattened())
    }

    /// The hash of a value, as keys have it.
    pub fn hashed(&self, value: &str) -> alloc::string::String {
        let mut hash = alloc::string::String::new();
        // Writing to a String does not fail.
        let _ = self.write_hash(value.as_bytes(), &mut hash);
        hash
    }

    /// Writes the hash of a value, as in `#7f83b1657ff1fc53b92dc18148a1d65d`.
    pub(super) fn write_hash(&self, value: &[u8], out: &mut impl Write) -> fmt::Result {
        let block = self.0.as_deref().unwrap_or(&[0; BLOCK]);
        let padded = |with: u8| {
            let mut hash = Sha1::new();
            hash.update(&block.map(|byte| byte ^ with));
            hash
        };
        let (mut inner, mut outer) = (padded(0x36), padded(0x5c));
        inner.update(value);
        outer.update(&inner.digest().bytes());
        let bytes = outer.digest().bytes();
        out.write_char('#')?;
        bytes.iter().take(16).try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// Does not print the secret.
impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySecret").finish_non_exhaustive()
    }
}

/// Headers that carry credentials.
const CREDENTIALS: [&str; 16] = [
    "api-key",
    "apikey",
    "authentication",
    "authorization",
    "cookie",
    "private-token",
    "proxy-authorization",
    "set-cookie",
    "x-access-token",
    "x-amz-security-token",
    "x-api-key",
    "x-apikey",
    "x-auth-token",
    "x-authorization",
    "x-goog-api-key",
    "x-vault-token",
];

/// True for the name of a header that carries credentials: a field of this name is secret without a mark.
/// `X_API_KEY` is such a name, too.
pub fn is_credential(name: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    CREDENTIALS.iter().any(|known| known.bytes().eq(name.bytes().map(plain)))
}
