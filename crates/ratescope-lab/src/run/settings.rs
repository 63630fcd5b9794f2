//! Settings by name: the settings of every run, and how values are read and written.

use super::table::{find, listed};
use super::{Effect, Setting, Source, lenient};
use crate::traffic::Pattern;
use core::fmt;
use core::ops::RangeInclusive;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// The settings of a run: each has a name, and its value a text form.
pub trait Named: Clone + Default + PartialEq + fmt::Debug + 'static {
    /// The settings, in the order of links. A setting comes after those on which its reading depends.
    const SETTINGS: &'static [Setting<Self>];

    /// Sets `name` to the value of the text `value`.
    ///
    /// # Errors
    /// When there is no such setting, or it cannot have the value; nothing changes then.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let Some(setting) = find(Self::SETTINGS, name) else {
            let help = format!("not a setting; there are {}", listed(Self::SETTINGS));
            return Err(ParseError::whole(name, help));
        };
        (setting.set)(self, value.trim())
    }

    /// The value of `name` as [`set`](Self::set) reads it; empty for an unknown name.
    fn get(&self, name: &str) -> String {
        find(Self::SETTINGS, name).map_or(String::new(), |setting| (setting.get)(self))
    }

    /// Looks up whether a setting has an effect.
    fn has(name: &str, effect: Effect) -> bool {
        find(Self::SETTINGS, name).is_some_and(|setting| setting.effects.contains(&effect))
    }

    /// The settings that all runs have.
    fn common(&self) -> &RunSettings;

    /// The cost of an event whose source has none.
    fn cost(&self) -> f64 {
        1.0
    }

    /// Tells whether there are scripted events, at fixed times of the run.
    fn is_scripted(&self) -> bool {
        false
    }

    /// The streams of events from `now` on, besides the generated stream. At the same instant, their events come first.
    fn streams(&self, now: Time) -> Vec<Source> {
        let _ = now;
        Vec::new()
    }
}

/// The most seconds of a run in a second of the viewer.
pub const MOST_SPEED: f64 = 1000.0;

/// The settings that every run has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSettings {
    /// Events are generated.
    pub auto: bool,
    /// How the events are spaced.
    pub pattern: Pattern,
    /// How many events are generated in a second, on average: from 0.001 to a million in the Scope, and to ten
    /// thousand in Compare.
    pub auto_rate: f64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Seconds of the run in a second of the viewer, from 0.1 to [`MOST_SPEED`].
    pub speed: f64,
    /// The length of time on the screen, from 10 s to a day.
    pub window: Span,
}

/// Poisson events at 0.7 a second, at the viewer's own speed, and a minute on the screen.
impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            auto: true,
            pattern: Pattern::Poisson,
            auto_rate: 0.7,
            seed: 1,
            speed: 1.0,
            window: Span::from_mins(1),
        }
    }
}

/// Reads a number or a rate, as events in a second.
pub(crate) fn auto_rate<const MOST: u32>(text: &str) -> Result<f64, ParseError> {
    let range = 0.001..=f64::from(MOST);
    if lenient::is_rate(text) {
        within(text, lenient::rate(text, Span::from_secs(1))?.frequency(), &range)
    } else {
        decimal(text, range)
    }
}

pub(crate) fn seed(text: &str) -> Result<u64, ParseError> {
    let whole = lenient::number(text).filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n));
    let seed = text.parse().ok().or(whole.map(|n| n as u64));
    seed.ok_or_else(|| {
        ParseError::whole(text, format!("write a whole number from 0 to {}", u64::MAX))
    })
}

pub(crate) fn speed(text: &str) -> Result<f64, ParseError> {
    decimal(text, 0.1..=MOST_SPEED)
}

pub(crate) fn window(text: &str) -> Result<Span, ParseError> {
    span(text, Span::from_secs(10)..=Span::from_hours(24))
}

pub(crate) fn switch(text: &str) -> Result<bool, ParseError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ParseError::whole(text, "write on or off")),
    }
}

/// The text that [`switch`] reads.
pub(crate) fn on_off(switch: &bool) -> &'static str {
    if *switch { "on" } else { "off" }
}

/// The value, or the text `none`.
pub(crate) fn or<T: fmt::Display>(value: &Option<T>, none: &str) -> String {
    value.as_ref().map_or(none.to_owned(), T::to_string)
}

pub(crate) fn span(text: &str, range: RangeInclusive<Span>) -> Result<Span, ParseError> {
    match lenient::number(text) {
        // Zero is the same in any unit, so it needs no unit.
        Some(0.0) => within(text, Span::ZERO, &range),
        _ => within(text, text.parse()?, &range),
    }
}

pub(crate) fn decimal(text: &str, range: RangeInclusive<f64>) -> Result<f64, ParseError> {
    match lenient::number(text) {
        Some(value) => within(text, value, &range),
        None => {
            let below = text.strip_prefix('-').and_then(lenient::number).is_some();
            let problem = if below { "out of range" } else { "not a number" };
            Err(ParseError::whole(text, format!("{problem}; {}", choose(&range))))
        }
    }
}

pub(crate) fn whole(text: &str, range: RangeInclusive<u32>) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(value) => within(text, value, &range),
        Err(_) => Err(ParseError::whole(text, format!("not a whole number; {}", choose(&range)))),
    }
}

pub(crate) fn within<T>(text: &str, value: T, range: &RangeInclusive<T>) -> Result<T, ParseError>
where
    T: PartialOrd + fmt::Display,
{
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(ParseError::whole(text, format!("out of range; {}", choose(range))))
    }
}

fn choose(range: &RangeInclusive<impl fmt::Display>) -> String {
    format!("choose from {} to {}", range.start(), range.end())
}
