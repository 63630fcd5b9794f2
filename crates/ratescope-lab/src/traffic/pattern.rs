//! The patterns and their text form.

use core::fmt;
use core::str::FromStr;
use ratescope::text::ParseError;
use ratescope::time::Span;

/// How events are spread over time, at any mean rate.
///
/// The text form is the name: `steady`, `poisson`, `bursts`, `day-and-night`. The length of the day follows
/// `day-and-night` if it is not 24 hours, as in `day-and-night 2m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Equal gaps.
    Steady,
    /// Independent events with exponential gaps, as from many independent senders.
    Poisson,
    /// Bursts of ten, each at ten times the mean rate, with exponential pauses between.
    Bursts,
    /// Poisson events whose rate swings between 0.1 and 1.9 times the mean in the course of a day. Each day
    /// begins at the mean with a rising rate; days are aligned to the origin of time.
    DayAndNight {
        /// The length of a day; above zero.
        day: Span,
    },
}

/// The default length of a day.
const DAY: Span = Span::from_hours(24);

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Steady => f.write_str("steady"),
            Pattern::Poisson => f.write_str("poisson"),
            Pattern::Bursts => f.write_str("bursts"),
            Pattern::DayAndNight { day } if *day == DAY => f.write_str("day-and-night"),
            Pattern::DayAndNight { day } => write!(f, "day-and-night {day}"),
        }
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.split_once(' ') {
            None => match text {
                "steady" => Ok(Pattern::Steady),
                "poisson" => Ok(Pattern::Poisson),
                "bursts" => Ok(Pattern::Bursts),
                "day-and-night" => Ok(Pattern::DayAndNight { day: DAY }),
                _ => Err(unknown(text, text.len())),
            },
            Some((name @ "day-and-night", span)) => {
                let offset = name.len() + 1;
                let day: Span = span.parse().map_err(|e: ParseError| e.inside(text, offset))?;
                if day == Span::ZERO {
                    let help = "a day must be longer than zero";
                    return Err(ParseError::new(text, offset..text.len(), help));
                }
                Ok(Pattern::DayAndNight { day })
            }
            Some((name @ ("steady" | "poisson" | "bursts"), _)) => {
                let help = "nothing follows this pattern; only day-and-night takes a span";
                Err(ParseError::new(text, name.len()..text.len(), help))
            }
            Some((name, _)) => Err(unknown(text, name.len())),
        }
    }
}

fn unknown(text: &str, end: usize) -> ParseError {
    let help = "not a pattern; the patterns are steady, poisson, bursts and day-and-night";
    ParseError::new(text, 0..end, help)
}
