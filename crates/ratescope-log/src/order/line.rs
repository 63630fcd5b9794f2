//! The lines that an [`Order`](super::Order) holds.

use ratescope::time::Time;

/// The time and the number of the events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The time of the line.
    pub time: Time,
    /// The time is in whole seconds.
    pub coarse: bool,
    /// The number of equal events that the line stands for.
    pub times: u32,
}

/// A line that is held until its turn.
#[derive(Clone, Debug)]
pub(super) struct Line<T> {
    /// The time in microseconds, shifted by the steps back of the clock.
    pub(super) micros: i64,
    pub(super) times: u32,
    pub(super) coarse: bool,
    /// The bytes that it takes in memory.
    pub(super) bytes: usize,
    pub(super) item: T,
}
