//! Rate against burst: the buckets that leave nearly all clients alone.

use super::advice::{Aim, least_limit};
use crate::tune::{Curve, Measure, Part};
use ratescope::rate::Rate;
use ratescope::time::Span;

/// A bucket that leaves enough clients alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The number of events that may come at once.
    pub burst: f64,
    /// The rate at which it drains.
    pub rate: Rate,
    /// The number of clients in the whole log that it refuses.
    pub touched: u64,
}

/// The smallest burst for each rate. It falls as the rate rises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// From the lowest rate to the highest.
    pub bursts: Vec<Burst>,
}

/// The rates to try: round rates from six an hour to a hundred a second.
const RATES: [&str; 16] = [
    "6/1h", "30/1h", "1/1m", "2/1m", "5/1m", "10/1m", "20/1m", "30/1m", "1/1s", "2/1s", "3/1s",
    "5/1s", "10/1s", "20/1s", "50/1s", "100/1s",
];

impl Frontier {
    /// The measures that it needs: the backlogs at several rates.
    pub fn measures() -> Vec<Measure> {
        RATES.iter().filter_map(|rate| rate.parse().ok()).map(Measure::Bucket).collect()
    }

    /// The frontier from the curves of backlogs, ignoring other curves. A rate is left out if no burst of the scale is
    /// large enough.
    pub fn new(curves: &[Curve], aim: &Aim, part: Part) -> Self {
        let burst = |curve: &Curve| {
            let Measure::Bucket(rate) = curve.measure else { return None };
            let burst = least_limit(curve, aim, part)?;
            Some(Burst { burst, rate, touched: curve.touched(burst) })
        };
        Frontier { bursts: curves.iter().filter_map(burst).collect() }
    }

    /// The bucket that lets the fewest events through in any `period`: its burst and the part that drains in a period.
    /// Of several, the bucket with the highest rate; `None` without buckets.
    pub fn tightest(&self, period: Span) -> Option<Burst> {
        let most = |at: &Burst| at.burst + at.rate.frequency() * period.as_secs_f64();
        let less = |a: Burst, b: Burst| if most(&b) <= most(&a) { b } else { a };
        self.bursts.iter().copied().reduce(less)
    }
}
