//! A client of a log under the scope: its events as they were, the rate that Exim measures of them,
//! the smoothed one, and the limit.

use super::ease::Eased;
use super::run::{AnyRun, Entry};
use super::texts::Texts;
use super::view;
use super::viewer::Seen;
use crate::lab::run::RunSettings;
use crate::lab::scope::{Scope, Settings};
use crate::lab::tune::{Measure, Moment};
use crate::plot::Mark;
use crate::plot::axis::readout_count;
use crate::text::ParseError;
use crate::time::{Span, Time};
use crate::view::Hit;
use crate::view::scope::{self, Viewport};

/// A scope over events that were.
pub(super) struct View {
    events: Events,
    /// Up to the instant that is looked at, as its history does not reach back for ever.
    scope: Scope,
    /// All that was allowed and refused, up to the last event.
    counts: [u64; 2],
    top: Eased,
}

/// The events, and how they are looked at.
struct Events {
    moments: Vec<Moment>,
    settings: Settings,
}

impl View {
    pub(super) fn new() -> Result<Self, ParseError> {
        let run = RunSettings { auto: false, ..RunSettings::default() };
        let settings = Settings { run, ..Settings::default() };
        let events = Events { moments: Vec::new(), settings };
        let (scope, top) = (Scope::new(settings)?, Eased::new(1.0));
        Ok(View { events, scope, counts: [0, 0], top })
    }

    /// Judges all events by other settings.
    fn again(&mut self) {
        self.scope = self.until(self.events.now());
        let instrument = self.scope.instrument();
        self.counts = [instrument.allowed(), instrument.refused()];
        self.top.jump();
    }

    /// What is remembered at `now`.
    fn until(&self, now: Time) -> Scope {
        let Events { moments, settings, .. } = &self.events;
        let events = moments.iter().map(|moment| (moment.time, moment.cost)).collect();
        // What is in force was taken before.
        let mut scope = Scope::of_events(*settings, events).unwrap_or_else(|_| self.scope.clone());
        scope.advance(now, usize::MAX);
        scope
    }

    fn viewport<'a>(&self, seen: &Seen<'a>) -> Viewport<'a> {
        Viewport {
            size: seen.size,
            right: seen.right,
            live: false,
            window: self.events.window(),
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
        &self.events
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.events
    }

    fn oldest(&self) -> Time {
        self.events.first().after(self.events.window())
    }

    /// The decay interval, the limit, and how much of the time is seen.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.events.set(name, value)?;
        self.again();
        Ok(())
    }

    fn put(&mut self, _name: &str, numbers: &[f64]) {
        let moment = |numbers: &[f64]| match *numbers {
            [micros, cost] => Some(Moment { time: Time::from_micros(micros as i64), cost }),
            _ => None,
        };
        self.events.moments = numbers.chunks_exact(2).filter_map(moment).collect();
        self.again();
    }

    /// The highest rate.
    fn landmark(&self) -> Option<Time> {
        let measure = Measure::Exim(self.events.settings.decay);
        measure.peak(self.events.moments.iter().copied()).map(|peak| peak.at)
    }

    fn is_live(&self) -> bool {
        false
    }

    fn ease(&mut self, seen: &Seen, wall: f64, still: bool) -> bool {
        let from = seen.right.before(self.events.window());
        let reaches = self.scope.instrument().trace().oldest().is_none_or(|oldest| oldest <= from);
        let all = self.scope.now() == self.events.now();
        if self.scope.now() != seen.right && !(all && reaches) {
            self.scope = self.until(seen.right);
        }
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
        let [allowed, refused] = self.counts.map(readout_count);
        let settings = &self.events.settings;
        let text = match settings.limit > 0.0 {
            true => format!(
                "{allowed} allowed, {refused} refused by {} per {}",
                settings.limit, settings.decay
            ),
            false => format!("{allowed} events"),
        };
        texts.show("counts", text, self.counts[1] as f64);
    }

    fn summary(&self, seen: &Seen) -> String {
        scope::words(&self.scope, &self.viewport(seen)).join(", ")
    }
}

impl Events {
    fn first(&self) -> Time {
        self.moments.first().map_or(Time::ZERO, |moment| moment.time)
    }

    /// A little of the window after an instant.
    fn after(&self, at: Time) -> Time {
        at.after(Span::from_secs(self.window().secs() / 20.0).unwrap_or_default())
    }
}

impl AnyRun for Events {
    /// The end: a little after the last event.
    fn now(&self) -> Time {
        self.after(self.moments.last().map_or(Time::ZERO, |moment| moment.time))
    }

    fn window(&self) -> Span {
        self.settings.run.window
    }

    fn open(&mut self, _fragment: &str) -> Result<Entry, ParseError> {
        Ok(Entry { paused: false, arrived: true })
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        Ok(())
    }

    fn fragment(&self) -> String {
        String::new()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "decay" => self.settings.decay = value.parse()?,
            // Without a limit it only measures.
            "limit" => self.settings.limit = value.parse().unwrap_or(0.0),
            "window" if value == "all" => {
                let length = self.moments.last().map_or(0.0, |last| last.time.since(self.first()));
                self.settings.run.window = Span::from_secs((length * 1.1).max(10.0))?;
            }
            _ => self.settings.run.window = value.parse()?,
        }
        Ok(())
    }

    fn get(&self, _name: &str) -> String {
        String::new()
    }
}
