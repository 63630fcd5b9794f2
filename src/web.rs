//! The pages: what the browser tells them, and what they show. Only in WebAssembly.
//!
//! Each page is a module of its own, so that a visitor loads what the page needs and no more. Its
//! script loads the module and calls it for everything that happens; times are those of the
//! browser's own events and frames, in milliseconds.

mod canvas;
mod ease;
mod pointer;

mod compare;
mod comparison;

mod app;
mod dom;
mod scope;

pub use compare::Compare;
pub use scope::Page;

use crate::time::{Span, Time};
use wasm_bindgen::JsValue;

/// What a step lets pass.
const STEP: Span = Span::micros(100_000);

/// What is wrong with a link whose run would take too long.
const STOPS_EARLY: &str = "This recording is too long to replay; it stops early.";

/// With reduced motion, the graph is drawn anew only this often, in milliseconds.
const STILL: f64 = 1000.0;

/// The instant `seconds` before `from`, or after it if negative, as the right edge of a run that is
/// remembered from `oldest` on; `None` is the present, `now`.
fn look_back(from: Time, seconds: f64, oldest: Time, now: Time) -> Option<Time> {
    let micros = from.as_micros().saturating_sub((seconds * 1e6) as i64);
    let right = Time::from_micros(micros).max(oldest);
    (right < now).then_some(right)
}

/// Has the console say what a panic says. Where it was, the error that the script then catches has.
fn tell_of_panics() {
    console_error_panic_hook::set_once();
}

fn said(error: impl core::fmt::Display) -> JsValue {
    JsValue::from_str(&error.to_string())
}
