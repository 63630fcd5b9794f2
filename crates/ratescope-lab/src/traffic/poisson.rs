//! Independent events.

use super::position::Position;
use super::random::Random;
use ratescope::time::Time;

/// A Poisson process: exponential gaps.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    position: Position,
    random: Random,
    mean_gap: f64,
}

impl Poisson {
    /// `mean_gap` in microseconds.
    pub(super) fn new(position: Position, random: Random, mean_gap: f64) -> Self {
        Poisson { position, random, mean_gap }
    }

    #[inline(always)]
    pub(super) fn draw(&mut self) -> Time {
        self.position.advance(self.random.exponential() * self.mean_gap);
        self.position.time()
    }
}
