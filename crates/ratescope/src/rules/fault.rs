//! Why a store could not be asked.

use crate::text::{BadNumber, shown};
use core::error::Error;
use core::fmt;
use std::sync::Arc;

/// The most characters of a store's or a cause's words that are repeated.
const WORDS: usize = 200;

/// The reason that a store could not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No answer came in time. The store may have counted the event.
    Late,
    /// The connection broke before the answer. The store may have counted the event.
    Lost,
    /// The store can't be reached, and has counted nothing. The cause is also this error's source.
    Unreachable(Cause),
    /// The store was not asked: its circuit is open after failures.
    Resting,
    /// The store was not asked: too many calls wait for its answers.
    Overloaded,
    /// The store refused with this message, and has counted nothing; or its answer can't be read, and it may have
    /// counted the event.
    Failed(String),
    /// The cost of a charge is negative or NaN, with this message. Nothing was counted.
    Cost(String),
}

impl From<BadNumber> for Fault {
    fn from(error: BadNumber) -> Self {
        Fault::Cost(error.to_string())
    }
}

/// Why a store can't be reached or opened, such as a host that does not resolve. Two causes are equal if they
/// read the same.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// A cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Cause(cause.into().into())
    }

    /// The error itself.
    pub fn get(&self) -> &(dyn Error + 'static) {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Cause {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Fault {
    /// The fault of a store that refused with this message, or whose answer can't be read. The message is cut, and its
    /// control characters are made visible.
    pub fn failed(words: impl fmt::Display) -> Self {
        Fault::Failed(shown(&words.to_string(), WORDS))
    }

    /// The fault of a store that can't be reached.
    pub fn unreachable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Fault::Unreachable(Cause::new(cause))
    }

    /// Why the store can't be reached, for a log or a person: on one line, and of at most 200 characters and `…`.
    ///
    /// ```
    /// use ratescope::rules::Fault;
    ///
    /// let fault = Fault::unreachable("no such\nhost");
    /// assert_eq!(fault.cause().as_deref(), Some("no such·host"));
    /// assert_eq!(Fault::unreachable("x".repeat(300)).cause(), Some("x".repeat(200) + "…"));
    /// assert_eq!(Fault::Late.cause(), None);
    /// ```
    pub fn cause(&self) -> Option<String> {
        self.source().map(|cause| shown(&cause.to_string(), WORDS))
    }

    /// A word for a counter: `late`, `lost`, `unreachable`, `resting`, `overloaded`, `failed` or `cost`.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Late => "late",
            Fault::Lost => "lost",
            Fault::Unreachable(_) => "unreachable",
            Fault::Resting => "resting",
            Fault::Overloaded => "overloaded",
            Fault::Failed(_) => "failed",
            Fault::Cost(_) => "cost",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Late => "the store did not answer in time",
            Fault::Lost => "the connection to the store broke",
            Fault::Unreachable(_) => "the store can't be reached",
            Fault::Resting => "the store is not asked for a while, since it failed",
            Fault::Overloaded => "too many calls wait for the store",
            Fault::Failed(words) => return write!(f, "the store says: {words}"),
            Fault::Cost(words) => return write!(f, "a charge was not counted: {words}"),
        })
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Fault::Unreachable(cause) => Some(cause.get()),
            _ => None,
        }
    }
}
