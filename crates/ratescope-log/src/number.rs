//! Times that are written as numbers: seconds, milliseconds, microseconds or nanoseconds since the epoch.

use super::instant::Instant;
use ratescope::internal::{by_name, digits};
use ratescope::time::Time;

/// The unit of a time that is written as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `s`.
    Seconds,
    /// `ms`.
    Millis,
    /// `us`.
    Micros,
    /// `ns`.
    Nanos,
}

const UNITS: [(Unit, &str); 4] =
    [(Unit::Seconds, "s"), (Unit::Millis, "ms"), (Unit::Micros, "us"), (Unit::Nanos, "ns")];

impl Unit {
    /// The most likely unit of a number, by its size.
    ///
    /// Below 10¹¹ seconds, which reach to the year 5138 and include small numbers since any other origin; below 10¹⁴
    /// milliseconds; below 10¹⁷ microseconds; then nanoseconds. The range of each of the last three units begins in
    /// March 1973, so the guess is right for all times since.
    pub fn guess(number: f64) -> Self {
        match number.abs() {
            size if size < 1e11 => Unit::Seconds,
            size if size < 1e14 => Unit::Millis,
            size if size < 1e17 => Unit::Micros,
            _ => Unit::Nanos,
        }
    }
}

by_name!(Unit, UNITS, "not a unit of times in numbers; write s, ms, us or ns");

/// Reads a number as a time, in the given unit or in the guessed one, cut to microseconds. `None` if the text is not a
/// number, or the time is out of range.
pub(super) fn read(text: &str, unit: Option<Unit>) -> Option<Instant> {
    plain(text, unit).map(|(instant, _)| instant).or_else(|| exponential(text, unit))
}

/// As [`read`], for numbers without an exponent; also returns the number of decimals.
pub(super) fn plain(text: &str, unit: Option<Unit>) -> Option<(Instant, usize)> {
    let (negative, number) = match text.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, text),
    };
    let (whole, part) = digits(number)?;
    let whole: i64 = whole.parse().ok()?;
    // How many decimals of the unit reach a microsecond, and how many shorter units make a microsecond.
    let (shift, cut) = match unit.unwrap_or_else(|| Unit::guess(whole as f64)) {
        Unit::Seconds => (6, 1),
        Unit::Millis => (3, 1),
        Unit::Micros => (0, 1),
        Unit::Nanos => (0, 1000),
    };
    let part_micros = decimals(part.as_bytes(), shift);
    let micros = (whole / cut).checked_mul(10i64.pow(shift as u32))?.checked_add(part_micros)?;
    let time = Time::from_micros(if negative { -micros } else { micros });
    Some((Instant { time, coarse: shift == 6 && part.is_empty(), east: Some(0) }, part.len()))
}

/// The first `count` decimals as a number, at most six; missing digits are zeros.
#[inline]
pub(super) fn decimals(digits: &[u8], count: usize) -> i64 {
    let padded = digits.iter().chain(&[b'0'; 6]).take(count);
    padded.fold(0, |n, digit| n * 10 + i64::from(digit - b'0'))
}

/// Reads a number such as `1.7e9` as a time, rounded to f64.
fn exponential(text: &str, unit: Option<Unit>) -> Option<Instant> {
    let first = text.bytes().next()?;
    let number: f64 = text.parse().ok().filter(|_| first.is_ascii_digit() || first == b'-')?;
    let per_second = match unit.unwrap_or_else(|| Unit::guess(number)) {
        Unit::Seconds => 1.0,
        Unit::Millis => 1e3,
        Unit::Micros => 1e6,
        Unit::Nanos => 1e9,
    };
    let time = Time::try_from_secs_f64(number / per_second).ok()?;
    Some(Instant { time, coarse: false, east: Some(0) })
}
