//! The scale of limits: three decimal digits, from 0.001 to 999 billion.
//!
//! Levels are counted between marks, so counts are exact for limits on a mark. The marks are the numbers that people
//! write: 1 to 999 in whole numbers, then 1000, 1010 and so on, each at most 1 % above the previous. (HDR histograms,
//! and their crate, divide powers of two instead: their counts would be exact at 1024 and 1032, and within 1 % at 1000.
//! They also count whole numbers only, and a rate need not be whole.)
//!
//! A mark is the f64 nearest to its decimal, as is a limit read from a text. So a level compares with a mark as with
//! the limit of that decimal.

use super::histogram::Rank;
use ratescope::internal::{larger, smaller};
use std::sync::OnceLock;

/// Powers of ten, exact in f64.
const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number of marks in a power of ten.
const IN_DECADE: usize = 900;

/// The number of powers of ten on the scale, from 10^-3.
const DECADES: usize = 15;

/// The number of marks.
pub const MARKS: usize = IN_DECADE * DECADES;

/// The mark at `place`, counted from 0; for a place beyond the last mark, the last.
pub fn mark(place: usize) -> f64 {
    let place = place.min(MARKS - 1);
    let decade = place / IN_DECADE;
    let digits = (place % IN_DECADE + 100) as f64;
    // Both numbers are whole, so that the quotient is the nearest f64 to the decimal. In decade 5 the digits are the
    // mark itself, from 100 to 999.
    match TENS.get(decade.saturating_sub(5)) {
        Some(tens) if decade >= 5 => digits * tens,
        _ => digits / TENS.get(5 - decade.min(5)).unwrap_or(&1.0),
    }
}

/// The place of the last mark at or below `level`; `None` below the first mark.
pub fn place(level: f64) -> Option<usize> {
    Scale::new().over(Over::AtLimit, level).checked_sub(1)
}

/// All marks, computed once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(&'static [f64]);

impl Scale {
    pub(super) fn new() -> Self {
        static ALL: OnceLock<Box<[f64]>> = OnceLock::new();
        Scale(ALL.get_or_init(|| (0..MARKS).map(mark).collect()))
    }

    /// The number of marks that `level` is over: all marks before the nearest, none after it, and the nearest if `over`
    /// says so.
    #[inline]
    pub(super) fn over(self, over: Over, level: f64) -> Rank {
        let nearest = nearest(level);
        nearest + usize::from(self.0.get(nearest).is_some_and(|mark| over.is_over(level, *mark)))
    }
}

/// Factors that scale a level of each power of ten to three digits before the point.
const TO_DIGITS: [f64; DECADES + 1] =
    [1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/// The place of the nearest mark; 0 for NaN.
#[inline]
fn nearest(level: f64) -> usize {
    if level.is_nan() || level < 0.001 {
        return 0;
    }
    // The power of two, times log10 of 2, is the power of ten or one less.
    let two = (level.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let decade = (((two * 1233) >> 12) + 3).clamp(0, DECADES as i32) as usize;
    let digits = level * TO_DIGITS.get(decade).unwrap_or(&1.0);
    let (decade, digits) =
        if digits >= 1000.0 { (decade + 1, digits * 0.1) } else { (decade, digits) };
    let digits = smaller(1000.0, larger(100.0, digits));
    // Adding 2^52 rounds a number to a whole one, and puts it in the last bits: that is faster than a conversion. 1000
    // is 100 of the next decade.
    let digits = (digits + (1u64 << 52) as f64).to_bits() as u32 as usize;
    (decade * IN_DECADE + digits - 100).min(MARKS - 1)
}

/// The digits of the proposed limits, as on prices and clocks.
const NICE: [f64; 10] = [100.0, 120.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0, 600.0, 800.0];

/// The limits that a person would write, in order: marks of one digit or a usual second one, and whole
/// numbers up to 20.
pub fn nice() -> impl Iterator<Item = f64> + Clone {
    // An answer reads these limits a dozen times, and only one mark in eighty is nice.
    static ALL: OnceLock<Box<[f64]>> = OnceLock::new();
    let all = ALL.get_or_init(|| (0..MARKS).filter(|place| is_nice(*place)).map(mark).collect());
    all.iter().copied()
}

/// Tells whether a limit is 1, 2 or 5 times a power of ten.
pub fn is_round(limit: f64) -> bool {
    let digits = format!("{limit:e}");
    matches!(digits.split('e').next(), Some("1" | "2" | "5"))
}

fn is_nice(place: usize) -> bool {
    let digits = (place % IN_DECADE + 100) as f64;
    let level = mark(place);
    let usual = NICE.contains(&digits);
    let small = (1.0..=20.0).contains(&level) && level == libm::trunc(level);
    let fraction = (1.0..10.0).contains(&level) && level != libm::trunc(level);
    (usual && !fraction) || small
}

/// The comparison of a level with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// At or above the limit, as for Exim.
    AtLimit,
    /// Only a level above the limit is over it, as for counts.
    AboveLimit,
}

impl Over {
    /// Returns whether `level` is over `limit`.
    #[inline]
    pub fn is_over(self, level: f64, limit: f64) -> bool {
        match self {
            Over::AtLimit => level >= limit,
            Over::AboveLimit => level > limit,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_what_is_read_from_their_text() {
        let mut last = 0.0;
        for i in 0..MARKS {
            let level = mark(i);
            assert!(level > last && (i == 0 || level <= last * 1.010_001), "{last} {level}");
            let text = format!("{level:.2e}");
            assert_eq!(text.parse::<f64>().unwrap(), level, "{text}");
            last = level;
        }
        assert_eq!((mark(0), last), (0.001, 999e9));
    }

    #[test]
    fn every_level_has_its_place() {
        for i in 0..MARKS {
            let level = mark(i);
            assert_eq!(place(level), Some(i), "{level}");
            assert_eq!(place(level.next_down()), i.checked_sub(1), "below {level}");
            assert_eq!(place(level.next_up()), Some(i), "above {level}");
            assert_eq!(Scale::new().over(Over::AtLimit, level), i + 1);
            assert_eq!(Scale::new().over(Over::AboveLimit, level), i);
        }
        for level in [f64::INFINITY, f64::MAX, 1e15, 1e12] {
            assert_eq!(place(level), Some(MARKS - 1), "{level}");
        }
        for level in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE, 0.000_999] {
            assert_eq!(place(level), None, "{level}");
        }
    }

    #[test]
    fn nice_limits() {
        let some: Vec<f64> = nice().skip_while(|x| *x < 1.0).take_while(|x| *x < 1000.0).collect();
        assert_eq!(
            some[18..],
            [
                19.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 120.0, 150.0, 200.0, 250.0,
                300.0, 400.0, 500.0, 600.0, 800.0
            ]
        );
    }
}
