//! Rates: a count per [span](crate::time::Span), such as the limit of a [limiter](crate::limit).
//!
//! ```
//! use ratescope::{Rate, Span};
//!
//! let limit: Rate = "10/1m".parse()?;
//! assert_eq!((limit.count(), limit.per()), (10.0, Span::from_mins(1)));
//! assert_eq!(limit.to_string(), "10/1m");
//!
//! // The same number a second, but most limiters let 600 of them come at once.
//! assert_eq!("600/1h".parse::<Rate>()?.frequency(), limit.frequency());
//! # Ok::<(), ratescope::ParseError>(())
//! ```

use crate::text::{BadNumber, ParseError, Words, leading_number, number, thousands};
use crate::time::{Span, unit};
use alloc::string::{String, ToString};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

/// A number of events in a period, as in `10/1m`: ten in a minute.
///
/// Count and period are kept apart because most limiters use both. For Exim, `10/1m` and `600/1h`
/// are the same rate, but the second lets a burst of 600 through.
///
/// Two rates are equal when both numbers are. Rates have no order, since neither `10/1m` nor `600/1h` is
/// the lower one: compare [`frequency`](Self::frequency) or [`count`](Self::count) instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    count: f64,
    per: Span,
}

// The count is never NaN and never -0.
impl Eq for Rate {}

impl Hash for Rate {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.count.to_bits(), self.per).hash(hasher);
    }
}

impl Rate {
    /// Ten in ten seconds, the rate that a comparison starts with.
    #[doc(hidden)]
    pub const TEN_IN_TEN_SECONDS: Rate = Rate { count: 10.0, per: Span::from_secs(10) };

    /// `count` events in `per`.
    ///
    /// # Errors
    /// When the count is negative or not finite, or the period is zero.
    pub fn new(count: f64, per: Span) -> Result<Self, BadNumber> {
        if !(count >= 0.0 && count.is_finite()) {
            let want = "finite and not negative";
            return Err(BadNumber { what: "the count of a rate", given: count, want });
        }
        if per == Span::ZERO {
            let want = "longer than zero";
            return Err(BadNumber { what: "the period of a rate in seconds", given: 0.0, want });
        }
        Ok(Rate { count: count + 0.0, per })
    }

    /// `count` events in a second.
    pub const fn per_second(count: u32) -> Self {
        Rate { count: count as f64, per: Span::from_secs(1) }
    }

    /// `count` events in a minute.
    pub const fn per_minute(count: u32) -> Self {
        Rate { count: count as f64, per: Span::from_mins(1) }
    }

    /// `count` events in an hour.
    pub const fn per_hour(count: u32) -> Self {
        Rate { count: count as f64, per: Span::from_hours(1) }
    }

    /// `count` events in a day.
    pub const fn per_day(count: u32) -> Self {
        Rate { count: count as f64, per: Span::from_hours(24) }
    }

    /// Nothing in the same period.
    pub(crate) const fn with_count_0(self) -> Self {
        Rate { count: 0.0, per: self.per }
    }

    /// Events in one period.
    pub const fn count(self) -> f64 {
        self.count
    }

    /// The period.
    pub const fn per(self) -> Span {
        self.per
    }

    /// Events in one second.
    pub fn frequency(self) -> f64 {
        self.count / self.per.as_secs_f64()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.per)
    }
}

/// Reads `10/1m`, `0.5/1s`, `64k/1h`. The suffixes k, M and G, in either case, are powers of 1000. Other
/// common spellings are read, too: `5r/s`, `100/minute`, `10 / 1m`, `100 requests per 10 seconds`.
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let words = || Words::new(text).all().into_iter();
        let slash = || text.find('/').map(|at| (at, at + 1));
        let per = || words().find(|word| word.is("per")).map(|per| (per.from, per.from + 3));
        let Some((end, from)) = slash().or_else(per) else {
            return Err(ParseError::whole(text, format!("not a rate; {HELP}")));
        };
        let count = text.get(..end).unwrap_or("");
        let begin = count.len() - count.trim_start().len();
        let count_at = begin..count.trim_end().len().max(begin);
        let wrong = |problem: String| ParseError::new(text, count_at.clone(), problem);
        let (digits, suffix) = leading_number(count.trim());
        let Some(n) = number(digits) else {
            return Err(match count.trim() {
                "" => ParseError::whole(text, format!("a count is missing; {HELP}")),
                _ => wrong(format!("not a count; {HELP}")),
            });
        };
        let Some(scale) = thousands(without_noun(suffix)) else {
            let at = count_at.end - suffix.trim_start().len()..count_at.end;
            let help = "not a suffix of a count; k is 1000, M is 1000k and G is 1000M";
            return Err(ParseError::new(text, at, help));
        };
        let per = text.get(from..).unwrap_or("");
        let span: Span = match unit(per.trim()) {
            Some(unit) => format!("1{unit}").parse()?,
            None => per.parse().map_err(|e: ParseError| e.inside(text, from))?,
        };
        Rate::new(n * scale, span).map_err(|e| match span {
            Span::ZERO => ParseError::new(text, from..text.len(), e.to_string()),
            _ => wrong(e.to_string()),
        })
    }
}

const HELP: &str = "write a rate as a count and a span, such as 10/1m";

/// The nouns that may follow a count.
const NOUNS: [&str; 7] = ["r", "req", "reqs", "request", "requests", "event", "events"];

/// True for a noun that may follow a count.
pub(crate) fn is_noun(word: &str) -> bool {
    NOUNS.iter().any(|noun| noun.eq_ignore_ascii_case(word))
}

/// The suffix of a count without the noun at its end: `k` of `k requests` and of `kr`.
fn without_noun(suffix: &str) -> &str {
    let suffix = suffix.trim();
    let cut = (0..=1).filter_map(|at| suffix.split_at_checked(at));
    let mut nouns = cut.filter(|(_, noun)| is_noun(noun.trim_start()));
    nouns.next().map_or(suffix, |(before, _)| before)
}
