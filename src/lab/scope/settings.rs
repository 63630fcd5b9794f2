//! What can be set on the scope, by the names that its controls and links use.

use crate::lab::run::{
    Named,
    read::{WINDOW, decimal, listed, on_off, seed, span, switch},
};
use crate::limit::exim::{Exim, Mode};
use crate::rate::Rate;
use crate::text::{BadNumber, Decimal, ParseError};
use crate::time::Span;
use crate::traffic::Pattern;
use core::ops::RangeInclusive;

/// All settings of the scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The decay interval p of the red line, from 100 ms to 1 week.
    pub decay: Span,
    /// The increase interval q of the blue line, from 100 ms to 1 week.
    pub increase: Span,
    /// Events allowed in a decay interval, from 0 to 10^9; 0 only measures.
    pub limit: f64,
    /// Which events Exim counts.
    pub mode: Mode,
    /// Whether events are generated.
    pub auto: bool,
    /// How they are spaced.
    pub pattern: Pattern,
    /// How many a second, on average, from 0.1 to 1,000,000.
    pub auto_rate: f64,
    /// What their randomness starts from.
    pub seed: u64,
    /// Seconds of the scope in a second of the viewer, from 0.1 to 10.
    pub speed: f64,
    /// The length of time on the screen, from 10 s to 1 h.
    pub window: Span,
    /// Whether the exact count of the last decay interval is drawn as well.
    pub exact: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            decay: Span::seconds(10),
            increase: Span::minutes(1),
            limit: 10.0,
            mode: Mode::Strict,
            auto: true,
            pattern: Pattern::Poisson,
            auto_rate: 0.7,
            seed: 1,
            speed: 1.0,
            window: Span::minutes(1),
            exact: false,
        }
    }
}

const INTERVAL: RangeInclusive<f64> = 0.1..=604_800.0;

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
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let value = value.trim();
        match name {
            "decay" => self.decay = span(value, INTERVAL, "from 100ms to 1w")?,
            "increase" => self.increase = span(value, INTERVAL, "from 100ms to 1w")?,
            "limit" => self.limit = decimal(value, 0.0..=1e9, "from 0 to 1000000000")?,
            "mode" => {
                self.mode = match value {
                    "strict" => Mode::Strict,
                    "leaky" => Mode::Leaky,
                    _ => return Err(ParseError::whole(value, "write strict or leaky")),
                }
            }
            "auto" => self.auto = switch(value)?,
            "pattern" => self.pattern = value.parse()?,
            "auto-rate" => self.auto_rate = decimal(value, 0.1..=1e6, "from 0.1 to 1000000")?,
            "seed" => self.seed = seed(value)?,
            "speed" => self.speed = decimal(value, 0.1..=10.0, "from 0.1 to 10")?,
            "window" => self.window = span(value, WINDOW.0, WINDOW.1)?,
            "exact" => self.exact = switch(value)?,
            _ => {
                let help = format!("not a setting; there are {}", listed(Self::NAMES));
                return Err(ParseError::whole(name, help));
            }
        }
        Ok(())
    }

    fn get(&self, name: &str) -> String {
        match name {
            "decay" => self.decay.to_string(),
            "increase" => self.increase.to_string(),
            "limit" => Decimal(self.limit).to_string(),
            "mode" => if self.mode == Mode::Leaky { "leaky" } else { "strict" }.to_owned(),
            "auto" => on_off(self.auto),
            "pattern" => self.pattern.to_string(),
            "auto-rate" => Decimal(self.auto_rate).to_string(),
            "seed" => self.seed.to_string(),
            "speed" => Decimal(self.speed).to_string(),
            "window" => self.window.to_string(),
            "exact" => on_off(self.exact),
            _ => String::new(),
        }
    }
}

impl Settings {
    /// The limiter that the settings describe.
    ///
    /// # Errors
    /// When a field was given a value that [`set`](Self::set) would have refused.
    pub fn limiter(&self) -> Result<Exim, BadNumber> {
        Ok(Exim { limit: Rate::new(self.limit, self.decay)?, mode: self.mode })
    }
}
