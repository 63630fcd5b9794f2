//! A link: the settings in readable form, and optionally a recording of what was done.
//!
//! ```text
//! decay=10s&limit=10&mode=strict&…&at=42.5&paused&do=1:events*10,20:mode=leaky
//! ```
//!
//! What is not said has its default. `do` lists commands, each with its time in seconds on the
//! scope: `events*10` is ten events at once, anything else gives a setting a value. `at` is the
//! time at which the viewer enters, `paused` keeps it there.

use super::Command;
use super::settings::{NAMES, Settings};
use crate::run::commands::{read, write};
use crate::run::read::listed;
use crate::text::{ParseError, parts};
use crate::time::Time;
use core::fmt;
use core::str::FromStr;

/// What a link says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// The settings at the start.
    pub settings: Settings,
    /// What is done, in the order of time.
    pub script: Vec<(Time, Command)>,
    /// The time to show first.
    pub at: Time,
    /// Whether to stay there.
    pub paused: bool,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in NAMES.iter().enumerate() {
            write!(f, "{}{name}={}", if i == 0 { "" } else { "&" }, self.settings.get(name))?;
        }
        if self.at != Time::ZERO {
            write!(f, "&at={}", self.at)?;
        }
        if self.paused {
            f.write_str("&paused")?;
        }
        write(f, &self.script)
    }
}

/// Every part must be right: a link that is half read would show another run than the one meant.
impl FromStr for Link {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut link = Link::default();
        for (offset, part) in parts(text, '&').filter(|(_, part)| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let inside = |e: ParseError| e.inside(text, offset + part.len() - value.len());
            match name {
                "at" => link.at = value.parse().map_err(inside)?,
                "paused" => link.paused = true,
                "do" => {
                    let mut then = link.settings;
                    let mut set = |name: &str, value: &str| then.set(name, value);
                    link.script = read(value, &NAMES, &mut set).map_err(inside)?;
                }
                _ if NAMES.contains(&name) => link.settings.set(name, value).map_err(inside)?,
                _ => {
                    let names = listed(&NAMES);
                    let help = format!("not part of a link; it has at, paused, do, {names}");
                    return Err(ParseError::new(text, offset..offset + name.len(), help));
                }
            }
        }
        Ok(link)
    }
}
