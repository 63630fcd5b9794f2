//! Lines that are far ahead of the log, until another line confirms their time.
//!
//! A clock that is wrong for a moment, or a damaged byte, dates a line years ahead. If the log continued from
//! there, all later lines would be late. So it continues only when a second line confirms that time. A line
//! that 64 others follow without confirming it was wrong, and is dropped.

use super::line::Line;

/// The number of lines after which a line that none of them confirmed is dropped.
const PATIENCE: u32 = 64;

#[derive(Clone, Debug)]
pub(super) struct Ahead<T> {
    waiting: Vec<(Line<T>, u32)>,
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
        self.waiting.iter().map(|(line, _)| line.bytes).sum()
    }

    pub(super) fn push(&mut self, line: Line<T>) {
        self.waiting.push((line, 0));
    }

    /// Removes the lines up to the time `micros` in microseconds, which are now confirmed, in the order of
    /// their times. Counts one more line that followed the others.
    pub(super) fn confirmed(&mut self, micros: i64) -> Vec<Line<T>> {
        self.waiting.iter_mut().for_each(|(_, others)| *others += 1);
        self.remove(|line, _| line.micros <= micros)
    }

    /// Removes the lines that were not confirmed for too long, in the order of their times.
    pub(super) fn wrong(&mut self) -> Vec<Line<T>> {
        self.remove(|_, others| others >= PATIENCE)
    }

    /// Removes the lines after the time `micros` that other lines followed, in the order of their times.
    pub(super) fn passed(&mut self, micros: i64) -> Vec<Line<T>> {
        self.remove(|line, others| others > 0 && line.micros > micros)
    }

    /// Removes all lines, in the order of their times.
    pub(super) fn all(&mut self) -> Vec<Line<T>> {
        self.remove(|_, _| true)
    }

    fn remove(&mut self, wanted: impl Fn(&Line<T>, u32) -> bool) -> Vec<Line<T>> {
        let wanted = |(line, others): &mut (Line<T>, u32)| wanted(line, *others);
        let mut lines: Vec<_> = self.waiting.extract_if(.., wanted).map(|(line, _)| line).collect();
        lines.sort_by_key(|line| line.micros);
        lines
    }
}
