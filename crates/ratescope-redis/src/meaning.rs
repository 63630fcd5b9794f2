//! What the error of a server means for a call.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Why a server refused a call before it ran anything.
pub(super) enum Meaning {
    /// The script is not known.
    Unknown,
    /// The server is busy: retry soon.
    NotNow,
    /// Retry soon on another server, or on another connection.
    Elsewhere,
    /// The slot belongs to the node at this address. With `asking`, the slot is still moving there, so ASKING must be
    /// sent first.
    Redirected { address: String, asking: bool },
    /// A retry is of no use.
    Never,
}

impl Meaning {
    pub(super) fn new(error: &RedisError) -> Self {
        let redirected = |asking| match error.redirect_node() {
            Some((address, _)) => Meaning::Redirected { address: address.to_owned(), asking },
            None => Meaning::NotNow,
        };
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Meaning::Unknown,
            ErrorKind::Server(ServerErrorKind::Moved) => redirected(false),
            ErrorKind::Server(ServerErrorKind::Ask) => redirected(true),
            ErrorKind::Server(
                ServerErrorKind::ReadOnly
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown,
            ) => Meaning::Elsewhere,
            ErrorKind::Server(ServerErrorKind::TryAgain | ServerErrorKind::BusyLoading) => {
                Meaning::NotNow
            }
            _ if error.code() == Some("BUSY") => Meaning::NotNow,
            _ => Meaning::Never,
        }
    }

    /// True if the server can't run calls for now, which is a failure if it lasts until the deadline.
    pub(super) fn is_put_off(&self) -> bool {
        matches!(self, Meaning::NotNow | Meaning::Elsewhere)
    }
}
