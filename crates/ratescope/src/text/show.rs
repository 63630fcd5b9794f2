//! How texts are shown to people: shortened, made harmless, joined.

use alloc::string::{String, ToString};
use core::fmt;

/// The most characters of a problem and its remedy together, so that they fit on a line.
pub(crate) const SHORT: usize = 100;

/// The most characters of the input that an error repeats: slightly more than a text form written by hand.
pub(crate) const ECHO: usize = 60;

/// Returns `c`, a character of foreign text, or a middle dot (U+00B7)
/// if it would control a terminal, end a line, or change the direction in which its neighbours are read.
pub fn visible(c: char) -> char {
    let is_hidden = match c {
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    };
    if is_hidden { '\u{b7}' } else { c }
}

/// The plural ending of a noun after this number, `s`, or nothing
/// after 1.
pub fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// A count with a comma between thousands, as in `9,812`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The beginning of a text: as many whole characters as fit into `bytes` bytes.
#[inline]
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// The first `most` characters of a text, each made [`visible`], and then `…` if there are more.
pub fn shown(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(visible).collect();
    shown.push_str(if text.chars().nth(most).is_some() { "…" } else { "" });
    shown
}

/// Writes items with `between` between them.
pub(crate) fn write_joined(
    out: &mut impl fmt::Write,
    items: impl IntoIterator<Item = impl fmt::Display>,
    between: &str,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        write!(out, "{}{item}", if i == 0 { "" } else { between })?;
    }
    Ok(())
}

/// The parts of `text` between separators, each with the byte offset at which it begins.
pub fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    text.split(separator).scan(0, move |next, part| {
        let at = *next;
        *next += part.len() + separator.len_utf8();
        Some((at, part))
    })
}
