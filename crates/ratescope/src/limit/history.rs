//! The state of the sliding window and the sliding log: the amount that was allowed in each block.
//!
//! Time is cut into blocks of equal width, aligned to its origin. The window is the last n blocks,
//! including the current one. A block leaves the window when n newer blocks have begun. With one
//! block it is the fixed window; with blocks of one microsecond it is the sliding log, where events
//! of different times are in different blocks.
//!
//! Source: Josiah Carlson, "Introduction to rate limiting with Redis", part 2, with a correction:
//! the article compares the number of a block with a time in seconds.
//!
//! # The edges
//! * **Equality:** the event that reaches the limit passes.
//! * **Cost 0:** adds no block.
//! * **Time runs backwards:** an event counts in the latest block so far. If it is from more than a
//!   window before that block, the clock was set back, and the blocks move back with it.

use super::amount::{amount, events, touched};
use super::in_f64::{self, InF64, Lua};
use super::kept::{Bytes, Content, KeptError};
use crate::outcome::{Outcome, Retry};
use crate::text::BadNumber;
use crate::time::{Span, Time};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The blocks in which anything was allowed, oldest first: 40 bytes, and 16 for each block of its
/// capacity. The capacity doubles when it is full, and above 64 blocks it halves when less than a
/// quarter is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Blocks {
    /// The number of a block and the amount in it.
    blocks: VecDeque<(i64, u64)>,
    /// The amount in all blocks.
    total: u64,
}

/// The rule: how wide a block is, and how much the blocks of a window may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// Microseconds in a block.
    pub(super) width: i64,
    /// Blocks in the window.
    pub(super) blocks: i64,
    /// The amount that the window admits.
    pub(super) most: u64,
    /// How many blocks may be remembered, at least 1.
    pub(super) capacity: usize,
}

impl Window {
    fn block(&self, at: Time) -> i64 {
        at.as_micros().div_euclid(self.width)
    }

    /// The current block at `now`. When blocks lie ahead of the clock, the latest of them is the current one.
    #[inline]
    fn current(&self, history: &Blocks, now: Time) -> i64 {
        let block = self.block(now);
        history.latest().map_or(block, |latest| latest.max(block))
    }

    /// True if the clock was set back by more than a window: the next event then moves the blocks.
    #[inline]
    fn is_set_back(&self, history: &Blocks, now: Time) -> bool {
        let block = self.block(now);
        history.latest().is_some_and(|latest| latest.saturating_sub(block) > self.blocks)
    }

    /// The first instant of the oldest block that counts at `now`.
    pub(super) fn since(&self, now: Time) -> Time {
        let oldest = self.block(now).saturating_sub(self.blocks - 1);
        Time::from_micros(oldest.saturating_mul(self.width))
    }

    /// The first instant at which `block` has left the window.
    fn leaves(&self, block: i64) -> Time {
        Time::from_micros(block.saturating_add(self.blocks).saturating_mul(self.width))
    }

    /// True if `block` is still in the window when the current one is `current`.
    fn holds(&self, block: i64, current: i64) -> bool {
        block > current.saturating_sub(self.blocks)
    }

    /// The amount in the window.
    #[inline]
    fn counted(&self, history: &Blocks, now: Time) -> u64 {
        let current = self.current(history, now);
        if history.latest().is_none_or(|latest| !self.holds(latest, current)) {
            return 0;
        }
        let left = history.blocks.iter().take_while(|(block, _)| !self.holds(*block, current));
        left.fold(history.total, |total, (_, amount)| total.saturating_sub(*amount))
    }

    /// Drops the blocks that have left the window, and frees most of the capacity that is then unused.
    pub(super) fn forget(&self, history: &mut Blocks, now: Time) {
        let current = self.current(history, now);
        self.drop_left(history, current);
        let blocks = &mut history.blocks;
        if blocks.len() < blocks.capacity() / 4 {
            blocks.shrink_to(2 * blocks.len());
        }
    }

    #[inline]
    fn drop_left(&self, history: &mut Blocks, current: i64) {
        let blocks = &mut history.blocks;
        while blocks.front().is_some_and(|(block, _)| !self.holds(*block, current)) {
            let (_, amount) = blocks.pop_front().unwrap_or_default();
            history.total = history.total.saturating_sub(amount);
        }
        if blocks.capacity() > 64 && blocks.len() < blocks.capacity() / 4 {
            blocks.shrink_to(blocks.capacity() / 2);
        }
    }

    /// Moves the blocks back so that the `current` one is that of `now`. Blocks that would move before the first block
    /// that a [`Time`] can have are merged there, and are remembered for longer.
    #[cold]
    fn move_back(&self, history: &mut Blocks, current: i64, now: Time) {
        let here = self.block(now);
        let lowest = self.block(Time::from_micros(i64::MIN));
        let blocks = &mut history.blocks;
        for (block, _) in blocks.iter_mut() {
            *block = here.saturating_sub(current.saturating_sub(*block)).max(lowest);
        }
        while blocks.get(1).is_some_and(|(second, _)| *second == lowest) {
            let (_, amount) = blocks.pop_front().unwrap_or_default();
            if let Some((_, first)) = blocks.front_mut() {
                *first = first.saturating_add(amount);
            }
        }
    }

    #[inline]
    pub(super) fn peek(&self, history: &Blocks, now: Time, cost: f64, limit: f64) -> Outcome {
        let Some(amount) = amount(cost) else { return Outcome::new(false, cost, limit) };
        let level = self.counted(history, now).saturating_add(amount);
        Outcome::new(level <= self.most, events(level), limit)
    }

    #[inline]
    pub(super) fn record(&self, history: &mut Blocks, now: Time, cost: f64, allowed: bool) {
        let Some(amount) = amount(cost) else { return };
        let current = self.current(history, now);
        let set_back = self.is_set_back(history, now);
        self.drop_left(history, current);
        if set_back {
            self.move_back(history, current, now);
        }
        if allowed && amount > 0 {
            let current = if set_back { self.block(now) } else { current };
            history.add(current, amount, self.capacity);
        }
    }

    /// Takes an event out of the block of `at`, if the block is still there. An event that was counted in a later
    /// block, since time ran backwards, stays there: then less is given back, or for a shorter time.
    pub(super) fn undo(&self, history: &mut Blocks, at: Time, cost: f64) {
        let place = history.blocks.binary_search_by_key(&self.block(at), |(block, _)| *block);
        let (Ok(place), Some(amount)) = (place, amount(cost)) else { return };
        let Some((_, counted)) = history.blocks.get_mut(place) else { return };
        let taken = amount.min(*counted);
        *counted -= taken;
        history.total = history.total.saturating_sub(taken);
        if *counted == 0 {
            history.blocks.remove(place);
        }
    }

    /// The oldest blocks leave first. The event passes when enough of them have left.
    pub(super) fn retry_after(&self, history: &Blocks, now: Time, cost: f64) -> Retry {
        let Some(amount) = amount(cost).filter(|&amount| amount <= self.most) else {
            return Retry::Never;
        };
        let mut level = history.total.saturating_add(amount);
        let mut passes = now;
        for &(block, counted) in &history.blocks {
            if level <= self.most {
                break;
            }
            level = level.saturating_sub(counted);
            passes = self.leaves(block);
        }
        Retry::After(self.until(history, now, passes))
    }

    pub(super) fn remaining(&self, history: &Blocks, now: Time) -> f64 {
        events(self.most.saturating_sub(self.counted(history, now)))
    }

    /// The time until the latest block has left the window.
    pub(super) fn reset_after(&self, history: &Blocks, now: Time) -> Span {
        let leaves = history.latest().map_or(now, |latest| self.leaves(latest));
        self.until(history, now, leaves)
    }

    /// How long until `at`, an instant computed from the stored blocks. If the clock was set back,
    /// the blocks will move, and `at` with them.
    fn until(&self, history: &Blocks, now: Time, at: Time) -> Span {
        let back = if self.is_set_back(history, now) {
            self.current(history, now).saturating_sub(self.block(now))
        } else {
            0
        };
        let back = back.saturating_mul(self.width);
        now.until(Time::from_micros(at.as_micros().saturating_sub(back)))
    }

    /// Any `self.blocks` consecutive blocks of those that the interval can touch hold at most the limit.
    pub(super) fn max_admitted(&self, window: Span) -> f64 {
        let blocks = touched(window.micros_up(), self.width);
        events(self.most) * (1 + (blocks - 1) / self.blocks) as f64
    }

    /// The kept blocks, cut to this capacity: a limiter with a larger capacity may have kept more. Only the latest
    /// blocks that together reach the limit matter, since older ones leave first. If these are still too many,
    /// neighbours are merged at the time of the first.
    pub(super) fn fit(&self, all: &[(i64, u64)]) -> Blocks {
        let mut kept = all;
        let mut total = 0u64;
        if kept.len() > self.capacity {
            let enough = all.iter().rposition(|(_, amount)| {
                total = total.saturating_add(*amount);
                total >= self.most
            });
            kept = all.get(enough.unwrap_or(0)..).unwrap_or_default();
        }
        let sum = |blocks: &[(i64, u64)]| {
            blocks.iter().fold(0u64, |sum, (_, amount)| sum.saturating_add(*amount))
        };
        let together = kept.chunks(kept.len().div_ceil(self.capacity).max(1));
        let blocks = together.flat_map(|some| Some((some.first()?.0, sum(some)))).collect();
        Blocks { blocks, total: sum(kept) }
    }

    pub(super) fn in_f64(&self) -> Result<InF64, BadNumber> {
        in_f64::check_window(self.most, self.blocks.saturating_mul(self.width))?;
        let numbers =
            [self.most as f64, self.width as f64, self.blocks as f64, self.capacity as f64];
        Ok(InF64::new(Lua { name: "blocks", counts: true }, numbers))
    }
}

impl Blocks {
    /// How many blocks are remembered.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The bytes that it takes, including its capacity for blocks.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.blocks.capacity() * size_of::<(i64, u64)>()
    }

    /// True if nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn keep(&self, out: &mut Content) {
        out.whole(self.blocks.len() as u64);
        let mut before = None;
        for (number, amount) in &self.blocks {
            match before.replace(*number) {
                None => out.signed(*number),
                Some(before) => out.whole(number.abs_diff(before)),
            };
            out.amount(*amount);
        }
    }

    /// Reads the blocks, which are `width` microseconds wide.
    pub(super) fn read(width: i64, bytes: &mut Bytes<'_>) -> Result<Vec<(i64, u64)>, KeptError> {
        let many = bytes.unsigned("the number of blocks")?;
        // Not reserved: the bytes may claim more blocks than they hold.
        let mut blocks: Vec<(i64, u64)> = Vec::new();
        for _ in 0..many {
            let before = blocks.last().map(|(number, _)| *number);
            blocks.push((bytes.block(width, before)?, bytes.amount("the count of a block")?));
        }
        Ok(blocks)
    }

    fn latest(&self) -> Option<i64> {
        self.blocks.back().map(|(block, _)| *block)
    }

    /// Blocks in the order of time, with their amounts.
    pub(super) fn in_order(all: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let blocks: VecDeque<(i64, u64)> = all.into_iter().collect();
        let total = blocks.iter().fold(0u64, |total, (_, amount)| total.saturating_add(*amount));
        Blocks { blocks, total }
    }

    /// Adds to the current block. When no more blocks fit, the latest block becomes the current one, and its content is
    /// remembered for longer.
    #[inline]
    fn add(&mut self, current: i64, amount: u64, capacity: usize) {
        self.total = self.total.saturating_add(amount);
        let full = self.blocks.len() >= capacity;
        match self.blocks.back_mut() {
            Some((block, counted)) if *block == current || full => {
                *block = current;
                *counted = counted.saturating_add(amount);
            }
            _ => self.blocks.push_back((current, amount)),
        }
    }
}
