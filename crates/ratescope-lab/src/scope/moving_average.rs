//! The moving average: the mean rate of the last N events. It needs space for all of them.
//!
//! Source: the page "ratelimit demo" by Tony Finch, under "Models that don't work": "The moving
//! average is the mean of the last N samples. [...] Advantage: The computed value is the average
//! rate. Disadvantage: Requires space and time proportional to N." It states no formula.
//!
//! # The formula
//! The instantaneous rate of an event that comes d after the one before is 1/d. It holds during the gap d, so d is its
//! weight in the mean of the last N rates, and the mean is
//!
//! ```text
//! Σ (1/d) d / Σ d = N / (t_k - t_k-N)
//! ```
//!
//! The silence since the last event counts, too: at t the mean is N/(t - t_k-N). Each event replaces
//! the oldest gap, so a steady rate reads exactly after N gaps. Between events the mean falls as 1/t,
//! not as an exponential: it takes N events to forget, however long that is.
//!
//! N gaps have N + 1 ends, so N + 1 times are remembered, each 8 bytes. The time to compute the mean
//! does not depend on N, since the sum of the gaps is a difference.
//!
//! # The edges
//! * **The first event:** it has no gap, and the rate is 0.
//! * **Fewer than N gaps:** the mean of the gaps so far.
//! * **No time passed:** the N gaps together count as at least a nanosecond, the least gap of [`exim`](ratescope::estimate::exim). So
//!   N + 1 events at one instant read a billion times N: this mean ignores the size of a burst.
//! * **Time runs backwards:** an event counts at the last time seen.

use ratescope::internal::larger;
use ratescope::time::Time;
use std::collections::VecDeque;

/// The least time between two events, in seconds, as for [`exim`](ratescope::estimate::exim).
const SHORTEST_GAP: f64 = 1e-9;

/// Remembers the times of the last N + 1 events.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    last: usize,
    times: VecDeque<Time>,
}

/// The number of events in a mean, and when their first gap began: 16 bytes. These give the mean at any time until the
/// next event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanEvents {
    /// The number of gaps, at most N.
    pub events: u32,
    /// When the first of these gaps began.
    pub since: Time,
}

impl MovingAverage {
    /// The mean of the last `last` events (at least 1), before the first event.
    pub fn new(last: u32) -> Self {
        MovingAverage { last: last.max(1) as usize, times: VecDeque::new() }
    }

    /// Counts an event at `now`.
    pub fn add(&mut self, now: Time) {
        let now = self.times.back().map_or(now, |&last| now.max(last));
        if self.times.len() > self.last {
            self.times.pop_front();
        }
        self.times.push_back(now);
    }

    /// The number of events in the mean, and when their first gap began.
    pub fn events(&self) -> MeanEvents {
        let since = self.times.front().copied().unwrap_or_default();
        MeanEvents { events: self.times.len().saturating_sub(1) as u32, since }
    }

    /// Events per second at `now`, at or after the last event.
    pub fn rate_at(&self, now: Time) -> f64 {
        self.events().rate_at(now)
    }
}

impl MeanEvents {
    /// Events per second at `now`, at or after the last event, if nothing has arrived since.
    pub fn rate_at(&self, now: Time) -> f64 {
        f64::from(self.events) / larger(SHORTEST_GAP, now.since(self.since))
    }
}
