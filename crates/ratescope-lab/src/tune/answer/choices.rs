//! The choices of the Tune page by name. A link has them, and nothing of the log.

use super::{TableOrder, Today};
use crate::compare::beside;
use crate::run::settings::{decimal, or, span};
use crate::run::{Setting, changed, decoded, find, listed, names, setting};
use crate::tune::advice::UNTOUCHED;
use crate::tune::read::{OPEN, open, or_open};
use crate::tune::{Aim, Burst, Frontier, Imported, Measure, Metric, ReadOptions};
use core::fmt;
use core::str::FromStr;
use ratescope::internal::{number, parts};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::envoy::Envoy;
use ratescope::limit::fail2ban::BAN;
use ratescope::limit::haproxy::Counts;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::policy::{Limit, Policy};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::Span;
use ratescope_config::{Addresses, Target};

/// The choices. Their text form follows `#` in an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// How the log is read.
    pub reading: ReadOptions,
    /// The server for which the configuration is written.
    pub target: Target,
    /// The metric that is limited; `None` for a bucket.
    pub by: Option<Metric>,
    /// The period of the limit.
    pub period: Span,
    /// The rate at which a bucket drains; `None` for the tightest rate for the period.
    pub rate: Option<Rate>,
    /// The share of the clients to leave alone, from 0 to 1; `None` for the usual [aim](Self::aim).
    pub untouched: Option<f64>,
    /// The limit; `None` for the recommended limit.
    pub limit: Option<f64>,
    /// The limit that is in force today, to compare with.
    pub today: Option<Today>,
    /// The order of the table of clients.
    pub order: TableOrder,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            reading: ReadOptions::default(),
            target: Target::Nginx,
            by: None,
            period: Span::from_mins(1),
            rate: None,
            untouched: None,
            limit: None,
            today: None,
            order: TableOrder::default(),
        }
    }
}

/// The name of a bucket among the metrics.
const BUCKET: &str = "bucket";

/// Tells whether a name means a bucket; all algorithms of buckets decide alike.
pub fn is_bucket(name: &str) -> bool {
    [BUCKET, "gcra", "token-bucket", "leaky-bucket"].contains(&name)
}

/// Reads a percentage as a share from 0 to 1, as in `99.9`, `99,9` or `99.9%`.
///
/// # Errors
/// When it is not from 0 to 100.
pub fn percentage(text: &str) -> Result<f64, ParseError> {
    let plain = text.trim().trim_end_matches('%').trim_end().replace(',', ".");
    let share = number(&plain).filter(|share| (0.0..=100.0).contains(share));
    let help = || ParseError::whole(text, "write a percentage, from 0 to 100");
    share.map(|share| share / 100.0).ok_or_else(help)
}

impl Choices {
    /// All choices but [those of reading](ReadOptions::SETTINGS), in the order of links.
    pub const SETTINGS: &'static [Setting<Self>] = &[
        setting!("for", |s, text| s.write_for(text.parse()?), s.target),
        setting!("by", |s, text| s.limit_by(by(text)?), or(&s.by, BUCKET)),
        setting!("period", |s, text| s.limit_in(period(text)?), s.period),
        setting!("rate", |s, text| (s.rate, s.limit) = (open(text)?, None), or_open(&s.rate)),
        setting!("untouched", |s, text| s.leave_alone(percentage(text)?), percents(s.untouched)),
        setting!("limit", |s| s.limit, limit, or_open),
        setting!("today", |s, text| s.today = open(text)?, or(&s.today, "")),
        setting!("order", |s| s.order, str::parse),
    ];

    /// Sets `name` to `value`. Another server also sets its usual metric. A change that would give the limit another
    /// meaning resets it to the recommended limit.
    ///
    /// # Errors
    /// When the choice or the value is unknown; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        if let Some(setting) = find(Self::SETTINGS, name) {
            return (setting.set)(self, value);
        }
        let Some(setting) = find(ReadOptions::SETTINGS, name) else {
            let reading = listed(ReadOptions::SETTINGS);
            let own = listed(Self::SETTINGS);
            let help = format!("not a choice; there are {reading}, {own}");
            return Err(ParseError::whole(name, help));
        };
        (setting.set)(&mut self.reading, value)
    }

    fn names() -> impl Iterator<Item = &'static str> {
        names(ReadOptions::SETTINGS).chain(names(Self::SETTINGS))
    }

    /// The value of `name` as [`set`](Self::set) reads it; empty for an unknown name.
    pub fn get(&self, name: &str) -> String {
        find(Self::SETTINGS, name)
            .map_or_else(|| self.reading.get(name), |setting| (setting.get)(self))
    }

    fn write_for(&mut self, target: Target) {
        self.target = target;
        self.limit_by(match target {
            Target::Exim => Some(Metric::Exim),
            Target::Haproxy | Target::Cloudflare => Some(Metric::SlidingCounter),
            Target::Descriptors => Some(Metric::FixedWindow),
            Target::Caddy | Target::Fail2ban => Some(Metric::SlidingLog),
            Target::Rust => self.by,
            _ => None,
        });
    }

    fn limit_in(&mut self, period: Span) {
        if self.period != period {
            self.period = period;
            self.rate = None;
            self.limit = None;
        }
    }

    fn leave_alone(&mut self, untouched: f64) {
        self.untouched = Some(untouched);
        self.limit = None;
    }

    fn limit_by(&mut self, by: Option<Metric>) {
        if self.by != by {
            self.by = by;
            self.rate = None;
            self.limit = None;
        }
    }

    /// The goal of the limit: as chosen, or the usual goal for the events of the log.
    pub fn aim(&self, log: &Imported) -> Aim {
        match self.untouched {
            Some(untouched) => Aim::Untouched(untouched),
            None if log.are_failures() => Aim::Mistakes,
            None => Aim::default(),
        }
    }

    /// The measure of the curve; `None` for a bucket until its rate is known.
    pub fn measure(&self, frontier: Option<&Frontier>) -> Option<Measure> {
        match self.by {
            Some(by) => Some(self.over(by, self.period)),
            None => self.rate(frontier).map(|rate| self.bucket(rate)),
        }
    }

    /// The rate of the bucket: the chosen rate, or the tightest that the server can express.
    pub fn rate(&self, frontier: Option<&Frontier>) -> Option<Rate> {
        if self.by.is_some() || self.rate.is_some() {
            return self.rate.filter(|_| self.by.is_none());
        }
        let all = &frontier?.bursts;
        let mut bursts: Vec<Burst> =
            all.iter().filter(|at| self.target.has_bucket(at.rate, at.burst)).copied().collect();
        if bursts.is_empty() {
            // If the server can express no rate, the configuration says why.
            bursts.clone_from(all);
        }
        Frontier { bursts }.tightest(self.period).map(|burst| burst.rate)
    }

    /// The measure for a period, with the server's own arithmetic if it is known.
    pub fn over(&self, by: Metric, period: Span) -> Measure {
        match (self.target, by) {
            (Target::Haproxy, Metric::SlidingCounter) => Measure::Haproxy(period, Counts::All),
            (Target::Fail2ban, Metric::SlidingLog) => Measure::Fail2ban(period, BAN),
            _ => by.measure(period),
        }
    }

    /// A bucket, with the server's own arithmetic if it is known.
    pub(super) fn bucket(&self, rate: Rate) -> Measure {
        match Nginx::new(rate, 0, Delay::Never) {
            Ok(_) if self.target == Target::Nginx => Measure::Nginx(rate),
            _ => Measure::Bucket(rate),
        }
    }

    /// The limiter with a limit. If the server's arithmetic is known, it is the server's limiter.
    pub fn limiter(&self, measure: Measure, limit: f64) -> Option<AnyLimiter> {
        let whole = libm::floor(limit);
        let own = match (self.target, measure) {
            (Target::Envoy, Measure::Bucket(rate)) => {
                Envoy::new(rate, whole as u64).ok().map(AnyLimiter::Envoy)
            }
            (_, Measure::Nginx(_) | Measure::Haproxy(..)) => measure.limiter(whole).ok(),
            (_, Measure::Fail2ban(..)) => measure.limiter(libm::ceil(limit)).ok(),
            _ => None,
        };
        own.or_else(|| measure.limiter(limit).ok())
    }

    /// A rate, and lanes for a [comparison](crate::compare): the limiter, and the usual limiters at this rate.
    pub fn lanes(&self, measure: Measure, limit: f64) -> Option<(Rate, String)> {
        let own = self.limiter(measure, limit)?;
        let rate = match measure {
            Measure::Bucket(rate) | Measure::Nginx(rate) => rate,
            _ => Rate::new(limit, self.period).ok()?,
        };
        Some((rate, beside(&own.to_string())))
    }

    /// The server's configuration with a limit, and notes on it. The limit and `addresses` define a client; the name of
    /// the limit is that of fail2ban's jail.
    ///
    /// # Errors
    /// Says in a sentence why the server can't have it.
    pub fn configure(
        &self,
        limit: &Limit,
        addresses: Addresses,
    ) -> Result<(String, Vec<String>), String> {
        let policy = Policy::from(limit.clone());
        let cost = self.reading.field_of_costs();
        let written = self.target.configure_for(&policy, addresses, cost);
        let written = written.map_err(|error| error.to_string())?;
        Ok((written.text, [written.warnings, self.notes(&limit.limiter, &limit.per)].concat()))
    }
}

fn by(text: &str) -> Result<Option<Metric>, ParseError> {
    let other = |error: ParseError| format!("{}, or {BUCKET}", error.problem());
    if is_bucket(text) {
        Ok(None)
    } else {
        text.parse().map(Some).map_err(|error| ParseError::whole(text, other(error)))
    }
}

fn period(text: &str) -> Result<Span, ParseError> {
    span(text, Span::from_micros(100_000)..=Span::from_hours(366 * 24))
}

/// The share as a percentage, without digits from rounding.
fn percents(untouched: Option<f64>) -> f64 {
    libm::round(untouched.unwrap_or(UNTOUCHED) * 1e10) / 1e8
}

fn limit(text: &str) -> Result<Option<f64>, ParseError> {
    if text == OPEN { Ok(None) } else { decimal(text, 0.001..=1e12).map(Some) }
}

/// The choices that differ from the defaults, as in a link.
impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reading = self.reading.to_string();
        let own = changed(Self::SETTINGS, self);
        let and = if reading.is_empty() || own.is_empty() { "" } else { "&" };
        write!(f, "{reading}{and}{own}")
    }
}

/// Reads choices in any order; missing choices have their defaults.
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
        // A choice may change later choices in this order, never earlier ones.
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
