//! A term of the red line's formula, drawn as a height at the last event when the viewer points to the term on the
//! page.

use super::layout::Layout;
use crate::plot::{Anchor, Fill, Ink, Mark, Rect, Stroke, axis};
use crate::scope::Scope;
use crate::view::label::bold;

/// The width of the bar, in CSS pixels.
const BAR: f64 = 14.0;

/// A term of the formula of the red line, `r' = max((1 - e^-x)/x w + e^-x r, w)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The rest of the rate before the event.
    Left,
    /// The amount that the event adds.
    Added,
    /// The rate with the event.
    Sum,
}

impl Term {
    /// The term with this name on the page, if any.
    pub fn named(name: &str) -> Option<Term> {
        match name {
            "left" => Some(Term::Left),
            "added" => Some(Term::Added),
            "sum" => Some(Term::Sum),
            _ => None,
        }
    }
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, term: Term) {
    let Some(event) = scope.instrument().last() else { return };
    let left = event.weights().left * event.before;
    let [from, to] = match term {
        Term::Left => [0.0, left],
        Term::Added => [left, event.rate],
        Term::Sum => [0.0, event.rate],
    };
    let per_second = event.limiter.limit.per().as_secs_f64().recip();
    let x = layout.x(event.at);
    let [top, bottom] = [to, from].map(|rate| layout.y(rate * per_second));
    if x < layout.plot.x {
        return;
    }
    let rect = Rect { x: x - BAR, y: top, width: BAR, height: bottom - top };
    marks.push(Mark::Clip(layout.plot));
    marks.push(Mark::Rects { rects: vec![rect], fill: Fill::new(Ink::Rate, 0.45) });
    let pairs = [top, bottom].map(|y| rect.across(y)).to_vec();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Text, 1.5) });
    let y = (top + bottom) / 2.0;
    marks.push(bold(x - BAR - 5.0, y, &axis::readout(to - from), Ink::Text, 13.0, Anchor::End));
    marks.push(Mark::Unclip);
}
