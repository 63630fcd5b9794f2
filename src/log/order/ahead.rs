//! Lines that are far ahead of the log, until another line confirms their time.
//!
//! A clock that is wrong for a moment, or a damaged byte, dates a line years ahead. If the log went
//! on from there, all later lines would be late. So the log goes on only when a second line is that
//! far. A line that 64 others follow without one was wrong, and is dropped.

use super::line::Line;

/// A line is dropped after this many others that do not confirm it.
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

    /// Removes the lines up to the time `micros`, which are confirmed, in the order of their times.
    /// The others have waited for one more line.
    pub(super) fn confirmed(&mut self, micros: i64) -> Vec<Line<T>> {
        self.waiting.iter_mut().for_each(|(_, others)| *others += 1);
        self.remove(|line, _| line.micros <= micros)
    }

    /// Removes the lines that have waited too long.
    pub(super) fn wrong(&mut self) -> Vec<Line<T>> {
        self.remove(|_, others| others >= PATIENCE)
    }

    /// Removes the lines after the time `micros` that other lines followed.
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
