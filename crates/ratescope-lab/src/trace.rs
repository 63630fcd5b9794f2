//! The history of an instrument: its lines and every event, at several resolutions.
//!
//! A screen has some thousand columns of pixels, and a run may have a million events a second. So events are folded
//! into columns as they arrive and never visited again. Level k of the history has columns of 2^(12+k) microseconds,
//! from 4 ms to 34 s. A complete column is folded into a column of the next level, so an event costs the same with any
//! number of levels.
//!
//! Only columns with events exist. Between two columns the lines follow from the first in closed form, so a quiet trace
//! is drawn exactly at any scale.
//!
//! The instrument of the [scope](crate::scope) writes it, and the [view](crate::view) reads it.
//! [`Fold`] says what a column can hold.

mod column;
mod fold;

pub use column::{Column, TracePoint};
pub use fold::{Extent, Fold};

use ratescope::time::Time;
use std::collections::VecDeque;

/// How many columns are remembered at each level. If every column has events, level 0 reaches back 16.8 s
/// and the last level 38 hours; with fewer events they reach back further.
pub const COLUMNS: usize = 4096;

/// The number of levels.
pub const LEVELS: usize = 14;

/// log2 of the microseconds in a column of level 0.
const FINEST: u32 = 12;

/// The history of a run, of at most [`Trace::BYTES`].
#[derive(Clone, Debug)]
pub struct Trace<C = Column> {
    levels: [Level<C>; LEVELS],
    /// All events, including those before the oldest column of the coarsest level.
    total: u64,
}

/// One resolution: the complete columns, and the current one.
#[derive(Clone, Debug)]
struct Level<C> {
    complete: VecDeque<C>,
    filling: Option<C>,
    /// Something is missing before the first column: the level does not reach back to the start of the run.
    dropped: bool,
}

impl<C: Fold> Default for Trace<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Fold> Trace<C> {
    /// The most memory the columns of a trace take, in bytes.
    pub const BYTES: usize = LEVELS * (COLUMNS + 1) * size_of::<C>();

    /// An empty history.
    pub fn new() -> Self {
        Self::after(0)
    }

    /// A history that begins after `total` events of the run.
    pub(crate) fn after(total: u64) -> Self {
        let level = || Level { complete: VecDeque::new(), filling: None, dropped: total > 0 };
        Trace { levels: core::array::from_fn(|_| level()), total }
    }

    /// All events so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a point, not before the last one.
    #[inline(always)]
    pub fn push(&mut self, point: &C::Point) {
        self.total += C::events(point);
        match &mut self.levels[0].filling {
            Some(column) if slot(column.first(), 0) == slot(C::time(point), 0) => {
                column.add(point, self.total);
            }
            _ => self.open(C::new(point, self.total)),
        }
    }

    /// Starts a column at level 0, and folds complete columns into the next levels.
    #[cold]
    fn open(&mut self, next: C) {
        let mut carried = next;
        for (k, level) in self.levels.iter_mut().enumerate() {
            match &mut level.filling {
                Some(column) if slot(column.first(), k) == slot(carried.first(), k) => {
                    column.merge(&carried);
                    return;
                }
                filling => match filling.replace(carried) {
                    None => return,
                    Some(complete) => {
                        if level.complete.len() == COLUMNS {
                            level.complete.pop_front();
                            level.dropped = true;
                        }
                        level.complete.push_back(complete);
                        carried = complete;
                    }
                },
            }
        }
    }

    /// The columns that show `from..to` at about `seconds` a column, and, if remembered, the last column before, from
    /// which the lines continue.
    ///
    /// They are of the coarsest level with columns of at most `seconds`, or of a coarser level if these do not reach
    /// back to `from`.
    pub fn columns(&self, from: Time, to: Time, seconds: f64) -> Vec<&C> {
        let level = self.level(from, seconds);
        let complete = &self.levels[level].complete;
        let start = complete.partition_point(|c| c.last() < from).saturating_sub(1);
        // The current columns of the levels below are not in this level yet; the newest comes last.
        let filling = self.levels[..=level].iter().rev().filter_map(|l| l.filling.as_ref());
        let mut columns = Vec::with_capacity(complete.len() - start + level + 1);
        columns.extend(complete.range(start..).take_while(|c| c.first() <= to));
        columns.extend(filling.filter(|c| c.first() <= to));
        columns
    }

    /// The last column that began at or before `at`, at the finest level that remembers it.
    pub fn column_at(&self, at: Time) -> Option<&C> {
        let level = self.level(at, 0.0);
        self.last_before(level, at)
    }

    /// The earliest instant that is remembered, at the coarsest level; `None` before the first point.
    pub fn oldest(&self) -> Option<Time> {
        let coarsest = &self.levels[LEVELS - 1];
        let all = self.levels.iter().rev().flat_map(|l| l.complete.front().or(l.filling.as_ref()));
        coarsest.complete.front().or_else(|| all.min_by_key(|c| c.first())).map(|c| c.first())
    }

    fn last_before(&self, level: usize, at: Time) -> Option<&C> {
        let filling = self.levels[..=level].iter().filter_map(|l| l.filling.as_ref());
        let complete = &self.levels[level].complete;
        let older = complete.partition_point(|c| c.first() <= at).checked_sub(1);
        filling
            .filter(|c| c.first() <= at)
            .max_by_key(|c| c.first())
            .or(older.map(|i| &complete[i]))
    }

    /// The coarsest level with columns of at most `seconds`, or a coarser level to reach back to `from`.
    fn level(&self, from: Time, seconds: f64) -> usize {
        let fits = |k: usize| (1_u64 << (FINEST as usize + k)) as f64 / 1e6 <= seconds;
        let wanted = (1..LEVELS).rev().find(|&k| fits(k)).unwrap_or(0);
        let reaches = |k: &usize| {
            let level = &self.levels[*k];
            !level.dropped || level.complete.front().is_some_and(|c| c.first() <= from)
        };
        (wanted..LEVELS - 1).find(reaches).unwrap_or(LEVELS - 1)
    }
}

impl Trace {
    /// How many events had arrived by `at`, and whether the number is exact; `None` if it was dropped. Inside a column
    /// with events it is not exact: before the column's last event it leaves out all of them.
    pub fn total_at(&self, at: Time) -> Option<(u64, bool)> {
        let level = self.level(at, 0.0);
        match self.last_before(level, at) {
            Some(column) if column.last() <= at => Some((column.total, true)),
            Some(column) => Some((column.total - column.events(), column.events() == 0)),
            None if self.levels[level].dropped => None,
            None => Some((0, true)),
        }
    }
}

/// The number of the column of level `k` that contains `at`.
#[inline(always)]
fn slot(at: Time, k: usize) -> i64 {
    at.as_micros() >> (FINEST as usize + k)
}
