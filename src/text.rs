//! What every text form shares: an error that points at the word, and the reading of numbers.
//!
//! [Rates](crate::rate), [spans](crate::time), [limiters](crate::limit::FORMS),
//! [patterns](crate::traffic::Pattern) and [links](crate::lab::run::link) each have one text form,
//! read by `FromStr` and written by `Display`. It is the same in the page, in links and on the
//! command line.

mod number;
mod words;

pub(crate) use number::{leading_number, number, split};
pub(crate) use words::{Word, Words};

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
                write!(f, "\"{part}\" in \"{}\": {}", self.input, self.problem)
            }
            _ => write!(f, "\"{}\": {}", self.input, self.problem),
        }
    }
}

impl core::error::Error for ParseError {}

/// A number that a quantity cannot have, refused where it enters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadNumber {
    pub(crate) what: &'static str,
    pub(crate) given: f64,
    pub(crate) want: &'static str,
}

impl BadNumber {
    /// What the number was for, as in "a span in seconds".
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The number that was given.
    pub fn given(&self) -> f64 {
        self.given
    }

    /// What would be right, as in "finite and not negative".
    pub fn want(&self) -> &'static str {
        self.want
    }
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be {}: it must be {}", self.what, self.given, self.want)
    }
}

impl core::error::Error for BadNumber {}

/// Where a number was read from a text, or might have been.
impl From<BadNumber> for ParseError {
    fn from(bad: BadNumber) -> Self {
        ParseError::whole(&bad.given.to_string(), bad.to_string())
    }
}

/// The parts of `text` between separators, each with the byte at which it begins.
pub(crate) fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    text.split(separator).scan(0, move |next, part| {
        let at = *next;
        *next += part.len() + separator.len_utf8();
        Some((at, part))
    })
}
