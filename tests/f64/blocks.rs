//! The sliding window and the sliding log.

use crate::{Event, Twin, assert_generations, assert_twins, events};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::sliding_log::SlidingLog;
use ratescope::limit::sliding_window::SlidingWindow;
use ratescope::{Rate, Span};

/// At most `most` millionths in `blocks` blocks of `width` microseconds, of which no more than
/// `capacity` are remembered. The blocks of a log are of one microsecond.
#[derive(Clone, Copy, Debug)]
struct Rule {
    most: f64,
    width: f64,
    blocks: f64,
    capacity: usize,
}

/// The numbers of blocks and the amounts in them, oldest first.
type State = Vec<(f64, f64)>;

impl Rule {
    /// The number of the block at `now`; that of the current block, which is the latest seen; and
    /// by how many blocks the clock was set back.
    fn current(&self, state: &State, now: f64) -> (f64, f64, f64) {
        let number = (now / self.width).floor();
        match state.last() {
            Some((latest, _)) if latest - number > self.blocks => {
                (number, *latest, latest - number)
            }
            Some((latest, _)) if *latest > number => (number, *latest, 0.0),
            _ => (number, number, 0.0),
        }
    }

    fn counted(&self, state: &State, now: f64) -> f64 {
        let (_, current, _) = self.current(state, now);
        let held = state.iter().filter(|(number, _)| *number > current - self.blocks);
        held.fold(0.0, |sum, (_, amount)| sum + amount)
    }
}

impl Twin for Rule {
    type State = State;

    fn peek(&self, state: &Option<State>, now: f64, amount: f64) -> (bool, f64) {
        let level = state.as_ref().map_or(0.0, |state| self.counted(state, now)) + amount;
        (level <= self.most, level / 1e6)
    }

    fn record(&self, state: &mut Option<State>, now: f64, amount: f64, allowed: bool) {
        let state = state.get_or_insert_default();
        let (number, current, back) = self.current(state, now);
        state.retain(|(number, _)| *number > current - self.blocks);
        state.iter_mut().for_each(|(number, _)| *number -= back);
        if !allowed || amount == 0.0 {
            return;
        }
        let current = if back > 0.0 { number } else { current };
        let full = state.len() >= self.capacity;
        match state.last_mut() {
            Some((latest, counted)) if *latest == current || full => {
                (*latest, *counted) = (current, *counted + amount);
            }
            _ => state.push((current, amount)),
        }
    }

    fn retry_after(&self, state: &Option<State>, now: f64, amount: f64) -> Option<f64> {
        if amount > self.most {
            return None;
        }
        let state = state.clone().unwrap_or_default();
        let (here, _, back) = self.current(&state, now);
        let mut level = self.counted(&state, now) + amount;
        let (_, current, _) = self.current(&state, now);
        let mut wait = 0.0;
        // The oldest leave first, until there is room.
        for (number, counted) in state {
            if number > current - self.blocks && level > self.most {
                level -= counted;
                wait =
                    (number - back - here + self.blocks) * self.width - (now - here * self.width);
            }
        }
        Some(wait)
    }

    fn remaining(&self, state: &Option<State>, now: f64) -> f64 {
        let room = self.most - state.as_ref().map_or(0.0, |state| self.counted(state, now));
        if room > 0.0 { room } else { 0.0 }
    }
}

fn window(most: u64, period: u64, blocks: u64) -> (Rule, AnyLimiter) {
    let width = period.div_ceil(blocks);
    let blocks = period.div_ceil(width);
    let rate = Rate::new(most as f64 / 1e6, Span::micros(period)).unwrap();
    let limiter = SlidingWindow::new(rate, Span::micros(width)).unwrap();
    let (blocks, capacity) = (blocks as f64, blocks as usize);
    let rule = Rule { most: most as f64, width: width as f64, blocks, capacity };
    (rule, AnyLimiter::SlidingWindow(limiter))
}

fn log(most: u64, period: u64) -> (Rule, AnyLimiter) {
    let rate = Rate::new(most as f64 / 1e6, Span::micros(period)).unwrap();
    let capacity = (most as usize / 1_000_000).max(1000);
    let rule = Rule { most: most as f64, width: 1.0, blocks: period as f64, capacity };
    (rule, AnyLimiter::SlidingLog(SlidingLog::new(rate).unwrap()))
}

fn cases() -> impl Strategy<Value = ((u64, u64), Vec<Event>)> {
    // Rounding up to whole blocks may lengthen a period.
    let numbers = crate::window::numbers().prop_map(|(most, period)| (most, period.min(1 << 50)));
    numbers.prop_flat_map(|(most, period)| (Just((most, period)), events(most, period as i64)))
}

proptest! {
    #[test]
    fn a_window_decides_alike(
        ((most, period), events) in cases(),
        other in crate::window::numbers(),
        blocks in 1u64..100,
    ) {
        let (rule, limiter) = window(most, period, blocks);
        assert_twins(&limiter, &rule, &events);
        let (other, changed) = window(other.0, period, blocks);
        assert_generations([(&limiter, &rule), (&changed, &other)], &events);
    }

    #[test]
    fn a_log_decides_alike(((most, period), events) in cases(), other in 1u64..100_000) {
        let (rule, limiter) = log(most.min(100_000_000_000), period);
        assert_twins(&limiter, &rule, &events);
        let (other, changed) = log(other * 1_000_000, period);
        assert_generations([(&limiter, &rule), (&changed, &other)], &events);
    }
}

/// Crumbs, more of them than there is room for: the latest two become one.
#[test]
fn a_full_log_decides_alike() {
    let (rule, limiter) = log(3_000_000, 60_000_000);
    let event =
        |i: i64| Event { now: i * 20_000 - i % 7 * 50_000 + 500_000, amount: 700, allowed: None };
    assert_twins(&limiter, &rule, &(0..6000).map(event).collect::<Vec<_>>());
}
