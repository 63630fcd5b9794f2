//! The moving average: the mean rate of the last N events. It needs space for N of them.
//!
//! Source: the page "ratelimit demo" by Tony Finch, under "Models that don't work": "The moving
//! average is the mean of the last N samples. [...] Advantage: The computed value is the average
//! rate. Disadvantage: Requires space and time proportional to N." It states no formula.
//!
//! # The formula
//! The instantaneous rate of an event that comes d after the one before is 1/d. It holds for as long
//! as the gap, so that is its weight in the mean of the last N, and
//!
//! ```text
//! Σ (1/d) d / Σ d = N / (t_k - t_k-N)
//! ```
//!
//! The silence since the last event counts as well: at t it is N/(t - t_k-N). So each event takes
//! the place of the oldest gap, a steady rate reads exactly after N gaps, and in between the rate
//! falls as 1/t, not as an exponential: it takes N events to forget, however long that is.
//!
//! Of N gaps both ends are known, so N + 1 times are remembered, each 8 bytes. The mean takes no
//! more time for a larger N, as the sum of gaps is a difference.
//!
//! # The edges
//! * **The first event:** it has no gap, and the rate is 0.
//! * **Fewer than N gaps:** the mean of those there are.
//! * **No time passed:** as for [`exim`](super::exim), a gap is no shorter than a nanosecond. So N + 1
//!   events of an instant read a billion times N: this mean has no notion of a burst.
//! * **Time runs backwards:** it stands still.

use super::exim::SHORTEST_GAP;
use crate::order::larger;
use crate::time::Time;
use std::collections::VecDeque;

/// Remembers the times of the last N + 1 events.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    last: usize,
    times: VecDeque<Time>,
}

/// Events in a time that has not ended: 16 bytes. The mean goes on from here until the next event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many: the gaps that are known, at most N.
    pub events: u32,
    /// When the first of these gaps began.
    pub since: Time,
}

impl MovingAverage {
    /// The mean of the last `last` events, at least 1; it has seen none yet.
    pub fn new(last: u32) -> Self {
        let last = last.max(1) as usize;
        MovingAverage { last, times: VecDeque::with_capacity(last + 1) }
    }

    /// Counts an event at `now`.
    pub fn add(&mut self, now: Time) {
        let now = self.times.back().map_or(now, |&last| now.max(last));
        if self.times.len() > self.last {
            self.times.pop_front();
        }
        self.times.push_back(now);
    }

    /// What the mean is of.
    pub fn tally(&self) -> Tally {
        let since = self.times.front().copied().unwrap_or_default();
        Tally { events: self.times.len().saturating_sub(1) as u32, since }
    }

    /// Events per second at `now`, at or after the last event.
    pub fn rate_at(&self, now: Time) -> f64 {
        self.tally().rate_at(now)
    }
}

impl Tally {
    /// Events per second at `now`, at or after the last event, when nothing has arrived since.
    pub fn rate_at(&self, now: Time) -> f64 {
        f64::from(self.events) / larger(SHORTEST_GAP, now.since(self.since))
    }
}
