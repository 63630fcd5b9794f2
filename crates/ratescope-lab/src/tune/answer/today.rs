//! The limit that is in force today.

use super::Choices;
use core::fmt;
use core::str::FromStr;
use ratescope::internal::number;
use ratescope::limit::any::AnyLimiter;
use ratescope::rate::Rate;
use ratescope::text::ParseError;

/// The text form is `10/1s burst 20` or `100/1m`, or that of a limiter, as in `nginx 10/1m burst 5 nodelay`.
#[derive(Clone, Debug, PartialEq)]
pub enum Today {
    /// A rate, and a burst if the limit is a bucket. The algorithm is that of the recommended limit.
    Rate(Rate, Option<f64>),
    /// A limiter from the configuration of a server.
    Limiter(AnyLimiter),
}

impl Choices {
    /// The limiter of today; `None` if it was not given, or if the algorithm of the recommended limit can't have it.
    pub fn limiter_of_today(&self) -> Option<AnyLimiter> {
        match (self.today.as_ref()?, self.by) {
            (Today::Limiter(limiter), _) => Some(limiter.clone()),
            (Today::Rate(rate, burst), None) => {
                self.limiter(self.bucket(*rate), burst.unwrap_or(1.0))
            }
            (Today::Rate(rate, _), Some(by)) => {
                self.limiter(self.over(by, rate.per()), rate.count())
            }
        }
    }
}

impl fmt::Display for Today {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Today::Rate(rate, None) => write!(f, "{rate}"),
            Today::Rate(rate, Some(burst)) => write!(f, "{rate} burst {burst}"),
            Today::Limiter(limiter) => write!(f, "{limiter}"),
        }
    }
}

impl FromStr for Today {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.starts_with(|first: char| first.is_alphabetic()) {
            return text.parse().map(Today::Limiter);
        }
        let (rate, burst) = match text.split_once(" burst ") {
            Some((rate, burst)) => (rate.trim(), Some(burst.trim())),
            None => (text, None),
        };
        const HELP: &str = "write its rate, as in 100/1m or 10/1s burst 20, or a limiter, as in nginx 10/1s burst 19";
        let help = || ParseError::whole(text, HELP);
        let large_enough = |burst: &f64| (1.0..=1e12).contains(burst);
        let burst = burst.map(|burst| number(burst).filter(large_enough).ok_or_else(help));
        Ok(Today::Rate(rate.parse().map_err(|_| help())?, burst.transpose()?))
    }
}
