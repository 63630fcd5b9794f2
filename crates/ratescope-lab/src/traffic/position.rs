//! A position in time that can advance by less than a microsecond.

use ratescope::time::Time;

/// A whole microsecond and an offset from it in microseconds, kept below `REBASE`.
///
/// At a million events a second most gaps are below a microsecond. Added to an ever growing f64, they would lose more
/// and more digits; the offset always has a resolution of 2⁻³³ of a microsecond. (It moves to the base rarely, not at
/// each event, since each event would then depend on the rounding of the previous one.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    base: i64,
    offset: f64,
}

const REBASE: f64 = (1u32 << 20) as f64;

impl Position {
    pub(super) fn at(start: Time) -> Self {
        Position { base: start.as_micros(), offset: 0.0 }
    }

    /// Advances by `gap` microseconds, which is at least zero; it stops at the end of time.
    #[inline(always)]
    pub(super) fn advance(&mut self, gap: f64) {
        self.offset += gap;
        if self.offset >= REBASE {
            let whole = self.offset as i64;
            self.base = self.base.saturating_add(whole);
            self.offset -= whole as f64;
        }
    }

    /// The time, cut to a whole microsecond.
    #[inline(always)]
    pub(super) fn time(self) -> Time {
        Time::from_micros(self.base.saturating_add(self.offset as i64))
    }

    /// Microseconds since the origin, rounded to f64.
    pub(super) fn micros(self) -> f64 {
        self.base as f64 + self.offset
    }
}
