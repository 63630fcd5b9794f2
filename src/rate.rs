//! Rates: a count per [span](crate::time::Span), such as the limit of a [limiter](crate::limit).
//!
//! ```
//! use ratescope::{Rate, Span};
//!
//! let limit: Rate = "10/1m".parse()?;
//! assert_eq!((limit.count(), limit.per()), (10.0, Span::minutes(1)));
//! assert_eq!(limit.to_string(), "10/1m");
//!
//! // The same number a second, but most limiters let 600 of them come at once.
//! assert_eq!("600/1h".parse::<Rate>()?.per_second(), limit.per_second());
//! # Ok::<(), ratescope::ParseError>(())
//! ```

use crate::text::{BadNumber, ParseError, leading_number, number, thousands};
use crate::time::Span;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

/// A number of events in a period, as in `10/1m`: ten in a minute.
///
/// Count and period are kept apart because most limiters use both. For Exim, `10/1m` and `600/1h`
/// are the same rate, but the second lets a burst of 600 through.
///
/// Two rates are equal when both numbers are. Rates have no order, since neither of those two is
/// the lower one: compare [`per_second`](Self::per_second) or [`count`](Self::count) instead.
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
    #[cfg(feature = "lab")]
    pub(crate) const TEN_IN_TEN_SECONDS: Rate = Rate { count: 10.0, per: Span::seconds(10) };

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
            return Err(BadNumber { what: "the period of a rate", given: 0.0, want });
        }
        Ok(Rate { count: count + 0.0, per })
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
    pub fn per_second(self) -> f64 {
        self.count / self.per.secs()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.per)
    }
}

/// Reads `10/1m`, `0.5/1s`, `64k/1h`. The suffixes k, M and G, in either case, are powers of 1000.
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Some(at) = text.bytes().position(|b| b == b' ') {
            return Err(ParseError::new(text, at..at + 1, format!("a rate has no spaces; {HELP}")));
        }
        let help = "not a suffix of a count; k is 1000, M is 1000k and G is 1000M";
        Rate::read(text, |suffix| thousands(suffix).ok_or(help))
    }
}

const HELP: &str = "write a rate as a count and a span, such as 10/1m";

impl Rate {
    fn read(
        text: &str,
        scale: impl Fn(&str) -> Result<f64, &'static str>,
    ) -> Result<Self, ParseError> {
        let Some((count, per)) = text.split_once('/') else {
            return Err(ParseError::whole(text, format!("not a rate; {HELP}")));
        };
        let (digits, suffix) = leading_number(count);
        let Some(n) = number(digits) else {
            let (at, what) = match count {
                "" => (0..text.len(), "a count is missing"),
                _ => (0..count.len(), "not a count"),
            };
            return Err(ParseError::new(text, at, format!("{what}; {HELP}")));
        };
        let scale =
            scale(suffix).map_err(|help| ParseError::new(text, digits.len()..count.len(), help))?;
        let offset = count.len() + 1;
        let span: Span = per.parse().map_err(|e: ParseError| e.inside(text, offset))?;
        Rate::new(n * scale, span).map_err(|e| {
            let at = if span == Span::ZERO { offset..text.len() } else { 0..count.len() };
            ParseError::new(text, at, e.to_string())
        })
    }
}
