//! The one class for the script: a view on a canvas, with all that views share.

mod canvas;
mod compare;
mod ease;
mod input;
mod live;
mod nudge;
mod pointer;
mod run;
mod scope;
mod settings;
mod telling;
mod time;
#[cfg(not(without_tune))]
mod tune;
mod view;
mod viewer;

use crate::texts::Texts;
use canvas::Canvas;
use ratescope::text::ParseError;
use ratescope::time::Time;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::svg;
use ratescope_lab::plot::{Fill, Ink, Mark, Rect};
use ratescope_lab::view::{Viewport, edges, seconds_per_pixel};
use telling::Turns;
use view::Scene;
use viewer::Viewer;
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// With reduced motion, the least time between two pictures, in milliseconds.
const STILL: f64 = 1000.0;

/// A picture that moves by less than this, in pixels of the screen, is not redrawn: nobody would see it.
const UNSEEN: f64 = 0.5;

/// A view on a canvas, and its viewer.
#[wasm_bindgen]
pub struct Page {
    view: Scene,
    canvas: Canvas,
    viewer: Viewer,
    texts: Texts,
    turns: Turns,
    /// The error of the last link that was opened or made, until the next action.
    problem: String,
    /// When the last picture was drawn, in milliseconds.
    drawn: f64,
    /// The instant at which the lines of the last picture end.
    right: Time,
    /// True if something changed that must be drawn at once.
    dirty: bool,
}

/// The picture and its frames.
#[wasm_bindgen]
impl Page {
    /// A page that draws the view of that name on `canvas`.
    #[wasm_bindgen(constructor)]
    pub fn new(canvas: HtmlCanvasElement, view: &str) -> Result<Page, JsValue> {
        console_error_panic_hook::set_once();
        let view = Scene::named(view).map_err(js_error)?;
        let viewer = Viewer { only_points: !view.takes_events(), ..Viewer::default() };
        Ok(Page {
            view,
            canvas: Canvas::new(canvas)?,
            viewer,
            texts: Texts::default(),
            turns: Turns::default(),
            problem: String::new(),
            drawn: f64::NEG_INFINITY,
            right: Time::ZERO,
            dirty: true,
        })
    }

    /// Lets time pass until `wall`, and draws the picture if it has changed, even while paused until its scales come to
    /// rest. Returns the texts beside the picture if they are due, mostly none. Each has three entries: the id of its
    /// element, the text, and its number, or an empty text.
    pub fn frame(&mut self, wall: f64) -> Result<Vec<String>, JsValue> {
        self.pass(wall);
        self.viewer.wall = wall;
        if let Some(at) = self.viewer.pointer.rested(wall) {
            self.put_crosshair(at);
        }
        let clicks = self.viewer.clicks.len();
        self.viewer.clicks.retain(|click| click.is_seen(wall));
        let is_over = self.viewer.clicks.len() < clicks;
        let seen = self.viewer.viewport(self.view.run());
        let runs = self.view.has_time() && !self.viewer.paused && self.has_moved(&seen);
        let eased = self.view.ease(&seen, wall, self.viewer.still);
        let moved = eased || runs || !self.viewer.clicks.is_empty();
        let urgent = core::mem::take(&mut self.dirty) || is_over;
        if urgent || moved && (!self.viewer.still || wall - self.drawn >= STILL) {
            self.drawn = wall;
            self.paint()?;
        }
        if self.turns.are_due(wall, urgent) {
            self.write_texts(wall);
        }
        Ok(self.texts.drain())
    }

    /// Gives the canvas another size, and draws it at once, within the same frame. The size is in CSS pixels and, if
    /// the browser provides it, as `device` in pixels of the screen; `ratio` is the number of screen pixels in a CSS
    /// pixel.
    pub fn resize(
        &mut self,
        width: f64,
        height: f64,
        ratio: f64,
        device: Option<Box<[f64]>>,
    ) -> Result<(), JsValue> {
        self.viewer.size = [width, height];
        if self.canvas.resize([width, height], ratio, device.as_deref()) {
            self.paint_anew()
        } else {
            Ok(())
        }
    }

    /// Puts the dark or the light theme in force, and draws at once: a browser that prints takes the picture as it is,
    /// without waiting for a frame.
    pub fn theme(&mut self, dark: bool) -> Result<(), JsValue> {
        self.canvas.set_theme(if dark { Theme::Dark } else { Theme::Light });
        self.paint_anew()
    }

    /// Says whether the viewer asked for less motion.
    pub fn reduce_motion(&mut self, still: bool) {
        self.viewer.still = still;
        self.dirty = true;
    }

    /// The height of the canvas in CSS pixels, if there is so much `room` for it; `None` if the style sheet decides.
    pub fn height(&self, room: f64) -> Option<f64> {
        match &self.view {
            Scene::Lanes(lanes) => Some(lanes.height(self.viewer.size[0], room)),
            Scene::Live(live) => Some(live.height()),
            _ => None,
        }
    }

    /// The distance from lane to lane in CSS pixels; 0 without lanes.
    pub fn pitch(&self) -> f64 {
        if let Scene::Lanes(lanes) = &self.view { lanes.pitch(self.viewer.size) } else { 0.0 }
    }

    /// The number of each lane's colour.
    pub fn colours(&self) -> Vec<u8> {
        if let Scene::Lanes(lanes) = &self.view { lanes.colours() } else { Vec::new() }
    }

    /// True if there is a problem with the last link.
    pub fn has_problem(&self) -> bool {
        !self.problem.is_empty()
    }

    /// Takes numbers for the picture, by their name. They may come without an action of the viewer, so the message
    /// about a wrong link stays. Only `picture` always answers an action, so a screen reader reads it.
    pub fn put(&mut self, name: &str, numbers: &[f64]) {
        self.dirty = true;
        if name == "picture" {
            self.turns.sum_up_soon();
        }
        self.view.receive(name, numbers);
    }

    /// Shows a problem as the note beside the picture, until the next action.
    pub fn warn(&mut self, problem: &str) {
        self.act();
        problem.clone_into(&mut self.problem);
    }

    /// The picture as an SVG file. A run that has just begun has its own scales, though no frame has shown it.
    pub fn svg(&mut self) -> String {
        let seen = self.viewer.viewport(self.view.run());
        self.view.ease(&seen, self.drawn, self.viewer.still);
        let [width, height] = seen.size;
        svg::write(&self.view.draw(&seen), width, height, self.canvas.theme())
    }

    /// True if the picture has moved visibly since it was drawn.
    fn has_moved(&self, seen: &Viewport) -> bool {
        let pixel = seconds_per_pixel(seen.size[0], seen.window) / self.canvas.pixels_across();
        self.edge().since(self.right).abs() >= UNSEEN * pixel
    }

    /// The instant at which the lines end, or at which they leave the picture.
    fn edge(&self) -> Time {
        self.viewer.past.unwrap_or(self.view.run().now())
    }

    /// Draws at once, but not before the first frame, which draws anyway.
    fn paint_anew(&mut self) -> Result<(), JsValue> {
        if self.drawn == f64::NEG_INFINITY { Ok(()) } else { self.paint() }
    }

    fn paint(&mut self) -> Result<(), JsValue> {
        let seen = self.viewer.viewport(self.view.run());
        let mut marks = self.view.draw(&seen);
        if let Some([from, to]) = self.viewer.pointer.chosen() {
            let [left, right] = edges(seen.size[0]);
            let x = from.max(left);
            let end = to.min(right);
            let rect = Rect { x, y: 0.0, width: end - x, height: seen.size[1] };
            // Behind the labels.
            marks
                .insert(0, Mark::Rects { rects: vec![rect], fill: Fill::new(Ink::Crosshair, 0.2) });
        }
        self.right = self.edge();
        self.canvas.paint(&marks)
    }

    fn write_texts(&mut self, wall: f64) {
        let seen = self.viewer.viewport(self.view.run());
        self.view.write_texts(&seen, &mut self.texts);
        let note = match self.view.note() {
            _ if !self.problem.is_empty() => &self.problem,
            _ if self.viewer.paused => "paused",
            "" if self.viewer.pace.slowed() => "slowed: too many events for this machine",
            note => note,
        };
        self.texts.set("note", note);
        if self.turns.is_summary_due(wall) {
            self.texts.set("summary", self.view.summary(&seen));
        }
    }

    /// Notes an action of the viewer other than a click, after which the shown fates of earlier clicks may no longer be
    /// true.
    fn act(&mut self) {
        self.viewer.clicks.clear();
        self.note_action();
    }

    /// After an action of the viewer, the picture, the texts and the screen reader follow at once.
    fn note_action(&mut self) {
        self.dirty = true;
        self.problem.clear();
        self.turns.sum_up_soon();
    }
}

fn js_error(error: ParseError) -> JsValue {
    JsValue::from_str(&error.to_string())
}
