//! The pointer over the picture, and keys.
//!
//! A click becomes a line in these steps. [`Page::press`] and [`Page::release`] find that the press was no drag, and
//! `click` passes an event to the run (`lab/run.rs`). The run records it for a link, and passes it to the instrument of
//! the Scope (`lab/scope/instrument.rs`) or to the lanes (`lab/lane.rs`). These ask a limiter and fold the outcome into
//! columns (`lab/trace.rs`, `lab/lane/history.rs`). At the next [`Page::frame`], `view/scope` or `view/compare` makes
//! marks of the columns, and `canvas.rs` paints them.

use super::Page;
use crate::page::pointer::{DRAG, Pointer, Press};
use ratescope_lab::view::{Click, Hit, edges, seconds_per_pixel};
use wasm_bindgen::prelude::*;

/// Two clicks on the axis in less time than this, in milliseconds, are a double click.
const DOUBLE: f64 = 500.0;

#[wasm_bindgen]
impl Page {
    /// The pointer goes down. With `zooms`, or with a mouse on the axis, a drag then chooses a stretch of
    /// time.
    pub fn press(&mut self, x: f64, y: f64, touch: bool, zooms: bool) {
        let from = [x, y];
        let seen = self.viewer.viewport(self.view.run());
        let zooms = zooms || !touch && self.view.is_axis(&seen, y);
        let hit = if zooms { Hit::Graph } else { self.view.hit(&seen, from, touch) };
        let right = self.right();
        let past = self.viewer.past;
        let press = Press { hit, from, right, past, moved: false, ended: false, zooms, touch };
        self.viewer.pointer.press = Some(press);
    }

    /// Puts the crosshair at a point, and drops any press.
    pub fn point(&mut self, x: f64, y: f64) {
        self.viewer.pointer.press = None;
        self.put_crosshair([x, y]);
    }

    /// Zooms as a wheel turns by `by` CSS pixels; the instant at `x` stays in place.
    pub fn zoom(&mut self, x: f64, by: f64) {
        let seen = self.viewer.viewport(self.view.run());
        let window = seen.window.as_secs_f64() * libm::exp(by.clamp(-300.0, 300.0) / 600.0);
        let [left, right] = edges(seen.size[0]);
        let share = ((right - x) / (right - left)).clamp(0.0, 1.0);
        let back = share * (seen.window.as_secs_f64() - window);
        let right = self.right();
        self.zoom_to(right, back, window);
    }

    /// True if the pointer holds the limit.
    pub fn holds_limit(&self) -> bool {
        self.viewer.pointer.holds_limit()
    }

    /// The pointer moves at the viewer's time `wall`, and is still `held` down or not. Returns the CSS cursor, which
    /// shows the effect of a press.
    pub fn move_to(&mut self, x: f64, y: f64, held: bool, wall: f64) -> String {
        self.dirty = true;
        let press = self.viewer.pointer.follow([x, y], held, wall);
        if self.viewer.pointer.crosshair.is_some() && press.is_none() {
            self.put_crosshair([x, y]);
        }
        let seen = self.viewer.viewport(self.view.run());
        let cursor = match press {
            None => {
                let over = self.view.hit(&seen, [x, y], false);
                let is_axis = self.view.is_axis(&seen, y);
                self.viewer.pointer.over = over;
                if is_axis { "col-resize" } else { over.cursor() }
            }
            Some(Press { hit, moved: false, .. }) => hit.cursor(),
            Some(Press { zooms: true, .. }) => "col-resize",
            Some(Press { hit, .. }) if hit.is_limit() => {
                self.view.drag(&seen, [x, y]);
                hit.cursor()
            }
            Some(Press { from, right, past, .. }) => {
                let across = x - from[0];
                let pixel = seconds_per_pixel(seen.size[0], seen.window);
                if across.abs() > DRAG {
                    self.look_back(right, across * pixel)
                } else {
                    // A drag up or down leaves the time as it is: the present goes on.
                    self.viewer.past = past
                }
                "grabbing"
            }
        };
        cursor.to_owned()
    }

    /// The pointer goes up. A press that was no drag is a click: an event at the viewer's time `wall`, or a choice in a
    /// picture without the viewer's events. Returns whether the pointer held a press.
    pub fn release(&mut self, wall: f64) -> bool {
        let chosen = self.viewer.pointer.chosen();
        let Some(press) = self.viewer.pointer.press.take() else { return false };
        let is_click = chosen.is_none() && !(press.zooms || press.moved || press.ended);
        if is_click && self.view.takes_events() {
            if press.hit != Hit::None {
                self.click(wall, Some(press.from));
            }
            return true;
        }
        self.act();
        let [left, right] = edges(self.viewer.size[0]);
        if let Some([from, to]) = chosen {
            let from = from.max(left);
            let to = to.min(right);
            let pixel = seconds_per_pixel(self.viewer.size[0], self.window());
            self.zoom_to(self.right(), (right - to) * pixel, (to - from) * pixel);
        } else if !is_click {
            // A second click on the axis shows the whole window again.
            let second = self.viewer.axis.is_some_and(|last| wall - last < DOUBLE);
            let is_axis = press.zooms && !press.moved;
            self.viewer.axis = (is_axis && !second).then_some(wall);
            if is_axis && second {
                self.viewer.return_to_live();
                self.view.jump();
            }
        } else {
            #[cfg(not(without_tune))]
            {
                let seen = self.viewer.viewport(self.view.run());
                if let super::view::Scene::Tune(tune) = &mut self.view {
                    tune.click(&seen, press.from);
                }
            }
        }
        true
    }

    /// The pointer is gone. The picture returns from a drag to the past.
    pub fn leave(&mut self) {
        self.dirty = true;
        let pointer = core::mem::take(&mut self.viewer.pointer);
        if let Some(press) = pointer.press.filter(|press| press.moved && press.hit == Hit::Graph) {
            self.viewer.past = press.past;
        }
    }

    /// A key on the picture, at the viewer's time `wall`. Returns whether the key means something here.
    pub fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let pixels = if shift { 10.0 } else { 1.0 };
        let half = self.window().as_secs_f64() / 2.0;
        match key {
            " " | "p" | "P" | "s" | "S" | "r" | "R" if !self.view.takes_events() => return false,
            " " => {
                self.click(wall, None);
                return true;
            }
            "ArrowLeft" => self.move_crosshair(-pixels),
            "ArrowRight" => self.move_crosshair(pixels),
            "PageUp" => self.look_back(self.right(), half),
            "PageDown" => self.look_back(self.right(), -half),
            "Escape" => {
                self.viewer.return_to_live();
                self.viewer.pointer = Pointer::default();
            }
            "w" | "W" => {
                let value = match self.get("memory").as_str() {
                    "on" => "off",
                    "off" => "on",
                    _ => return false,
                };
                self.set("memory", value);
            }
            "p" | "P" => self.pause(),
            "s" | "S" => self.step(),
            "r" | "R" => return self.reset().is_ok(),
            "ArrowUp" | "ArrowDown" => {
                let Some(limit) = self.view.limit() else { return false };
                self.nudge(limit, if key == "ArrowUp" { 1.0 } else { -1.0 });
            }
            _ => return false,
        }
        self.act();
        true
    }

    /// Makes an event at the viewer's time `wall`, which is later than the last frame, by the pointer at a place, or by
    /// a key.
    fn click(&mut self, wall: f64, from: Option<[f64; 2]>) {
        self.note_action();
        if self.viewer.ended {
            self.pause();
        }
        self.pass(wall);
        // The event is in the present, so the picture returns there.
        self.viewer.past = None;
        self.view.run_mut().click();
        let at = self.view.run().now();
        self.viewer.pointer.clear_crosshair();
        self.viewer.clicks.retain(|click| click.is_seen(wall));
        self.viewer.clicks.extend(self.view.fates().map(|fates| Click { at, from, wall, fates }));
    }
}

/// The crosshair.
impl Page {
    pub(super) fn put_crosshair(&mut self, at: [f64; 2]) {
        self.dirty = true;
        let (now, right, window) = (self.view.run().now(), self.right(), self.window());
        self.viewer.point(at, [right, now], window);
    }

    /// Moves the crosshair by `by` CSS pixels, at most to an edge of the plot. A new crosshair begins at the right edge.
    fn move_crosshair(&mut self, by: f64) {
        let [from, to] = edges(self.viewer.size[0]);
        let [x, y] = self.viewer.viewport(self.view.run()).pointer.unwrap_or([to, 0.0]);
        self.put_crosshair([(x + by).max(from).min(to), y]);
    }
}
