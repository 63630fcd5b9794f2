//! The oscilloscope without its screen: settings, a clock that it is told, and what it measures.
//!
//! A run is a function of the settings it began with and of the commands since, each with its
//! time on the scope's own clock. The same commands give the same run, whatever the steps in
//! which time was told: that is what makes a link a recording.
//!
//! ```
//! use ratescope::Time;
//! use ratescope::scope::{Link, Scope};
//!
//! // Twelve events at once against a limit of ten, as the page's address says it.
//! let link: Link = "limit=10&auto=off&do=1:events*12".parse()?;
//! let mut scope = Scope::replay(&link)?;
//! scope.advance(Time::from_secs(5.0)?, usize::MAX);
//! assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (10, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Its automatic events are [`traffic`](crate::traffic), what it measures with is an
//! [`estimate`](crate::estimate) and a [limiter](crate::limit), and [`view`](crate::view) draws it.

pub mod instrument;
pub mod link;
pub mod pace;
pub mod settings;

pub use instrument::Instrument;
pub use link::Link;
pub use settings::Settings;

use crate::text::{BadNumber, ParseError};
use crate::time::Time;
use crate::traffic::Traffic;
use std::collections::VecDeque;

/// Something that a person does to a run, other than to look at it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// So many events at once: one for a click.
    Events(u32),
    /// A setting is given a value.
    Set {
        /// One of [`settings::NAMES`].
        name: String,
        /// As [`Settings::set`] reads it.
        value: String,
    },
}

/// Commands remembered for a link. A run with more of them can't be replayed from one.
pub const MEMORY: usize = 1000;

/// A run of the scope.
#[derive(Clone, Debug)]
pub struct Scope {
    first: Settings,
    settings: Settings,
    instrument: Instrument,
    traffic: Option<Traffic>,
    now: Time,
    /// What is to be done, and when.
    script: VecDeque<(Time, Command)>,
    /// What was done, and when; `None` once it was too much.
    done: Option<Vec<(Time, Command)>>,
}

impl Scope {
    /// A run from time zero.
    ///
    /// # Errors
    /// When a setting has a value that [`Settings::set`] would have refused.
    pub fn new(settings: Settings) -> Result<Self, BadNumber> {
        let mut scope = Scope {
            first: settings,
            settings,
            instrument: Instrument::new(settings.limiter()?, settings.increase),
            traffic: None,
            now: Time::ZERO,
            script: VecDeque::new(),
            done: Some(Vec::new()),
        };
        scope.restart_traffic()?;
        Ok(scope)
    }

    /// The run that a link describes, at its start; advance to [`Link::at`] to see what it shows.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn replay(link: &Link) -> Result<Self, BadNumber> {
        let mut scope = Self::new(link.settings)?;
        scope.script.extend(link.script.iter().cloned());
        Ok(scope)
    }

    /// Lets time pass until `until`, or until about `most` events have arrived: the work in one
    /// call is bounded, and a caller that finds [`now`](Self::now) short of `until` calls again.
    pub fn advance(&mut self, until: Time, most: usize) {
        let mut left = most;
        while self.now < until && left > 0 {
            let next = self.script.front().map(|&(at, _)| at).filter(|&at| at <= until);
            let stop = next.unwrap_or(until).max(self.now);
            if let Some(traffic) = &mut self.traffic {
                while left > 0 {
                    let Some(at) = traffic.next_before(stop) else { break };
                    self.instrument.event(at);
                    self.now = at;
                    left -= 1;
                }
            }
            if left == 0 {
                return;
            }
            self.now = stop;
            if let Some((_, command)) = next.and_then(|_| self.script.pop_front()) {
                // A script was read from text that was checked, so nothing here is refused.
                let _ = self.apply(command);
            }
        }
    }

    /// One event, now.
    pub fn click(&mut self) {
        let _ = self.apply(Command::Events(1));
    }

    /// Gives a setting another value, now.
    ///
    /// # Errors
    /// As for [`Settings::set`]; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.apply(Command::Set { name: name.to_owned(), value: value.to_owned() })
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is measured.
    pub fn instrument(&self) -> &Instrument {
        &self.instrument
    }

    /// The time that it is on the scope.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether commands of a link are still to come.
    pub fn has_script(&self) -> bool {
        !self.script.is_empty()
    }

    /// A link that replays this run up to now; without what was done, if that was too much, so
    /// that it begins with the settings of now.
    pub fn link(&self) -> Link {
        match &self.done {
            Some(done) => Link {
                settings: self.viewed(),
                script: done.iter().chain(&self.script).cloned().collect(),
                at: self.now,
                paused: false,
            },
            None => Link { settings: self.settings, ..Link::default() },
        }
    }

    /// The first settings, as far as they decide what happens, and the last ones for the rest.
    fn viewed(&self) -> Settings {
        Settings {
            speed: self.settings.speed,
            window: self.settings.window,
            exact: self.settings.exact,
            ..self.first
        }
    }

    fn apply(&mut self, command: Command) -> Result<(), ParseError> {
        match &command {
            Command::Events(n) => {
                for _ in 0..*n {
                    self.instrument.event(self.now);
                }
            }
            Command::Set { name, value } => {
                let mut next = self.settings;
                next.set(name, value)?;
                let limiter =
                    next.limiter().map_err(|e| ParseError::whole(value, e.to_string()))?;
                let before = core::mem::replace(&mut self.settings, next);
                if next.limiter() != before.limiter() || next.increase != before.increase {
                    self.instrument.set(self.now, limiter, next.increase);
                }
                let source = |s: &Settings| (s.auto, s.pattern, s.auto_rate, s.seed);
                if source(&next) != source(&before) {
                    let wrong = |e: BadNumber| ParseError::whole(value, e.to_string());
                    self.restart_traffic().map_err(wrong)?;
                }
            }
        }
        self.remember(command);
        Ok(())
    }

    /// Keeps a command for the link; the last of several changes to one setting in one instant,
    /// and how many events there were in it, are enough.
    fn remember(&mut self, command: Command) {
        let Some(done) = &mut self.done else { return };
        if let Command::Set { name, .. } = &command
            && ["speed", "window", "exact"].contains(&name.as_str())
        {
            return;
        }
        let full = done.len() == MEMORY;
        match (done.last_mut(), &command) {
            (Some((at, Command::Events(n))), Command::Events(m)) if *at == self.now => *n += m,
            (Some((at, Command::Set { name, value })), Command::Set { name: n, value: v })
                if *at == self.now && name == n =>
            {
                value.clone_from(v);
            }
            _ if full => self.done = None,
            _ => done.push((self.now, command)),
        }
    }

    /// Begins the automatic events anew from now.
    fn restart_traffic(&mut self) -> Result<(), BadNumber> {
        let Settings { auto, pattern, auto_rate, seed, .. } = self.settings;
        self.traffic = match auto {
            true => Some(Traffic::new(pattern, auto_rate, seed, self.now)?),
            false => None,
        };
        Ok(())
    }
}
