//! A link: the settings in readable form, and optionally a recording of the commands.
//!
//! ```text
//! decay=10s&limit=10&mode=strict&…&at=42.5&paused&do=1:events*10,20:mode=leaky
//! ```
//!
//! A missing setting has its default, so links leave defaults out; a repeated setting has its last value. `do` lists
//! [commands], each with its time in seconds of the run. `at` is the time at which the viewer enters the run; with
//! `paused` the run stays there.
//!
//! The text follows `#` in an address. In a value `&`, `%` and `+` must be percent-encoded, and other characters may
//! be.

use super::escape::{decoded, inside};
use super::table::{changed, names};
use super::{Command, Named, commands};
use core::fmt;
use core::str::FromStr;
use ratescope::internal::{parts, shown};
use ratescope::text::ParseError;
use ratescope::time::Time;

/// The longest text that is read as a link, in bytes: room for [`MEMORY`](commands::MEMORY) commands of 100
/// bytes each.
pub const LONGEST: usize = 1 << 20;

/// The names of the parts that are not settings.
const OTHERS: [&str; 3] = ["at", "paused", "do"];

/// The content of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link<S> {
    /// The first settings.
    pub settings: S,
    /// The commands, in the order of time.
    pub commands: Vec<(Time, Command)>,
    /// The time to show first.
    pub at: Time,
    /// The run stays at `at`.
    pub paused: bool,
}

impl<S: Named> fmt::Display for Link<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = changed(S::SETTINGS, &self.settings);
        f.write_str(&changed)?;
        let mut and = if changed.is_empty() { "" } else { "&" };
        if self.at != Time::ZERO {
            write!(f, "{and}at={}", self.at)?;
            and = "&";
        }
        if self.paused {
            write!(f, "{and}paused")?;
            and = "&";
        }
        commands::write(f, and, &self.commands)
    }
}

/// Every part must be right: a link that is read in part would show a different run. A caller that can show an error
/// beside the run can use the [good parts](Link::good_parts).
impl<S: Named> FromStr for Link<S> {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // A program may have encoded the separators, too.
        let all_decoded = |error| Self::read(&decoded(text)).map_err(|_| error);
        Self::read(text).or_else(all_decoded)
    }
}

impl<S: Named> Link<S> {
    /// The valid parts of a link (`None` if no part is valid), and the first error, if there is one.
    pub fn good_parts(text: &str) -> (Option<Self>, Option<ParseError>) {
        let (link, good, wrong) = Self::gather(text);
        if wrong.is_none() {
            return (Some(link), None);
        }
        // A program may have encoded the separators, too.
        match Self::gather(&decoded(text)) {
            (link, _, None) => (Some(link), None),
            _ => ((good > 0).then_some(link), wrong),
        }
    }

    fn read(text: &str) -> Result<Self, ParseError> {
        let (link, _, wrong) = Self::gather(text);
        wrong.map_or(Ok(link), Err)
    }

    /// The link made of the valid parts, the number of valid parts, and the first error.
    fn gather(text: &str) -> (Self, usize, Option<ParseError>) {
        // Commands change the settings, so the settings are read first.
        let known: Vec<_> = names(S::SETTINGS).chain(OTHERS).collect();
        let (parts, mut wrong) = known_parts(text, &known);
        let mut link = Self::default();
        let mut good = 0;
        for (place, name) in known.into_iter().enumerate() {
            for part in parts.iter().filter(|part| part.place == place) {
                match link.part(name, part.value) {
                    Ok(()) => good += 1,
                    Err(error) => wrong = wrong.or_else(|| Some(inside(error, text, part.at))),
                }
            }
        }
        (link, good, wrong)
    }

    fn part(&mut self, name: &str, raw: &str) -> Result<(), ParseError> {
        match name {
            "at" => self.at = decoded(raw).parse()?,
            "paused" => self.paused = true,
            "do" => self.commands = commands::read(raw, self.settings.clone())?,
            _ => self.settings.set(name, &decoded(raw))?,
        }
        Ok(())
    }
}

struct Part<'a> {
    /// The index of its name among the known ones.
    place: usize,
    /// The first byte of the value in the link.
    at: usize,
    value: &'a str,
}

/// The parts whose names are `known`, and the first error.
fn known_parts<'a>(text: &'a str, known: &[&str]) -> (Vec<Part<'a>>, Option<ParseError>) {
    if text.len() > LONGEST {
        let help = format!("a link of more than {LONGEST} bytes");
        return (Vec::new(), Some(ParseError::whole(&shown(text, 20), help)));
    }
    let mut found = Vec::new();
    let mut wrong = None;
    for (offset, part) in parts(text, '&').filter(|(_, part)| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if let Some(place) = known.iter().position(|known| *known == name) {
            found.push(Part { place, at: offset + part.len() - value.len(), value });
        } else if wrong.is_none() {
            let settings = known.strip_suffix(&OTHERS).unwrap_or(known).join(", ");
            let help = format!("not part of a link; it has {}, {settings}", OTHERS.join(", "));
            wrong = Some(inside(ParseError::whole(&decoded(name), help), text, offset));
        }
    }
    (found, wrong)
}
