//! Busy days and quiet nights: a Poisson process whose rate rises and falls with the time.

use super::position::Position;
use super::random::Random;
use ratescope::text::BadNumber;
use ratescope::time::{Span, Time};

/// The amplitude of the rate around its mean, as a part of the mean.
const SWING: f64 = 0.9;

/// The number of pieces of a day, each with bounds of the rate; fewer if they would be shorter than `PIECE_GAPS`.
const PIECES_A_DAY: f64 = 64.0;

/// The least length of a piece in mean gaps, so that no event takes many pieces to find.
const PIECE_GAPS: f64 = 8.0;

/// Poisson events at the rate `r(t) = R (1 + 0.9 wave(t/day))`, with t from the origin of time: each day begins at the
/// mean with a rising rate, which swings between 0.1 and 1.9 times the mean. The wave is an upward arch of a parabola
/// in the first half of the day and a downward arch in the second: visually a sine, at a fraction of the time and of
/// the code in the page.
///
/// By thinning (Lewis and Shedler, "Simulation of nonhomogeneous Poisson processes by thinning", Naval Research
/// Logistics Quarterly 26, 1979): candidates come at a constant rate `top`, never below r; each is kept with the
/// probability r(t)/top; so kept candidates have exactly the rate r.
///
/// One top for the whole day (1.9 R) would waste almost every second candidate, so time is cut into pieces with a top
/// of their own. In a piece of length h, the rate differs from the rate in the middle by at most `h/2 · max|r'| = h/2 ·
/// 0.9 R 8/day`, which gives a lower and an upper bound. A candidate beyond the end of its piece is dropped and drawn
/// again at the top of the next piece: exponential gaps have no memory. A candidate whose random number is at most the
/// lower bound is kept without computing the rate. If pieces are long compared with the day, the bounds are 0.1 R and
/// 1.9 R, which is plain thinning.
#[derive(Clone, Debug)]
pub(super) struct DayAndNight {
    position: Position,
    random: Random,
    /// The mean gap in microseconds.
    mean_gap: f64,
    /// The length of a day in microseconds.
    day: f64,
    /// The length of a piece in microseconds.
    piece: f64,
    /// The rest of the current piece in microseconds.
    left: f64,
    /// The bounds of the rate in the current piece, as parts of the mean rate.
    low: f64,
    top: f64,
}

impl DayAndNight {
    /// `mean_gap` in microseconds.
    pub(super) fn new(
        position: Position,
        random: Random,
        mean_gap: f64,
        day: Span,
    ) -> Result<Self, BadNumber> {
        if day == Span::ZERO {
            let want = "longer than zero";
            return Err(BadNumber { what: "a day in seconds", given: 0.0, want });
        }
        // A day of less than a microsecond is as good as a day of a microsecond: the rate is the mean.
        let day = (day.as_secs_f64() * 1e6).clamp(1.0, f64::MAX);
        let piece = (day / PIECES_A_DAY).max(mean_gap * PIECE_GAPS).min(f64::MAX);
        Ok(DayAndNight { position, random, mean_gap, day, piece, left: 0.0, low: 0.0, top: 0.0 })
    }

    pub(super) fn draw(&mut self) -> Time {
        loop {
            if self.left <= 0.0 {
                self.enter_piece();
            }
            let gap = self.random.exponential() * self.mean_gap / self.top;
            if gap >= self.left {
                self.position.advance(self.left);
                self.left = 0.0;
                continue;
            }
            self.position.advance(gap);
            self.left -= gap;
            let lot = self.random.uniform() * self.top;
            if lot <= self.low || lot <= self.rate(self.position.micros()) {
                return self.position.time();
            }
        }
    }

    fn enter_piece(&mut self) {
        let middle = self.rate(self.position.micros() + self.piece / 2.0);
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

/// The steepest slope of the wave, per day: at the beginning, in the middle and at the end of the day.
const STEEPEST: f64 = 8.0;

/// The wave at a time in days: from 0 to 1 and back in the first half of a day, to -1 and back in the second.
fn wave(days: f64) -> f64 {
    let halves = 2.0 * (days - libm::floor(days));
    let part = halves - libm::floor(halves);
    let arch = 4.0 * part * (1.0 - part);
    if halves < 1.0 { arch } else { -arch }
}
