//! The one class that the script knows: a canvas with a view on it.

use super::canvas::Canvas;
use super::shell::Shell;
use super::view;
use crate::plot::palette::Theme;
use crate::text::ParseError;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// A page: a view on a canvas.
#[wasm_bindgen]
pub struct Page {
    shell: Shell,
    canvas: Canvas,
}

/// What is shown.
#[wasm_bindgen]
impl Page {
    /// A page that draws the view of that name on `canvas`.
    #[wasm_bindgen(constructor, skip_jsdoc)]
    pub fn new(canvas: HtmlCanvasElement, view: &str) -> Result<Page, JsValue> {
        console_error_panic_hook::set_once();
        Ok(Page {
            shell: Shell::new(view::named(view).map_err(said)?),
            canvas: Canvas::new(canvas)?,
        })
    }

    /// Lets time pass until `wall` and draws what is seen then. Returns what is said beside the
    /// picture, mostly nothing: for each text the id of its element, the text, and the number it
    /// was made of, or nothing.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn frame(&mut self, wall: f64) -> Result<Vec<String>, JsValue> {
        if self.shell.frame(wall) {
            self.paint()?;
        }
        Ok(self.shell.texts())
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
        self.shell.resize([width, height]);
        self.canvas.resize([width, height], ratio, device.as_deref());
        self.paint()
    }

    /// Light or dark.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn theme(&mut self, dark: bool) {
        self.canvas.set_theme(if dark { Theme::Dark } else { Theme::Light });
        self.shell.touch();
    }

    /// Whether the viewer asked for less motion.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn reduce_motion(&mut self, still: bool) {
        self.shell.reduce_motion(still);
    }

    /// The height that the canvas should have in CSS pixels, if the style sheet does not say.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn height(&self) -> Option<f64> {
        self.shell.view().height()
    }

    fn paint(&mut self) -> Result<(), JsValue> {
        self.canvas.paint(&self.shell.draw())
    }
}

/// Links and settings.
#[wasm_bindgen]
impl Page {
    /// Begins the run that a link's fragment describes, or says what is wrong with it.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn open(&mut self, fragment: &str) {
        self.shell.open(fragment);
    }

    /// The fragment for the address: the settings in force.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn fragment(&self) -> String {
        self.shell.view().run().fragment()
    }

    /// The fragment that replays this run, or has the settings only, and the page says so then.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn recording(&mut self) -> String {
        self.shell.recording()
    }

    /// Gives a setting a value; returns what is wrong with it, if so.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn set(&mut self, name: &str, value: &str) -> String {
        self.shell.set(name, value)
    }

    /// The value of a setting, as text.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn get(&self, name: &str) -> String {
        self.shell.view().get(name)
    }

    /// More on the value of a setting, if there is more to say.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn about(&self, name: &str) -> String {
        self.shell.view().about(name)
    }

    /// Moves a setting to its next value up or down.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn nudge(&mut self, name: &str, by: f64) {
        self.shell.nudge(name, by);
    }

    /// The position of a setting's slider.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn slider(&self, name: &str) -> f64 {
        self.shell.slider(name)
    }

    /// Gives a setting the value at a position of its slider.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn slide(&mut self, name: &str, position: f64) {
        self.shell.slide(name, position);
    }
}

/// Time.
#[wasm_bindgen]
impl Page {
    /// The page is hidden until the next frame.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn hide(&mut self) {
        self.shell.hide();
    }

    /// Stops the time of the run, or lets it go on.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn pause(&mut self) {
        self.shell.pause();
    }

    /// Whether the time of the run is stopped.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn paused(&self) -> bool {
        self.shell.paused()
    }

    /// Stops, and lets a tenth of a second pass.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn step(&mut self) {
        self.shell.step();
    }

    /// Begins again with the settings in force.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn reset(&mut self) -> Result<(), JsValue> {
        self.shell.reset().map_err(said)
    }

    /// Returns to the present.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn live(&mut self) {
        self.shell.live();
    }

    /// Whether the right edge is the present.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn is_live(&self) -> bool {
        self.shell.is_live()
    }
}

/// The pointer and keys.
#[wasm_bindgen]
impl Page {
    /// The pointer goes down.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn press(&mut self, x: f64, y: f64, touch: bool) {
        self.shell.press([x, y], touch);
    }

    /// Whether the pointer holds the limit.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn holds_limit(&self) -> bool {
        self.shell.holds_limit()
    }

    /// The pointer moves, still `held` down or not; returns the cursor to show.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn move_to(&mut self, x: f64, y: f64, held: bool) -> String {
        self.shell.move_to([x, y], held).to_owned()
    }

    /// The pointer goes up, at the time `wall`; false if it held nothing.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn release(&mut self, wall: f64) -> bool {
        self.shell.release(wall)
    }

    /// The pointer is gone.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn leave(&mut self) {
        self.shell.leave();
    }

    /// A key on the picture, at the time `wall`; false if it means nothing.
    #[wasm_bindgen(skip_jsdoc)]
    pub fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        self.shell.key(key, shift, wall)
    }
}

fn said(error: ParseError) -> JsValue {
    JsValue::from_str(&error.to_string())
}
