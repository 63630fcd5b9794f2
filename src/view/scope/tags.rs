//! The names and values of the lines where they end, and the handle of the limit.

use super::frame::Frame;
use super::{Look, lines};
use crate::lab::scope::Scope;
use crate::plot::axis;
use crate::plot::{Anchor, Ink, Mark, Rect};
use crate::text::Decimal;
use crate::view::label::{SIZE, SMALL, TAG, small, tag};

/// What a line is called and its value, at the height of its tag.
pub(super) type Tag = (f64, &'static str, f64, Ink);

/// The tags of both lines, the upper one first.
pub(super) fn place(frame: &Frame, scope: &Scope, look: &Look) -> [Tag; 2] {
    let plot = frame.plot;
    let (rate, smoothed) = lines::at(scope, scope.now().min(look.right));
    let blue = if frame.narrow { "avg" } else { "smooth" };
    let mut tags = [("rate", rate, Ink::Rate), (blue, smoothed, Ink::Smoothed)]
        .map(|(name, value, ink)| (frame.y(value), name, frame.per_decay(value), ink));
    // The upper one first; the lower one makes room.
    if tags[0].0 > tags[1].0 {
        tags.swap(0, 1);
    }
    let bottom = plot.bottom() - TAG / 2.0;
    tags[0].0 = tags[0].0.max(plot.y).min(bottom - TAG - 1.0);
    tags[1].0 = tags[1].0.max(tags[0].0 + TAG + 1.0).min(bottom);
    tags
}

pub(super) fn draw(marks: &mut Vec<Mark>, frame: &Frame, tags: [Tag; 2]) {
    let plot = frame.plot;
    // Wide enough for twelve, or ten, of the widest characters that browsers come with.
    let (width, size) = if frame.narrow { (76.0, SMALL) } else { (104.0, SIZE) };
    for (y, name, value, ink) in tags {
        let text = format!("{name} {}", axis::compact(value));
        tag(marks, Rect { x: plot.right() + 2.0, y, width, height: TAG }, text, ink, size);
    }
    if frame.has_limit() {
        let y = frame.limit_y();
        let width = plot.x - 4.0;
        let text = limit_text(frame.limit);
        let size = if frame.narrow { SMALL } else { SIZE };
        tag(marks, Rect { x: 2.0, y, width, height: TAG }, text, Ink::Limit, size);
        marks.push(small(plot.x + 6.0, y - 9.0, "limit", Ink::Limit, Anchor::Start));
    }
}

/// The limit as it was set, unless that is too long for a tag.
fn limit_text(limit: f64) -> String {
    let exact = Decimal(limit).to_string();
    if exact.len() < 6 { exact } else { axis::compact(limit) }
}
