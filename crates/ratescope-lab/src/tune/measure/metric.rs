//! The metrics to limit in a period, by name.

use crate::tune::Measure;
use ratescope::internal::by_name;
use ratescope::time::Span;

/// The usual periods, the most common one first.
pub const PERIODS: [Span; 5] = [
    Span::from_mins(1),
    Span::from_secs(1),
    Span::from_secs(10),
    Span::from_mins(10),
    Span::from_hours(1),
];

/// A measurement of events in a period. Its text form is a name, as in `sliding-log`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Exim's rate, `exim`.
    #[default]
    Exim,
    /// The recent average with a half-life of the period, `earrrl`.
    Earrrl,
    /// The count of a window of the clock, `fixed-window`.
    FixedWindow,
    /// The count of the last sixty blocks, each a sixtieth of the period, `sliding-window`.
    SlidingWindow,
    /// The count of this window and a fading share of the previous one, `sliding-counter`.
    SlidingCounter,
    /// The count of the last period, `sliding-log`.
    SlidingLog,
}

impl Metric {
    /// The measure over a period.
    pub fn measure(self, per: Span) -> Measure {
        let block = Span::try_from_secs_f64(per.as_secs_f64() / 60.0).unwrap_or(per);
        match self {
            Metric::Exim => Measure::Exim(per),
            Metric::Earrrl => Measure::Earrrl(per, per),
            Metric::FixedWindow => Measure::FixedWindow(per),
            Metric::SlidingWindow => Measure::SlidingWindow(per, block),
            Metric::SlidingCounter => Measure::SlidingCounter(per),
            Metric::SlidingLog => Measure::SlidingLog(per),
        }
    }
}

const NAMES: [(Metric, &str); 6] = [
    (Metric::Exim, "exim"),
    (Metric::Earrrl, "earrrl"),
    (Metric::FixedWindow, "fixed-window"),
    (Metric::SlidingWindow, "sliding-window"),
    (Metric::SlidingCounter, "sliding-counter"),
    (Metric::SlidingLog, "sliding-log"),
];

by_name!(Metric, NAMES, "not a measure; write one of {}");
