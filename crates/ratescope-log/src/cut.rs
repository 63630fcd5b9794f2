//! Splitting a text at an ASCII character, with a search that tests many bytes at once.

use memchr::memchr;

/// The text before the first `at`, an ASCII character, and the text after it; `None` if there is no `at`.
#[inline]
pub(super) fn once(text: &str, at: u8) -> Option<(&str, &str)> {
    let end = memchr(at, text.as_bytes())?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Splits at the first `at` with a space after it; returns the text before and the text after both.
#[inline]
pub(super) fn before_space(text: &str, at: u8) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let end = memchr::memchr_iter(at, bytes).find(|end| bytes.get(end + 1) == Some(&b' '))?;
    Some((text.get(..end)?, text.get(end + 2..)?))
}
