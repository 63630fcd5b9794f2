//! The limit that is in force today. It names no algorithm, since that is the server's.

use super::Choices;
use core::fmt;
use core::str::FromStr;
use ratescope::internal::number;
use ratescope::limit::any::AnyLimiter;
use ratescope::rate::Rate;
use ratescope::text::ParseError;

/// A rate, and a burst if the limit is a bucket. The text form is `10/1s burst 20` or `100/1m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Today {
    rate: Rate,
    burst: Option<f64>,
}

impl Choices {
    /// The limiter of today, by the same algorithm as the recommended one; `None` if no limit of today was
    /// given, or the algorithm has no such limit.
    pub(super) fn limiter_of_today(&self) -> Option<AnyLimiter> {
        let Today { rate, burst } = self.today?;
        match self.by {
            None => self.limiter(self.bucket(rate), burst.unwrap_or(1.0)),
            Some(by) => self.limiter(self.over(by, rate.per()), rate.count()),
        }
    }
}

impl fmt::Display for Today {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rate)?;
        self.burst.map_or(Ok(()), |burst| write!(f, " burst {burst}"))
    }
}

impl FromStr for Today {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (rate, burst) = match text.split_once(" burst ") {
            Some((rate, burst)) => (rate.trim(), Some(burst.trim())),
            None => (text, None),
        };
        let help =
            || ParseError::whole(text, "write its rate alone, as in 100/1m or 10/1s burst 20");
        let large_enough = |burst: &f64| (1.0..=1e12).contains(burst);
        let burst = burst.map(|burst| number(burst).filter(large_enough).ok_or_else(help));
        Ok(Today { rate: rate.parse().map_err(|_| help())?, burst: burst.transpose()? })
    }
}
