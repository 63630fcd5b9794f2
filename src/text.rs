//! The parts that all text forms share: an error that points at the wrong word, and the reading of
//! numbers.
//!
//! [Rates](crate::rate), [spans](crate::time), [limiters](crate::limit::FORMS), patterns of traffic and links
//! of the page each have one text form, read by `FromStr` and written by `Display`. The form is the same in
//! the page, in links and on the command line.

#[cfg(any(feature = "lab", feature = "log"))]
mod names;
mod number;
mod words;

#[cfg(any(feature = "lab", feature = "log"))]
pub(crate) use names::{by_name, name_of, named};
#[cfg(feature = "lab")]
pub(crate) use number::float;
pub(crate) use number::{Decimal, count, digits, leading_number, number, split, thousands};
pub(crate) use words::{Word, Words};

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::convert::Infallible;
use core::fmt;
use core::ops::Range;

/// Why a text could not be read: the whole text, the part that is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    at: Range<usize>,
    problem: String,
}

impl ParseError {
    /// An error about the bytes `at` of `input`; `problem` says what is wrong and what would be right.
    pub fn new(input: &str, at: Range<usize>, problem: impl Into<String>) -> Self {
        let at = at.start.min(input.len())..at.end.min(input.len());
        ParseError { input: input.to_owned(), at, problem: problem.into() }
    }

    /// An error about the whole of `input`.
    pub fn whole(input: &str, problem: impl Into<String>) -> Self {
        Self::new(input, 0..input.len(), problem)
    }

    /// The same error, reported about `outer`, a longer text that contains the input from the byte `offset`
    /// on.
    pub fn inside(self, outer: &str, offset: usize) -> Self {
        let at = self.at.start + offset..self.at.end + offset;
        Self::new(outer, at, self.problem)
    }

    /// The bytes of the input that are wrong, so that a caller can mark them.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// The problem and its remedy, without the input.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// Repeats at most the first 60 characters of the input, which are enough to recognize it.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, problem) = (shown(&self.input, ECHO), &self.problem);
        match self.input.get(self.at.clone()) {
            Some(part) if part != self.input && !part.is_empty() => {
                write!(f, "\"{}\" in \"{input}\": {problem}", shown(part, ECHO))
            }
            _ => write!(f, "\"{input}\": {problem}"),
        }
    }
}

/// The most characters of a problem and its remedy together: these fit on a line.
pub(crate) const SHORT: usize = 100;

/// The most characters of the input that an error repeats: slightly more than any text form written
/// by hand has.
pub(crate) const ECHO: usize = 60;

/// For the program, and outside of semver: returns `c`, a character of foreign text, or a middle dot (U+00B7)
/// if it would control a terminal, end a line, or change the direction in which its neighbours are read.
pub fn visible(c: char) -> char {
    let is_hidden = match c {
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    };
    if is_hidden { '\u{b7}' } else { c }
}

/// For the program, and outside of semver: the plural ending of a noun after this number, `s`, or nothing
/// after 1.
pub fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// For the program, and outside of semver: a count with a comma between thousands, as in `9,812`.
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
#[cfg(any(feature = "lab", feature = "tower"))]
#[inline]
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// The first `most` characters of a text, each made [`visible`], and then `…` if there are more.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(visible).collect();
    shown.push_str(if text.chars().nth(most).is_some() { "…" } else { "" });
    shown
}

impl core::error::Error for ParseError {}

/// A number that is out of range for its quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadNumber {
    pub(crate) what: &'static str,
    pub(crate) given: f64,
    pub(crate) want: &'static str,
}

impl BadNumber {
    /// The quantity that the number was for, as in "a span in seconds".
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The number that was given.
    pub fn given(&self) -> f64 {
        self.given
    }

    /// The condition that a right number meets, as in "finite and not negative".
    pub fn want(&self) -> &'static str {
        self.want
    }
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be {}: it must be {}", self.what, Decimal(self.given), self.want)
    }
}

impl core::error::Error for BadNumber {}

/// Reading some texts never fails: their error type has no values.
impl From<Infallible> for ParseError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The error as if the number had been read from a text.
impl From<BadNumber> for ParseError {
    fn from(bad: BadNumber) -> Self {
        ParseError::whole(&Decimal(bad.given).to_string(), bad.to_string())
    }
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
pub(crate) fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    text.split(separator).scan(0, move |next, part| {
        let at = *next;
        *next += part.len() + separator.len_utf8();
        Some((at, part))
    })
}
