//! Equal gaps.

use ratescope::time::Time;

/// Event i comes i gaps after the start, rounded to the nearest microsecond.
///
/// The time is computed from i, not from the previous event, so that there is no drift if the gap is not a whole number
/// of microseconds, as at 3 events a second.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    start: i64,
    gap: f64,
    count: u64,
}

impl Steady {
    /// `gap` in microseconds, finite and above zero.
    pub(super) fn new(start: Time, gap: f64) -> Self {
        Steady { start: start.as_micros(), gap, count: 0 }
    }

    #[inline(always)]
    pub(super) fn draw(&mut self) -> Time {
        self.count += 1;
        let elapsed = (self.count as f64 * self.gap + 0.5) as i64;
        Time::from_micros(self.start.saturating_add(elapsed))
    }
}
