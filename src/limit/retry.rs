//! The honest time to come back: found by formula, settled by asking the limiter itself.

use crate::time::{Span, Time};

/// The furthest that a rounding error can put a guess off, in microseconds: enough for any
/// formula in f64, and a bound on the search.
const FURTHEST: i64 = 1 << 40;

/// How long after `now` the first whole microsecond lies at which `passes`, given a guess.
///
/// Passing must be a matter of time: once true, true ever after. A closed form in f64 is a
/// rounding error or two away from the microsecond at which the limiter, computing forwards,
/// changes its mind. So the guess is only where the search begins: strides that double find an
/// instant that passes, strides that halve find the first one.
#[inline(never)]
pub(crate) fn wait_until(guess: Time, now: Time, passes: &dyn Fn(Time) -> bool) -> Span {
    let step = |at: Time, by: i64| Time::from_micros(at.as_micros().saturating_add(by));
    let (mut at, mut stride) = (guess.max(now), 1);
    while !passes(at) && stride < FURTHEST {
        at = step(at, stride);
        stride *= 2;
    }
    // Going back as far as it passes: double while that succeeds, then halve.
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
