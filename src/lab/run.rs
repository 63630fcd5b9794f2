//! A run: an experiment, the events and commands that it is given, and a clock that is told.
//!
//! A run is a function of the settings it began with and of the commands since, each with its
//! time on the run's own clock. The same commands give the same run, whatever the steps in which
//! time was told: that is what makes a [link] a recording.
//!
//! What is put to the events is an [`Experiment`]: the [scope](super::scope)'s instrument, or the
//! lanes of a [comparison](super::compare).

pub mod commands;
mod escape;
mod experiment;
pub mod link;
pub mod pace;
mod settings;
mod source;

pub use commands::Command;
pub use experiment::Experiment;
pub use link::Link;
pub use settings::{Named, RunSettings};
pub use source::{Arrival, Source};

pub(crate) use escape::{VALUE, decoded, encoded};
pub(crate) use settings::{decimal, on_off, span, switch, whole};

use crate::text::ParseError;
use crate::time::{Span, Time};
use commands::{Recording, Step};

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct Run<E: Experiment> {
    first: E::Settings,
    settings: E::Settings,
    experiment: E,
    sources: Vec<Source>,
    /// All events before this instant have come, and none at it or after it.
    now: Time,
    recording: Recording,
}

impl<E: Experiment> Run<E> {
    /// A run from time zero.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`] would have refused.
    pub fn new(settings: E::Settings) -> Result<Self, ParseError> {
        Self::beginning(settings, Time::ZERO)
    }

    fn beginning(settings: E::Settings, begin: Time) -> Result<Self, ParseError> {
        let mut run = Run {
            first: settings.clone(),
            experiment: E::new(&settings, begin)?,
            settings,
            sources: Vec::new(),
            now: begin,
            recording: Recording::new(&[]),
        };
        run.restart_sources()?;
        Ok(run)
    }

    /// A run of events that were, with their times, in order, and their costs: those of a log's
    /// client. It begins with the first. Advance to their end to see them.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_events(settings: E::Settings, events: Vec<(Time, f64)>) -> Result<Self, ParseError> {
        let begin = events.first().map_or(Time::ZERO, |(at, _)| *at);
        let mut run = Self::beginning(settings, begin)?;
        run.sources.push(Source::given(events));
        Ok(run)
    }

    /// The run that a link describes, at its start; advance to [`Link::at`] to see what it shows.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn open(link: &Link<E::Settings>) -> Result<Self, ParseError> {
        let mut run = Self::new(link.settings.clone())?;
        run.recording = Recording::new(&link.commands);
        Ok(run)
    }

    /// Lets time pass until `until`, or until about `most` events have arrived or columns of the
    /// history have passed: the work in one call is bounded, and a caller that finds
    /// [`now`](Self::now) short of `until` calls again. An event that is much work counts as
    /// several: see [`Experiment::weight`].
    pub fn advance(&mut self, until: Time, most: usize) {
        let mut left = most;
        loop {
            let due = self.recording.due(until);
            let stop = due.unwrap_or(until).max(self.now);
            if !self.pass(stop, &mut left) {
                return;
            }
            let Some(command) = due.and_then(|_| self.recording.take()) else { return };
            left = left.saturating_sub(command.work() * self.experiment.weight());
            // The commands of a link were checked when it was read, so nothing here is refused.
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
    /// As for [`Named::set`]; nothing changes then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.apply(Command::Set { name: name.to_owned(), value: value.to_owned() })
    }

    /// The settings in force.
    pub fn settings(&self) -> &E::Settings {
        &self.settings
    }

    /// What the events are put to.
    pub fn experiment(&self) -> &E {
        &self.experiment
    }

    /// The time that it is in the run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether commands of a link are still to come.
    pub fn has_pending_commands(&self) -> bool {
        self.recording.is_waiting()
    }

    /// A link that replays this run up to now. If too much was done for that, it has the settings
    /// of now only, and [says so](Link::is_replay).
    pub fn link(&self) -> Link<E::Settings> {
        let Some(commands) = self.recording.all() else {
            let settings = self.settings.clone();
            return Link { settings, settings_only: true, ..Link::default() };
        };
        let mut settings = self.first.clone();
        for name in E::Settings::VIEW {
            // What a setting says of itself, it reads.
            let _ = settings.set(name, &self.settings.get(name));
        }
        Link { settings, commands, at: self.now, ..Link::default() }
    }

    /// The same run, replayed from its start with what is [seen](Named::VIEW) of it now; `None` where
    /// too much was done, or it is more work than `most` events.
    pub fn again(&self, most: usize) -> Option<Self> {
        let link = self.link();
        let mut run = Self::open(&link).ok().filter(|_| link.is_replay())?;
        run.advance(link.at, most);
        (run.now == self.now).then_some(run)
    }

    /// How many events and columns come in a second of the run, in the mean.
    pub(crate) fn load(&self) -> f64 {
        let events: f64 = self.sources.iter().map(|source| source.per_second).sum();
        events + E::COLUMNS_A_SECOND
    }

    /// Lets time pass until `stop`, or as long as there is work `left`; whether it was enough.
    fn pass(&mut self, stop: Time, left: &mut usize) -> bool {
        loop {
            let next = self.next_arrival();
            if !self.settle(next.min(stop), left) {
                return false;
            }
            if next >= stop {
                self.now = stop;
                return true;
            }
            if *left == 0 {
                return false;
            }
            // An instant is never left half done: a command would come before the rest of it, and
            // before all of it when the run is replayed.
            for source in &mut self.sources {
                while source.next == next {
                    source.take();
                    let cost = source.cost.unwrap_or(self.settings.cost());
                    self.experiment.event(&Arrival { at: next, cost, user: source.user });
                    *left = left.saturating_sub(self.experiment.weight());
                }
            }
            self.now = after(next);
        }
    }

    /// Ends the columns that end before `at`, or as many as there is work `left`; whether it was
    /// enough.
    fn settle(&mut self, at: Time, left: &mut usize) -> bool {
        while self.experiment.column_end() < at {
            if *left == 0 {
                return false;
            }
            *left = left.saturating_sub(self.experiment.weight());
            self.now = after(self.experiment.column_end());
            self.experiment.end_column();
        }
        true
    }

    fn apply(&mut self, command: Command) -> Result<(), ParseError> {
        // The last instant to be done may have been the last of its column.
        self.settle(self.now, &mut 1);
        let step = match &command {
            Command::Events(n) => {
                let arrival = Arrival { at: self.now, cost: self.settings.cost(), user: 0 };
                for _ in 0..*n {
                    self.experiment.event(&arrival);
                }
                None
            }
            Command::Set { name, value } => {
                let from = (self.settings.get(name), self.next_arrival());
                self.assign(name, value)?;
                let to = (self.settings.get(name), self.next_arrival());
                if from.0 == to.0 || E::Settings::VIEW.contains(&name.as_str()) {
                    return Ok(());
                }
                Step::new::<E::Settings>(name, from, to)
            }
        };
        self.recording.remember(self.now, command, step);
        Ok(())
    }

    fn assign(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let mut next = self.settings.clone();
        next.set(name, value)?;
        if next != self.settings {
            self.experiment.follow(self.now, &next)?;
            self.settings = next;
            if E::Settings::TRAFFIC.contains(&name) {
                self.restart_sources()?;
            }
        }
        Ok(())
    }

    /// Begins all streams of events anew from now.
    fn restart_sources(&mut self) -> Result<(), ParseError> {
        let RunSettings { auto, pattern, auto_rate, seed, .. } = *self.settings.run();
        self.sources = self.settings.streams(self.now);
        if auto {
            self.sources.push(Source::flow(pattern, auto_rate, seed, self.now, Time::LAST)?);
        }
        Ok(())
    }

    /// When the next event comes; the last instant means never.
    #[inline(always)]
    fn next_arrival(&self) -> Time {
        self.sources.iter().map(|source| source.next).min().unwrap_or(Time::LAST)
    }
}

/// The next instant.
fn after(at: Time) -> Time {
    at.after(Span::micros(1))
}
