//! The ticks of an axis, and the text forms of numbers and times.
//!
//! Every function accepts any number, even NaN, and does a bounded amount of work.

mod label;
mod round;

pub use label::{compact, instant, readout, readout_count, seconds};
pub use round::{next_round, next_round_time, two_digits};

use core::ops::RangeInclusive;
use round::Interval;

/// A marked value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value, in the unit of the axis.
    pub value: f64,
    /// How it is written.
    pub label: String,
}

/// The most intervals of an axis.
const MOST: usize = 1000;

/// A deviation of at most this part of a step counts as a rounding error.
const ROUNDING: f64 = 1e-9;

/// Ticks at the multiples of 1, 2 or 5 · 10^k in a domain, both ends included, in ascending order.
///
/// The step is the smallest with at most `about` intervals, and at most 1000; usually there are more than a third of
/// `about`. All labels have as many decimals as the step. A domain shorter than 1e-12 of its ends gets a single tick; a
/// domain that is not finite, or longer than 1e300, gets none.
pub fn ticks(from: f64, to: f64, about: usize) -> Vec<Tick> {
    let (from, to) = if from <= to { (from, to) } else { (to, from) };
    let length = to - from;
    if !(0.0..=round::GREATEST).contains(&length) {
        return Vec::new();
    }
    if length <= (from.abs().max(to.abs()) * 1e-12).max(round::LEAST) {
        return vec![Tick { value: from, label: label::readout(from) }];
    }
    let step = round::at_least(length / about.clamp(1, MOST) as f64);
    let first = libm::ceil(from / step.value() - ROUNDING) as i64;
    let last = libm::floor(to / step.value() + ROUNDING) as i64;
    multiples(step, first..=last, &|value| label::number(value, step.exponent))
}

/// Ticks on an axis of time whose right end is now: the values are seconds before that end, ascending.
///
/// The end itself has no tick. The steps are those of [`next_round_time`], and the labels read `−0.5 s`,
/// `−10 s`, `−1 m 30 s`, `−2 h`. There are at most `about` ticks, and at most 1000.
pub fn time_ticks(window_seconds: f64, about: usize) -> Vec<Tick> {
    if !(round::LEAST..=round::GREATEST).contains(&window_seconds) {
        return Vec::new();
    }
    let step = round::time_at_least(window_seconds / about.clamp(1, MOST) as f64);
    let last = libm::floor(window_seconds / step.value() + ROUNDING) as i64;
    multiples(step, 1..=last, &|value| format!("−{}", label::time(value, step.exponent)))
}

/// Ticks at round times of a run, in seconds since its start, from `from` to `to`, ascending; there are none
/// before the start.
///
/// The steps are those of [`next_round_time`], and the labels those of [`instant`]. There are at most `about`
/// intervals, and at most 1000.
pub fn run_ticks(from: f64, to: f64, about: usize) -> Vec<Tick> {
    let length = to - from;
    if !(round::LEAST..=round::GREATEST).contains(&length) {
        return Vec::new();
    }
    let step = round::time_at_least(length / about.clamp(1, MOST) as f64);
    let first = libm::ceil((from / step.value() - ROUNDING).max(0.0)) as i64;
    let last = libm::floor(to / step.value() + ROUNDING) as i64;
    multiples(step, first..=last, &|value| label::at(value, step.exponent, to))
}

/// Ticks at the multiples of a step, by their numbers.
fn multiples(
    step: Interval,
    numbers: RangeInclusive<i64>,
    label: &dyn Fn(f64) -> String,
) -> Vec<Tick> {
    let tick = |number: i64| {
        let value = step.times(number as f64);
        Tick { value, label: label(value) }
    };
    numbers.take(MOST + 1).map(tick).collect()
}
