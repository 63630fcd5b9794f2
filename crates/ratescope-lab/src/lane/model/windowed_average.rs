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
//! # What it fails at
//! * **It sees nothing of the window that goes on.** A burst is known when its window ends, up to a period late: a limiter
//!   that asks the average alone lets any number pass until then.
//! * **It moves in steps,** for all senders at the same instants. What an event weighs depends on where in its window it
//!   lies.
//! * **Its forgetting depends on the period.** With a for a window of t seconds, the time constant is -t/ln(1 - a).
//!
//! With ever shorter windows, and a = 1 - e^(-λ t), it becomes the [recent average](super::recent_average), which has none
//! of these faults and one number less.
//!
//! # The edges
//! * **On an edge:** the first instant of a window belongs to it.
//! * **Time runs backwards:** an event from before the latest window counts in the latest.
//! * **More than f64 can hold:** a count stays at the largest number.
//!
//! ```
//! use ratescope::estimate::windowed_average::{Counted, WindowedAverage};
//! use ratescope::{Span, Time};
//!
//! let average = WindowedAverage { period: Span::from_secs(10), weight: 0.5 };
//! let at = |seconds| Time::ZERO.after(Span::from_secs(seconds));
//! // A thousand events in the first second of a window.
//! let burst = (0..1000).fold(Counted::default(), |counted, _| average.add(counted, at(1), 1.0));
//! assert_eq!([1, 9, 10, 20, 30].map(|s| average.estimate(burst, at(s))), [0.0, 0.0, 500.0, 250.0, 125.0]);
//! ```

use crate::extremes::smaller;
use crate::time::{Span, Time};

/// Estimates events per window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowedAverage {
    /// The length of a window, at least a microsecond.
    pub period: Span,
    /// The weight of the window that has just ended, above 0 and at most 1.
    pub weight: f64,
}

/// The latest window, its count so far, and the average of the windows before it: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct Counted {
    /// The number of the window, counted from the origin of time.
    pub window: i64,
    /// Events in this window.
    pub count: f64,
    /// Events per window before it.
    pub average: f64,
}

impl WindowedAverage {
    /// Events per window at `now`, by the windows that have ended.
    pub fn estimate(&self, last: Counted, now: Time) -> f64 {
        self.fold(last, now).average
    }

    /// The state after an event of cost `cost` (finite, at least 0) at `now`.
    pub fn add(&self, last: Counted, now: Time, cost: f64) -> Counted {
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
