//! The feedback to a click: a few words at the cursor, and a ring around the new mark.

use super::label::{LINE, SIZE, bold, panel, width};
use crate::plot::{Anchor, Fill, Ink, Mark, Rect};

/// How long the feedback is shown, in milliseconds.
pub const SEEN: f64 = 1000.0;

/// The radius of the ring in CSS pixels, first and last.
const RING: [f64; 2] = [6.0, 14.0];

/// The feedback to a click.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// The verdict, as in `refused: 11.6 of 10`.
    pub words: String,
    /// Whether every limiter refused the event.
    pub refused: bool,
    /// The height of each new mark, in CSS pixels from the top.
    pub marks: Vec<f64>,
}

impl Feedback {
    /// Draws it on a canvas `across` CSS pixels wide. The new marks are at `x`; `share` is the part of its
    /// time that has passed, from 0 to 1. Without a cursor, the words are above the first mark.
    pub fn draw(
        &self,
        marks: &mut Vec<Mark>,
        x: f64,
        cursor: Option<[f64; 2]>,
        share: f64,
        across: f64,
    ) {
        let ink = if self.refused { Ink::Refused } else { Ink::Allowed };
        let radius = RING[0] + (RING[1] - RING[0]) * share;
        let fill = Fill::new(ink, 0.4 * (1.0 - share));
        for y in &self.marks {
            let (side, y) = (2.0 * radius, y - radius);
            let rect = Rect { x: x - radius, y, width: side, height: side };
            marks.push(Mark::Rounded { rect, radius, fill });
        }
        let beside = || [x - 8.0, self.marks.first().map_or(0.0, |y| y - 2.0 * LINE)];
        let [right, y] = cursor.unwrap_or_else(beside);
        let (width, height) = (width(&self.words, SIZE) + 16.0, LINE + 5.0);
        // The words are above the cursor, where no hand covers them, and centred on it if there is room.
        let left = (right - width / 2.0).min(across - width - 2.0).max(2.0);
        let rect = Rect { x: left, y: (y - height - 14.0).max(2.0), width, height };
        panel(marks, rect, 6.0);
        let [x, y] = [rect.x + width / 2.0, rect.y + height / 2.0];
        marks.push(bold(x, y, &self.words, ink, SIZE, Anchor::Middle));
    }
}
