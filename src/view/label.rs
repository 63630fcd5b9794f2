//! Words on a picture: on an axis, in a filled tag, in the box beside the crosshair.

use crate::plot::{Anchor, Baseline, Fill, Ink, Mark, Point, Rect, Text};
use crate::time::Span;

/// The size of text, in CSS pixels.
pub(super) const SIZE: f64 = 12.0;

/// The size of text in a tag on a narrow screen.
pub(super) const SMALL: f64 = 11.0;

/// The height of a tag, in CSS pixels.
pub(super) const TAG: f64 = 18.0;

/// The distance of two lines of text, in CSS pixels.
pub(super) const LINE: f64 = 17.0;

/// The distance of text from the edge of its box.
pub(super) const PAD: f64 = 8.0;

/// A label of an axis, or of a mark on the picture.
pub(super) fn label(x: f64, y: f64, text: &str, anchor: Anchor, baseline: Baseline) -> Mark {
    let at = Point::new(x, y);
    let (text, ink, size) = (text.to_owned(), Ink::Muted, SIZE);
    Mark::Text(Text { at, text, ink, size, bold: false, anchor, baseline })
}

/// A small label in the given ink, around the height `y`.
pub(super) fn small(x: f64, y: f64, text: &str, ink: Ink, anchor: Anchor) -> Mark {
    let (at, text, size) = (Point::new(x, y), text.to_owned(), SMALL);
    Mark::Text(Text { at, text, ink, size, bold: false, anchor, baseline: Baseline::Middle })
}

/// A filled tag around the height `rect.y`, with its text in the colour behind it.
pub(super) fn tag(marks: &mut Vec<Mark>, rect: Rect, text: String, ink: Ink, size: f64) {
    let at = Point::new(rect.x + rect.width / 2.0, rect.y);
    let rect = Rect { y: rect.y - rect.height / 2.0, ..rect };
    marks.push(Mark::Rounded { rect, radius: 3.0, fill: Fill::new(ink, 1.0) });
    marks.push(Mark::Text(Text {
        at,
        text,
        ink: Ink::Panel,
        size,
        bold: true,
        anchor: Anchor::Middle,
        baseline: Baseline::Middle,
    }));
}

/// About how wide text is: half as wide as it is high; somewhat too much is no harm.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.57
}

/// A span in the style of all other times on a picture: `1 m 30 s`. It is exact, as it is where it is typed.
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

/// The left edge of a box of that `width`, `away` from a crosshair at `x`: to the right of it if that ends before `right`, or else to the left of it, or where there is more room on the canvas.
pub(super) fn beside(x: f64, away: f64, width: f64, right: f64, canvas: f64) -> f64 {
    let [before, after] = [x - away - width, x + away];
    let is_after = after + width < right || before < 2.0 && x < canvas / 2.0;
    let left = if is_after { after } else { before };
    left.min(canvas - width - 2.0).max(2.0)
}

/// A panel with a thin edge, to be written on.
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
