//! A client of a log under the scope: its events as they were, the rate that Exim measures of them,
//! the smoothed one, and the limit.

use super::ease::Eased;
use super::run::AnyRun;
use super::texts::Texts;
use super::view;
use super::viewer::Seen;
use crate::lab::run::RunSettings;
use crate::lab::scope::{Scope, Settings};
use crate::lab::tune::Moment;
use crate::limit::exim::Mode;
use crate::plot::Mark;
use crate::plot::axis::readout_count;
use crate::text::ParseError;
use crate::time::{Span, Time};
use crate::view::Hit;
use crate::view::scope::{self, Viewport};

/// A scope over events that were.
pub(super) struct View {
    scope: Scope,
    settings: Settings,
    events: Vec<Moment>,
    top: Eased,
}

impl View {
    pub(super) fn new() -> Result<Self, ParseError> {
        let run = RunSettings { auto: false, ..RunSettings::default() };
        let settings = Settings { mode: Mode::Strict, run, ..Settings::default() };
        let (scope, top) = (Scope::new(settings)?, Eased::new(1.0));
        Ok(View { scope, settings, events: Vec::new(), top })
    }

    /// Judges all events by other settings.
    fn again(&mut self) -> Result<(), ParseError> {
        let events = self.events.iter().map(|moment| (moment.time, moment.cost)).collect();
        self.scope = Scope::of_events(self.settings, events)?;
        self.scope.advance(self.end(), usize::MAX);
        self.top.jump();
        Ok(())
    }

    /// The end of the picture: a little after the last event.
    fn end(&self) -> Time {
        let last = self.events.last().map_or(Time::ZERO, |moment| moment.time);
        let air = Span::from_secs(self.settings.run.window.secs() / 20.0).unwrap_or_default();
        last.after(air)
    }

    fn viewport<'a>(&self, seen: &Seen<'a>) -> Viewport<'a> {
        Viewport {
            size: seen.size,
            right: seen.right,
            live: false,
            window: self.settings.run.window,
            top: self.top.top,
            crosshair: seen.crosshair,
            on_limit: false,
            exact: false,
            gaps: &[],
        }
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.scope
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.scope
    }

    fn oldest(&self) -> Time {
        let window = self.settings.run.window;
        self.events.first().map_or(Time::ZERO, |moment| moment.time).after(window)
    }

    /// The decay interval, the limit, and how much of the time is seen.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "decay" => self.settings.decay = value.parse()?,
            // A limit of 0 only measures.
            "limit" => self.settings.limit = value.parse().unwrap_or(0.0),
            "window" if value == "all" => {
                let (first, last) = (self.events.first(), self.events.last());
                let length = first.zip(last).map_or(0.0, |(a, b)| b.time.since(a.time));
                self.settings.run.window = Span::from_secs((length * 1.1).max(10.0))?;
            }
            _ => self.settings.run.window = value.parse()?,
        }
        self.again()
    }

    fn put(&mut self, _name: &str, numbers: &[f64]) {
        let moment = |numbers: &[f64]| match *numbers {
            [micros, cost] => Some(Moment { time: Time::from_micros(micros as i64), cost }),
            _ => None,
        };
        self.events = numbers.chunks_exact(2).filter_map(moment).collect();
        // What is in force was taken before.
        let _ = self.again();
    }

    fn is_live(&self) -> bool {
        false
    }

    fn ease(&mut self, seen: &Seen, wall: f64, still: bool) -> bool {
        self.top.follow(scope::top(&self.scope, seen.right), wall, still)
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
        let instrument = self.scope.instrument();
        let [allowed, refused] = [instrument.allowed(), instrument.refused()].map(readout_count);
        let text = match instrument.limiter().measures_only() {
            true => format!("{allowed} events"),
            false => format!("{allowed} allowed, {refused} refused by {}", instrument.limiter()),
        };
        texts.show("counts", text, instrument.refused() as f64);
    }

    fn summary(&self, seen: &Seen) -> String {
        scope::words(&self.scope, &self.viewport(seen)).join(", ")
    }
}
