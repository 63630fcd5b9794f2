//! The oscilloscope without its screen: settings, a clock that it is told, and what it measures.
//!
//! A run is a function of the settings it began with and of the commands since, each with its
//! time on the scope's own clock. The same commands give the same run, whatever the steps in
//! which time was told: that is what makes a link a recording.
//!
//! ```
//! use ratescope::Time;
//! use ratescope::lab::scope::{Link, Scope};
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
pub mod settings;

pub use crate::lab::run::{Command, Named, commands::MEMORY, pace};
pub use instrument::Instrument;
pub use settings::Settings;

use crate::lab::run::commands::Recording;
use crate::lab::run::{self, Run};
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use crate::traffic::Traffic;

/// A link to a run of the scope.
pub type Link = run::Link<Settings>;

/// A run of the scope.
#[derive(Clone, Debug)]
pub struct Scope {
    first: Settings,
    settings: Settings,
    instrument: Instrument,
    traffic: Option<Traffic>,
    /// All automatic events before this instant have come, and none at it or after it.
    now: Time,
    recording: Recording,
}

impl Scope {
    /// A run from time zero.
    ///
    /// # Errors
    /// When a setting has a value that [`Settings::set`](Named::set) would have refused.
    pub fn new(settings: Settings) -> Result<Self, BadNumber> {
        let mut scope = Scope {
            first: settings,
            settings,
            instrument: Instrument::new(settings.limiter()?, settings.increase),
            traffic: None,
            now: Time::ZERO,
            recording: Recording::new(&[]),
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
        scope.recording = Recording::new(&link.script);
        Ok(scope)
    }

    /// Lets time pass until `until`, or until about `most` events have arrived: the work in one
    /// call is bounded, and a caller that finds [`now`](Self::now) short of `until` calls again.
    pub fn advance(&mut self, until: Time, most: usize) {
        let mut left = most;
        loop {
            let due = self.recording.due(until);
            let stop = due.unwrap_or(until).max(self.now);
            if !self.pass(stop, &mut left) {
                return;
            }
            let Some(command) = due.and_then(|_| self.recording.take()) else { return };
            left = left.saturating_sub(command.events() as usize);
            // A script was read from text that was checked, so nothing here is refused.
            let _ = self.apply(command);
            if left == 0 {
                return;
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
    /// As for [`Settings::set`](Named::set); nothing changes then.
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
        self.recording.is_waiting()
    }

    /// A link that replays this run up to now; without what was done, if that was too much, so
    /// that it begins with the settings of now.
    pub fn link(&self) -> Link {
        match self.recording.all() {
            Some(script) => Link { settings: self.viewed(), script, at: self.now, paused: false },
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

    /// Lets time pass until `stop`, or as long as there is work `left`; whether it was enough.
    fn pass(&mut self, stop: Time, left: &mut usize) -> bool {
        let mut end = stop;
        if let Some(traffic) = &mut self.traffic {
            while let Some(at) = traffic.next_before(end) {
                self.instrument.event(at);
                *left = left.saturating_sub(1);
                if *left == 0 {
                    // An instant is never left half done: a command would come before the rest of
                    // it, and before all of it when the run is replayed.
                    end = at.after(Span::micros(1));
                }
            }
        }
        self.now = end;
        end == stop
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
                if next == self.settings {
                    return Ok(());
                }
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
        match &command {
            Command::Set { name, .. } if ["speed", "window", "exact"].contains(&name.as_str()) => {}
            _ => self.recording.remember(self.now, command),
        }
        Ok(())
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

impl Run for Scope {
    fn now(&self) -> Time {
        self.now
    }

    fn speed(&self) -> f64 {
        self.settings.speed
    }

    fn load(&self) -> f64 {
        if self.settings.auto { self.settings.auto_rate } else { 0.0 }
    }

    fn per_frame(&self) -> usize {
        400_000
    }

    fn advance(&mut self, until: Time, most: usize) {
        self.advance(until, most);
    }
}
