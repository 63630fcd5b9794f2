//! Searches in texts for ASCII characters: in short texts eight bytes at a time.
//!
//! A byte-wise loop ends at varying places, and each mispredicted branch costs as much as twenty steps. `memchr` is for
//! longer texts, and slower for these.
//!
//! Source: Sean Eron Anderson, "Bit Twiddling Hacks", "Determine if a word has a zero byte".

use memchr::{memchr, memchr_iter};

/// The text before the first `at`, an ASCII character, and the text after it; `None` if there is no `at`.
#[inline]
pub(super) fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let end = memchr(at, text.as_bytes())?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Splits at the first `at` with a space after it; returns the text before and the text after both.
#[inline]
pub(super) fn split_before_space(text: &str, at: u8) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let end = memchr_iter(at, bytes).find(|end| bytes.get(end + 1) == Some(&b' '))?;
    Some((text.get(..end)?, text.get(end + 2..)?))
}

/// The byte repeated eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the highest bit of the first byte of `word` that is not a digit, and perhaps of bytes after it.
#[inline]
fn others(word: u64) -> u64 {
    // A digit becomes 0 to 9, and stays below 128 when 118 is added. Only a byte that is not a digit carries to the
    // next.
    let word = word ^ each(b'0');
    (word.wrapping_add(each(0x76)) | word) & each(0x80)
}

/// Sets the highest bit of the first byte of `word` that is `byte`, and perhaps of bytes after it.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    let word = word ^ each(byte);
    word.wrapping_sub(each(1)) & !word & each(0x80)
}

/// The number of digits that `text` begins with.
#[inline]
pub(super) fn digits(text: &[u8]) -> usize {
    match text.first_chunk().map(|eight| others(u64::from_le_bytes(*eight))) {
        Some(marks @ 1..) => marks.trailing_zeros() as usize / 8,
        _ => text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()),
    }
}

/// The index of the first `byte` in `text`, probably one of the first eight.
#[inline]
pub(super) fn find(byte: u8, text: &[u8]) -> Option<usize> {
    match text.first_chunk().map(|eight| equal(u64::from_le_bytes(*eight), byte)) {
        Some(marks @ 1..) => Some(marks.trailing_zeros() as usize / 8),
        _ => text.iter().position(|one| *one == byte),
    }
}

/// The index of the first of two bytes in `text`, often near but perhaps far.
#[inline]
pub(super) fn find_either([one, other]: [u8; 2], text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let marks = equal(word, one) | equal(word, other);
        if marks != 0 {
            return Some(i * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| [one, other].contains(byte))?;
    Some(words.len() * 8 + at)
}

#[inline]
pub(super) fn has(byte: u8, text: &[u8]) -> bool {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) if text.len() <= 16 => {
            [first, last].into_iter().any(|eight| equal(u64::from_le_bytes(*eight), byte) != 0)
        }
        _ => text.contains(&byte),
    }
}

/// Tells whether a text looks like an IPv4 address: up to 15 digits and dots, three of them dots, and a digit first.
#[inline]
pub(super) fn is_dotted(text: &[u8]) -> bool {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) else {
        return is_short_dotted(text);
    };
    if text.len() > 15 {
        return false;
    }
    let first = u64::from_le_bytes(*first);
    let last = u64::from_le_bytes(*last);
    let first_dots = dots(first);
    let last_dots = dots(last);
    // A byte that `others` marks wrongly comes after a byte that is not ASCII, which it marks rightly and which is not
    // a dot.
    let strange = others(first) & !first_dots | others(last) & !last_dots;
    // The last eight bytes overlap the first eight, and the overlap counts once. The product adds up all bytes.
    let new = last_dots.checked_shr(8 * (16 - text.len() as u32)).unwrap_or(0);
    let count = ((first_dots >> 7) + (new >> 7)).wrapping_mul(each(1)) >> 56;
    strange == 0 && count == 3
}

fn is_short_dotted(text: &[u8]) -> bool {
    let dots = text.iter().filter(|byte| **byte == b'.').count();
    dots == 3 && text.len() == 7 && text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// Sets exactly the highest bit of each dot of `word`.
#[inline]
fn dots(word: u64) -> u64 {
    let other = word ^ each(b'.');
    !(((other & each(0x7f)) + each(0x7f)) | other) & each(0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a search byte by byte finds them, for every byte in every place.
    #[test]
    fn bytes_are_found_in_each_place() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'5'; length];
                    text[place] = byte;
                    let digit = byte.is_ascii_digit();
                    assert_eq!(digits(&text), if digit { length } else { place }, "{text:?}");
                    assert_eq!(find(byte, &text), Some(if byte == b'5' { 0 } else { place }));
                    let either = find_either([byte, b'x'], &text);
                    assert_eq!(either, find(byte, &text), "{text:?}");
                    assert!(
                        has(byte, &text)
                            && has(b'5', &text) == (length > 1 || digit && byte == b'5')
                    );
                    let near = [byte.wrapping_sub(1), byte ^ 1, byte ^ 0x80];
                    for other in near.into_iter().filter(|other| *other != b'5') {
                        assert_eq!((find(other, &text), has(other, &text)), (None, false));
                    }
                    // With dots in other places, too.
                    for dotted in [[0, 1], [2, 5], [length / 2, length / 3]] {
                        let mut text = text.clone();
                        dotted.iter().filter(|at| **at < length).for_each(|at| text[*at] = b'.');
                        let dots = text.iter().filter(|byte| **byte == b'.').count();
                        let all = text.iter().all(|b| b.is_ascii_digit() || *b == b'.');
                        let wanted = all && text[0] != b'.' && (7..16).contains(&length);
                        assert_eq!(is_dotted(&text), wanted && dots == 3, "{text:?}");
                    }
                }
            }
        }
    }
}
