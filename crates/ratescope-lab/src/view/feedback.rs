//! The feedback to a click: a few words at the cursor, and a ring around the new mark.

use super::label::{LINE, SIZE, bold, panel, width};
use crate::plot::{Anchor, Fill, Ink, Mark, Rect};

/// The time for which the feedback is shown, in milliseconds.
pub const SEEN: f64 = 1000.0;

/// The height of the words' box in CSS pixels.
const HIGH: f64 = LINE + 5.0;

/// The distance of that box from the cursor, and its least distance above the cursor, in CSS pixels.
const AWAY: f64 = 14.0;
const NEAR: f64 = 4.0;

/// The first and the last radius of the ring, in CSS pixels.
const RING: [f64; 2] = [6.0, 14.0];

/// The feedback to a click.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// The verdict, as in `refused now: 11.6 of 10`: the event is in the present, even with the cursor in the past.
    pub words: String,
    /// Every limiter refused the event.
    pub refused: bool,
    /// The height of each new mark, in CSS pixels from the top.
    pub marks: Vec<f64>,
    /// The upper and lower edges of the strips for the words: the page lays nothing over these strips.
    pub rooms: Vec<[f64; 2]>,
}

impl Feedback {
    /// Draws the feedback on a canvas `across` CSS pixels wide. The new marks are at `x`; `share` is the part of the
    /// feedback's time that has passed, from 0 to 1. Without a cursor, the words are to the left of the first mark and
    /// above it.
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
            let side = 2.0 * radius;
            let y = y - radius;
            let rect = Rect { x: x - radius, y, width: side, height: side };
            marks.push(Mark::Rounded { rect, radius, fill });
        }
        let width = width(&self.words, SIZE) + 16.0;
        let height = HIGH;
        let before =
            || [x - 16.0 - width / 2.0, self.marks.first().map_or(0.0, |y| y - 2.0 * LINE)];
        let [middle, y] = cursor.unwrap_or_else(before);
        let left = (middle - width / 2.0).min(across - width - 2.0).max(2.0);
        let rect = Rect { x: left, y: self.top(y), width, height };
        panel(marks, rect, 6.0);
        let [x, y] = [rect.x + width / 2.0, rect.y + height / 2.0];
        marks.push(bold(x, y, &self.words, ink, SIZE, Anchor::Middle));
    }

    /// The upper edge of the words for a cursor at the height `y`, in the nearest strip. The words are above the
    /// cursor, where no hand covers them; without space there, below.
    fn top(&self, y: f64) -> f64 {
        let away = |[top, bottom]: &[f64; 2]| (top - y).max(y - bottom).max(0.0);
        let nearest = self.rooms.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
        let [top, bottom] = nearest.copied().unwrap_or([2.0, f64::INFINITY]);
        let above = (y - HIGH - AWAY).max(top);
        let free = if above + HIGH + NEAR <= y { above } else { (y + AWAY).max(top) };
        free.min(bottom - HIGH)
    }
}
