//! The names and values of the lines where they end, and the handle of the limit.

use super::layout::Layout;
use super::{Viewport, lines};
use crate::lab::scope::Scope;
use crate::plot::axis;
use crate::plot::{Anchor, Ink, Mark, Rect};
use crate::view::label::{SIZE, SMALL, TAG, small, tag};

/// What a line is called and its value, at the height of its tag.
pub(super) type Tag = (f64, &'static str, f64, Ink);

/// The tags of both lines, the upper one first.
pub(super) fn place(layout: &Layout, scope: &Scope, view: &Viewport) -> [Tag; 2] {
    let plot = layout.plot;
    let (rate, smoothed) = lines::at(scope, scope.now().min(view.right));
    let blue = if layout.narrow { "avg" } else { "smooth" };
    let mut tags = [("rate", rate, Ink::Rate), (blue, smoothed, Ink::Smoothed)]
        .map(|(name, value, ink)| (layout.y(value), name, layout.per_decay(value), ink));
    // The upper one first; the lower one makes room.
    if tags[0].0 > tags[1].0 {
        tags.swap(0, 1);
    }
    let bottom = plot.bottom() - TAG / 2.0;
    tags[0].0 = tags[0].0.max(plot.y).min(bottom - TAG - 1.0);
    tags[1].0 = tags[1].0.max(tags[0].0 + TAG + 1.0).min(bottom);
    tags
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, tags: [Tag; 2]) {
    let plot = layout.plot;
    // Wide enough for twelve, or ten, of the widest characters that browsers come with.
    let (width, size) = if layout.narrow { (76.0, SMALL) } else { (104.0, SIZE) };
    for (y, name, value, ink) in tags {
        let text = format!("{name} {}", axis::compact(value));
        tag(marks, Rect { x: plot.right() + 2.0, y, width, height: TAG }, text, ink, size);
    }
    if layout.has_limit() {
        let y = layout.limit_y();
        let width = plot.x - 4.0;
        let text = limit_text(layout.limit);
        let size = if layout.narrow { SMALL } else { SIZE };
        tag(marks, Rect { x: 2.0, y, width, height: TAG }, text, Ink::Limit, size);
        marks.push(small(plot.x + 6.0, y - 9.0, "limit", Ink::Limit, Anchor::Start));
    }
}

/// The limit as it was set, unless that is too long for a tag.
fn limit_text(limit: f64) -> String {
    let exact = limit.to_string();
    if exact.len() < 6 { exact } else { axis::compact(limit) }
}
