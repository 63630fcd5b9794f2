//! What is limited in a period, by name.

use crate::lab::tune::Measure;
use crate::text::ParseError;
use crate::time::Span;
use core::fmt;
use core::str::FromStr;

/// The periods that are looked at unless others are asked for, the usual one first.
pub const PERIODS: [Span; 5] =
    [Span::minutes(1), Span::seconds(1), Span::seconds(10), Span::minutes(10), Span::hours(1)];

/// A way to measure events in a period. Its text form is a name, as in `sliding-log`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Exim's rate, `exim`.
    #[default]
    Exim,
    /// The recent average with a half-life of the period, `earrrl`.
    Earrrl,
    /// The count of a window of the clock, `fixed-window`.
    FixedWindow,
    /// The count of the last sixty blocks of a sixtieth, `sliding-window`.
    SlidingWindow,
    /// The count of this window and a share of the last, `sliding-counter`.
    SlidingCounter,
    /// The count of the last period, `sliding-log`.
    SlidingLog,
}

impl Metric {
    /// Every one.
    pub const ALL: [Metric; 6] = [
        Metric::Exim,
        Metric::Earrrl,
        Metric::FixedWindow,
        Metric::SlidingWindow,
        Metric::SlidingCounter,
        Metric::SlidingLog,
    ];

    /// The measure over a period.
    pub fn measure(self, per: Span) -> Measure {
        let block = Span::from_secs(per.secs() / 60.0).unwrap_or(per);
        match self {
            Metric::Exim => Measure::Exim(per),
            Metric::Earrrl => Measure::Earrrl(per, per),
            Metric::FixedWindow => Measure::FixedWindow(per),
            Metric::SlidingWindow => Measure::SlidingWindow(per, block),
            Metric::SlidingCounter => Measure::SlidingCounter(per),
            Metric::SlidingLog => Measure::SlidingLog(per),
        }
    }

    /// The name, and what it is in a few words.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Metric::Exim => ("exim", "Exim's rate"),
            Metric::Earrrl => ("earrrl", "EARRRL, with a half-life of the period"),
            Metric::FixedWindow => ("fixed-window", "the count of a window of the clock"),
            Metric::SlidingWindow => {
                ("sliding-window", "the count of the last sixty blocks of a sixtieth")
            }
            Metric::SlidingCounter => {
                ("sliding-counter", "the count of this window and a share of the last")
            }
            Metric::SlidingLog => ("sliding-log", "the count of the last period"),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().0)
    }
}

impl FromStr for Metric {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = Metric::ALL.into_iter().find(|by| by.names().0 == text);
        known.ok_or_else(|| {
            let names = Metric::ALL.map(|by| by.names().0).join(", ");
            ParseError::whole(text, format!("not a measure; write one of {names}"))
        })
    }
}
