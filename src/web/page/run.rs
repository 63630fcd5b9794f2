//! Runs of any experiment, alike.

use crate::lab::run::pace::Pace;
use crate::lab::run::{Experiment, Link, Named, Run};
use crate::text::ParseError;
use crate::time::{Span, Time};

/// A link opens with as much work as so many frames do at most: a second or so.
const FRAMES: usize = 32;

/// What the page does with a run, whatever it is of. Where no time passes, as in what was, most of
/// it means nothing.
pub(super) trait AnyRun {
    /// The time that it is in the run.
    fn now(&self) -> Time;

    /// The length of time on the screen.
    fn window(&self) -> Span;

    /// Lets time pass until the viewer's `wall`, in milliseconds; where it is played, at a speed and
    /// up to an end of its own.
    fn pass(&mut self, _pace: &mut Pace, _wall: f64, _play: Option<(f64, Time)>) {}

    /// Lets `span` pass with the viewer's clock stopped.
    fn step(&mut self, _pace: &mut Pace, _span: Span) {}

    /// One event, now.
    fn click(&mut self) {}

    /// Begins the run that a link's fragment describes, at the instant that it names, or at `from` if
    /// that is given, or as near as it gets. Of a link with something wrong the rest is taken; if
    /// there is no such run, nothing changes.
    fn open(&mut self, fragment: &str, from: Option<Time>) -> Result<Entry, ParseError>;

    /// Whether what happens is written down, at times of the run.
    fn is_scripted(&self) -> bool {
        false
    }

    /// Begins again with the settings in force.
    fn reset(&mut self) -> Result<(), ParseError>;

    /// The fragment of a link to the settings in force.
    fn fragment(&self) -> String;

    /// The fragment of a link that replays the run, and stops where it stands if it is `paused`.
    fn recording(&self, _paused: bool) -> String {
        self.fragment()
    }

    /// Whether it does; otherwise it has the settings only, because too much was done.
    fn is_recorded(&self) -> bool {
        true
    }

    /// Gives a setting a value.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError>;

    /// The value of a setting; empty where there is none.
    fn get(&self, name: &str) -> String;
}

/// How a link's run is entered.
pub(super) struct Entry {
    /// Whether to stay at the instant that the link names.
    pub(super) paused: bool,
    /// The instant that the link names.
    pub(super) at: Time,
    /// Whether the run is where it should be entered.
    pub(super) arrived: bool,
    /// What is wrong with the link, where something is.
    pub(super) wrong: Option<ParseError>,
}

impl<E: Experiment> AnyRun for Run<E> {
    fn now(&self) -> Time {
        self.now()
    }

    fn window(&self) -> Span {
        self.settings().run().window
    }

    fn pass(&mut self, pace: &mut Pace, wall: f64, play: Option<(f64, Time)>) {
        match play {
            Some((speed, end)) => pace.play(self, wall, speed, end),
            None => pace.run(self, wall),
        }
    }

    fn step(&mut self, pace: &mut Pace, span: Span) {
        pace.step(self, span);
    }

    fn click(&mut self) {
        self.click();
    }

    fn open(&mut self, fragment: &str, from: Option<Time>) -> Result<Entry, ParseError> {
        let (link, wrong) = match Link::<E::Settings>::good_parts(fragment) {
            (Some(link), wrong) => (link, wrong),
            (None, Some(error)) => return Err(error),
            (None, None) => (Link::default(), None),
        };
        *self = Run::open(&link)?;
        let (at, from) = (link.at, from.unwrap_or(link.at));
        self.advance(from, FRAMES * E::PER_FRAME);
        Ok(Entry { paused: link.paused, at, arrived: self.now() >= from, wrong })
    }

    fn is_scripted(&self) -> bool {
        self.is_scripted()
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        *self = Run::new(self.settings().clone())?;
        Ok(())
    }

    fn fragment(&self) -> String {
        Link { settings: self.settings().clone(), ..Link::default() }.to_string()
    }

    fn recording(&self, paused: bool) -> String {
        Link { paused, ..self.link() }.to_string()
    }

    fn is_recorded(&self) -> bool {
        self.link().is_replay()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.set(name, value)
    }

    fn get(&self, name: &str) -> String {
        self.settings().get(name)
    }
}
