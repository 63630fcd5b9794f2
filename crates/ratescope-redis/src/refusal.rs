//! Why a server refused a call, and whether a retry is of use.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Why a server refused a call before it ran anything.
pub(super) enum Refusal {
    UnknownScript,
    /// Retry soon.
    Busy,
    /// Retry soon on another server, or on another connection.
    WrongServer,
    /// The slot belongs to the node at this address. With `asking`, the slot is still moving there, so ASKING must be
    /// sent first.
    Redirected {
        address: String,
        asking: bool,
    },
    /// A retry is of no use.
    Final,
}

impl Refusal {
    pub(super) fn new(error: &RedisError) -> Self {
        let redirected = |asking| match error.redirect_node() {
            Some((address, _)) => Refusal::Redirected { address: address.to_owned(), asking },
            None => Refusal::Busy,
        };
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Refusal::UnknownScript,
            ErrorKind::Server(ServerErrorKind::Moved) => redirected(false),
            ErrorKind::Server(ServerErrorKind::Ask) => redirected(true),
            ErrorKind::Server(
                ServerErrorKind::ReadOnly
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown,
            ) => Refusal::WrongServer,
            ErrorKind::Server(ServerErrorKind::TryAgain | ServerErrorKind::BusyLoading) => {
                Refusal::Busy
            }
            _ if error.code() == Some("BUSY") => Refusal::Busy,
            _ => Refusal::Final,
        }
    }

    /// True if the server can't run calls for now, which is a failure if it lasts until the deadline.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Refusal::Busy | Refusal::WrongServer)
    }
}
