//! Levels of the limiters that count, when everything is counted.
//!
//! A limiter keeps no more than it must, and puts up with time that runs backwards. Here all events
//! of a client are at hand and in order, so a count is a sum over a part of them, and no state is
//! kept. That these are the levels of the limiters, the tests say, which hold the curve against a
//! replay of each limiter at every limit.

use super::level::Events;
use crate::rate::Rate;
use crate::time::Span;
use core::ops::Range;

/// The level of one event after the other, with the event.
pub(super) trait Levels {
    /// A number that is larger when the level is.
    type Level: Copy + PartialOrd;

    /// The level at the event at `place`.
    fn level(&mut self, events: &Events, place: usize, micros: i64, amount: u64) -> Self::Level;
}

/// The highest of the first and of the other events, and where each was reached.
pub(super) struct Found<L>(pub(super) [Option<(L, usize)>; 2]);

impl<L> Default for Found<L> {
    fn default() -> Self {
        Found([None, None])
    }
}

impl<L: Copy + PartialOrd> Found<L> {
    #[inline]
    pub(super) fn see(&mut self, part: usize, level: L, place: usize) {
        if let Some(found) = self.0.get_mut(part)
            && found.is_none_or(|(highest, _)| level > highest)
        {
            *found = Some((level, place));
        }
    }

    pub(super) fn map<T>(self, of: impl Fn(L) -> T) -> Found<T> {
        Found(self.0.map(|found| found.map(|(level, place)| (of(level), place))))
    }
}

/// The highest levels of the events before the one at `split` and of the others.
pub(super) fn highest<L: Levels>(events: &Events, split: usize, mut levels: L) -> Found<L::Level> {
    let split = split.min(events.moments.len());
    let mut highest_of = |part: Range<usize>| {
        let (moments, amounts) =
            (events.moments.get(part.clone()), events.amounts.get(part.clone()));
        let mut found: Option<(L::Level, usize)> = None;
        let all = moments.unwrap_or_default().iter().zip(amounts.unwrap_or_default());
        for (place, (moment, amount)) in part.zip(all) {
            let level = levels.level(events, place, moment.time.as_micros(), *amount);
            if found.is_none_or(|(highest, _)| level > highest) {
                found = Some((level, place));
            }
        }
        found
    };
    Found([highest_of(0..split), highest_of(split..events.moments.len())])
}

/// A span in whole microseconds, and at least one.
fn micros(span: Span) -> i64 {
    span.micros_up().max(1)
}

/// See [`crate::limit::fixed_window`].
pub(super) struct Fixed {
    period: i64,
    /// The first microsecond of the next window.
    end: i64,
    counted: u64,
}

impl Fixed {
    pub(super) fn new(per: Span) -> Self {
        Fixed { period: micros(per), end: i64::MIN, counted: 0 }
    }
}

impl Levels for Fixed {
    type Level = u64;

    #[inline]
    fn level(&mut self, _: &Events, _: usize, micros: i64, amount: u64) -> u64 {
        if micros >= self.end {
            self.counted = 0;
            self.end = micros.saturating_add(self.period - micros.rem_euclid(self.period));
        }
        self.counted = self.counted.saturating_add(amount);
        self.counted
    }
}

/// See [`crate::limit::sliding_window`]; in blocks of a microsecond, [`crate::limit::sliding_log`].
pub(super) struct Blocks {
    width: i64,
    blocks: i64,
    /// The place of the first event in the window.
    from: usize,
    counted: u64,
}

impl Blocks {
    pub(super) fn new(per: Span, width: Span) -> Self {
        let (period, width) = (micros(per), micros(width));
        Blocks { width, blocks: (period - 1) / width + 1, from: 0, counted: 0 }
    }
}

impl Levels for Blocks {
    type Level = u64;

    #[inline]
    fn level(&mut self, events: &Events, _: usize, micros: i64, amount: u64) -> u64 {
        // The window ends with the block of the event.
        let block = if self.width == 1 { micros } else { micros - micros.rem_euclid(self.width) };
        let begin = block.saturating_sub((self.blocks - 1).saturating_mul(self.width));
        let outside = |at: usize| {
            let moment = events.moments.get(at)?;
            if moment.time.as_micros() < begin { events.amounts.get(at) } else { None }
        };
        while let Some(gone) = outside(self.from) {
            self.counted = self.counted.saturating_sub(*gone);
            self.from += 1;
        }
        self.counted = self.counted.saturating_add(amount);
        self.counted
    }
}

/// See [`crate::limit::sliding_counter`].
pub(super) struct Counter {
    period: i64,
    end: i64,
    previous: u64,
    current: u64,
}

impl Counter {
    pub(super) fn new(per: Span) -> Self {
        Counter { period: micros(per), end: i64::MIN, previous: 0, current: 0 }
    }
}

impl Levels for Counter {
    type Level = u64;

    #[inline]
    fn level(&mut self, _: &Events, _: usize, micros: i64, amount: u64) -> u64 {
        if micros >= self.end {
            let next = micros < self.end.saturating_add(self.period);
            self.previous = if next { self.current } else { 0 };
            self.current = 0;
            self.end = micros.saturating_add(self.period - micros.rem_euclid(self.period));
        }
        self.current = self.current.saturating_add(amount);
        let left = u128::from(self.end.abs_diff(micros));
        let fading = (u128::from(self.previous) * left).div_ceil(self.period.unsigned_abs().into());
        self.current.saturating_add(u64::try_from(fading).unwrap_or(u64::MAX))
    }
}

/// The backlog of a bucket in parts, as in the source file `limit/bucket.rs`: of the rate n/p in
/// lowest terms, a microsecond drains n and a millionth of an event fills p.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    drains: u64,
    fills: u64,
    fill: u128,
    last: i64,
}

impl Backlog {
    /// Worked out once for many clients: it takes longer than most of them do.
    pub(super) fn new(rate: Rate) -> Self {
        let count = crate::time::millionths_up(rate.count()).unsigned_abs();
        let period = micros(rate.per()).unsigned_abs();
        let divisor = gcd(count, period).max(1);
        Backlog { drains: count / divisor, fills: period / divisor, fill: 0, last: i64::MIN }
    }

    /// The highest levels, in millionths, of the events before the one at `split` and of the others.
    pub(super) fn highest(&self, events: &Events, split: usize) -> Found<u64> {
        if self.is_narrow(events) {
            let parts = highest(events, split, Narrow::new(self, events));
            return parts.map(|parts| parts.div_ceil(self.fills));
        }
        let most = |parts: u128| parts.div_ceil(self.fills.into());
        highest(events, split, *self).map(|parts| u64::try_from(most(parts)).unwrap_or(u64::MAX))
    }

    /// Whether every event finds the bucket empty, and all cost the same: so each is a level of its
    /// own. That is so for most clients at most rates.
    #[inline]
    pub(super) fn is_idle(&self, events: &Events) -> bool {
        let Some(amount) = events.each else { return false };
        let drained = u128::from(events.shortest_gap) * u128::from(self.drains);
        drained >= u128::from(amount) * u128::from(self.fills)
    }

    /// Whether nothing of these events overflows 64 bits.
    fn is_narrow(&self, events: &Events) -> bool {
        let (first, last) = (events.moments.first(), events.moments.last());
        let span = first.zip(last).map(|(a, b)| b.time.as_micros().abs_diff(a.time.as_micros()));
        let fits = |n: u128| u64::try_from(n).is_ok();
        fits(events.total.saturating_mul(self.fills.into()))
            && fits(u128::from(span.unwrap_or(0)) * u128::from(self.drains))
    }
}

/// The same in 64 bits, where it is narrow: sixteen rates are tried for each event.
struct Narrow {
    drains: u64,
    fills: u64,
    fill: u64,
    last: i64,
}

impl Narrow {
    fn new(backlog: &Backlog, events: &Events) -> Self {
        let Backlog { drains, fills, .. } = *backlog;
        let last = events.moments.first().map_or(0, |first| first.time.as_micros());
        Narrow { drains, fills, fill: 0, last }
    }
}

impl Levels for Narrow {
    type Level = u64;

    #[inline]
    fn level(&mut self, _: &Events, _: usize, micros: i64, amount: u64) -> u64 {
        let drained = micros.wrapping_sub(self.last).cast_unsigned().wrapping_mul(self.drains);
        self.fill = self.fill.saturating_sub(drained) + amount * self.fills;
        self.last = micros;
        self.fill
    }
}

impl Levels for Backlog {
    type Level = u128;

    #[inline]
    fn level(&mut self, _: &Events, _: usize, micros: i64, amount: u64) -> u128 {
        let drained = u128::from(micros.abs_diff(self.last)) * u128::from(self.drains);
        let filled = u128::from(amount) * u128::from(self.fills);
        self.fill = self.fill.saturating_sub(drained).saturating_add(filled);
        self.last = micros;
        self.fill
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
