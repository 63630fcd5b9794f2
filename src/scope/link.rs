//! A link: the settings in readable form, and optionally a recording of what was done.
//!
//! ```text
//! decay=10s&limit=10&mode=strict&…&at=42.5&paused&do=1:events*10,20:mode=leaky
//! ```
//!
//! What is not said has its default. `do` lists commands, each with its time in seconds on the
//! scope: `events*10` is ten events at once, anything else gives a setting a value. `at` is the
//! time at which the viewer enters, `paused` keeps it there.

use super::settings::{NAMES, Settings, names};
use super::{Command, MEMORY};
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
        for (i, (at, command)) in self.script.iter().enumerate() {
            f.write_str(if i == 0 { "&do=" } else { "," })?;
            match command {
                Command::Events(n) => write!(f, "{at}:events*{n}")?,
                Command::Set { name, value } => write!(f, "{at}:{name}={value}")?,
            }
        }
        Ok(())
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
                "do" => link.script = script(value, link.settings).map_err(inside)?,
                _ if NAMES.contains(&name) => link.settings.set(name, value).map_err(inside)?,
                _ => {
                    let names = names();
                    let help = format!("not part of a link; it has at, paused, do, {names}");
                    return Err(ParseError::new(text, offset..offset + name.len(), help));
                }
            }
        }
        Ok(link)
    }
}

/// The most events that one command makes.
const BURST: u32 = 100_000;

fn script(text: &str, mut settings: Settings) -> Result<Vec<(Time, Command)>, ParseError> {
    const HELP: &str = "write a time, a colon and what is done, such as 1:events*10 or 5:limit=20";
    let mut script = Vec::new();
    for (offset, part) in parts(text, ',') {
        let wrong = |help: &str| ParseError::new(text, offset..offset + part.len(), help);
        let (time, what) = part.split_once(':').ok_or_else(|| wrong(HELP))?;
        let at: Time = time.parse().map_err(|e: ParseError| e.inside(text, offset))?;
        if at < script.last().map_or(Time::ZERO, |&(last, _)| last) {
            return Err(wrong("a time before zero or before the one before it"));
        }
        let command = match what.split_once(['=', '*']) {
            Some(("events", n)) => {
                let n = n.parse().ok().filter(|n| (1..=BURST).contains(n));
                Command::Events(n.ok_or_else(|| wrong("write from 1 to 100000 events"))?)
            }
            Some((name, value)) if NAMES.contains(&name) => {
                let at = offset + part.len() - value.len();
                settings.set(name, value).map_err(|e| e.inside(text, at))?;
                Command::Set { name: name.to_owned(), value: value.to_owned() }
            }
            None if what == "events" => Command::Events(1),
            Some((name, _)) => {
                let at = offset + time.len() + 1;
                let names = names();
                let help = format!("nothing that can be done; write events or one of {names}");
                return Err(ParseError::new(text, at..at + name.len(), help));
            }
            None => return Err(wrong(HELP)),
        };
        script.push((at, command));
    }
    match script.len() <= MEMORY {
        true => Ok(script),
        false => Err(ParseError::whole(text, format!("more than {MEMORY} commands"))),
    }
}
