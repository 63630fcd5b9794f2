//! The settings of the scope, by the names that its controls and links use.

use super::Outlook;
use crate::lab::run::{Named, RunSettings, decimal, on_off, span, switch, whole};
use crate::limit::exim::{Exim, Mode};
use crate::limit::leaky_bucket::LeakyBucket;
use crate::rate::Rate;
use crate::text::ParseError;
use crate::time::Span;

/// All settings of the scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The decay interval p of the red line, from 100 ms to 1 week.
    pub decay: Span,
    /// The increase interval q of the blue line, from 100 ms to 1 week.
    pub increase: Span,
    /// The limit, in events per decay interval, from 0 to 10^9; 0 only measures.
    pub limit: f64,
    /// Which events Exim counts.
    pub mode: Mode,
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
    /// What every run has.
    pub run: RunSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            decay: Span::seconds(10),
            increase: Span::minutes(1),
            limit: 10.0,
            mode: Mode::Strict,
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
    ];
    const VIEW: &'static [&'static str] =
        &["speed", "window", "exact", "ghost", "bucket", "mean", "last", "recent"];
    const TRAFFIC: &'static [&'static str] = &["auto", "pattern", "auto-rate", "seed"];
    const JUDGING: &'static [&'static str] = &["limit", "mode"];
    const MOST_AUTO_RATE: f64 = 1e6;

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        let interval = Span::micros(100_000)..=Span::hours(7 * 24);
        match name {
            "decay" => self.decay = span(value, interval)?,
            "increase" => self.increase = span(value, interval)?,
            "limit" => self.limit = decimal(value, 0.0..=1e9)?,
            "mode" => {
                self.mode = match value {
                    "strict" => Mode::Strict,
                    "leaky" => Mode::Leaky,
                    _ => return Err(ParseError::whole(value, "write strict or leaky")),
                }
            }
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

impl Settings {
    /// The settings of the [models](super::models).
    pub const MODELS: [&'static str; 4] = ["bucket", "mean", "last", "recent"];

    /// The limiter that the settings describe.
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

    /// What the limit lets through, at once and at the rate of the automatic events, even if these
    /// are off.
    ///
    /// # Errors
    /// As for [`limiter`](Self::limiter).
    pub fn outlook(&self) -> Result<Outlook, ParseError> {
        Ok(Outlook::new(&self.limiter()?, self.run.auto_rate))
    }
}
