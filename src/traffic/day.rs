//! Busy days and quiet nights: a Poisson process whose rate rises and falls with the time.

use super::clock::Clock;
use super::random::Random;
use crate::text::BadNumber;
use crate::time::{Span, Time};

/// How far the rate swings to either side of its mean, as a part of the mean.
const SWING: f64 = 0.9;

/// A piece of a day over which the rate is bounded, unless that is short of `PIECE_GAPS`.
const PIECES_A_DAY: f64 = 64.0;

/// The least length of a piece in mean gaps, so that no event takes many pieces to find.
const PIECE_GAPS: f64 = 8.0;

/// Poisson events at the rate `r(t) = R (1 + 0.9 wave(t/day))`, with t from the origin of time:
/// each day begins at the mean, rising, and swings between 0.1 and 1.9 times the mean. The wave is
/// a parabola up for the first half of the day and one down for the second: near enough to a sine
/// that nobody sees the difference, and a fraction of its cost and of its weight in the page.
///
/// By thinning (Lewis and Shedler, "Simulation of nonhomogeneous Poisson processes by thinning",
/// Naval Research Logistics Quarterly 26, 1979): candidates come at a constant rate `top`, never
/// below r; each is kept with the probability r(t)/top; the kept ones have the rate r, exactly.
///
/// One top for the whole day (1.9 R) would waste every second candidate,
/// so time is cut in pieces with a top of their own. In a piece of length h, the rate differs
/// from that in its middle by at most `h/2 · max|r'| = h/2 · 0.9 R 8/day`, which bounds it from
/// above and below. At the end of a piece the candidate beyond it is dropped and drawn again at
/// the next top: exponential gaps have no memory. And where the lot falls under the lower bound,
/// the event is kept without asking for the rate. Where pieces are long against the day, the
/// bounds are 0.1 R and 1.9 R, which is plain thinning.
#[derive(Clone, Debug)]
pub(super) struct DayAndNight {
    clock: Clock,
    random: Random,
    /// Microseconds: of the mean gap, of a day, and of a piece.
    mean_gap: f64,
    day: f64,
    piece: f64,
    /// The rest of this piece in microseconds, and the bounds of the rate in it as parts of
    /// the mean rate.
    left: f64,
    low: f64,
    top: f64,
}

impl DayAndNight {
    /// `mean_gap` in microseconds.
    pub(super) fn new(
        clock: Clock,
        random: Random,
        mean_gap: f64,
        day: Span,
    ) -> Result<Self, BadNumber> {
        if day == Span::ZERO {
            let want = "longer than zero";
            return Err(BadNumber { what: "a day in seconds", given: 0.0, want });
        }
        // A day below a microsecond cannot be told from one: either way the rate is the mean.
        let day = (day.secs() * 1e6).clamp(1.0, f64::MAX);
        let piece = (day / PIECES_A_DAY).max(mean_gap * PIECE_GAPS).min(f64::MAX);
        Ok(DayAndNight { clock, random, mean_gap, day, piece, left: 0.0, low: 0.0, top: 0.0 })
    }

    pub(super) fn draw(&mut self) -> Time {
        loop {
            if self.left <= 0.0 {
                self.enter_piece();
            }
            let gap = self.random.exponential() * self.mean_gap / self.top;
            if gap >= self.left {
                self.clock.advance(self.left);
                self.left = 0.0;
                continue;
            }
            self.clock.advance(gap);
            self.left -= gap;
            let lot = self.random.uniform() * self.top;
            if lot <= self.low || lot <= self.rate(self.clock.micros()) {
                return self.clock.time();
            }
        }
    }

    fn enter_piece(&mut self) {
        let middle = self.rate(self.clock.micros() + self.piece / 2.0);
        let reach = self.piece / 2.0 * SWING * STEEPEST / self.day;
        self.low = (middle - reach).max(1.0 - SWING);
        self.top = (middle + reach).min(1.0 + SWING);
        self.left = self.piece;
    }

    /// The rate at `micros` from the origin, as a part of the mean rate: 0.1 to 1.9.
    fn rate(&self, micros: f64) -> f64 {
        1.0 + SWING * wave(micros / self.day)
    }
}

/// The steepest rise or fall of the wave, per day: at the beginning, in the middle and at the end.
const STEEPEST: f64 = 8.0;

/// From 0 to 1 and back in the first half of a day, to -1 and back in the second.
fn wave(days: f64) -> f64 {
    let halves = 2.0 * (days - libm::floor(days));
    let part = halves - libm::floor(halves);
    let arch = 4.0 * part * (1.0 - part);
    if halves < 1.0 { arch } else { -arch }
}
