//! The commands of a run, done and still to come, and how a link lists them.
//!
//! ```text
//! do=1:events*10,20:mode=leaky
//! ```
//!
//! Each command has its time in seconds. `events*10` is ten events at once. Any other command gives
//! a setting a value, in which `,` is percent-encoded, too.

use super::escape::{LISTED, decoded, encoded, inside};
use super::table::{find, listed};
use super::{Effect, Named};
use core::fmt;
use ratescope::internal::parts;
use ratescope::text::ParseError;
use ratescope::time::Time;
use std::collections::VecDeque;

/// An action of a person that changes a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Makes this number of events at once; a click makes one.
    Events(u32),
    /// Gives a setting a value.
    Set {
        /// The name of the setting.
        name: String,
        /// The text of the value.
        value: String,
    },
}

impl Command {
    /// The work, as a number of events. A change of a setting counts as 20: it reads text and may create
    /// lanes.
    pub(super) fn work(&self) -> usize {
        if let Command::Events(n) = self { *n as usize } else { 20 }
    }
}

/// The most commands in a link: some minutes of dragging with events in each frame. A run with more commands cannot be
/// replayed from a link.
pub const MEMORY: usize = 10_000;

/// The most events that one command makes.
const BURST: u32 = 100_000;

/// The commands of a run that are still to come, and those that were done.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    coming: VecDeque<(Time, Command)>,
    /// `None` once there were more than [`MEMORY`] commands.
    done: Option<Vec<(Time, Command)>>,
    /// The last command, if a later one may replace it.
    last: Option<Replaceable>,
}

/// A change of a setting of [`Effect::Traffic`], which restarts all streams of events. The next change of the same
/// setting restarts them again. It replaces this change if no event came between the two, nor would have come with the
/// earlier value. So a drag makes no more commands than it had events.
#[derive(Clone, Debug)]
pub(super) struct Replaceable {
    name: String,
    /// The value before the change, and when the next event would have come with it.
    from: (String, Time),
    /// The value after the change, and when the next event comes with it.
    to: (String, Time),
}

impl Replaceable {
    /// A change of `name`; `None` if changes of the setting are never replaced.
    pub(super) fn new<S: Named>(
        name: &str,
        from: (String, Time),
        to: (String, Time),
    ) -> Option<Self> {
        S::has(name, Effect::Traffic).then(|| Replaceable { name: name.to_owned(), from, to })
    }

    /// This change and the next, `second` at `now`, as one change; `None` if they cannot be merged. A change back to
    /// the first value is not merged: the result would change nothing, and so would not restart the streams as both
    /// changes did.
    fn then(&self, second: &Replaceable, now: Time) -> Option<Replaceable> {
        let one = Replaceable { to: second.to.clone(), ..self.clone() };
        let unseen = now <= self.from.1.min(self.to.1);
        (self.name == second.name && unseen && one.from.0 != one.to.0).then_some(one)
    }
}

impl Recording {
    /// A recording whose commands are all still `coming`.
    pub(crate) fn new(coming: &[(Time, Command)]) -> Self {
        let coming = coming.iter().cloned().collect();
        Recording { coming, done: Some(Vec::new()), last: None }
    }

    /// The recording of a run at its start: all commands are still to come, without changes of `setting`. `None` if
    /// there were too many commands.
    pub(super) fn without(&self, setting: &str) -> Option<Self> {
        let is_other = |(_, command): &(Time, Command)| !matches!(command, Command::Set { name, .. } if name == setting);
        let coming = self.all()?.into_iter().filter(is_other).collect();
        Some(Recording { coming, done: Some(Vec::new()), last: None })
    }

    /// Adds a command that is to come at `at`, after the others of that time.
    pub(super) fn forward(&mut self, at: Time, command: Command) {
        let place = self.coming.partition_point(|(other, _)| *other <= at);
        self.coming.insert(place, (at, command));
    }

    /// When the next command is due; `None` if it is due after `until`, or there is none.
    pub(crate) fn due(&self, until: Time) -> Option<Time> {
        self.coming.front().map(|&(at, _)| at).filter(|&at| at <= until)
    }

    /// Removes the next command.
    pub(crate) fn take(&mut self) -> Option<Command> {
        self.coming.pop_front().map(|(_, command)| command)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.coming.is_empty()
    }

    /// All commands, done and to come; `None` if there were too many.
    pub(crate) fn all(&self) -> Option<Vec<(Time, Command)>> {
        let done = self.done.as_ref()?;
        Some(done.iter().chain(&self.coming).cloned().collect())
    }

    /// Remembers a command for the link. `change` describes it if a later command may replace it. Events at
    /// the same instant become one command.
    pub(super) fn remember(&mut self, now: Time, command: Command, change: Option<Replaceable>) {
        let one = match (&self.last, &change) {
            (Some(first), Some(second)) => first.then(second, now),
            _ => None,
        };
        let replaces = one.is_some();
        self.last = one.or(change);
        let Some(done) = &mut self.done else { return };
        let full = done.len() + self.coming.len() >= MEMORY;
        match (done.last_mut(), &command) {
            (Some(last), _) if replaces => *last = (now, command),
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

/// Writes the part of a link with the commands, if there are any. `and` separates it from the previous part.
pub(crate) fn write(
    f: &mut fmt::Formatter<'_>,
    and: &str,
    commands: &[(Time, Command)],
) -> fmt::Result {
    for (i, (at, command)) in commands.iter().enumerate() {
        match i {
            0 => write!(f, "{and}do=")?,
            _ => f.write_str(",")?,
        }
        match command {
            Command::Events(n) => write!(f, "{at}:events*{n}")?,
            Command::Set { name, value } => write!(f, "{at}:{name}={}", encoded(value, &LISTED))?,
        }
    }
    Ok(())
}

/// Reads the part of a link with the commands; `settings` are the first settings.
pub(super) fn read<S: Named>(
    raw: &str,
    mut settings: S,
) -> Result<Vec<(Time, Command)>, ParseError> {
    const HELP: &str = "write a time, a colon and a command, such as 1:events*10 or 5:limit=20";
    let mut commands = Vec::new();
    for (offset, part) in parts(raw, ',') {
        if commands.len() == MEMORY {
            let help = format!("more than {MEMORY} commands");
            return Err(ParseError::whole(&decoded(raw), help));
        }
        let wrong = |part: &str, at: usize, help: &str| {
            inside(ParseError::whole(&decoded(part), help), raw, offset + at)
        };
        let (time, what) = part.split_once(':').ok_or_else(|| wrong(part, 0, HELP))?;
        let at: Time = time.parse().map_err(|e| inside(e, raw, offset))?;
        if at < commands.last().map_or(Time::ZERO, |&(last, _)| last) {
            return Err(wrong(
                part,
                0,
                "a time before zero, or earlier than the command before it",
            ));
        }
        let done = what.split_once(['=', '*']);
        let command = match done {
            Some(("events", n)) => {
                let n = n.parse().ok().filter(|n| (1..=BURST).contains(n));
                Command::Events(n.ok_or_else(|| wrong(part, 0, "write from 1 to 100000 events"))?)
            }
            Some((name, coded)) if find(S::SETTINGS, name).is_some() => {
                let at = offset + part.len() - coded.len();
                settings.set(name, &decoded(coded)).map_err(|e| inside(e, raw, at))?;
                Command::Set { name: name.to_owned(), value: settings.get(name) }
            }
            None if what == "events" => Command::Events(1),
            Some((name, _)) => {
                let names = listed(S::SETTINGS);
                let help = format!("not a command; write events or one of {names}");
                return Err(wrong(name, time.len() + 1, &help));
            }
            None => return Err(wrong(part, 0, HELP)),
        };
        commands.push((at, command));
    }
    Ok(commands)
}
