//! What is said beside the picture, as data: which element says what.

/// Texts change at most this often, in milliseconds; faster can't be read.
const READABLE: f64 = 100.0;

/// A screen reader is told at most this often, in milliseconds.
const POLITE: f64 = 10_000.0;

/// The texts of a page, and when they were said.
#[derive(Clone)]
pub(super) struct Texts {
    /// Three for each: the id of the element, the text, and the number it was made of, or nothing.
    list: Vec<String>,
    /// When they were last asked for, and when the summary was, in milliseconds.
    said: f64,
    summed_up: f64,
}

impl Default for Texts {
    fn default() -> Self {
        Texts { list: Vec::new(), said: f64::NEG_INFINITY, summed_up: f64::NEG_INFINITY }
    }
}

impl Texts {
    /// Whether it is time to say something, at the viewer's time `wall`, or it is `urgent`.
    pub(super) fn are_due(&mut self, wall: f64, urgent: bool) -> bool {
        let due = urgent || wall - self.said >= READABLE;
        if due {
            self.said = wall;
        }
        due
    }

    /// The element `id` says `text`.
    pub(super) fn say(&mut self, id: impl Into<String>, text: impl Into<String>) {
        self.list.extend([id.into(), text.into(), String::new()]);
    }

    /// The element `id` says `text`, which is a form of `value`.
    pub(super) fn show(&mut self, id: impl Into<String>, text: impl Into<String>, value: f64) {
        let value = match value.is_finite() {
            true => value.to_string(),
            // As JavaScript reads it.
            false => "Infinity".to_owned(),
        };
        self.list.extend([id.into(), text.into(), value]);
    }

    /// The screen reader is told the summary, if it is time at the viewer's time `wall`.
    pub(super) fn sum_up(&mut self, wall: f64, summary: impl FnOnce() -> String) {
        if wall - self.summed_up >= POLITE {
            self.summed_up = wall;
            self.say("summary", summary());
        }
    }

    /// The screen reader is told at the next chance: something was done that it should hear of.
    pub(super) fn sum_up_soon(&mut self) {
        self.summed_up = f64::NEG_INFINITY;
    }

    /// All that was said since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        core::mem::take(&mut self.list)
    }
}
