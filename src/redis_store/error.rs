//! The errors of opening a store.

use crate::rules::{Cause, RulesError};
use core::error::Error;
use core::fmt;

/// The reason that a store could not be opened. A `main` that returns it prints it as it is displayed.
#[non_exhaustive]
pub enum OpenError {
    /// The address can't be read, for this reason.
    Address(Cause),
    /// The rules can't be computed on Redis.
    Rules(RulesError),
    /// There is no Tokio runtime for the connections.
    Runtime,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Address(problem) => {
                write!(
                    f,
                    "not the address of a Redis, as in redis://127.0.0.1:6379, of a cluster, as in \
                     redis-cluster://127.0.0.1:7000,127.0.0.1:7001, or of a master behind sentinels, as in \
                     redis-sentinel://127.0.0.1:26379/mymaster: {problem}"
                )
            }
            OpenError::Rules(error) => error.fmt(f),
            OpenError::Runtime => f.write_str(
                "not within a Tokio runtime, which connects to Redis; call it in an async fn, as below \
                 #[tokio::main], or after Runtime::enter",
            ),
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
            OpenError::Address(cause) => Some(cause.get()),
            OpenError::Rules(error) => Some(error),
            OpenError::Runtime => None,
        }
    }
}
