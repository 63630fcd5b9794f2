//! What every text form shares: an error that points at the word, and the reading of numbers.
//!
//! Rates, spans and limiters each have one text form, read by `FromStr` and written by `Display`.
//! The same language is used in the page, in links, on the command line and in rule files.

use core::fmt;
use core::ops::Range;

/// Why a text could not be read: the whole text, which part of it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    at: Range<usize>,
    problem: String,
}

impl ParseError {
    /// An error about `part`, the bytes `at` of `input`; `problem` says what would be right.
    pub fn new(input: &str, at: Range<usize>, problem: impl Into<String>) -> Self {
        let at = at.start.min(input.len())..at.end.min(input.len());
        ParseError { input: input.to_owned(), at, problem: problem.into() }
    }

    /// An error about the whole of `input`.
    pub fn whole(input: &str, problem: impl Into<String>) -> Self {
        Self::new(input, 0..input.len(), problem)
    }

    /// The same error, read as part of `outer`, in which its input began at byte `offset`.
    pub fn inside(self, outer: &str, offset: usize) -> Self {
        let at = self.at.start + offset..self.at.end + offset;
        Self::new(outer, at, self.problem)
    }

    /// The bytes of the input that are wrong, for a caller that marks them.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// What is wrong and what would be right, without repeating the input.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.input.get(self.at.clone()) {
            Some(part) if part != self.input && !part.is_empty() => {
                write!(f, "{part:?} in {:?}: {}", self.input, self.problem)
            }
            _ => write!(f, "{:?}: {}", self.input, self.problem),
        }
    }
}

impl core::error::Error for ParseError {}

/// A number that a quantity cannot have, refused where it enters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadNumber {
    /// What the number was for, as in "a span in seconds".
    pub what: &'static str,
    /// The number that was given.
    pub given: f64,
    /// What would be right, as in "finite and not negative".
    pub want: &'static str,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be {}: it must be {}", self.what, self.given, self.want)
    }
}

impl core::error::Error for BadNumber {}

/// Splits `text` after its leading plain decimal number (digits and at most one point).
///
/// Signs, exponents, `inf` and `nan` are not numbers here: nobody types them in a limit, and
/// each of them is a way in for a bad value.
pub(crate) fn leading_number(text: &str) -> (&str, &str) {
    let mut point = false;
    let end = text
        .find(|c: char| match c {
            '0'..='9' => false,
            '.' => core::mem::replace(&mut point, true),
            _ => true,
        })
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The value of a plain decimal number; `None` unless it is finite and has a digit.
pub(crate) fn number(digits: &str) -> Option<f64> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    digits.parse().ok().filter(|value: &f64| plain && value.is_finite())
}
