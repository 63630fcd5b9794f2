//! Words on a picture: on an axis, in a filled tag, in the box beside the crosshair.

use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Text};
use ratescope::time::Span;

/// The size of text, in CSS pixels.
pub(super) const SIZE: f64 = 12.0;

/// The size of small text, as in a tag on a narrow screen, in CSS pixels.
pub(super) const SMALL: f64 = 11.0;

/// The height of a tag, in CSS pixels.
pub(super) const TAG: f64 = 18.0;

/// The distance of two lines of text, in CSS pixels.
pub(super) const LINE: f64 = 17.0;

/// The distance of text from the edge of its box, in CSS pixels.
pub(super) const PAD: f64 = 8.0;

/// A label of an axis, or of a mark on the picture, around the height `y`.
pub(super) fn label(x: f64, y: f64, text: &str, anchor: Anchor) -> Mark {
    plain(x, y, text, Ink::Muted, SIZE, anchor)
}

/// A small label in the given ink, around the height `y`.
pub(super) fn small(x: f64, y: f64, text: &str, ink: Ink, anchor: Anchor) -> Mark {
    plain(x, y, text, ink, SMALL, anchor)
}

/// A line of text around the height `y`.
pub(super) fn plain(x: f64, y: f64, text: &str, ink: Ink, size: f64, anchor: Anchor) -> Mark {
    let at = Point::new(x, y);
    let text = text.to_owned();
    Mark::Text(Text { at, text, ink, size, bold: false, anchor })
}

/// A bold line of text around the height `y`.
pub(super) fn bold(x: f64, y: f64, text: &str, ink: Ink, size: f64, anchor: Anchor) -> Mark {
    let at = Point::new(x, y);
    let text = text.to_owned();
    Mark::Text(Text { at, text, ink, size, bold: true, anchor })
}

/// The number at a tick of a scale up to `top`: in full if there is room for all numbers of the scale.
pub(super) fn number(tick: &Tick, top: f64, narrow: bool) -> String {
    let room = if narrow { 1e4 } else { 1e6 };
    if top < room { tick.label.clone() } else { axis::compact(tick.value) }
}

/// The area between a line and the height `bottom`; `None` if the line has no points.
pub(super) fn below(line: &[Point], bottom: f64, fill: Fill) -> Option<Mark> {
    let first = line.first()?;
    let last = line.last()?;
    let feet = [Point::new(last.x, bottom), Point::new(first.x, bottom)];
    Some(Mark::Area { points: [line, &feet].concat(), fill })
}

/// A disc around a point.
pub(super) fn disc(Point { x, y }: Point, radius: f64, ink: Ink) -> Mark {
    let side = 2.0 * radius;
    let rect = Rect { x: x - radius, y: y - radius, width: side, height: side };
    Mark::Rounded { rect, radius, fill: Fill::new(ink, 1.0) }
}

/// A filled tag around the height `rect.y`, with its text in the colour of the background.
pub(super) fn tag(marks: &mut Vec<Mark>, rect: Rect, text: &str, ink: Ink, size: f64) {
    let x = rect.x + rect.width / 2.0;
    let y = rect.y;
    let rect = Rect { y: rect.y - rect.height / 2.0, ..rect };
    marks.push(Mark::Rounded { rect, radius: 3.0, fill: Fill::new(ink, 1.0) });
    marks.push(bold(x, y, text, Ink::Panel, size, Anchor::Middle));
}

/// The width of a bold letter of a wide font, as a share of the size of the type.
pub(super) const BOLD: f64 = 0.67;

/// A rough estimate of the width of a text, in CSS pixels: too wide rather than too narrow.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.57
}

/// A span in the style of all other times on a picture, not rounded: `1 m 30 s`.
pub fn spaced(span: Span) -> String {
    let mut text = String::new();
    let mut last = '0';
    for c in span.to_string().chars() {
        match (last.is_ascii_alphabetic(), c.is_ascii_alphabetic()) {
            (true, false) => text.push(' '),
            (false, true) => text.push('\u{202f}'),
            _ => {}
        }
        text.push(c);
        last = c;
    }
    text
}

/// The left edge of a box `width` wide and `away` from a crosshair at `x`. The box is to the right of the crosshair if
/// it ends before `right`, otherwise to the left. If it fits on neither side, it is on the side with more room.
pub(super) fn beside(x: f64, away: f64, width: f64, right: f64, canvas: f64) -> f64 {
    let [before, after] = [x - away - width, x + away];
    let is_after = after + width < right || before < 2.0 && x < canvas / 2.0;
    let left = if is_after { after } else { before };
    left.min(canvas - width - 2.0).max(2.0)
}

/// A panel with a thin edge, behind text.
pub(super) fn panel(marks: &mut Vec<Mark>, rect: Rect, radius: f64) {
    marks.push(Mark::Rounded { rect, radius, fill: Fill::new(Ink::Axis, 0.5) });
    let inner = Rect {
        x: rect.x + 1.0,
        y: rect.y + 1.0,
        width: rect.width - 2.0,
        height: rect.height - 2.0,
    };
    marks.push(Mark::Rounded {
        rect: inner,
        radius: radius - 1.0,
        fill: Fill::new(Ink::Panel, 0.96),
    });
}
