//! The Tune view. The Worker reads and counts; this file has the choices and the picture of the answer.

use super::run::{AnyRun, Entry};
use super::view;
use crate::texts::Texts;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use ratescope_lab::plot::Mark;
use ratescope_lab::tune::{Burst, Choices, PictureData, scale};
use ratescope_lab::view::tune::{self, Picture};
use ratescope_lab::view::{Hit, Viewport};

/// The choices and the answer.
#[derive(Default)]
pub(super) struct View {
    choices: Choices,
    data: PictureData,
}

impl View {
    /// The limit in force.
    fn limit(&self) -> Option<f64> {
        self.choices.limit.or(self.data.recommended)
    }

    /// The picture, once there is a curve.
    fn picture(&self) -> Option<Picture<'_>> {
        Picture::new(&self.data, &self.choices)
    }

    /// The next limit, up if `by` is 1 and down if it is -1; `None` if there is none.
    pub(super) fn next_limit(&self, by: f64) -> Option<String> {
        let limit = self.limit()?;
        let next = if by > 0.0 {
            scale::nice().find(|nice| *nice > limit)
        } else {
            // A bucket smaller than 1 lets nothing through.
            scale::nice()
                .skip_while(|nice| self.choices.by.is_none() && *nice < 1.0)
                .take_while(|nice| *nice < limit)
                .last()
        };
        next.map(|limit| limit.to_string())
    }

    /// A click on a bucket chooses the bucket, and a click on the curve the limit there.
    pub(super) fn click(&mut self, seen: &Viewport, at: [f64; 2]) {
        let Some(picture) = self.picture() else { return };
        if let Some(Burst { rate, .. }) = tune::burst_at(&picture, seen, at) {
            self.choices.by = None;
            self.choices.rate = Some(rate);
            self.choices.limit = None;
        } else if tune::is_on_curve(&picture, seen, at) {
            view::View::drag(self, seen, at);
        }
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.choices
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.choices
    }

    fn oldest(&self) -> Time {
        Time::ZERO
    }

    fn get(&self, name: &str) -> String {
        match (name, self.limit()) {
            ("limit", Some(limit)) => limit.to_string(),
            // If these options change, the log has to be read again.
            ("reading", _) => self.choices.reading.to_string(),
            _ => self.choices.get(name),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.choices.set(name, value)
    }

    /// The limiter in force.
    fn policy(&self, _name: &str) -> String {
        self.choices.limiter_of_today().map_or(String::new(), |limiter| limiter.to_string())
    }

    fn ease(&mut self, _seen: &Viewport, _wall: f64, _still: bool) -> bool {
        false
    }

    fn jump(&mut self) {}

    fn takes_events(&self) -> bool {
        false
    }

    fn draw(&self, seen: &Viewport) -> Vec<Mark> {
        self.picture().map_or(Vec::new(), |picture| tune::draw(&picture, seen))
    }

    fn hit(&self, seen: &Viewport, at: [f64; 2], touch: bool) -> Hit {
        self.picture().map_or(Hit::None, |picture| tune::hit(&picture, seen, at, touch))
    }

    fn limit(&self) -> Option<&'static str> {
        Some("limit")
    }

    fn drag(&mut self, seen: &Viewport, [x, _]: [f64; 2]) {
        let limit = self.picture().map(|picture| tune::limit_at(&picture, seen, x));
        let limit =
            limit.map(|limit| if self.choices.by.is_none() { limit.max(1.0) } else { limit });
        if limit.is_some() && limit != self.limit() {
            self.choices.limit = limit;
            self.data.refusals = None;
        }
    }

    fn receive(&mut self, name: &str, numbers: &[f64]) {
        self.data.set(name, numbers);
    }

    fn write_texts(&self, _seen: &Viewport, texts: &mut Texts) {
        let name = self.picture().map_or(String::new(), |picture| tune::axis(&picture));
        texts.set("measure", name);
    }

    fn summary(&self, seen: &Viewport) -> String {
        let Some(picture) = self.picture() else { return String::new() };
        let pointed = seen.pointer.map(|[x, _]| tune::limit_at(&picture, seen, x));
        let Some(limit) = pointed.or(self.limit()) else { return String::new() };
        format!("Limit {}: {}.", limit, tune::words(&picture, limit).join(", "))
    }
}

/// The page has choices in place of a run; no time passes in them.
impl AnyRun for Choices {
    fn now(&self) -> Time {
        Time::ZERO
    }

    fn window(&self) -> Span {
        self.period
    }

    fn open(&mut self, fragment: &str, _from: Option<Time>) -> Result<Entry, ParseError> {
        *self = fragment.parse()?;
        Ok(Entry { paused: false, at: Time::ZERO, arrived: true, wrong: None })
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        *self = Choices::default();
        Ok(())
    }

    fn fragment(&self) -> String {
        self.to_string()
    }
}
