//! Rate against burst: the buckets that leave nearly all clients alone.

use super::advice::{Aim, least_limit};
use crate::lab::tune::{Curve, Measure, Part};
use crate::rate::Rate;
use crate::time::Span;

/// A bucket that leaves enough clients alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The number of events that may come at once.
    pub burst: f64,
    /// The rate at which it drains.
    pub rate: Rate,
    /// The number of clients in the whole log that it refuses something all the same.
    pub touched: u64,
}

/// The smallest burst for each rate. It falls as the rate rises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// From the lowest rate to the highest.
    pub bursts: Vec<Burst>,
}

/// The rates to try: round ones from six an hour to a hundred a second.
const RATES: [(f64, Span); 16] = [
    (6.0, Span::hours(1)),
    (30.0, Span::hours(1)),
    (1.0, Span::minutes(1)),
    (2.0, Span::minutes(1)),
    (5.0, Span::minutes(1)),
    (10.0, Span::minutes(1)),
    (20.0, Span::minutes(1)),
    (30.0, Span::minutes(1)),
    (1.0, Span::seconds(1)),
    (2.0, Span::seconds(1)),
    (3.0, Span::seconds(1)),
    (5.0, Span::seconds(1)),
    (10.0, Span::seconds(1)),
    (20.0, Span::seconds(1)),
    (50.0, Span::seconds(1)),
    (100.0, Span::seconds(1)),
];

impl Frontier {
    /// The measures that it needs: the backlogs at several rates.
    pub fn measures() -> Vec<Measure> {
        let rates = RATES.iter().filter_map(|&(count, per)| Rate::new(count, per).ok());
        rates.map(Measure::Bucket).collect()
    }

    /// The frontier from the curves of backlogs; other curves are ignored. A rate is left out if no burst of
    /// the scale is large enough.
    pub fn new(curves: &[Curve], aim: &Aim, part: Part) -> Self {
        let burst = |curve: &Curve| {
            let Measure::Bucket(rate) = curve.measure else { return None };
            let burst = least_limit(curve, aim, part)?;
            Some(Burst { burst, rate, touched: curve.touched(burst) })
        };
        Frontier { bursts: curves.iter().filter_map(burst).collect() }
    }

    /// The bucket that lets the fewest events through in any `period`: its burst and what drains meanwhile.
    /// Of several, the one with the highest rate; `None` without buckets.
    pub fn tightest(&self, period: Span) -> Option<Burst> {
        let most = |at: &Burst| at.burst + at.rate.per_second() * period.secs();
        let less = |a: Burst, b: Burst| if most(&b) <= most(&a) { b } else { a };
        self.bursts.iter().copied().reduce(less)
    }
}
