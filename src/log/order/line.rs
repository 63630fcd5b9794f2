//! The lines that an [`Order`](super::Order) holds.

use crate::time::Time;

/// The time and the number of the events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The time of the line.
    pub time: Time,
    /// Whether the time is in whole seconds.
    pub coarse: bool,
    /// The number of equal events that the line stands for.
    pub times: u32,
}

/// A line that is held until its turn.
#[derive(Clone, Debug)]
pub(super) struct Line<T> {
    /// The time in microseconds, with the steps back of the clock made up for.
    pub(super) micros: i64,
    pub(super) times: u32,
    pub(super) coarse: bool,
    /// The bytes that it takes in memory.
    pub(super) bytes: usize,
    pub(super) item: T,
}

/// The lines of one second.
#[derive(Clone, Debug)]
pub(super) struct Second<T> {
    pub(super) lines: Vec<Line<T>>,
    /// Whether the times of all of them are in whole seconds.
    pub(super) coarse: bool,
    pub(super) sorted: bool,
    pub(super) bytes: usize,
    pub(super) events: u64,
}

impl<T> Second<T> {
    pub(super) fn new(lines: Vec<Line<T>>) -> Self {
        Second { lines, coarse: true, sorted: true, bytes: 0, events: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, line: Line<T>) {
        self.sorted &= self.lines.last().is_none_or(|last| last.micros <= line.micros);
        self.coarse &= line.coarse;
        self.bytes += line.bytes;
        self.events += u64::from(line.times);
        self.lines.push(line);
    }
}
