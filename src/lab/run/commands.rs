//! What was done in a run and what is still to be done, and how a link lists it.
//!
//! ```text
//! do=1:events*10,20:mode=leaky
//! ```
//!
//! Each command has its time in seconds: `events*10` is ten events at once, anything else gives a
//! setting a value, in which `,` is percent-encoded too.

use super::Named;
use super::escape::{LISTED, decoded, encoded, inside, value};
use crate::text::{ParseError, parts};
use crate::time::Time;
use core::fmt;
use std::collections::VecDeque;

/// Something that a person does to a run, other than to look at it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// So many events at once: one for a click.
    Events(u32),
    /// A setting is given a value.
    Set {
        /// One of the names of the run's settings.
        name: String,
        /// As the settings read it.
        value: String,
    },
}

impl Command {
    /// How many events it makes.
    pub(crate) fn events(&self) -> u32 {
        if let Command::Events(n) = self { *n } else { 0 }
    }
}

/// Commands remembered for a link. A run with more of them can't be replayed from one.
pub const MEMORY: usize = 1000;

/// The most events that one command makes.
const BURST: u32 = 100_000;

/// What is to be done in a run, and what was done.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    coming: VecDeque<(Time, Command)>,
    /// `None` once it was too much.
    done: Option<Vec<(Time, Command)>>,
}

impl Recording {
    /// Nothing was done yet, and `coming` is to be.
    pub(crate) fn new(coming: &[(Time, Command)]) -> Self {
        Recording { coming: coming.iter().cloned().collect(), done: Some(Vec::new()) }
    }

    /// When the next command is due, if that is by `until`.
    pub(crate) fn due(&self, until: Time) -> Option<Time> {
        self.coming.front().map(|&(at, _)| at).filter(|&at| at <= until)
    }

    /// The next command, which is taken out.
    pub(crate) fn take(&mut self) -> Option<Command> {
        self.coming.pop_front().map(|(_, command)| command)
    }

    /// Whether commands are still to come.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.coming.is_empty()
    }

    /// All commands, done and to come; `None` when they are too many to be known.
    pub(crate) fn all(&self) -> Option<Vec<(Time, Command)>> {
        let done = self.done.as_ref()?;
        Some(done.iter().chain(&self.coming).cloned().collect())
    }

    /// Keeps a command for the link; of events, how many there were in one instant is enough. All
    /// changes are kept: a lane that was taken out and put back, or a stream that was stopped and
    /// started, has begun anew, even in one instant.
    pub(crate) fn remember(&mut self, now: Time, command: Command) {
        let Some(done) = &mut self.done else { return };
        let full = done.len() + self.coming.len() >= MEMORY;
        match (done.last_mut(), &command) {
            (Some((at, Command::Events(n))), Command::Events(m))
                if *at == now && n.saturating_add(*m) <= BURST =>
            {
                *n += m;
            }
            _ if full => self.done = None,
            _ => done.push((now, command)),
        }
    }
}

/// Writes the part of a link that lists commands, if there are any.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, commands: &[(Time, Command)]) -> fmt::Result {
    for (i, (at, command)) in commands.iter().enumerate() {
        f.write_str(if i == 0 { "&do=" } else { "," })?;
        match command {
            Command::Events(n) => write!(f, "{at}:events*{n}")?,
            Command::Set { name, value } => write!(f, "{at}:{name}={}", encoded(value, &LISTED))?,
        }
    }
    Ok(())
}

/// Reads the part of a link that lists commands, in which `settings` are those at the start.
pub(super) fn read<S: Named>(
    raw: &str,
    mut settings: S,
) -> Result<Vec<(Time, Command)>, ParseError> {
    const HELP: &str = "write a time, a colon and what is done, such as 1:events*10 or 5:limit=20";
    let mut commands = Vec::new();
    for (offset, part) in parts(raw, ',') {
        let wrong = |part: &str, at: usize, help: &str| {
            inside(ParseError::whole(&decoded(part), help), raw, offset + at)
        };
        let (time, what) = part.split_once(':').ok_or_else(|| wrong(part, 0, HELP))?;
        let at: Time = time.parse().map_err(|e| inside(e, raw, offset))?;
        if at < commands.last().map_or(Time::ZERO, |&(last, _)| last) {
            return Err(wrong(part, 0, "a time before zero or before the one before it"));
        }
        let command = match what.split_once(['=', '*']) {
            Some(("events", n)) => {
                let n = n.parse().ok().filter(|n| (1..=BURST).contains(n));
                Command::Events(n.ok_or_else(|| wrong(part, 0, "write from 1 to 100000 events"))?)
            }
            Some((name, coded)) if S::NAMES.contains(&name) => {
                let at = offset + part.len() - coded.len();
                let value = value::<S>(name, coded);
                settings.set(name, &value).map_err(|e| inside(e, raw, at))?;
                Command::Set { name: name.to_owned(), value }
            }
            None if what == "events" => Command::Events(1),
            Some((name, _)) => {
                let names = S::NAMES.join(", ");
                let help = format!("nothing that can be done; write events or one of {names}");
                return Err(wrong(name, time.len() + 1, &help));
            }
            None => return Err(wrong(part, 0, HELP)),
        };
        commands.push((at, command));
    }
    match commands.len() <= MEMORY {
        true => Ok(commands),
        false => Err(ParseError::whole(&decoded(raw), "more than 1000 commands")),
    }
}
