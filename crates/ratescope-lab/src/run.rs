//! A run: an experiment, its events and commands, and a clock that the caller advances.
//!
//! A run is a function of its first settings and of its commands, each with its time on the run's own clock. The same
//! commands give the same run, in any steps of time. So a [link] can be a recording.
//!
//! The events go to an [`Experiment`]: the instrument of the [scope](super::scope), or the lanes of
//! a [comparison](super::compare).

pub mod commands;
mod escape;
mod experiment;
pub(crate) mod lenient;
pub mod link;
pub mod pace;
pub mod past;
pub(crate) mod settings;
mod source;
mod table;
mod turned;

pub use commands::Command;
pub use experiment::Experiment;
pub use link::Link;
pub use settings::{MOST_SPEED, Named, RunSettings};
pub use source::{Arrival, Source};
pub use table::{Effect, Setting};
pub use turned::Turned;

pub(crate) use escape::decoded;
pub(crate) use table::setting;
pub(crate) use table::{changed, find, listed, names};

use commands::{Recording, Replaceable};
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use turned::{Again, seen_as};

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct Run<E: Experiment> {
    first: E::Settings,
    settings: E::Settings,
    experiment: E,
    sources: Vec<Source>,
    /// All events before this instant have happened, and none at it or after it.
    now: Time,
    recording: Recording,
    /// The work so far: events and columns, by their [weights](Experiment::weight).
    work: usize,
    again: Option<Box<Again<E>>>,
    turned: Vec<Turned>,
}

impl<E: Experiment> Run<E> {
    /// A run from time zero.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`] would have refused.
    pub fn new(settings: E::Settings) -> Result<Self, ParseError> {
        let experiment = E::new(&settings, Time::ZERO)?;
        let mut run = Self::with_experiment(settings, experiment, Time::ZERO, Vec::new());
        run.restart_sources()?;
        Ok(run)
    }

    fn with_experiment(
        settings: E::Settings,
        experiment: E,
        now: Time,
        sources: Vec<Source>,
    ) -> Self {
        let first = settings.clone();
        let recording = Recording::new(&[]);
        let work = 0;
        let again = None;
        let turned = Vec::new();
        Run { first, settings, experiment, sources, now, recording, work, again, turned }
    }

    /// The run of a link, at its start; advance it to [`Link::at`].
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn open(link: &Link<E::Settings>) -> Result<Self, ParseError> {
        let mut run = Self::new(link.settings.clone())?;
        run.recording = Recording::new(&link.commands);
        Ok(run)
    }

    /// Advances to `until`, or until about `most` events and columns of the history have passed. So the work of one
    /// call is bounded; if [`now`](Self::now) is still before `until`, call again. An expensive event counts as
    /// several: see [`Experiment::weight`].
    ///
    /// While the run is being [decided again](Self::set), the call also continues that, with the rest of `most`, but at
    /// least half of `most`.
    pub fn advance(&mut self, until: Time, most: usize) {
        let mut left = most;
        while left > 0 {
            let due = self.recording.due(until);
            let stop = due.unwrap_or(until).max(self.now);
            if !self.pass(stop, &mut left) {
                break;
            }
            let Some(command) = due.and_then(|_| self.recording.take()) else { break };
            left = left.saturating_sub(command.work() * self.experiment.weight());
            // The commands of a link were checked when it was read, so this cannot fail.
            let _ = self.apply(command);
        }
        self.work = self.work.saturating_add(most - left);
        self.catch_up(left.max(most.div_ceil(2)));
    }

    /// Makes one event at the present time, with the cost of the settings.
    pub fn click(&mut self) {
        let _ = self.apply(Command::Events(1));
    }

    /// The settings in force.
    pub fn settings(&self) -> &E::Settings {
        &self.settings
    }

    /// The experiment that gets the events.
    pub fn experiment(&self) -> &E {
        &self.experiment
    }

    /// The present time of the run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A link that replays this run up to now; `None` after more than [`MEMORY`](commands::MEMORY) commands.
    pub fn link(&self) -> Option<Link<E::Settings>> {
        let run = self.decided();
        let settings = seen_as(&run.first, &self.settings);
        Some(Link { settings, commands: run.recording.all()?, at: self.now, paused: false })
    }

    /// Tells whether the run has scripted events at fixed times, or commands of a link are still to come.
    pub fn is_scripted(&self) -> bool {
        self.recording.is_waiting() || self.settings.is_scripted()
    }

    /// The work of a second of the run on average, in the unit of the budget of [`advance`](Self::advance).
    /// Bursts and recorded events are not counted.
    pub(crate) fn load(&self) -> f64 {
        let events: f64 = self.sources.iter().map(|source| source.per_second).sum();
        let events = events + self.experiment.fastest();
        // About 61 columns of the finest grain end in a second.
        let columns = if self.experiment.column_end() == Time::LAST { 0.0 } else { 61.0 };
        (events + columns) * self.experiment.weight() as f64
    }

    /// Advances to `stop`, as far as the work `left` allows; returns whether it arrived.
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
            // All events of an instant happen in one call. Otherwise a command could come between them, but would come
            // before all of them in a replay.
            for source in &mut self.sources {
                while source.next == next {
                    source.take();
                    let cost = source.cost.unwrap_or(self.settings.cost());
                    let Source { user, refused, .. } = *source;
                    self.experiment.event(&Arrival { at: next, cost, user, refused });
                    *left = left.saturating_sub(self.experiment.weight());
                }
            }
            if self.experiment.due() == next {
                *left = left.saturating_sub(self.experiment.wake(next) * self.experiment.weight());
            }
            self.now = after(next);
        }
    }

    /// Ends the columns that end before `at`, as far as the work `left` allows; returns whether all have ended.
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
        // The last event may have come at the last instant of its column, which is then still open.
        self.settle(self.now, &mut 1);
        let change = match &command {
            Command::Events(n) => {
                let arrival = Arrival::from((self.now, self.settings.cost()));
                for _ in 0..*n {
                    self.experiment.event(&arrival);
                }
                None
            }
            Command::Set { name, value } => {
                let from = (self.settings.get(name), self.next_arrival());
                self.assign(name, value)?;
                let to = (self.settings.get(name), self.next_arrival());
                if from.0 == to.0 || E::Settings::has(name, Effect::View) {
                    return Ok(());
                }
                self.turn(name, &from.0, &to.0);
                Replaceable::new::<E::Settings>(name, from, to)
            }
        };
        if let Some(again) = &mut self.again {
            again.run.recording.forward(self.now, command.clone());
        }
        self.recording.remember(self.now, command, change);
        Ok(())
    }

    fn assign(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let mut next = self.settings.clone();
        next.set(name, value)?;
        if next != self.settings {
            // While the run is decided again, the experiment and its picture stay as they were.
            if self.again.is_none() {
                self.experiment.follow(self.now, &next)?;
            }
            self.settings = next;
            if E::Settings::has(name, Effect::Traffic) {
                self.restart_sources()?;
            }
        }
        Ok(())
    }

    /// Restarts all streams of events at the present time.
    fn restart_sources(&mut self) -> Result<(), ParseError> {
        let RunSettings { auto, pattern, auto_rate, seed, .. } = *self.settings.common();
        self.sources = self.settings.streams(self.now);
        if auto {
            self.sources.push(Source::flow(pattern, auto_rate, seed, self.now, Time::LAST)?);
        }
        Ok(())
    }

    /// When the next event comes; [`Time::LAST`] means never.
    #[inline(always)]
    fn next_arrival(&self) -> Time {
        let next = self.sources.iter().map(|source| source.next).min().unwrap_or(Time::LAST);
        next.min(self.experiment.due())
    }
}

/// The next instant.
fn after(at: Time) -> Time {
    at.after(Span::from_micros(1))
}
