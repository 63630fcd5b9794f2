//! The windowed average: an exponentially weighted moving average (EWMA) over the counts of windows.
//!
//! Source: the usual EWMA, as John Berryman's notes on recent average rate limiters begin with it: for each user, the
//! hits in this window, and the running average of the windows before.
//!
//! # The formula
//! Time is cut into windows of one period. When a window with n events ends, its count joins the average A with the
//! weight a; a window without events leaves the rest:
//!
//! ```text
//! A' = a n + (1 - a) A
//! A after k more windows without events: A (1 - a)^k
//! ```
//!
//! The notes call this infeasible, as all users would have to be updated at the end of each window. They need not be: a
//! state knows its window, so the next event or question finds how many have ended since, and the power above stands for
//! those without events.
//!
//! # How it fails
//! * **It sees nothing of the window that goes on.** A burst is known when its window ends, up to a period late: a limiter
//!   that asks the average alone lets any number pass until then.
//! * **It moves in steps,** for all senders at the same instants. The weight of an event depends on its place in its
//!   window.
//! * **Its forgetting depends on the period.** With a for a window of t seconds, the time constant is -t/ln(1 - a).
//!
//! With ever shorter windows, and a = 1 - e^(-λ t), it becomes the
//! [recent average](ratescope::estimate::recent_average), which has none
//! of these faults and one number less.
//!
//! # The edges
//! * **On an edge:** the first instant of a window belongs to it.
//! * **Time runs backwards:** an event from before the latest window counts in the latest.
//! * **More than f64 can hold:** a count stays at the largest number.

use ratescope::internal::smaller;
use ratescope::time::{Span, Time};

/// Estimates events per window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowedAverage {
    /// The length of a window, at least a microsecond.
    pub(super) period: Span,
    /// The weight of the window that has just ended, above 0 and at most 1.
    pub(super) weight: f64,
}

/// The latest window, its count so far, and the average of the windows before it: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// The number of the window, counted from the origin of time.
    pub(super) window: i64,
    /// Events in this window.
    pub(super) count: f64,
    /// Events per window before it.
    pub(super) average: f64,
}

impl WindowedAverage {
    /// Events per window at `now`, by the windows that have ended.
    pub(super) fn estimate(&self, last: Counted, now: Time) -> f64 {
        self.fold(last, now).average
    }

    /// The state after an event of cost `cost` (finite, at least 0) at `now`.
    pub(super) fn add(&self, last: Counted, now: Time, cost: f64) -> Counted {
        let counted = self.fold(last, now);
        Counted { count: smaller(f64::MAX, counted.count + cost), ..counted }
    }

    /// The state with all windows that have ended at `now`.
    fn fold(&self, last: Counted, now: Time) -> Counted {
        let window = now.as_micros().div_euclid(self.period.micros_up().max(1));
        let ended = window.saturating_sub(last.window);
        if ended <= 0 {
            return last;
        }
        let rest = 1.0 - self.weight;
        let average = self.weight * last.count + rest * last.average;
        Counted { window, count: 0.0, average: average * power(rest, ended - 1) }
    }
}

/// `base` to the power of `exponent`, which is at least 0, by squaring: exact where a weight is a power of two.
fn power(mut base: f64, mut exponent: i64) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratescope::estimate::recent_average::{Impulse, RecentAverage};

    fn at(seconds: f64) -> Time {
        Time::try_from_secs_f64(seconds).unwrap()
    }

    fn near(got: f64, want: f64, relative: f64) {
        assert!((got - want).abs() <= relative * want, "{got} is not {want}");
    }

    /// A thousand events in the first second of a window.
    #[test]
    fn a_burst_is_known_when_its_window_ends() {
        let average = WindowedAverage { period: Span::from_secs(10), weight: 0.5 };
        let burst = (0..1000).fold(Counted::default(), |state, _| average.add(state, at(1.0), 1.0));
        let read = [1.0, 9.0, 10.0, 20.0, 30.0].map(|now| average.estimate(burst, at(now)));
        assert_eq!(read, [0.0, 0.0, 500.0, 250.0, 125.0]);
    }

    /// The average of each window is a n + (1 - a) A, whether windows are folded one by one or at once.
    #[test]
    fn windows_that_have_ended_are_folded() {
        let average = WindowedAverage { period: Span::from_secs(10), weight: 0.25 };
        // An event a second for a minute: 10 in each window, of which the first reads 2.5.
        let events = (0..60).map(|second| at(f64::from(second)));
        let state = events.fold(Counted::default(), |state, now| average.add(state, now, 1.0));
        let rests = |windows: i32| libm::pow(0.75, f64::from(windows));
        near(average.estimate(state, at(59.9)), 10.0 * (1.0 - rests(5)), 1e-14);
        for windows in 0..20 {
            let now = at(60.0 + 10.0 * f64::from(windows));
            near(average.estimate(state, now), 10.0 * (1.0 - rests(6)) * rests(windows), 1e-14);
        }
        // From a window before the latest, it counts in the latest.
        assert_eq!(average.add(state, at(1.0), 2.0), Counted { count: 12.0, ..state });
        // The number of a window may be below 0.
        let state = average.add(Counted { window: -100, ..Counted::default() }, at(-5.0), 4.0);
        assert_eq!((state.window, average.estimate(state, at(0.0))), (-1, 1.0));
    }

    proptest! {
        /// With windows that are short beside the time constant, it is the recent average.
        #[test]
        fn short_windows_make_the_recent_average(
            gaps in prop::collection::vec(0u32..2_000_000, 1..50),
            silence in 0u32..10_000_000,
        ) {
            let recent = RecentAverage { half_life: Span::from_secs(10) };
            let window = Span::from_micros(100);
            let weight = -libm::expm1(-recent.lambda() * window.as_secs_f64());
            let average = WindowedAverage { period: window, weight };
            let (mut counted, mut impulse, mut now) = (Counted::default(), Impulse::default(), 0);
            for gap in gaps {
                now += i64::from(gap);
                counted = average.add(counted, Time::from_micros(now), 1.0);
                impulse = recent.add(impulse, Time::from_micros(now), 1.0);
            }
            let now = Time::from_micros(now + 100 + i64::from(silence));
            let per_second = average.estimate(counted, now) / window.as_secs_f64();
            near(per_second, recent.estimate(impulse, now), 1e-5);
        }
    }
}
