//! A link: the settings in readable form, and optionally a recording of what was done.
//!
//! ```text
//! budget=10/10s&lanes=exim strict;earrrl+fixed-window per user&…&at=42.5&paused
//! ```
//!
//! As the links of the [scope](crate::scope::link). `&` within a lane is written as `+`.

use super::settings::{NAMES, Settings};
use crate::run::Command;
use crate::run::commands::{escaped, read, write};
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
            let value = self.settings.get(name);
            let value = if *name == "lanes" { escaped(&value) } else { value };
            write!(f, "{}{name}={value}", if i == 0 { "" } else { "&" })?;
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

/// Every part must be right, and the order does not matter but for `do`, which is done to the
/// settings before it. The budget is read first, because lanes can be wrong under another one.
impl FromStr for Link {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut link = Link::default();
        for budget in [true, false] {
            for (offset, part) in parts(text, '&').filter(|(_, part)| !part.is_empty()) {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                if budget == (name == "budget") {
                    let at = offset + part.len() - value.len();
                    let known = link.part(name, value).map_err(|e| e.inside(text, at))?;
                    if !known {
                        let names = listed(&NAMES);
                        let help = format!("not part of a link; it has at, paused, do, {names}");
                        return Err(ParseError::new(text, offset..offset + name.len(), help));
                    }
                }
            }
        }
        Ok(link)
    }
}

impl Link {
    /// Reads one part; `false` when there is none of that name.
    fn part(&mut self, name: &str, value: &str) -> Result<bool, ParseError> {
        match name {
            "at" => self.at = value.parse()?,
            "paused" => self.paused = true,
            "do" => {
                let mut then = self.settings.clone();
                let mut set = |name: &str, value: &str| then.set(name, value);
                self.script = read(value, &NAMES, &mut set)?;
            }
            _ if NAMES.contains(&name) => self.settings.set(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
