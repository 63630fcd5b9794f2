//! The page of the scope: one limiter, measured.

use super::app::App;
use super::canvas::Canvas;
use super::dom::Texts;
use super::{STILL, said, tell_of_panics};
use crate::lab::run::Named;
use crate::lab::scope::Settings;
use crate::plot::palette::Theme;
use crate::view::scope;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// The page of the scope.
#[wasm_bindgen]
pub struct Page {
    app: App,
    canvas: Canvas,
    texts: Texts,
    /// The time of the last frame, and of the last one drawn.
    wall: f64,
    drawn: f64,
    /// Whether something changed that has to be seen at once.
    dirty: bool,
    /// The settings that the controls show.
    settings: Settings,
}

#[wasm_bindgen]
impl Page {
    /// A page that draws on `canvas`.
    #[wasm_bindgen(constructor, skip_jsdoc)]
    pub fn new(canvas: HtmlCanvasElement) -> Result<Page, JsValue> {
        tell_of_panics();
        let document = canvas.owner_document().ok_or("the canvas is not in a page")?;
        Ok(Page {
            app: App::new().map_err(said)?,
            canvas: Canvas::new(canvas)?,
            texts: Texts::new(document),
            wall: 0.0,
            drawn: f64::NEG_INFINITY,
            dirty: true,
            settings: Settings::default(),
        })
    }

    /// Lets time pass until `wall` and shows the result. Returns whether the settings changed, by
    /// a link's script or a drag: the controls do not show that yet.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn frame(&mut self, wall: f64) -> Result<bool, JsValue> {
        self.wall = wall;
        let moving = self.app.run(wall);
        let due = moving && (!self.app.is_still() || wall - self.drawn >= STILL);
        let urgent = core::mem::take(&mut self.dirty);
        if urgent || due {
            self.drawn = wall;
            self.canvas.paint(&scope::draw(&self.app.scope, &self.app.look()))?;
        }
        self.texts.write(&self.app, wall, urgent)?;
        let settings = *self.app.scope.settings();
        Ok(core::mem::replace(&mut self.settings, settings) != settings)
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
        self.canvas.paint(&scope::draw(&self.app.scope, &self.app.look()))
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
        self.app.reduce_motion(still);
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
        match self.app.scope.set(name, value) {
            Ok(()) => String::new(),
            Err(error) => {
                format!("{}. Still {}.", error.problem(), self.app.scope.settings().get(name))
            }
        }
    }

    /// The value of a setting, as text.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn get(&self, name: &str) -> String {
        self.app.scope.settings().get(name)
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

    /// Stops the scope's time, or lets it run again.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn pause(&mut self) {
        self.changed();
        self.app.pause();
    }

    /// Whether the scope's time is stopped.
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

    /// The pointer goes down.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn press(&mut self, x: f64, y: f64, touch: bool) {
        self.app.press(x, y, touch);
    }

    /// Whether the pointer holds the limit.
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
        self.app.leave();
    }

    /// A key on the graph, at the time `wall`; false if it means nothing.
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
        self.texts.sum_up_soon();
    }
}
