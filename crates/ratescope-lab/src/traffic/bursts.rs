//! Ten events in quick succession, then a pause.

use super::position::Position;
use super::random::Random;
use ratescope::time::Time;

/// Events in one burst.
const SIZE: u32 = 10;

/// The rate within a burst, as a multiple of the mean rate.
const HASTE: f64 = 10.0;

/// The mean pause after a burst, in mean gaps.
///
/// With the mean gap g, the last event of a burst comes (SIZE - 1) g/HASTE after its first. The mean time from the
/// first event of one burst to the first of the next must be SIZE g, for SIZE events each. The pause is exponential,
/// and its mean is the difference: 10 g - 9 g/10 = 9.1 g.
const PAUSE: f64 = SIZE as f64 - (SIZE - 1) as f64 / HASTE;

#[derive(Clone, Debug)]
pub(super) struct Bursts {
    position: Position,
    random: Random,
    mean_gap: f64,
    /// The remaining events of the current burst.
    left: u32,
}

impl Bursts {
    /// `mean_gap` in microseconds. The first burst comes after a pause.
    pub(super) fn new(position: Position, random: Random, mean_gap: f64) -> Self {
        Bursts { position, random, mean_gap, left: 0 }
    }

    pub(super) fn draw(&mut self) -> Time {
        let gaps = if self.left == 0 {
            self.left = SIZE;
            PAUSE * self.random.exponential()
        } else {
            HASTE.recip()
        };
        self.left -= 1;
        self.position.advance(gaps * self.mean_gap);
        self.position.time()
    }
}
