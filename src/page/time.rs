//! The viewer's clock, and looking back at the past.

use super::{Page, js_error};
use crate::page::view::Scene;
use crate::page::viewer::Play;
use ratescope::time::{Span, Time};
use ratescope_lab::view::scope::Term;
use wasm_bindgen::prelude::*;

/// The shortest and the longest window that a viewer can zoom to, in seconds.
const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 86_400.0;

/// The time of the run that passes in a step.
const STEP: Span = Span::from_micros(100_000);

#[wasm_bindgen]
impl Page {
    /// Notes that the page is hidden until the next frame.
    pub fn hide(&mut self) {
        self.viewer.pace.hide();
    }

    /// Stops the clock until the next frame, since nobody sees the picture.
    pub fn rest(&mut self) {
        self.viewer.pace.stop();
    }

    /// Stops the time of the run, or lets it go on.
    pub fn pause(&mut self) {
        self.act();
        self.viewer.paused = !self.viewer.paused;
        self.viewer.ended = false;
        self.viewer.pace.stop();
    }

    /// True if the time of the run is stopped.
    pub fn paused(&self) -> bool {
        self.viewer.paused
    }

    /// Stops the time of the run, after a tenth of a second more.
    pub fn step(&mut self) {
        self.act();
        self.viewer.paused = true;
        self.view.run_mut().step(&mut self.viewer.pace, STEP);
    }

    /// Begins again with the settings in force.
    pub fn reset(&mut self) -> Result<(), JsValue> {
        self.act();
        self.view.run_mut().reset().map_err(js_error)?;
        self.begin();
        Ok(())
    }

    /// Returns to the present.
    pub fn live(&mut self) {
        self.act();
        self.viewer.return_to_live();
    }

    /// Shows the instant `at`, in microseconds since 1970, or else that of the highest rate of recorded events, in the
    /// middle of the picture. Returns the instant; `None` if there is neither.
    pub fn show(&mut self, at: Option<f64>) -> Option<f64> {
        self.act();
        let peak = if let Scene::Scope(scope) = &self.view { scope.peak() } else { None };
        let at = at.map(|micros| Time::from_micros(micros as i64)).or(peak)?;
        let half = self.window().as_secs_f64() / 2.0;
        self.look_back(at, -half);
        Some(at.as_micros() as f64)
    }

    /// True if the right edge is the present and the window is the run's own.
    pub fn is_live(&self) -> bool {
        self.viewer.past.is_none() && self.viewer.zoom.is_none()
    }

    /// Begins the run of a link's fragment at the second `from`, and plays it up to the instant that the link names,
    /// within `seconds` of the viewer.
    pub fn play(&mut self, fragment: &str, from: f64, seconds: f64) {
        let Some(entry) = self.enter(fragment, Time::try_from_secs_f64(from).ok()) else { return };
        self.fix_axis(entry.at);
        let left = entry.at.since(self.view.run().now());
        if left > 0.0 {
            let speed = left / seconds;
            let end = entry.at;
            let stops = entry.paused;
            self.viewer.play = Some(Play { speed, end, stops });
            self.viewer.paused = false;
        }
    }

    /// Begins the run of a link's fragment where [`play`](Self::play) ends.
    pub fn skip(&mut self, fragment: &str) {
        let entry = self.enter(fragment, None);
        self.viewer.ended = entry.as_ref().is_some_and(|entry| entry.paused);
        if let Some(entry) = entry {
            self.fix_axis(entry.at);
        }
    }

    /// Shows or hides the blue line of the Scope.
    pub fn show_blue(&mut self, shows: bool) {
        self.dirty = true;
        self.viewer.hides_blue = !shows;
    }

    /// Marks instants, in seconds of the run, ascending.
    pub fn flag(&mut self, seconds: Vec<f64>) {
        self.dirty = true;
        self.viewer.flags = seconds.into_iter().flat_map(Time::try_from_secs_f64).collect();
    }

    /// Points to a term of the red line's formula: `left`, `added` or `sum`; any other text points to none.
    pub fn point_out(&mut self, term: &str) {
        self.dirty = true;
        self.viewer.term = Term::named(term);
    }

    /// The number of marked instants that the run has passed.
    pub fn passed(&self) -> usize {
        let now = self.view.run().now();
        self.viewer.flags.partition_point(|&at| at <= now)
    }

    /// Resets the viewer and the scales, since another run begins.
    pub(super) fn begin(&mut self) {
        self.viewer.begin();
        if let Scene::Scope(scope) = &mut self.view {
            scope.begin();
        }
        self.view.jump();
    }

    /// Lets time pass until the viewer's `wall`, in milliseconds. A stopped run still goes on deciding earlier events
    /// again.
    pub(super) fn pass(&mut self, wall: f64) {
        if self.viewer.paused {
            self.dirty |= self.view.run_mut().catch_up();
            return;
        }
        let play = self.viewer.play.map(|play| (play.speed, play.end));
        self.view.run_mut().pass(&mut self.viewer.pace, wall, play);
        if let Some(play) = self.viewer.play.filter(|play| self.view.run().now() >= play.end) {
            self.viewer.play = None;
            if play.stops {
                self.pause();
                self.viewer.ended = true;
            }
        }
    }

    /// Has the axis of the run stand still up to the instant `end`, so that the run fills the picture from left to right.
    fn fix_axis(&mut self, end: Time) {
        let whole = Span::try_from_secs_f64(end.as_secs_f64()).unwrap_or_default();
        let window = self.view.run().window().min(whole);
        self.viewer.axis_of_run = (window > Span::ZERO).then_some((end, window));
    }

    /// The instant at the right edge.
    pub(super) fn right(&self) -> Time {
        self.viewer.viewport(self.view.run()).right
    }

    /// The length of time between the edges.
    pub(super) fn window(&self) -> Span {
        self.viewer.viewport(self.view.run()).window
    }

    /// Looks back from an instant by `seconds`, or forward if negative.
    pub(super) fn look_back(&mut self, from: Time, seconds: f64) {
        let window = self.window();
        let now = self.view.run().now();
        self.viewer.look_back(from, seconds, window, [self.view.oldest(), now]);
    }

    /// Shows a window of `seconds` that ends `back` seconds before an instant.
    pub(super) fn zoom_to(&mut self, from: Time, back: f64, seconds: f64) {
        self.act();
        let seconds = seconds.clamp(SHORTEST, LONGEST);
        self.viewer.zoom = Span::try_from_secs_f64(seconds).ok();
        self.look_back(from, back);
        self.view.jump();
    }
}
