//! Settings by name: what each of them does to a run, those that every run has, and their readers.

use super::Source;
use crate::text::{ParseError, number};
use crate::time::{Span, Time};
use crate::traffic::Pattern;
use core::fmt;
use core::ops::RangeInclusive;

/// The settings of a run: each has a name, and its value a text form.
pub trait Named: Clone + Default + PartialEq + fmt::Debug {
    /// The names, in the order in which a link has them; one comes after those on which its
    /// reading depends.
    const NAMES: &'static [&'static str];

    /// What settings were called in links of old, and what they are called now.
    const OLD_NAMES: &'static [(&'static str, &'static str)] = &[];

    /// Those that change nothing but what is seen of a run.
    const VIEW: &'static [&'static str];

    /// Those with which all streams of events begin anew, and nothing else changes.
    const TRAFFIC: &'static [&'static str];

    /// Those that only say how events are judged from then on.
    const JUDGING: &'static [&'static str];

    /// The most events a second that can be generated, on average.
    const MOST_AUTO_RATE: f64;

    /// The most seconds of the run in a second of the viewer.
    const MOST_SPEED: f64;

    /// Sets `name` to what `value` says.
    ///
    /// # Errors
    /// When there is no such setting, or the value is not one of its; nothing changes then.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError>;

    /// The value of `name` as [`set`](Self::set) reads it; empty for an unknown name.
    fn get(&self, name: &str) -> String;

    /// What a link means by `name`.
    fn name_now(name: &str) -> &str {
        let old = Self::OLD_NAMES.iter().find(|(old, _)| *old == name);
        old.map_or(name, |(_, now)| now)
    }

    /// Those of the settings that every run has.
    fn run(&self) -> &RunSettings;

    /// What an event costs when its source does not say.
    fn cost(&self) -> f64 {
        1.0
    }

    /// The events from `now` on besides the generated ones, which come after those of an instant.
    fn streams(&self, now: Time) -> Vec<Source> {
        let _ = now;
        Vec::new()
    }
}

/// The settings that every run has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSettings {
    /// Whether events are generated.
    pub auto: bool,
    /// How they are spaced.
    pub pattern: Pattern,
    /// How many a second, on average, from 0.1 to [`Named::MOST_AUTO_RATE`].
    pub auto_rate: f64,
    /// What all randomness starts from.
    pub seed: u64,
    /// Seconds of the run in a second of the viewer, from 0.1 to [`Named::MOST_SPEED`].
    pub speed: f64,
    /// The length of time on the screen, from 10 s to 1 h.
    pub window: Span,
}

/// Poisson events, 0.7 a second, and a minute on the screen.
impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            auto: true,
            pattern: Pattern::Poisson,
            auto_rate: 0.7,
            seed: 1,
            speed: 1.0,
            window: Span::minutes(1),
        }
    }
}

impl RunSettings {
    /// Sets `name`, of the settings `S`, to what `value` says. Any other name is an error.
    pub(crate) fn set<S: Named>(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "auto" => self.auto = switch(value)?,
            "pattern" => self.pattern = value.parse()?,
            "auto-rate" => self.auto_rate = decimal(value, 0.1..=S::MOST_AUTO_RATE)?,
            "seed" => {
                let help = "write a whole number from 0 up";
                self.seed = value.parse().map_err(|_| ParseError::whole(value, help))?;
            }
            "speed" => self.speed = decimal(value, 0.1..=S::MOST_SPEED)?,
            "window" => self.window = span(value, Span::seconds(10)..=Span::hours(1))?,
            _ => {
                let help = format!("not a setting; there are {}", S::NAMES.join(", "));
                return Err(ParseError::whole(name, help));
            }
        }
        Ok(())
    }

    /// The value of `name` as [`set`](Self::set) reads it; empty for any other name.
    pub(crate) fn get(&self, name: &str) -> String {
        match name {
            "auto" => on_off(self.auto),
            "pattern" => self.pattern.to_string(),
            "auto-rate" => self.auto_rate.to_string(),
            "seed" => self.seed.to_string(),
            "speed" => self.speed.to_string(),
            "window" => self.window.to_string(),
            _ => String::new(),
        }
    }
}

pub(crate) fn switch(text: &str) -> Result<bool, ParseError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ParseError::whole(text, "write on or off")),
    }
}

/// What [`switch`] reads.
pub(crate) fn on_off(switch: bool) -> String {
    if switch { "on" } else { "off" }.to_owned()
}

pub(crate) fn span(text: &str, range: RangeInclusive<Span>) -> Result<Span, ParseError> {
    within(text, text.parse()?, &range)
}

pub(crate) fn decimal(text: &str, range: RangeInclusive<f64>) -> Result<f64, ParseError> {
    match number(text) {
        Some(value) => within(text, value, &range),
        None => Err(ParseError::whole(text, format!("not a number; {}", choose(&range)))),
    }
}

pub(crate) fn whole(text: &str, range: RangeInclusive<u32>) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(value) => within(text, value, &range),
        Err(_) => Err(ParseError::whole(text, format!("not a whole number; {}", choose(&range)))),
    }
}

fn within<T>(text: &str, value: T, range: &RangeInclusive<T>) -> Result<T, ParseError>
where
    T: PartialOrd + fmt::Display,
{
    match range.contains(&value) {
        true => Ok(value),
        false => Err(ParseError::whole(text, format!("out of range; {}", choose(range)))),
    }
}

fn choose(range: &RangeInclusive<impl fmt::Display>) -> String {
    format!("choose from {} to {}", range.start(), range.end())
}
