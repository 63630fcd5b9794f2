//! Why a log cannot be read.

use super::counts::Unread;
use super::unknown::Unknown;
use core::fmt;
use ratescope::text::ParseError;
use std::io;

/// Why a log cannot be read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The format is unknown.
    Unknown(Unknown),
    /// The options do not fit the log.
    Options(ParseError),
    /// A line cannot be read, and the log is read strictly.
    Unread(Unread),
    /// The input failed.
    Input {
        /// The number of lines before the failure, in the last named file.
        line: u64,
        /// The error of the input.
        error: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown(unknown) => unknown.fmt(f),
            Error::Options(error) => error.fmt(f),
            Error::Unread(unread) => unread.fmt(f),
            Error::Input { line: 0, error } => write!(f, "the input can't be read: {error}"),
            Error::Input { line, error } => write!(f, "after line {line}: {error}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(match self {
            Error::Unknown(unknown) => unknown,
            Error::Options(error) => error,
            Error::Unread(unread) => unread,
            Error::Input { error, .. } => error,
        })
    }
}

impl From<Unknown> for Error {
    fn from(unknown: Unknown) -> Self {
        Error::Unknown(unknown)
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Error::Options(error)
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        Error::Unread(unread)
    }
}
