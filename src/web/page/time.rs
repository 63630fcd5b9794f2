//! The viewer's clock, and what is looked at of the past.

use super::{Page, said};
use crate::time::{Span, Time};
use wasm_bindgen::prelude::*;

/// What a step lets pass.
const STEP: Span = Span::micros(100_000);

#[wasm_bindgen]
impl Page {
    /// The page is hidden until the next frame.
    pub fn hide(&mut self) {
        self.viewer.pace.hide();
    }

    /// Stops the time of the run, or lets it go on.
    pub fn pause(&mut self) {
        self.act();
        self.viewer.paused = !self.viewer.paused;
        self.viewer.pace.stop();
    }

    /// Whether the time of the run is stopped.
    pub fn paused(&self) -> bool {
        self.viewer.paused
    }

    /// Stops, and lets a tenth of a second pass.
    pub fn step(&mut self) {
        self.act();
        self.viewer.paused = true;
        self.view.run_mut().step(&mut self.viewer.pace, STEP);
    }

    /// Begins again with the settings in force.
    pub fn reset(&mut self) -> Result<(), JsValue> {
        self.act();
        self.view.run_mut().reset().map_err(said)?;
        self.begin();
        Ok(())
    }

    /// Returns to the present.
    pub fn live(&mut self) {
        self.act();
        self.viewer.past = None;
    }

    /// Shows what one would like to look at, in the middle.
    pub fn show(&mut self) {
        self.act();
        let Some(at) = self.view.landmark() else { return };
        let half = self.view.run().window().secs() / 2.0;
        self.look_back(at, -half);
    }

    /// Whether the right edge is the present.
    pub fn is_live(&self) -> bool {
        self.viewer.past.is_none()
    }

    /// Another run begins.
    pub(super) fn begin(&mut self) {
        self.viewer.begin();
        self.view.jump();
    }

    /// Lets time pass until the viewer's `wall`, in milliseconds, unless it is stopped.
    pub(super) fn pass(&mut self, wall: f64) {
        if !self.viewer.paused {
            self.view.run_mut().pass(&mut self.viewer.pace, wall);
        }
    }

    /// The instant at the right edge.
    pub(super) fn right(&self) -> Time {
        self.viewer.sees(self.view.run().now()).right
    }

    /// Looks back from an instant by `seconds`, or forward if negative.
    pub(super) fn look_back(&mut self, from: Time, seconds: f64) {
        self.viewer.look_back(from, seconds, [self.view.oldest(), self.view.run().now()]);
    }
}
