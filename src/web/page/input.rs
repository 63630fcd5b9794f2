//! The pointer over the picture, and keys.

use super::Page;
use crate::view::{edges, seconds_per_pixel};
use crate::web::pointer::Press;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Page {
    /// The pointer goes down.
    pub fn press(&mut self, x: f64, y: f64, touch: bool) {
        let from = [x, y];
        let hit = self.view.hit(&self.viewer.sees(self.view.run().now()), from, touch);
        let press = Press { hit, from, right: self.right(), moved: false };
        self.viewer.pointer.press = Some(press);
    }

    /// Whether the pointer holds the limit.
    pub fn holds_limit(&self) -> bool {
        self.viewer.pointer.holds_limit()
    }

    /// The pointer moves, and is still `held` down or not; returns the cursor that shows what a
    /// press would do.
    pub fn move_to(&mut self, x: f64, y: f64, held: bool) -> String {
        self.dirty = true;
        let press = self.viewer.pointer.follow([x, y], held);
        let seen = self.viewer.sees(self.view.run().now());
        let cursor = match press {
            None => {
                let over = self.view.hit(&seen, [x, y], false);
                self.viewer.pointer.over = over;
                over.cursor()
            }
            Some(Press { hit, moved: false, .. }) => hit.cursor(),
            Some(Press { hit, .. }) if hit.is_limit() => {
                self.view.drag(&seen, [x, y]);
                hit.cursor()
            }
            Some(Press { from, right, .. }) => {
                let pixel = seconds_per_pixel(seen.size[0], self.view.run().window());
                self.look_back(right, (x - from[0]) * pixel);
                "grabbing"
            }
        };
        cursor.to_owned()
    }

    /// The pointer goes up; if it did not move, that is an event at the time `wall`. False if it
    /// held nothing.
    pub fn release(&mut self, wall: f64) -> bool {
        let Some(press) = self.viewer.pointer.press.take() else { return false };
        self.act();
        if press.moved || self.view.click(&self.viewer.sees(self.view.run().now()), press.from) {
            return true;
        }
        let [left, right] = edges(self.viewer.size[0]);
        if self.view.is_live() && (left..=right).contains(&press.from[0]) {
            self.click(wall);
        }
        true
    }

    /// The pointer is gone.
    pub fn leave(&mut self) {
        self.dirty = true;
        self.viewer.pointer = Default::default();
    }

    /// A key on the picture, at the time `wall`; false if it means nothing.
    pub fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let pixels = if shift { 10.0 } else { 1.0 };
        let half = self.view.run().window().secs() / 2.0;
        let edges = edges(self.viewer.size[0]);
        match key {
            " " | "p" | "P" | "s" | "S" | "r" | "R" if !self.view.is_live() => return false,
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
                let Some(limit) = self.view.limit() else { return false };
                self.nudge(limit, if key == "ArrowUp" { 1.0 } else { -1.0 });
            }
            _ => return false,
        }
        self.act();
        true
    }

    /// An event at the viewer's time `wall`, and not at the last frame before it.
    fn click(&mut self, wall: f64) {
        self.pass(wall);
        self.view.run_mut().click();
    }
}
