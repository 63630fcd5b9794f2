//! The time of an event.

use ratescope::time::Time;

/// A time that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instant {
    pub(super) time: Time,
    /// The time is in whole seconds; the event may then have been anywhere in its second.
    pub(super) coarse: bool,
    /// The offset from UTC in minutes, if it is written.
    pub(super) east: Option<i16>,
}
