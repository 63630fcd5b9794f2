//! Events that were, in place of a run: no time passes in them.

use crate::lab::tune::{Measure, Moment};
use crate::text::ParseError;
use crate::time::{Span, Time};
use crate::web::page::run::{AnyRun, Entry};

/// The events of a client, and how much of their time is seen.
pub(super) struct Events {
    moments: Vec<Moment>,
    window: Span,
}

impl Default for Events {
    fn default() -> Self {
        Events { moments: Vec::new(), window: Span::hours(1) }
    }
}

impl Events {
    /// Other events: two numbers each, microseconds since 1970 and the cost.
    pub(super) fn put(&mut self, numbers: &[f64]) {
        let moment = |[micros, cost]: &[f64; 2]| Moment {
            time: Time::from_micros(*micros as i64),
            cost: *cost,
        };
        self.moments = numbers.as_chunks().0.iter().map(moment).collect();
    }

    /// Each with its cost.
    pub(super) fn all(&self) -> Vec<(Time, f64)> {
        self.moments.iter().map(|moment| (moment.time, moment.cost)).collect()
    }

    /// Those from one instant on, and before another.
    pub(super) fn between(&self, from: Time, to: Time) -> Vec<(Time, f64)> {
        self.all().into_iter().filter(|(at, _)| (from..to).contains(at)).collect()
    }

    /// When they were at the highest level.
    pub(super) fn peak(&self, measure: Measure) -> Option<Time> {
        measure.peak(self.moments.iter().copied()).map(|peak| peak.at)
    }

    /// The earliest right edge of a picture.
    pub(super) fn oldest(&self) -> Time {
        self.first().after(self.window)
    }

    fn first(&self) -> Time {
        self.moments.first().map_or(Time::ZERO, |moment| moment.time)
    }
}

impl AnyRun for Events {
    /// The end: a little after the last event.
    fn now(&self) -> Time {
        let last = self.moments.last().map_or(Time::ZERO, |moment| moment.time);
        last.after(Span::from_secs(self.window.secs() / 20.0).unwrap_or_default())
    }

    fn window(&self) -> Span {
        self.window
    }

    fn open(&mut self, _fragment: &str, _from: Option<Time>) -> Result<Entry, ParseError> {
        Ok(Entry { paused: false, at: self.now(), arrived: true, wrong: None })
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        Ok(())
    }

    fn fragment(&self) -> String {
        String::new()
    }

    /// The window, or `all` of the time.
    fn set(&mut self, _name: &str, value: &str) -> Result<(), ParseError> {
        self.window = match value {
            "all" => {
                let length = self.moments.last().map_or(0.0, |last| last.time.since(self.first()));
                Span::from_secs((length * 1.1).max(10.0))?
            }
            _ => value.parse()?,
        };
        Ok(())
    }

    fn get(&self, _name: &str) -> String {
        String::new()
    }
}
