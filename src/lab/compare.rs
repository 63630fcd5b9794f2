//! The same events through several limiters at once.
//!
//! As for the [scope](crate::lab::scope), a run is a function of the settings it began with and of the
//! commands since, each with its time. The same commands give the same run, whatever the steps in
//! which time was told: that is what makes a link a recording.
//!
//! ```
//! use ratescope::lab::compare::{Link, Replay};
//!
//! // Ten just before a window's edge and ten just after it, as the page's address says it.
//! let link: Link = "lanes=fixed-window;sliding-log&auto=off&script=10 at 9.9s,10 at 10.1s&at=11"
//!     .parse()?;
//! let mut run = Replay::open(&link)?;
//! run.advance(link.at, usize::MAX);
//! // Both keep to ten in ten seconds, and one lets twenty through in a fifth of a second.
//! assert_eq!(run.lanes().iter().map(|lane| lane.allowed()).collect::<Vec<_>>(), [20, 10]);
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! A [lane] is a [rule](Rule) and the states of its senders; its [history] is what
//! [`view::compare`](crate::view::compare) draws. Events are automatic [traffic](crate::traffic),
//! those of a [script], and clicks.

mod edit;
pub mod history;
pub mod lane;
mod rule;
pub mod script;
pub mod settings;

pub use crate::lab::run::{Command, Named};
pub use lane::{Lane, Rule};
pub use settings::Settings;

use crate::event::Event;
use crate::lab::run::commands::Recording;
use crate::lab::run::{self, Run};
use crate::text::{BadNumber, ParseError};
use crate::time::{Span, Time};
use crate::traffic::Traffic;
use history::last_of_column;
use rule::Sender;
use script::Source;

/// A link to a run of several lanes.
pub type Link = run::Link<Settings>;

/// A run of several lanes.
#[derive(Clone, Debug)]
pub struct Replay {
    first: Settings,
    settings: Settings,
    lanes: Vec<Lane>,
    sources: Vec<Source>,
    sent: u64,
    /// All events before this instant have come, and none at it or after it.
    now: Time,
    /// The last instant of the columns that are filling in all lanes.
    last: Time,
    recording: Recording,
    /// What an event or a column costs of the work in one call: see [`advance`](Self::advance).
    weight: usize,
}

impl Replay {
    /// A run from time zero.
    ///
    /// # Errors
    /// When a setting has a value that [`Settings::set`](Named::set) would have refused.
    pub fn new(settings: Settings) -> Result<Self, ParseError> {
        let mut replay = Replay {
            first: settings.clone(),
            settings,
            lanes: Vec::new(),
            sources: Vec::new(),
            sent: 0,
            now: Time::ZERO,
            last: last_of_column(Time::ZERO),
            recording: Recording::new(&[]),
            weight: 1,
        };
        replay.restart_lanes()?;
        let wrong = |e: BadNumber| ParseError::whole("auto-rate", e.to_string());
        replay.restart_sources().map_err(wrong)?;
        Ok(replay)
    }

    /// The run that a link describes, at its start; advance to [`Link::at`] to see what it shows.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn open(link: &Link) -> Result<Self, ParseError> {
        let mut replay = Self::new(link.settings.clone())?;
        replay.recording = Recording::new(&link.script);
        Ok(replay)
    }

    /// Lets time pass until `until`, or until about `most` events have arrived or columns of the
    /// histories have passed: the work in one call is bounded, and a caller that finds
    /// [`now`](Self::now) short of `until` calls again. As many states as eight lanes have count
    /// once; with more of them an event is as much work as several.
    pub fn advance(&mut self, until: Time, most: usize) {
        let mut left = most;
        loop {
            let due = self.recording.due(until);
            let stop = due.unwrap_or(until).max(self.now);
            if !self.pass(stop, &mut left) {
                return;
            }
            let Some(command) = due.and_then(|_| self.recording.take()) else { return };
            left = left.saturating_sub(command.events() as usize * self.weight);
            // A script was read from text that was checked, so nothing here is refused.
            let _ = self.apply(command);
            if left == 0 {
                return;
            }
        }
    }

    /// One event of the settings' cost by the first user, now.
    pub fn click(&mut self) {
        let _ = self.apply(Command::Events(1));
    }

    /// Gives a setting another value, now. Lanes whose limits stay the same keep what they know;
    /// others begin anew. With another script, seed or kind of automatic events, the streams that
    /// are under way begin anew, and what a script has before now is left out.
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

    /// The time that it is in the run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events sent since the start of the run.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether commands of a link are still to come.
    pub fn has_script(&self) -> bool {
        self.recording.is_waiting()
    }

    /// The lanes, from 1 to [`settings::LANES`].
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// A link that replays this run up to now; without what was done, if that was too much, so
    /// that it begins with the settings of now.
    pub fn link(&self) -> Link {
        match self.recording.all() {
            Some(script) => {
                let Settings { speed, window, .. } = self.settings;
                let settings = Settings { speed, window, ..self.first.clone() };
                Link { settings, script, at: self.now, paused: false }
            }
            None => Link { settings: self.settings.clone(), ..Link::default() },
        }
    }

    /// Lets time pass until `stop`, or as long as there is work `left`; whether it was enough.
    fn pass(&mut self, stop: Time, left: &mut usize) -> bool {
        loop {
            let next = self.sources.iter().map(Source::next).min().unwrap_or(Time::LAST);
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
            for i in 0..self.sources.len() {
                while let Some(source) = self.sources.get_mut(i).filter(|s| s.next() == next) {
                    source.take();
                    let cost = source.cost.unwrap_or(self.settings.cost);
                    let user = source.user;
                    self.event(next, cost, user);
                    *left = left.saturating_sub(self.weight);
                }
            }
            self.now = after(next);
        }
    }

    /// Completes the columns that end before `at`, or as many as there is work `left`; whether it
    /// was enough.
    fn settle(&mut self, at: Time, left: &mut usize) -> bool {
        while self.last < at {
            if *left == 0 {
                return false;
            }
            *left = left.saturating_sub(self.weight);
            for lane in &mut self.lanes {
                lane.close(self.last);
            }
            self.now = after(self.last);
            self.last = last_of_column(self.now);
        }
        true
    }

    /// An event by a user, by its place in the script's list of them.
    #[inline(always)]
    fn event(&mut self, time: Time, cost: f64, user: u32) {
        self.sent += 1;
        let user = self.settings.script.users().get(user as usize).map_or("", String::as_str);
        let event = Event { time, cost, fields: &Sender(user) };
        for lane in &mut self.lanes {
            lane.event(&event, self.sent);
        }
    }

    fn apply(&mut self, command: Command) -> Result<(), ParseError> {
        // The last instant to be done may have been the last of its column.
        self.settle(self.now, &mut 1);
        match &command {
            Command::Events(n) => {
                for _ in 0..*n {
                    self.event(self.now, self.settings.cost, 0);
                }
            }
            Command::Set { name, value } => {
                let mut next = self.settings.clone();
                next.set(name, value)?;
                if next == self.settings {
                    return Ok(());
                }
                let before = core::mem::replace(&mut self.settings, next);
                self.follow(&before, value)?;
                if ["speed", "window"].contains(&name.as_str()) {
                    return Ok(());
                }
            }
        }
        self.recording.remember(self.now, command);
        Ok(())
    }

    /// Puts the settings in force after they were `before`, until `value` changed one of them.
    fn follow(&mut self, before: &Settings, value: &str) -> Result<(), ParseError> {
        let now = &self.settings;
        let source = |s: &Settings| (s.auto, s.pattern, s.auto_rate, s.seed);
        let restart = source(now) != source(before) || now.script != before.script;
        self.restart_lanes()?;
        if restart {
            let wrong = |e: BadNumber| ParseError::whole(value, e.to_string());
            self.restart_sources().map_err(wrong)?;
        }
        Ok(())
    }

    /// Makes the lanes those of the settings; the ones that are there already stay as they are.
    fn restart_lanes(&mut self) -> Result<(), ParseError> {
        let Settings { budget, cost, lanes: rules, .. } = &self.settings;
        let policies = self.settings.resolve(*budget)?;
        let mut old: Vec<Option<Lane>> = self.lanes.drain(..).map(Some).collect();
        for (i, (rule, policy)) in rules.iter().zip(policies).enumerate() {
            let is = |lane: &Option<Lane>| lane.as_ref().is_some_and(|l| l.is(rule, &policy));
            let place = if old.get(i).is_some_and(is) { Some(i) } else { old.iter().position(is) };
            let kept = place.and_then(|place| old.get_mut(place)?.take());
            let mut lane =
                kept.unwrap_or_else(|| Lane::new(rule.clone(), policy, self.now, self.sent));
            lane.ask_about(*cost, budget.per());
            self.lanes.push(lane);
        }
        self.weight = self.settings.states().div_ceil(8).max(1);
        Ok(())
    }

    /// Begins the automatic events and those of the script anew from now.
    fn restart_sources(&mut self) -> Result<(), BadNumber> {
        let Settings { auto, pattern, auto_rate, seed, .. } = self.settings;
        self.sources.clear();
        let phases = self.settings.script.phases().iter().zip(1..);
        let source = |(phase, i)| Source::new(phase, seed.wrapping_add(i), self.now);
        self.sources.extend(phases.filter_map(source));
        if auto {
            let traffic = Traffic::new(pattern, auto_rate, seed, self.now)?;
            self.sources.push(Source::endless(traffic, auto_rate));
        }
        Ok(())
    }
}

impl Run for Replay {
    fn now(&self) -> Time {
        self.now
    }

    fn speed(&self) -> f64 {
        self.settings.speed
    }

    fn load(&self) -> f64 {
        self.sources.iter().map(|source| source.per_second).sum::<f64>() + COLUMNS_A_SECOND
    }

    fn per_frame(&self) -> usize {
        40_000
    }

    fn advance(&mut self, until: Time, most: usize) {
        self.advance(until, most);
    }
}

/// Completing a column is as much work as an event.
const COLUMNS_A_SECOND: f64 = 61.0;

/// The next instant.
fn after(at: Time) -> Time {
    at.after(Span::micros(1))
}
