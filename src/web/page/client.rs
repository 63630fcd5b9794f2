//! A client of a log: its events as they were, under the scope, with the rate that Exim measures of
//! them, the smoothed one and the limit; and through several limiters, a lane each.

mod events;
mod lanes;

pub(super) use lanes::View as Lanes;

use super::ease::Eased;
use super::run::AnyRun;
use super::view;
use super::viewer::Seen;
use crate::lab::run::RunSettings;
use crate::lab::scope::{Scope, Settings};
use crate::lab::tune::Measure;
use crate::plot::Mark;
use crate::plot::axis::readout_count;
use crate::text::ParseError;
use crate::time::Time;
use crate::view::Hit;
use crate::view::scope::{self, Viewport};
use crate::web::texts::Texts;
use events::Events;

/// A scope over events that were.
pub(super) struct View {
    events: Events,
    settings: Settings,
    /// Up to the instant that is looked at, as its history does not reach back for ever.
    scope: Scope,
    /// All that was allowed and refused, up to the last event.
    counts: [u64; 2],
    top: Eased,
}

impl View {
    pub(super) fn new() -> Result<Self, ParseError> {
        let run = RunSettings { auto: false, ..RunSettings::default() };
        let settings = Settings { run, ..Settings::default() };
        let (scope, top) = (Scope::new(settings)?, Eased::new(1.0));
        Ok(View { events: Events::default(), settings, scope, counts: [0, 0], top })
    }

    /// Judges all events by other settings.
    fn again(&mut self) {
        self.settings.run.window = self.events.window();
        self.scope = self.until(self.events.now());
        let instrument = self.scope.instrument();
        self.counts = [instrument.allowed(), instrument.refused()];
        self.top.jump();
    }

    /// What is remembered at `now`.
    fn until(&self, now: Time) -> Scope {
        // What is in force was taken before.
        let scope = Scope::of_events(self.settings, self.events.all());
        let mut scope = scope.unwrap_or_else(|_| self.scope.clone());
        scope.advance(now, usize::MAX);
        scope
    }

    fn viewport<'a>(&self, seen: &Seen<'a>) -> Viewport<'a> {
        Viewport {
            size: seen.size,
            right: seen.right,
            live: false,
            window: seen.window,
            top: self.top.top,
            crosshair: seen.crosshair,
            on_limit: false,
            exact: false,
            own_time: true,
            flags: &[],
            gaps: &[],
        }
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.events
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.events
    }

    fn oldest(&self) -> Time {
        self.events.oldest()
    }

    /// The decay interval, the limit, and how much of the time is seen.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "decay" => self.settings.decay = value.parse()?,
            // Without a limit it only measures.
            "limit" => self.settings.limit = value.parse().unwrap_or(0.0),
            _ => self.events.set(name, value)?,
        }
        self.again();
        Ok(())
    }

    fn put(&mut self, _name: &str, numbers: &[f64]) {
        self.events.put(numbers);
        self.again();
    }

    /// The highest rate.
    fn landmark(&self) -> Option<Time> {
        self.events.peak(Measure::Exim(self.settings.decay))
    }

    fn is_live(&self) -> bool {
        false
    }

    fn ease(&mut self, seen: &Seen, wall: f64, still: bool) -> bool {
        let from = seen.right.before(seen.window);
        let reaches = self.scope.instrument().trace().oldest().is_none_or(|oldest| oldest <= from);
        let all = self.scope.now() == self.events.now();
        if self.scope.now() != seen.right && !(all && reaches) {
            self.scope = self.until(seen.right);
        }
        self.top.follow(scope::top(&self.scope, seen.right, seen.window), wall, still)
    }

    fn jump(&mut self) {
        self.top.jump();
    }

    fn draw(&self, seen: &Seen) -> Vec<Mark> {
        scope::draw(&self.scope, &self.viewport(seen))
    }

    fn hit(&self, seen: &Seen, [x, y]: [f64; 2], touch: bool) -> Hit {
        match scope::hit(&self.scope, &self.viewport(seen), x, y, touch) {
            Hit::None => Hit::None,
            _ => Hit::Graph,
        }
    }

    fn say(&self, texts: &mut Texts) {
        let [allowed, refused] = self.counts.map(readout_count);
        let Settings { limit, decay, .. } = self.settings;
        let text = match limit > 0.0 {
            true => format!("{allowed} allowed, {refused} refused by {limit} per {decay}"),
            false => format!("{allowed} events"),
        };
        texts.show("counts", text, self.counts[1] as f64);
    }

    fn summary(&self, seen: &Seen) -> String {
        scope::words(&self.scope, &self.viewport(seen)).join(", ")
    }
}
