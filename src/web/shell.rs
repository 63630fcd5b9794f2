//! What every view does alike: time, links, settings, the pointer and keys. Knows nothing of the
//! browser.

use super::nudge;
use super::pointer::Press;
use super::texts::Texts;
use super::view::View;
use super::viewer::Viewer;
use crate::plot::{Mark, axis};
use crate::text::{Decimal, ParseError, number};
use crate::time::{Span, Time};
use crate::view::{Hit, edges, seconds_per_pixel};

/// What a step lets pass.
const STEP: Span = Span::micros(100_000);

/// With reduced motion, the picture is drawn anew only this often, in milliseconds.
const STILL: f64 = 1000.0;

/// What is wrong with a link whose run would take too long.
const STOPS_EARLY: &str = "This recording is too long to replay; it stops early.";

/// What is wrong with a link to a run in which too much was done.
const SETTINGS_ONLY: &str = "Too much was done to replay it: the link has the settings only.";

/// A view and who looks at it.
pub(super) struct Shell {
    view: Box<dyn View>,
    viewer: Viewer,
    texts: Texts,
    /// What is wrong with the last link, opened or made, until something is done.
    problem: String,
    /// When the last picture was drawn, in milliseconds.
    drawn: f64,
    /// Whether something changed that has to be seen at once.
    dirty: bool,
}

/// What is shown.
impl Shell {
    pub(super) fn new(view: Box<dyn View>) -> Self {
        Shell {
            view,
            viewer: Viewer::default(),
            texts: Texts::default(),
            problem: String::new(),
            drawn: f64::NEG_INFINITY,
            dirty: true,
        }
    }

    /// The view, for what may be asked of it.
    pub(super) fn view(&self) -> &dyn View {
        &*self.view
    }

    /// Lets time pass until the viewer's `wall`, in milliseconds. Returns whether there is another
    /// picture to draw: a paused one, eased to its scales, stays what it is.
    pub(super) fn frame(&mut self, wall: f64) -> bool {
        self.pass(wall);
        let seen = self.viewer.sees(self.view.run().now());
        let moved = self.view.ease(&seen, wall, self.viewer.still) || !self.viewer.paused;
        let urgent = core::mem::take(&mut self.dirty);
        if self.texts.are_due(wall, urgent) {
            self.say(wall);
        }
        let due = urgent || moved && (!self.viewer.still || wall - self.drawn >= STILL);
        if due {
            self.drawn = wall;
        }
        due
    }

    pub(super) fn draw(&self) -> Vec<Mark> {
        self.view.draw(&self.viewer.sees(self.view.run().now()))
    }

    /// What there is to say since the last call: see [`Texts`].
    pub(super) fn texts(&mut self) -> Vec<String> {
        self.texts.take()
    }

    fn say(&mut self, wall: f64) {
        let seen = self.viewer.sees(self.view.run().now());
        self.view.say(&mut self.texts);
        let note = match self.view.note() {
            _ if !self.problem.is_empty() => &self.problem,
            _ if self.viewer.paused => "paused",
            "" if self.viewer.pace.slowed() => "slowed: too many events for this machine",
            note => note,
        };
        self.texts.say("note", note);
        self.texts.sum_up(wall, || self.view.summary(&seen));
    }

    /// The picture has another size, in CSS pixels.
    pub(super) fn resize(&mut self, size: [f64; 2]) {
        self.viewer.size = size;
    }

    /// The viewer asks for less motion, or no longer.
    pub(super) fn reduce_motion(&mut self, still: bool) {
        self.viewer.still = still;
        self.dirty = true;
    }

    /// Something changes that has to be seen at once.
    pub(super) fn touch(&mut self) {
        self.dirty = true;
    }

    /// Something is done that has to be seen and heard of at once.
    fn act(&mut self) {
        self.dirty = true;
        self.problem.clear();
        self.texts.sum_up_soon();
    }
}

/// Links and settings.
impl Shell {
    /// Begins the run that a link describes, and shows the instant it names.
    pub(super) fn open(&mut self, fragment: &str) {
        self.act();
        match self.view.run_mut().open(fragment) {
            Ok(entry) => {
                self.begin();
                self.viewer.paused = entry.paused;
                if !entry.arrived {
                    STOPS_EARLY.clone_into(&mut self.problem);
                }
            }
            Err(error) => self.problem = error.to_string(),
        }
    }

    /// The fragment that replays this run, if there is one: the viewer is told if not.
    pub(super) fn recording(&mut self) -> String {
        if !self.view.run().is_recorded() {
            self.act();
            SETTINGS_ONLY.clone_into(&mut self.problem);
        }
        self.view.run().recording(self.viewer.paused)
    }

    /// Gives a setting a value; returns what is wrong with it, if so.
    pub(super) fn set(&mut self, name: &str, value: &str) -> String {
        self.act();
        let Err(error) = self.view.set(name, value) else { return String::new() };
        // Of several words it matters which of them is wrong.
        let problem = match value.trim().contains(' ') {
            true => error.to_string(),
            false => error.problem().to_owned(),
        };
        match self.view.get(name).as_str() {
            "" => problem,
            known => format!("{problem}. Still {known}."),
        }
    }

    /// Moves a setting to its next value up or down.
    pub(super) fn nudge(&mut self, name: &str, by: f64) {
        self.act();
        if let Some(value) = nudge::next(name, &self.view.get(name), by) {
            // At the end of the range nothing changes.
            let _ = self.view.set(name, &value);
        }
    }

    /// The position of a setting's slider: its power of ten.
    pub(super) fn slider(&self, name: &str) -> f64 {
        number(&self.view.get(name)).map_or(0.0, libm::log10)
    }

    /// Gives a setting the value of two digits that is at a position of its slider.
    pub(super) fn slide(&mut self, name: &str, position: f64) {
        self.act();
        let value = axis::two_digits(libm::exp10(position));
        let _ = self.view.set(name, &Decimal(value).to_string());
    }
}

/// Time.
impl Shell {
    /// The page is hidden until the next frame.
    pub(super) fn hide(&mut self) {
        self.viewer.pace.hide();
    }

    pub(super) fn paused(&self) -> bool {
        self.viewer.paused
    }

    pub(super) fn pause(&mut self) {
        self.act();
        self.viewer.paused = !self.viewer.paused;
        self.viewer.pace.stop();
    }

    pub(super) fn step(&mut self) {
        self.act();
        self.viewer.paused = true;
        self.view.run_mut().step(&mut self.viewer.pace, STEP);
    }

    /// Begins again with the settings in force.
    pub(super) fn reset(&mut self) -> Result<(), ParseError> {
        self.act();
        self.view.run_mut().reset()?;
        self.begin();
        Ok(())
    }

    fn begin(&mut self) {
        self.viewer.begin();
        self.view.jump();
    }

    fn pass(&mut self, wall: f64) {
        if !self.viewer.paused {
            self.view.run_mut().pass(&mut self.viewer.pace, wall);
        }
    }

    /// An event at the viewer's time `wall`, and not at the last frame before it.
    fn click(&mut self, wall: f64) {
        self.pass(wall);
        self.view.run_mut().click();
    }

    pub(super) fn is_live(&self) -> bool {
        self.viewer.past.is_none()
    }

    /// Returns to the present.
    pub(super) fn live(&mut self) {
        self.act();
        self.viewer.past = None;
    }

    fn right(&self) -> Time {
        self.viewer.past.unwrap_or(self.view.run().now())
    }

    fn look_back(&mut self, from: Time, seconds: f64) {
        self.viewer.look_back(from, seconds, [self.view.oldest(), self.view.run().now()]);
    }
}

/// The pointer and keys.
impl Shell {
    pub(super) fn press(&mut self, at: [f64; 2], touch: bool) {
        let hit = self.view.hit(&self.viewer.sees(self.view.run().now()), at, touch);
        let press = Press { hit, from: at, right: self.right(), moved: false };
        self.viewer.pointer.press = Some(press);
    }

    pub(super) fn holds_limit(&self) -> bool {
        self.viewer.pointer.holds_limit()
    }

    /// Follows the pointer, which holds what it pressed or no longer; returns the cursor that shows
    /// what a press would do.
    pub(super) fn move_to(&mut self, at: [f64; 2], held: bool) -> &'static str {
        self.dirty = true;
        let pointer = &mut self.viewer.pointer;
        pointer.at = Some(at);
        pointer.press = pointer.press.filter(|_| held);
        if let Some(press) = &mut pointer.press {
            press.follow(at);
        }
        let press = pointer.press;
        let seen = self.viewer.sees(self.view.run().now());
        match press {
            None => {
                let over = self.view.hit(&seen, at, false);
                self.viewer.pointer.over = over;
                over.cursor()
            }
            Some(Press { hit, moved: false, .. }) => hit.cursor(),
            Some(Press { hit: Hit::Limit, .. }) => {
                self.view.drag(&seen, at[1]);
                Hit::Limit.cursor()
            }
            Some(Press { from, right, .. }) => {
                let pixel = seconds_per_pixel(self.viewer.size[0], self.view.run().window());
                self.look_back(right, (at[0] - from[0]) * pixel);
                "grabbing"
            }
        }
    }

    /// Ends a press; one that did not move is an event, at the viewer's time `wall`. Returns whether
    /// there was one.
    pub(super) fn release(&mut self, wall: f64) -> bool {
        let Some(press) = self.viewer.pointer.press.take() else { return false };
        self.act();
        let [left, right] = edges(self.viewer.size[0]);
        if (left..=right).contains(&press.from[0]) && !press.moved {
            self.click(wall);
        }
        true
    }

    /// The pointer is gone.
    pub(super) fn leave(&mut self) {
        self.dirty = true;
        self.viewer.pointer = Default::default();
    }

    /// Does what a key on the picture means; false if it means nothing.
    pub(super) fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let known = self.do_key(key, shift, wall);
        if known {
            self.act();
        }
        known
    }

    fn do_key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let pixels = if shift { 10.0 } else { 1.0 };
        let half = self.view.run().window().secs() / 2.0;
        let edges = edges(self.viewer.size[0]);
        match key {
            " " => self.click(wall),
            "ArrowLeft" => self.viewer.pointer.move_crosshair(-pixels, edges),
            "ArrowRight" => self.viewer.pointer.move_crosshair(pixels, edges),
            "PageUp" => self.look_back(self.right(), half),
            "PageDown" => self.look_back(self.right(), -half),
            "Escape" => {
                self.viewer.past = None;
                self.viewer.pointer.at = None;
            }
            "p" | "P" => self.pause(),
            "s" | "S" => self.step(),
            "r" | "R" => return self.reset().is_ok(),
            "ArrowUp" | "ArrowDown" => {
                let Some(name) = self.view.limit() else { return false };
                self.nudge(name, if key == "ArrowUp" { 1.0 } else { -1.0 });
            }
            _ => return false,
        }
        true
    }
}
