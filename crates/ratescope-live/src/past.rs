//! The past of the rules: their counts in each second of the last quarter of an hour, in each ten seconds of the last
//! six hours, and in each hour of the last day. It is kept even without viewers.
//!
//! A decision only adds to the sums of its rules. The first decision of another second takes their increase, which is
//! the counts of the last second, and adds it to three rings. So each ring has every count once.

use super::probe::Series;
use ratescope::time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most rules whose past is kept: the first, as many as the page draws.
pub const PAST_RULES: usize = 24;

/// How many seconds with events are kept: 15 minutes, or longer if some seconds have no events.
pub const SECONDS: usize = 900;

/// How many stretches of ten seconds are kept: 6 hours.
pub const TENS: usize = 2160;

/// How many hours are kept.
pub const HOURS: usize = 24;

/// An event that comes at most so many seconds late, or after such a small step back of the clock, counts in the
/// current second.
const LATE: i64 = 10;

/// The number of the second that contains an instant, since 1970.
pub(super) fn second(at: Time) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

/// True if an event at `now` counts in the second `counted`.
pub(super) fn is_counted(counted: i64, now: Time) -> bool {
    (0..=LATE).contains(&counted.saturating_sub(second(now)))
}

/// The rings, and the current second.
#[derive(Debug)]
pub(super) struct Past {
    /// From the finest to the coarsest.
    pub(super) rings: [Ring; 3],
    /// The first and the current second; `None` before the first.
    pub(super) seconds: Option<[i64; 2]>,
    /// How many times the clock was set back.
    pub(super) steps_back: u64,
    /// The sums when the current second began.
    sums: Vec<[u64; 3]>,
}

/// A ring of the rules' counts in stretches of one length.
#[derive(Debug)]
pub(super) struct Ring {
    /// The length of a stretch in seconds.
    pub(super) width: i64,
    most: usize,
    /// The ring is complete from this second, or the first second, on.
    pub(super) since: i64,
    /// The stretches with events, oldest first. The last one may not be complete.
    pub(super) rows: VecDeque<Arc<Row>>,
}

/// The counts of the rules in one stretch: allowed, refused, and allowed but refused by a shadow.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The second with which it begins.
    pub(super) begin: i64,
    pub(super) counts: Vec<[u64; 3]>,
}

impl Default for Past {
    fn default() -> Self {
        let ring = |(width, most)| Ring { width, most, since: i64::MIN, rows: VecDeque::new() };
        let rings = [(1, SECONDS), (10, TENS), (3600, HOURS)].map(ring);
        Past { rings, seconds: None, steps_back: 0, sums: Vec::new() }
    }
}

impl Past {
    /// Ends the current second, and begins that of `now`. If the clock was set back, the past after `now` is dropped.
    pub(super) fn turn(&mut self, now: Time, rules: &[Arc<Series>]) {
        let now = second(now);
        let sums: Vec<_> = rules.iter().take(PAST_RULES).map(|series| series.sums()).collect();
        if let Some([_, counted]) = self.seconds {
            let before = self.sums.iter().copied().chain(core::iter::repeat([0; 3]));
            let count = |(sum, before): (&[u64; 3], [u64; 3])| {
                [0, 1, 2].map(|i| sum[i].wrapping_sub(before[i]))
            };
            let counts: Vec<_> = sums.iter().zip(before).map(count).collect();
            if counts.iter().any(|counts| *counts != [0; 3]) {
                self.rings.iter_mut().for_each(|ring| ring.add(counted, &counts));
            }
        }
        if self.seconds.is_some_and(|[_, counted]| now < counted) {
            self.steps_back += 1;
            self.rings.iter_mut().for_each(|ring| ring.cut(now));
        }
        let first = self.seconds.map_or(now, |[first, _]| first.min(now));
        (self.sums, self.seconds) = (sums, Some([first, now]));
    }
}

impl Ring {
    /// The first second of the stretch that contains `second`.
    pub(super) fn begin(&self, second: i64) -> i64 {
        second.div_euclid(self.width) * self.width
    }

    /// Adds the counts of a second, which is in the last stretch or later.
    fn add(&mut self, second: i64, counts: &[[u64; 3]]) {
        let begin = self.begin(second);
        if let Some(last) = self.rows.back_mut().filter(|last| last.begin == begin) {
            // A viewer may be writing the row as it was.
            let row = Arc::make_mut(last);
            row.counts.resize(counts.len(), [0; 3]);
            for (sum, more) in row.counts.iter_mut().zip(counts) {
                *sum = [0, 1, 2].map(|i| sum[i].wrapping_add(more[i]));
            }
            return;
        }
        if self.rows.len() == self.most
            && let Some(oldest) = self.rows.pop_front()
        {
            self.since = oldest.begin + self.width;
        }
        self.rows.push_back(Arc::new(Row { begin, counts: counts.to_vec() }));
    }

    /// Drops the stretches that begin after `now`.
    fn cut(&mut self, now: i64) {
        while self.rows.back().is_some_and(|row| row.begin > now) {
            self.rows.pop_back();
        }
    }
}
