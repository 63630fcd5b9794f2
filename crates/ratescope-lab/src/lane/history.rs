//! The history of a lane: its level and its verdicts, at several resolutions.
//!
//! As in the [trace](crate::trace) of the scope, events are folded into columns as they arrive, and drawing never
//! visits the events. But no closed form describes the level of every kind of limiter, so the level is sampled at the
//! end of every column, and there are no gaps between columns. Level k has columns of 2^(14+k) microseconds, from 16 ms
//! to 67 s, and two columns make one of the next level. For long logs the columns are longer: see [`Grain`].
//!
//! Here a column is found by its number and has no times; in a trace most columns are missing, and columns are searched
//! by their times. So the two are different types.

use ratescope::internal::{larger, smaller};
use ratescope::outcome::Outcome;
use ratescope::time::{Span, Time};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;

#[cfg(test)]
mod tests;

/// How many columns are remembered at each level. Level 0 reaches 33 s back, the last one 38 hours.
pub const COLUMNS: usize = 2048;

/// The number of levels.
pub const LEVELS: usize = 13;

/// The length of a column of level 0, as a power of two in microseconds. The default is 2^14, 16 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grain(u32);

impl Default for Grain {
    fn default() -> Self {
        Grain(14)
    }
}

impl Grain {
    /// 2^50 microseconds, 36 years: with it [past](crate::run::past) decides events without keeping a history.
    pub(crate) const COARSEST: Grain = Grain(50);

    /// The finest grain, from the default on, whose level 0 remembers all of `span`.
    pub(crate) fn for_span(span: Span) -> Self {
        let column = (span.as_secs_f64() * 1e6 / (COLUMNS as f64 - 2.0)).max(1.0);
        Grain((libm::ceil(libm::log2(column)) as u32).clamp(14, 50))
    }

    /// The number of the column of level `k` that contains `at`.
    fn slot(self, at: Time, k: usize) -> i64 {
        at.as_micros() >> (self.0 as usize + k).min(63)
    }

    /// Microseconds in a column of level `k`.
    fn micros(self, k: usize) -> i64 {
        1 << (self.0 as usize + k).min(62)
    }
}

/// Everything that happened in a short interval.
///
/// The level is sampled at the end of the previous column, after each event, and at the last microsecond of the column.
/// `low` and `high` are the extremes of these samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The lowest level.
    pub low: f64,
    /// The highest level.
    pub high: f64,
    /// The level at the end; in the current column, after its last event.
    pub end: f64,
    /// The limit at the end.
    pub limit: f64,
    /// Events allowed.
    pub allowed: u32,
    /// Events refused.
    pub refused: u32,
    /// The time and the outcome of the last event; `None` without an event.
    pub judged: Option<(Time, Outcome)>,
    /// Events allowed since the lane began, including this column.
    pub passed: u64,
    /// Events sent since the start of the run, including this column.
    pub sent: u64,
    /// When another event would be allowed, as of the end of the column: [`Time::ZERO`] for at once, [`Time::LAST`] for
    /// never. The current column has the value of the previous one.
    pub again: Time,
}

/// The history of a lane, of at most [`History::BYTES`].
#[derive(Clone, Debug)]
pub struct History {
    begun: Time,
    grain: Grain,
    /// The number of the current column of level 0.
    slot: i64,
    current: Column,
    scales: [Scale; LEVELS],
}

/// One resolution: the complete columns, without gaps, newest last, and the current column, to which the scale below
/// adds its complete columns.
#[derive(Clone, Debug)]
struct Scale {
    complete: VecDeque<Column>,
    filling: Option<Column>,
}

/// Columns without gaps, oldest first.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    /// When the first column begins, or would begin if there were any.
    pub first: Time,
    /// The length of a column.
    pub width: Span,
    complete: Iter<'a, Column>,
    filling: Option<Column>,
}

impl Columns<'_> {
    /// The columns.
    pub fn iter(&self) -> impl Iterator<Item = &Column> {
        self.complete.clone().chain(&self.filling)
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.complete.len() + usize::from(self.filling.is_some())
    }

    /// Tells whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl History {
    /// The most memory the columns of a history take, in bytes.
    pub const BYTES: usize = LEVELS * COLUMNS * size_of::<Column>();

    /// A history that begins at `now`, when `passed` of the `sent` events were allowed, with the level and the limit of
    /// `at_rest`.
    pub(crate) fn new(grain: Grain, now: Time, at_rest: Outcome, passed: u64, sent: u64) -> Self {
        History {
            begun: now,
            grain,
            slot: grain.slot(now, 0),
            current: Column::quiet(at_rest, passed, sent, now),
            scales: core::array::from_fn(|_| Scale { complete: VecDeque::new(), filling: None }),
        }
    }

    pub(crate) fn grain(&self) -> Grain {
        self.grain
    }

    /// Adds an event with its `outcome`, and the level after it, that of `after`.
    #[inline(always)]
    pub(crate) fn event(&mut self, at: Time, outcome: Outcome, after: Outcome, sent: u64) {
        let allowed = outcome.is_allowed();
        let column = &mut self.current;
        column.include(after);
        column.allowed = column.allowed.saturating_add(u32::from(allowed));
        column.refused = column.refused.saturating_add(u32::from(!allowed));
        column.judged = Some((at, outcome));
        column.passed += u64::from(allowed);
        column.sent = sent;
    }

    /// Completes the current column. At its end the level is that of `end`, and another event would be allowed from
    /// `again` on.
    pub(crate) fn close(&mut self, end: Outcome, again: Time) {
        self.current.include(end);
        self.current.again = again;
        self.turn(Column::quiet(end, self.current.passed, self.current.sent, again));
    }

    /// The instant from which another event would be allowed, as of the end of the last complete column.
    pub(crate) fn again(&self) -> Time {
        self.current.again
    }

    /// The last instant of the current column.
    #[inline(always)]
    pub(crate) fn last(&self) -> Time {
        let Grain(bits) = self.grain;
        Time::from_micros((self.slot << bits) | ((1 << bits) - 1))
    }

    /// Completes the current column, and goes on with `next`.
    #[inline(always)]
    fn turn(&mut self, next: Column) {
        let mut complete = core::mem::replace(&mut self.current, next);
        for (k, scale) in self.scales.iter_mut().enumerate() {
            if let Some(mut earlier) = scale.filling.take() {
                earlier.merge(&complete);
                complete = earlier;
            }
            // A column of scale k ends when the last k bits of the slot are all ones.
            if (self.slot + 1) & ((1 << k) - 1) != 0 {
                scale.filling = Some(complete);
                break;
            }
            if scale.complete.len() == COLUMNS {
                scale.complete.pop_front();
            }
            scale.complete.push_back(complete);
        }
        self.slot += 1;
    }

    /// Columns without gaps that show `from..to` at about `seconds` each; the last may be the current one. Columns are
    /// missing before the lane began, and where nothing is remembered.
    ///
    /// They are the coarsest columns of at most `seconds`, or coarser if these do not reach back to `from`.
    pub fn columns(&self, from: Time, to: Time, seconds: f64) -> Columns<'_> {
        let k = self.scale(from, seconds);
        let complete = &self.scales[k].complete;
        let end = self.slot >> k;
        let begin = end - complete.len() as i64;
        let slot = |at| self.grain.slot(at, k);
        let start = slot(from).max(begin).min(end);
        let stop = slot(to).saturating_add(1).max(start).min(end);
        let filling = (slot(from)..=slot(to)).contains(&end).then(|| self.filling(k));
        Columns {
            first: Time::from_micros(start * self.grain.micros(k)),
            width: Span::from_micros(self.grain.micros(k) as u64),
            complete: complete.range((start - begin) as usize..(stop - begin) as usize),
            filling,
        }
    }

    /// The finest column that contains `at`; `None` if `at` is before the lane began, no longer remembered,
    /// or in the future.
    pub fn column_at(&self, at: Time) -> Option<&Column> {
        if at < self.begun {
            return None;
        }
        if self.is_filling(at) {
            return Some(&self.current);
        }
        self.scales.iter().enumerate().find_map(|(k, scale)| {
            let back = (self.slot >> k) - self.grain.slot(at, k);
            let place = scale.complete.len() as i64 - back;
            scale.complete.get(usize::try_from(place).ok()?)
        })
    }

    pub(crate) fn is_filling(&self, at: Time) -> bool {
        self.grain.slot(at, 0) == self.slot
    }

    /// The earliest instant that the coarsest resolution remembers.
    pub fn oldest(&self) -> Time {
        let k = LEVELS - 1;
        let first = (self.slot >> k) - self.scales[k].complete.len() as i64;
        self.begun.max(Time::from_micros(first.saturating_mul(self.grain.micros(k))))
    }

    /// The current column of scale `k`, merged with the current columns of the finer scales.
    fn filling(&self, k: usize) -> Column {
        let parts = self.scales[..=k].iter().rev().filter_map(|scale| scale.filling.as_ref());
        let mut parts = parts.chain([&self.current]);
        let mut sum = *parts.next().unwrap_or(&self.current);
        for later in parts {
            sum.merge(later);
        }
        sum
    }

    /// The coarsest scale with columns of at most `seconds`, or a coarser scale to reach back to `from`.
    fn scale(&self, from: Time, seconds: f64) -> usize {
        let fits = |k: usize| self.grain.micros(k) as f64 / 1e6 <= seconds;
        let wanted = (1..LEVELS).rev().find(|&k| fits(k)).unwrap_or(0);
        let from = from.max(self.begun);
        let reaches = |&k: &usize| {
            let first = (self.slot >> k) - self.scales[k].complete.len() as i64;
            first <= self.grain.slot(from, k)
        };
        (wanted..LEVELS - 1).find(reaches).unwrap_or(LEVELS - 1)
    }
}

impl Column {
    fn quiet(at_rest: Outcome, passed: u64, sent: u64, again: Time) -> Self {
        let Outcome { level, limit, .. } = at_rest;
        Column {
            low: level,
            high: level,
            end: level,
            limit,
            allowed: 0,
            refused: 0,
            judged: None,
            passed,
            sent,
            again,
        }
    }

    #[inline(always)]
    fn include(&mut self, Outcome { level, limit, .. }: Outcome) {
        self.low = smaller(self.low, level);
        self.high = larger(self.high, level);
        self.end = level;
        self.limit = limit;
    }

    /// Appends the column after this one.
    fn merge(&mut self, later: &Column) {
        *self = Column {
            low: smaller(self.low, later.low),
            high: larger(self.high, later.high),
            allowed: self.allowed.saturating_add(later.allowed),
            refused: self.refused.saturating_add(later.refused),
            judged: later.judged.or(self.judged),
            ..*later
        };
    }
}
