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

    /// Lets time pass until the viewer's `wall`, in milliseconds.
    fn pass(&mut self, _pace: &mut Pace, _wall: f64) {}

    /// Lets `span` pass with the viewer's clock stopped.
    fn step(&mut self, _pace: &mut Pace, _span: Span) {}

    /// One event, now.
    fn click(&mut self) {}

    /// Begins the run that a link's fragment describes, at the instant that it names or as near as
    /// it gets. If there is no such run, nothing changes.
    fn open(&mut self, fragment: &str) -> Result<Entry, ParseError>;

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
    /// Whether it is there.
    pub(super) arrived: bool,
}

impl<E: Experiment> AnyRun for Run<E> {
    fn now(&self) -> Time {
        self.now()
    }

    fn window(&self) -> Span {
        self.settings().run().window
    }

    fn pass(&mut self, pace: &mut Pace, wall: f64) {
        pace.run(self, wall);
    }

    fn step(&mut self, pace: &mut Pace, span: Span) {
        pace.step(self, span);
    }

    fn click(&mut self) {
        self.click();
    }

    fn open(&mut self, fragment: &str) -> Result<Entry, ParseError> {
        let link: Link<E::Settings> = fragment.parse()?;
        *self = Run::open(&link)?;
        self.advance(link.at, FRAMES * E::PER_FRAME);
        Ok(Entry { paused: link.paused, arrived: self.now() >= link.at })
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
