//! Independent events.

use super::clock::Clock;
use super::random::Random;
use crate::time::Time;

/// A Poisson process: exponential gaps.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    clock: Clock,
    random: Random,
    mean_gap: f64,
}

impl Poisson {
    /// `mean_gap` in microseconds.
    pub(super) fn new(clock: Clock, random: Random, mean_gap: f64) -> Self {
        Poisson { clock, random, mean_gap }
    }

    #[inline(always)]
    pub(super) fn draw(&mut self) -> Time {
        self.clock.advance(self.random.exponential() * self.mean_gap);
        self.clock.time()
    }
}
