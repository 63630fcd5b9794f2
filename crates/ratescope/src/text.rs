//! The parts that all text forms share: an error that points at the wrong word, and the reading of
//! numbers.
//!
//! [Rates](crate::rate), [spans](crate::time), [limiters](crate::limit::FORMS), patterns of traffic and links
//! of the page each have one text form, read by `FromStr` and written by `Display`. The form is the same in
//! the page, in links and on the command line.

pub(crate) mod names;
pub(crate) mod number;
pub(crate) mod show;
pub(crate) mod words;

pub(crate) use number::{count, digits, float, leading_number, number, split, thousands};
pub(crate) use show::{ECHO, SHORT, parts, shown, write_joined};
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

    /// Reports the error about `outer`, a longer text that contains the input from the byte `offset` on.
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
        let input = shown(&self.input, ECHO);
        let problem = &self.problem;
        match self.input.get(self.at.clone()) {
            Some(part) if part != self.input && !part.is_empty() => {
                write!(f, "\"{}\" in \"{input}\": {problem}", shown(part, ECHO))
            }
            _ => write!(f, "\"{input}\": {problem}"),
        }
    }
}

impl core::error::Error for ParseError {}

/// A number that is out of range for its quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadNumber {
    /// The quantity that the number was for, as in "a span in seconds".
    pub what: &'static str,
    /// The number that was given.
    pub given: f64,
    /// The condition that the number must meet, as in "finite and not negative".
    pub want: &'static str,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be {}: it must be {}", self.what, self.given, self.want)
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
        ParseError::whole(&bad.given.to_string(), bad.to_string())
    }
}
