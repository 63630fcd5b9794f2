//! Lines that are far ahead of the log, until another line confirms their time.
//!
//! A clock that is wrong for a moment, or a damaged byte, dates a line years ahead. If the log continued from there,
//! all later lines would be late. So a second line must confirm this time: a line of about the same time, or, as in a
//! log with few lines, the next line if it is at most a day later. After an earlier line, only a line of about the same
//! time confirms it. If none of the next 64 lines confirms the time, and one of them is earlier, the line ahead is
//! dropped.

use super::Line;

/// The number of lines after which an unconfirmed line is dropped.
const PATIENCE: u32 = 64;

/// A line that waits for later ones.
#[derive(Clone, Debug)]
struct Waiting<T> {
    line: Line<T>,
    /// How many lines followed.
    others: u32,
    /// One of them is earlier.
    is_doubtful: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Ahead<T> {
    waiting: Vec<Waiting<T>>,
}

impl<T> Ahead<T> {
    pub(super) fn new() -> Self {
        Ahead { waiting: Vec::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.line.bytes).sum()
    }

    pub(super) fn push(&mut self, line: Line<T>) {
        self.waiting.push(Waiting { line, others: 0, is_doubtful: false });
    }

    /// Notes that a line at the time `micros` in microseconds followed. Removes the confirmed lines in the order of
    /// their times: all lines up to the last confirmed one. A line is confirmed if it is at most `near` from `micros`.
    /// Without an earlier line after it, it is also confirmed if it is at most `far` before `micros`, or after
    /// [`PATIENCE`] lines.
    pub(super) fn confirmed(&mut self, micros: i64, near: u64, far: u64) -> Vec<Line<T>> {
        let mut until = None;
        for Waiting { line, others, is_doubtful } in &mut self.waiting {
            *others += 1;
            let apart = line.micros.abs_diff(micros);
            let is_earlier = micros < line.micros;
            *is_doubtful |= is_earlier && apart > near;
            let follows = !is_earlier && apart <= far || *others >= PATIENCE;
            if apart <= near || follows && !*is_doubtful {
                until = until.max(Some(line.micros));
            }
        }
        self.remove(|waiting| Some(waiting.line.micros) <= until)
    }

    /// Removes the lines that stayed unconfirmed for too long, in the order of their times.
    pub(super) fn wrong(&mut self) -> Vec<Line<T>> {
        self.remove(|waiting| waiting.others >= PATIENCE)
    }

    /// Removes the lines after the time `micros` that earlier lines followed, in the order of their times.
    pub(super) fn passed(&mut self, micros: i64) -> Vec<Line<T>> {
        self.remove(|waiting| waiting.is_doubtful && waiting.line.micros > micros)
    }

    /// Removes all lines, in the order of their times.
    pub(super) fn all(&mut self) -> Vec<Line<T>> {
        self.remove(|_| true)
    }

    fn remove(&mut self, wanted: impl Fn(&Waiting<T>) -> bool) -> Vec<Line<T>> {
        let removed = self.waiting.extract_if(.., |waiting| wanted(waiting));
        let mut lines: Vec<_> = removed.map(|waiting| waiting.line).collect();
        lines.sort_by_key(|line| line.micros);
        lines
    }
}
