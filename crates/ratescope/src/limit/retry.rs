//! The exact time to retry: a formula gives a guess, and the limiter itself corrects it.

use crate::time::{Span, Time};

/// How far after the guess the search goes, in microseconds: 12.7 days, more than any rounding error in f64.
const LATER: i64 = 1 << 40;

/// The largest stride back, in microseconds. A guess may be a mere upper bound, ages after the instant
/// that is searched for.
const BACK: i64 = 1 << 61;

/// The time from `now` to the first whole microsecond at which `passes` is true. The search begins
/// at `guess`.
///
/// `passes` must be monotone: once true, it stays true. A closed form in f64 is off by a rounding error or two from the
/// microsecond at which the limiter changes its answer, so it is only a guess. From there, strides that double find an
/// instant that passes, and strides that halve find the first one.
#[inline(never)]
pub(crate) fn wait_until(guess: Time, now: Time, passes: &dyn Fn(Time) -> bool) -> Span {
    let step = |at: Time, by: i64| Time::from_micros(at.as_micros().saturating_add(by));
    let mut at = guess.max(now);
    let mut stride = 1;
    // An instant before one that did not pass is never tried.
    let mut failed = None;
    let mut passes = |at: Time| {
        let does = Some(at) > failed && passes(at);
        if !does {
            failed = failed.max(Some(at));
        }
        does
    };
    while !passes(at) && stride < LATER {
        at = step(at, stride);
        stride *= 2;
    }
    // Go back as long as it still passes.
    while stride < BACK && step(at, -stride) >= now && passes(step(at, -stride)) {
        at = step(at, -stride);
        stride *= 2;
    }
    while stride > 0 {
        let earlier = step(at, -stride).max(now);
        if earlier < at && passes(earlier) {
            at = earlier;
        } else {
            stride /= 2;
        }
    }
    now.until(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// The wait from 0 to `instant`, and the number of calls of `passes`, which grows with the logarithm of the
    /// distance.
    fn asked(guess: Time, instant: i64) -> (Span, u32) {
        let asked = Cell::new(0);
        let passes = |at: Time| {
            asked.set(asked.get() + 1);
            at.as_micros() >= instant
        };
        (wait_until(guess, Time::ZERO, &passes), asked.get())
    }

    #[test]
    fn a_guess_may_be_ages_off() {
        for instant in [0, 1, 5, 1 << 20, (1 << 50) + 3] {
            let wait = Time::ZERO.until(Time::from_micros(instant));
            for off in [-(1 << 39), -5, -1, 0, 1, 3, 1 << 30, 1 << 41, 1 << 55, i64::MAX] {
                let guess = Time::from_micros(instant.saturating_add(off));
                let (found, asked) = asked(guess, instant);
                assert_eq!(found, wait, "{instant}, {off} off");
                assert!(asked < 200, "{instant}, {off} off: asked {asked} times");
                assert!(asked <= 2 || off != 0, "{instant}: asked {asked} times");
            }
        }
    }
}
