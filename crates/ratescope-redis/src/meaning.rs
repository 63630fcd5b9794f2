//! The reasons for which a server refuses a call.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Why a server refused a call before it ran anything.
pub(super) enum Meaning {
    /// The script is not known.
    Unknown,
    /// The script may run in a moment.
    NotNow,
    /// The script may run in a moment on another server, or on another connection.
    Elsewhere,
    /// The slot belongs to the node at this address. With `asking`, that node does not have the slot yet, and
    /// must be told that the call is meant for it.
    Redirected { address: String, asking: bool },
    /// The script never runs.
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

    /// Whether the server puts the call off. If it always does, it is of no use.
    pub(super) fn is_put_off(&self) -> bool {
        matches!(self, Meaning::NotNow | Meaning::Elsewhere)
    }
}
