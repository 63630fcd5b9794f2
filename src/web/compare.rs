//! The Compare page: every limiter on the same events.
//!
//! It has the methods of [`Page`](super::Page), so that one script wires both, and those of the
//! lanes.

use super::canvas::Canvas;
use super::comparison::Comparison;
use super::{STILL, said, tell_of_panics};
use crate::lab::compare::Settings;
use crate::lab::run::Named;
use crate::outcome::Retry;
use crate::plot::axis;
use crate::plot::palette::Theme;
use crate::text::Decimal;
use crate::view::compare;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// The page that compares.
#[wasm_bindgen]
pub struct Compare {
    app: Comparison,
    canvas: Canvas,
    drawn: f64,
    /// Whether something changed that has to be seen at once.
    dirty: bool,
    /// The settings that the controls show.
    settings: Settings,
}

#[wasm_bindgen]
impl Compare {
    /// A page that draws on `canvas`.
    #[wasm_bindgen(constructor, skip_jsdoc)]
    pub fn new(canvas: HtmlCanvasElement) -> Result<Compare, JsValue> {
        tell_of_panics();
        Ok(Compare {
            app: Comparison::new().map_err(said)?,
            canvas: Canvas::new(canvas)?,
            drawn: f64::NEG_INFINITY,
            dirty: true,
            settings: Settings::default(),
        })
    }

    /// Lets time pass until `wall` and shows the result. Returns whether the settings changed: the
    /// controls do not show that yet.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn frame(&mut self, wall: f64) -> Result<bool, JsValue> {
        let moving = self.app.run(wall);
        let due = moving && (!self.app.still || wall - self.drawn >= STILL);
        if core::mem::take(&mut self.dirty) || due {
            self.drawn = wall;
            self.paint()?;
        }
        let changed = self.settings != *self.app.replay.settings();
        if changed {
            self.settings = self.app.replay.settings().clone();
        }
        Ok(changed)
    }

    /// The canvas has another size, in CSS pixels and, if the browser tells, in those of the
    /// screen: it is drawn at once, within the same frame.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn resize(
        &mut self,
        width: f64,
        height: f64,
        ratio: f64,
        device: Option<Box<[f64]>>,
    ) -> Result<(), JsValue> {
        self.app.size = [width, height];
        self.canvas.resize([width, height], ratio, device.as_deref());
        self.paint()
    }

    /// Light or dark.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn theme(&mut self, dark: bool) {
        self.canvas.set_theme(if dark { Theme::Dark } else { Theme::Light });
        self.dirty = true;
    }

    /// Whether the viewer asked for less motion.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn reduce_motion(&mut self, still: bool) {
        self.app.still = still;
        self.dirty = true;
    }

    /// Begins the run that a link's fragment describes, or says what is wrong with it.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn open(&mut self, fragment: &str) {
        self.changed();
        self.app.open(fragment);
    }

    /// The fragment for the address: the settings in force.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn fragment(&self) -> String {
        self.app.settings_link().to_string()
    }

    /// The fragment that replays this run.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn recording(&self) -> String {
        self.app.recording().to_string()
    }

    /// Gives a setting a value; returns what is wrong with it, if so.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn set(&mut self, name: &str, value: &str) -> String {
        self.changed();
        match self.app.replay.set(name, value) {
            Ok(()) => String::new(),
            // A text of several words says which of them is wrong.
            Err(error) if name == "script" => error.to_string(),
            Err(error) => {
                let known = self.app.replay.settings().get(name);
                format!("{}. Still {known}.", error.problem())
            }
        }
    }

    /// The value of a setting, as text.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn get(&self, name: &str) -> String {
        self.app.replay.settings().get(name)
    }

    /// Moves a setting to the next round value up or down.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn nudge(&mut self, name: &str, by: f64) {
        self.changed();
        self.app.nudge(name, by);
    }

    /// Sets the rate of automatic events from the slider's position.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn slide(&mut self, position: f64) {
        self.changed();
        self.app.slide(position);
    }

    /// The slider's position.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn slider(&self) -> f64 {
        self.app.slider()
    }

    /// Stops the time of the run, or lets it go on.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn pause(&mut self) {
        self.changed();
        self.app.pause();
    }

    /// Whether the time of the run is stopped.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn paused(&self) -> bool {
        self.app.paused
    }

    /// Stops, and lets a tenth of a second pass.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn step(&mut self) {
        self.changed();
        self.app.step();
    }

    /// Begins again with the settings in force.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn reset(&mut self) -> Result<(), JsValue> {
        self.changed();
        self.app.reset().map_err(said)
    }

    /// Returns to the present.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn live(&mut self) {
        self.changed();
        self.app.past = None;
    }

    /// Whether the right edge is the present.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn is_live(&self) -> bool {
        self.app.past.is_none()
    }

    /// The pointer goes down.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn press(&mut self, x: f64, y: f64, _touch: bool) {
        self.app.press(x, y);
    }

    /// Whether the pointer holds a limit; here it never does.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn holds_limit(&self) -> bool {
        self.app.pointer.holds_limit()
    }

    /// The pointer moves; returns the cursor to show.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn move_to(&mut self, x: f64, y: f64) -> String {
        self.dirty = true;
        self.app.move_to(x, y).to_owned()
    }

    /// The pointer goes up, at the time `wall`.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn release(&mut self, wall: f64) {
        self.changed();
        self.app.release(wall);
    }

    /// The pointer is gone.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn leave(&mut self) {
        self.dirty = true;
        self.app.pointer.leave();
    }

    /// A key on the lanes, at the time `wall`; false if it means nothing.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let known = self.app.key(key, shift, wall);
        if known {
            self.changed();
        }
        known
    }

    fn changed(&mut self) {
        self.dirty = true;
        self.app.problem.clear();
    }

    fn paint(&mut self) -> Result<(), JsValue> {
        self.canvas.paint(&compare::draw(&self.app.replay, &self.app.look()))
    }
}

/// The lanes.
#[wasm_bindgen]
impl Compare {
    /// The height of the canvas in CSS pixels, for as many lanes as there are.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn height(&self) -> f64 {
        compare::height(self.app.replay.lanes().len())
    }

    /// What is written in the lanes' boxes.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn rules(&self) -> Vec<String> {
        self.app.replay.lanes().iter().map(|lane| lane.rule().as_str().to_owned()).collect()
    }

    /// The limiter of a lane with all of its words, and what it ever allows in a period.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn about(&self, lane: usize) -> String {
        let settings = self.app.replay.settings();
        let Some(lane) = self.app.replay.lanes().get(lane) else { return String::new() };
        let most = lane.max_admitted(settings.cost);
        let bound = match most.is_finite() {
            true => format!("at most {} in any {}", axis::readout(most), settings.budget.per()),
            false => "no bound on what passes".to_owned(),
        };
        format!("{}: {bound}", lane.policy())
    }

    /// Allowed, refused, the share that was allowed, and when the next event passes: four texts a
    /// lane.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn texts(&self) -> Vec<String> {
        let now = self.app.replay.now();
        let of_lane = |lane: &crate::lab::compare::Lane| {
            let (allowed, refused) = (lane.allowed(), lane.refused());
            let share = match allowed + refused {
                0 => "–".to_owned(),
                all => format!("{} %", axis::readout(100.0 * allowed as f64 / all as f64)),
            };
            let again = match lane.retry_after(now) {
                Retry::After(wait) if wait.secs() == 0.0 => "now".to_owned(),
                Retry::After(wait) => format!("in {}", axis::seconds(wait.secs())),
                Retry::Never => "never".to_owned(),
            };
            [axis::readout_count(allowed), axis::readout_count(refused), share, again]
        };
        self.app.replay.lanes().iter().flat_map(of_lane).collect()
    }

    /// Allowed and refused, two numbers a lane.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn counts(&self) -> Vec<f64> {
        let lanes = self.app.replay.lanes().iter();
        lanes.flat_map(|lane| [lane.allowed() as f64, lane.refused() as f64]).collect()
    }

    /// Events sent.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn sent(&self) -> f64 {
        self.app.replay.sent() as f64
    }

    /// What is unusual at the moment.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn note(&self) -> String {
        self.app.note().to_owned()
    }

    /// Where things stand, or what the crosshair shows: a sentence a lane, for screen readers.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn summary(&self) -> String {
        if let Some(at) = self.app.pointed_at() {
            return compare::words(&self.app.replay, &self.app.look(), at).join(". ");
        }
        let mut text = format!("{} events.", Decimal(self.sent()));
        for (lane, n) in self.app.replay.lanes().iter().zip(1..) {
            let (allowed, refused) = (lane.allowed(), lane.refused());
            let rule = lane.rule().as_str();
            text.push_str(&format!(" {n}, {rule}: {allowed} allowed, {refused} refused."));
        }
        text
    }

    /// Gives a lane another rule; returns what is wrong with it, if so.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn change_lane(&mut self, lane: usize, rule: &str) -> String {
        self.changed();
        self.app.replay.change_lane(lane, rule).err().map_or(String::new(), |e| e.to_string())
    }

    /// Adds a lane at the end; returns what is wrong with its rule, if so.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn add_lane(&mut self, rule: &str) -> String {
        self.changed();
        self.app.replay.add_lane(rule).err().map_or(String::new(), |e| e.to_string())
    }

    /// Takes a lane out.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn remove_lane(&mut self, lane: usize) {
        self.changed();
        self.app.replay.remove_lane(lane);
    }

    /// Puts a lane at another place.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn move_lane(&mut self, from: usize, to: usize) {
        self.changed();
        self.app.replay.move_lane(from, to);
    }
}
