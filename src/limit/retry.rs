//! The exact time to retry: a formula guesses it, and the limiter itself confirms it.

use crate::time::{Span, Time};

/// The largest stride of the search, in microseconds. No rounding error of a formula in f64 puts a
/// guess further off.
const FURTHEST: i64 = 1 << 40;

/// The time from `now` to the first whole microsecond at which `passes` is true. The search begins
/// at `guess`.
///
/// `passes` must be monotone: once true, it stays true. A closed form in f64 is off by a rounding
/// error or two from the microsecond at which the limiter, computing forwards, changes its answer.
/// So the closed form is only a guess. From there, strides that double find an instant that passes,
/// and strides that halve find the first one.
#[inline(never)]
pub(crate) fn wait_until(guess: Time, now: Time, passes: &dyn Fn(Time) -> bool) -> Span {
    let step = |at: Time, by: i64| Time::from_micros(at.as_micros().saturating_add(by));
    let (mut at, mut stride) = (guess.max(now), 1);
    while !passes(at) && stride < FURTHEST {
        at = step(at, stride);
        stride *= 2;
    }
    // Go back as long as it still passes.
    while stride < FURTHEST && step(at, -stride) >= now && passes(step(at, -stride)) {
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
