//! How many lines were read, and which were not.

use core::fmt;
use std::borrow::Cow;

/// The reason why a line cannot be read.
pub(super) type Reason = Cow<'static, str>;

/// The most problems that are kept.
pub const PROBLEMS: usize = 5;

/// The numbers of lines and events of a log, by how they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All lines, including empty ones.
    pub lines: u64,
    /// Events that were wanted.
    pub events: u64,
    /// Events that the filter dropped.
    pub filtered: u64,
    /// Events without any field of the key, such as an address; with [`only_keyed`](crate::Options::only_keyed) they
    /// are left out.
    pub keyless: u64,
    /// Lines that are not events, such as a delivery in a mail log, or the header of CSV.
    pub others: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// The first [`PROBLEMS`] lines that could not be read.
    pub problems: Vec<Unread>,
}

/// A line that could not be read, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The name of the line's log if there are several logs; otherwise empty.
    pub log: String,
    /// The number of the line, from 1: in its log if the log has a name, otherwise in all that was read.
    pub line: u64,
    /// The reason.
    pub problem: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unread { log, line, problem } = self;
        let comma = if log.is_empty() { "" } else { ", " };
        write!(f, "{log}{comma}line {line}: {problem}")
    }
}

impl core::error::Error for Unread {}

impl Counts {
    /// Adds the counts of a later part of the same log, or of another log.
    pub fn add(&mut self, next: &Counts) {
        for unread in next.problems.iter().take(PROBLEMS - self.problems.len().min(PROBLEMS)) {
            let before = if unread.log.is_empty() { self.lines } else { 0 };
            self.problems.push(Unread { line: unread.line + before, ..unread.clone() });
        }
        self.lines += next.lines;
        self.events += next.events;
        self.filtered += next.filtered;
        self.keyless += next.keyless;
        self.others += next.others;
        self.unread += next.unread;
    }
}
