//! The settings of the scope, by the names that its controls and links use.

use super::Outlook;
use crate::lab::compare::settings::{STATES, states_of};
use crate::lab::lane::Template;
use crate::lab::run::lenient::{is_rate, rate};
use crate::lab::run::{Named, RunSettings, decimal, on_off, span, switch, whole, within};
use crate::limit::any::AnyLimiter;
use crate::limit::exim::{Exim, Mode};
use crate::limit::leaky_bucket::LeakyBucket;
use crate::policy::{Limit, Policy};
use crate::rate::Rate;
use crate::text::ParseError;
use crate::time::Span;
use core::ops::RangeInclusive;

/// The range of an interval.
const INTERVAL: RangeInclusive<Span> = Span::micros(100_000)..=Span::hours(7 * 24);

/// The range of a limit, in events per decay interval.
const LIMIT: RangeInclusive<f64> = 0.0..=1e9;

/// All settings of the scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The decay interval p of the red line, from 100 ms to 1 week.
    pub decay: Span,
    /// The increase interval q of the blue line, from 100 ms to 1 week.
    pub increase: Span,
    /// The limit, in events per decay interval, from 0 to 10^9; 0 only measures. A rate sets the interval, too.
    pub limit: f64,
    /// Which events Exim counts.
    pub mode: Mode,
    /// The policy that decides in place of Exim's limiter, as in a lane. Limits without a rate have
    /// the limit and the decay interval.
    pub template: Option<Template>,
    /// Whether the exact count of the last decay interval is drawn as well.
    pub exact: bool,
    /// Whether a burst that the limit lets through is drawn as well.
    pub ghost: bool,
    /// Whether the level of a leaky bucket is drawn as well.
    pub bucket: bool,
    /// Whether the mean of the last events is drawn as well.
    pub mean: bool,
    /// How many events that mean is of, from 1 to 1000.
    pub last: u32,
    /// Whether N of the recent average is drawn as well.
    pub recent: bool,
    /// The settings of every run.
    pub run: RunSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            decay: Span::seconds(10),
            increase: Span::minutes(1),
            limit: 10.0,
            mode: Mode::Strict,
            template: None,
            exact: false,
            ghost: false,
            bucket: false,
            mean: false,
            last: 10,
            recent: false,
            run: RunSettings::default(),
        }
    }
}

impl Named for Settings {
    const NAMES: &'static [&'static str] = &[
        "decay",
        "increase",
        "limit",
        "mode",
        "auto",
        "pattern",
        "auto-rate",
        "seed",
        "speed",
        "window",
        "exact",
        "ghost",
        "bucket",
        "mean",
        "last",
        "recent",
        "limiter",
    ];
    const VIEW: &'static [&'static str] =
        &["speed", "window", "exact", "ghost", "bucket", "mean", "last", "recent"];
    const TRAFFIC: &'static [&'static str] = &["auto", "pattern", "auto-rate", "seed"];
    /// Also the thin lines: one that is switched on has its past.
    const FROM_START: &'static [&'static str] =
        &["decay", "increase", "limit", "mode", "limiter", "bucket", "mean", "last", "recent"];
    const MOST_AUTO_RATE: f64 = 1e6;

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        match name {
            "decay" => *self = self.limited(value, self.limit, span(value, INTERVAL)?)?,
            "increase" => self.increase = span(value, INTERVAL)?,
            "limit" => {
                let (limit, decay) = limit_of(value)?;
                *self = self.limited(value, limit, decay.unwrap_or(self.decay))?;
            }
            "mode" => {
                self.mode = match value {
                    "strict" => Mode::Strict,
                    "leaky" => Mode::Leaky,
                    _ => return Err(ParseError::whole(value, "write strict or leaky")),
                }
            }
            "limiter" => *self = self.decided(value)?,
            "exact" => self.exact = switch(value)?,
            "ghost" => self.ghost = switch(value)?,
            "bucket" => self.bucket = switch(value)?,
            "mean" => self.mean = switch(value)?,
            "last" => self.last = whole(value, 1..=1000)?,
            "recent" => self.recent = switch(value)?,
            _ => self.run.set::<Self>(name, value)?,
        }
        Ok(())
    }

    fn get(&self, name: &str) -> String {
        match name {
            "decay" => self.decay.to_string(),
            "increase" => self.increase.to_string(),
            "limit" => self.limit.to_string(),
            "mode" => self.mode.to_string(),
            "limiter" => self.template.as_ref().map_or("exim".to_owned(), Template::to_string),
            "exact" => on_off(self.exact),
            "ghost" => on_off(self.ghost),
            "bucket" => on_off(self.bucket),
            "mean" => on_off(self.mean),
            "last" => self.last.to_string(),
            "recent" => on_off(self.recent),
            _ => self.run.get(name),
        }
    }

    fn run(&self) -> &RunSettings {
        &self.run
    }
}

/// Reads a limit, and the decay interval if it is a rate, which has one of its own: `60/min`.
fn limit_of(value: &str) -> Result<(f64, Option<Span>), ParseError> {
    if !is_rate(value) {
        return Ok((decimal(value, LIMIT)?, None));
    }
    let rate = rate(value, *INTERVAL.start())?;
    let limit = within(value, rate.count(), &LIMIT)?;
    Ok((limit, Some(within(value, rate.per(), &INTERVAL)?)))
}

impl Settings {
    /// These settings with another limit, if what decides can have it.
    fn limited(&self, value: &str, limit: f64, decay: Span) -> Result<Self, ParseError> {
        let limited = Settings { limit, decay, ..self.clone() };
        limited.policy().map_err(|error| ParseError::whole(value, error.to_string()))?;
        Ok(limited)
    }

    /// These settings with what the text says to decide. Exim's limiter is the settings' own, with its
    /// rate and its mode, if it has them.
    fn decided(&self, text: &str) -> Result<Self, ParseError> {
        if matches!(text, "" | "exim") {
            return Ok(Settings { template: None, ..self.clone() });
        }
        let rate = Rate::new(self.limit, self.decay)?;
        let (template, policy) = Template::read(text, rate)?;
        if let [Limit { limiter: AnyLimiter::Exim(Exim { limit, mode }), .. }] = policy.limits()
            && *mode != Mode::Readonly
        {
            let (own, mode) = (Settings { template: None, ..self.clone() }, *mode);
            let mut own = own.limited(text, limit.count(), limit.per())?;
            own.mode = mode;
            return Ok(own);
        }
        match states_of(&policy, 1) {
            ..=STATES => Ok(Settings { template: Some(template), ..self.clone() }),
            n => Err(ParseError::whole(text, format!("{n} limits; {STATES} are the most"))),
        }
    }

    /// The policy that decides in place of Exim's limiter, if there is one.
    ///
    /// # Errors
    /// When it can't have the limit.
    pub(super) fn policy(&self) -> Result<Option<(Template, Policy)>, ParseError> {
        let Some(template) = &self.template else { return Ok(None) };
        let policy = template.resolve(Rate::new(self.limit, self.decay)?)?;
        Ok(Some((template.clone(), policy)))
    }

    /// Whether the limit decides anything: not if the template has rates of its own.
    pub fn is_limited(&self) -> bool {
        let with = |limit| Settings { limit, ..self.clone() }.policy().ok().flatten();
        self.template.is_none() || with(self.limit) != with(self.limit / 2.0)
    }

    /// Exim's limiter as it measures: without a limit where another one decides.
    pub(super) fn measure(&self) -> Result<Exim, ParseError> {
        match self.template {
            None => self.limiter(),
            Some(_) => Ok(Exim { limit: Rate::new(0.0, self.decay)?, mode: Mode::Strict }),
        }
    }

    /// Exim's limiter with the limit and the mode.
    ///
    /// # Errors
    /// When a field was given a value that [`set`](Self::set) would have refused.
    pub fn limiter(&self) -> Result<Exim, ParseError> {
        Ok(Exim { limit: Rate::new(self.limit, self.decay)?, mode: self.mode })
    }

    /// Whether a line of the [models](super::models) is drawn.
    pub fn shows_models(&self) -> bool {
        self.bucket || self.mean || self.recent
    }

    /// The leaky bucket of the [models](super::models), which drains at the limit and holds as much;
    /// `None` if the limit is too low for a bucket.
    pub fn leaky_bucket(&self) -> Option<LeakyBucket> {
        let rate = Rate::new(self.limit, self.decay).ok()?;
        LeakyBucket::new(rate, self.limit).ok()
    }

    /// Predicts how much the limit lets through, at once and at the rate of the automatic events, even if these
    /// are off.
    ///
    /// # Errors
    /// As for [`limiter`](Self::limiter).
    pub fn outlook(&self) -> Result<Outlook, ParseError> {
        Ok(Outlook::new(&self.limiter()?, self.run.auto_rate))
    }
}
