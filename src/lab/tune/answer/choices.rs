//! What is chosen on a page about a log and its limit, by name: what a link holds, and no data.

use super::{Aim, Burst, Frontier, Metric};
use crate::lab::run::decoded;
use crate::lab::tune::read::{OPEN, changed, open, or_open};
use crate::lab::tune::{Measure, ReadOptions};
use crate::limit::any::AnyLimiter;
use crate::limit::envoy::Envoy;
use crate::limit::haproxy::Counts;
use crate::limit::nginx::{Delay, Nginx};
use crate::policy::export::Target;
use crate::policy::{Limit, Per, Policy};
use crate::rate::Rate;
use crate::text::{ParseError, number, parts};
use crate::time::Span;
use core::fmt;
use core::str::FromStr;

/// The choices. Their text form is what follows `#` in an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// How the log is read.
    pub reading: ReadOptions,
    /// For which server the configuration is written.
    pub target: Target,
    /// What is limited; a bucket, if nothing else is.
    pub by: Option<Metric>,
    /// In which period.
    pub period: Span,
    /// How fast a bucket drains; without it, as fast as is tightest for the period.
    pub rate: Option<Rate>,
    /// How many of the clients are to be left alone.
    pub aim: Aim,
    /// The limit; without it, the one that is recommended.
    pub limit: Option<f64>,
    /// Whether the table has those first of whom the most is refused, and not the busiest.
    pub by_refused: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            reading: ReadOptions::default(),
            target: Target::Nginx,
            by: None,
            period: Span::minutes(1),
            rate: None,
            aim: Aim::default(),
            limit: None,
            by_refused: false,
        }
    }
}

/// What stands for a bucket in the choice of what is limited.
const BUCKET: &str = "bucket";

impl Choices {
    /// The names beside [those of reading](ReadOptions::NAMES), in the order in which a link has them.
    pub const NAMES: [&'static str; 7] =
        ["for", "by", "period", "rate", "untouched", "limit", "order"];

    /// All names.
    fn names() -> impl Iterator<Item = &'static str> {
        ReadOptions::NAMES.into_iter().chain(Self::NAMES)
    }

    /// Sets `name` to what `value` says. With another server comes the way in which that limits, and
    /// with whatever changes the meaning of the limit the recommended one is in force.
    ///
    /// # Errors
    /// When there is no such choice, or the value is not one of its; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        match name {
            "for" => {
                self.target = value.parse()?;
                let by = match self.target {
                    Target::Exim => Some(Metric::Exim),
                    Target::Haproxy | Target::Cloudflare => Some(Metric::SlidingCounter),
                    Target::Descriptors => Some(Metric::FixedWindow),
                    Target::Caddy => Some(Metric::SlidingLog),
                    Target::Rust => self.by,
                    _ => None,
                };
                self.limit_by(by);
            }
            "by" => self.limit_by(if value == BUCKET { None } else { Some(by(value)?) }),
            "period" => {
                let period: Span = value.parse()?;
                let range = Span::micros(100_000)..=Span::hours(366 * 24);
                if !range.contains(&period) {
                    let help = format!("choose from {} to {}", range.start(), range.end());
                    return Err(ParseError::whole(value, help));
                }
                if period != self.period {
                    (self.period, self.rate, self.limit) = (period, None, None);
                }
            }
            "rate" => {
                self.rate = open(value)?;
                self.limit = None;
            }
            "untouched" => {
                let share = number(value).filter(|share| (0.0..=100.0).contains(share));
                let help = || ParseError::whole(value, "write a percentage, from 0 to 100");
                let untouched = share.ok_or_else(help)? / 100.0;
                self.aim = Aim { untouched };
                self.limit = None;
            }
            "limit" if value == OPEN => self.limit = None,
            "limit" => {
                let limit = number(value).filter(|limit| (0.001..=1e12).contains(limit));
                let help = "write auto, or a number from 0.001 to 1e12";
                self.limit = Some(limit.ok_or_else(|| ParseError::whole(value, help))?);
            }
            "order" => {
                self.by_refused = match value {
                    "requests" => false,
                    "refused" => true,
                    _ => return Err(ParseError::whole(value, "write requests or refused")),
                }
            }
            _ if ReadOptions::NAMES.contains(&name) => self.reading.set(name, value)?,
            _ => {
                let names: Vec<&str> = Self::names().collect();
                let help = format!("not a choice; there are {}", names.join(", "));
                return Err(ParseError::whole(name, help));
            }
        }
        Ok(())
    }

    /// The value of `name` as [`set`](Self::set) reads it; empty for an unknown name.
    pub fn get(&self, name: &str) -> String {
        match name {
            "for" => self.target.to_string(),
            "by" => self.by.map_or(BUCKET.to_owned(), |by| by.to_string()),
            "period" => self.period.to_string(),
            "rate" => or_open(self.rate.as_ref()),
            // The share is a fraction; a percentage of it has digits that nobody wrote.
            "untouched" => (libm::round(self.aim.untouched * 1e10) / 1e8).to_string(),
            "limit" => or_open(self.limit.as_ref()),
            "order" => if self.by_refused { "refused" } else { "requests" }.to_owned(),
            _ => self.reading.get(name),
        }
    }

    fn limit_by(&mut self, by: Option<Metric>) {
        if self.by != by {
            (self.by, self.rate, self.limit) = (by, None, None);
        }
    }

    /// What the curve is of; for a bucket that knows no rate yet, nothing.
    pub fn measure(&self, frontier: Option<&Frontier>) -> Option<Measure> {
        match self.by {
            Some(by) => Some(self.over(by, self.period)),
            None => self.rate(frontier).map(|rate| self.bucket(rate)),
        }
    }

    /// How fast the bucket drains: as is chosen, or as is tightest of what the server can say.
    pub fn rate(&self, frontier: Option<&Frontier>) -> Option<Rate> {
        if self.by.is_some() || self.rate.is_some() {
            return self.rate.filter(|_| self.by.is_none());
        }
        let all = &frontier?.bursts;
        let mut bursts: Vec<Burst> =
            all.iter().filter(|at| self.target.has_bucket(at.rate, at.burst)).copied().collect();
        if bursts.is_empty() {
            // Then the configuration says why there is none.
            bursts.clone_from(all);
        }
        Frontier { bursts }.tightest(self.period).map(|burst| burst.rate)
    }

    /// What is measured in a period, by the server itself if its arithmetic is known.
    pub fn over(&self, by: Metric, period: Span) -> Measure {
        match (self.target, by) {
            (Target::Haproxy, Metric::SlidingCounter) => Measure::Haproxy(period, Counts::All),
            _ => by.measure(period),
        }
    }

    /// A bucket, as the server has it if its arithmetic is known.
    fn bucket(&self, rate: Rate) -> Measure {
        match Nginx::new(rate, 0, Delay::Never) {
            Ok(_) if self.target == Target::Nginx => Measure::Nginx(rate),
            _ => Measure::Bucket(rate),
        }
    }

    /// The limiter with a limit, which is that of the server if its arithmetic is known: so are its
    /// numbers.
    pub fn limiter(&self, measure: Measure, limit: f64) -> Option<AnyLimiter> {
        let whole = libm::floor(limit);
        let own = match (self.target, measure) {
            (Target::Envoy, Measure::Bucket(rate)) => {
                Envoy::new(rate, whole as u64).ok().map(AnyLimiter::Envoy)
            }
            (_, Measure::Nginx(_) | Measure::Haproxy(..)) => measure.limiter(whole).ok(),
            _ => None,
        };
        own.or_else(|| measure.limiter(limit).ok())
    }

    /// A limiter and others that are usual at the same rate, as the lanes of a
    /// [comparison](crate::lab::compare), and that rate.
    pub fn lanes(&self, measure: Measure, limit: f64) -> Option<(Rate, String)> {
        let own = self.limiter(measure, limit)?;
        let rate = match measure {
            Measure::Bucket(rate) | Measure::Nginx(rate) => rate,
            _ => Rate::new(limit, self.period).ok()?,
        };
        let others = ["exim strict", "token-bucket", "fixed-window", "sliding-log"].into_iter();
        let own = own.to_string();
        let name = |lane: &str| lane.split(' ').next().map(str::to_owned);
        let others = others.filter(|other| name(other) != name(&own)).collect::<Vec<_>>();
        Some((rate, format!("{own};{}", others.join(";"))))
    }

    /// The configuration of the server with a limiter for the clients that `per` makes, or why it
    /// can't be written, and what is to be known about it. One of these clients may be a
    /// [`network`](crate::lab::tune::network).
    pub fn configure(
        &self,
        limiter: &AnyLimiter,
        per: &Per,
        network: Option<&str>,
    ) -> Result<(String, Vec<String>), String> {
        let policy = Policy::from(Limit { limiter: limiter.clone(), per: per.clone() });
        let written = self.target.configure(&policy).map_err(|e| e.to_string())?;
        let notes = self.notes(per, network);
        Ok((written.text, [written.warnings, notes].concat()))
    }
}

fn by(value: &str) -> Result<Metric, ParseError> {
    value.parse().map_err(|error: ParseError| {
        ParseError::whole(value, format!("{}, or {BUCKET}", error.problem()))
    })
}

/// Those that are not what they are at first.
impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Choices::default();
        let names: Vec<&str> = Self::names().collect();
        f.write_str(&changed(&names, &|name| self.get(name), &|name| usual.get(name)))
    }
}

/// In any order; what is not said is what it is at first.
impl FromStr for Choices {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut choices = Choices::default();
        let given = || parts(text, '&').filter(|(_, part)| !part.is_empty());
        for (_, part) in given() {
            let name = part.split('=').next().unwrap_or(part);
            if !Self::names().any(|known| known == name) {
                let mut nothing = Choices::default();
                nothing.set(&decoded(name), "")?;
            }
        }
        // One may change those after it, and not those before.
        for name in Self::names() {
            for (_, part) in given() {
                if let Some(value) = part.strip_prefix(name).and_then(|rest| rest.strip_prefix('='))
                {
                    choices.set(name, &decoded(value))?;
                }
            }
        }
        Ok(choices)
    }
}
