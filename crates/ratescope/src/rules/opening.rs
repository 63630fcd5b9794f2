//! The error of opening rules or a store.

use super::{Cause, RulesError};
use crate::text::write_joined;
use core::error::Error;
use core::fmt;

/// Why rules or their store can't be opened. A `main` that returns it prints its `Display`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A file can't be read.
    Unreadable {
        /// The name of the file.
        file: String,
        /// The reason.
        cause: Cause,
    },
    /// The rules are wrong, or the store can't compute them.
    Rules(RulesError),
    /// The address of a store can't be read.
    Address {
        /// The right form.
        want: &'static str,
        /// The reason.
        cause: Cause,
    },
    /// An option of a store makes no sense.
    Option {
        /// The mistake, and its reason.
        problem: &'static str,
    },
    /// There is no Tokio runtime for the connections of a store.
    Runtime,
    /// Several files have these problems.
    Several(Vec<OpenError>),
}

impl OpenError {
    /// The error of a file that could not be read.
    pub fn unreadable(
        file: &std::path::Path,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        OpenError::Unreadable { file: file.display().to_string(), cause: Cause::new(cause) }
    }
}

impl From<RulesError> for OpenError {
    fn from(error: RulesError) -> Self {
        OpenError::Rules(error)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unreadable { file, cause } => write!(f, "{file}: {cause}"),
            OpenError::Rules(error) => error.fmt(f),
            OpenError::Address { want, cause } => write!(f, "{want}: {cause}"),
            OpenError::Option { problem } => f.write_str(problem),
            OpenError::Runtime => f.write_str(
                "not within a Tokio runtime, which connects to Redis; open the store in an async fn, as below \
                 #[tokio::main], or after Runtime::enter",
            ),
            OpenError::Several(errors) => write_joined(f, errors, "\n"),
        }
    }
}

impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OpenError::Unreadable { cause, .. } | OpenError::Address { cause, .. } => {
                Some(cause.get())
            }
            OpenError::Rules(error) => Some(error),
            OpenError::Option { .. } | OpenError::Runtime | OpenError::Several(_) => None,
        }
    }
}
