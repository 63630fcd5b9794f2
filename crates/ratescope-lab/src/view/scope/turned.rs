//! Settings changed in the middle of the run, without new decisions of earlier events. The limit's line has a step at
//! the change, and a flag names the change.

use super::layout::Layout;
use crate::plot::{Anchor, Ink, Mark, Point, Stroke};
use crate::run::{Named, Turned};
use crate::scope::{Scope, Settings};
use crate::view::label::{SMALL, small, width};
use crate::view::timebase::flag;

/// The distance of a flag's text from its pole, in CSS pixels.
const AWAY: f64 = 11.0;

/// The changes after the left edge, each with the x of its flag, the latest first.
fn seen<'a>(layout: &Layout, scope: &'a Scope) -> impl Iterator<Item = (f64, &'a Turned)> {
    let place = |turned: &'a Turned| (layout.x(turned.at), turned);
    let places: Vec<_> = scope.turned().iter().rev().map(place).collect();
    let left = layout.plot.x;
    places.into_iter().take_while(move |(x, _)| *x > left)
}

/// The line of the limit: back to the last change at the present limit, and before each change at the limit of that
/// time. A limit of 0 means no limit, and has no line.
pub(super) fn limit(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, stroke: Stroke) {
    let y = |Settings { limit, decay, .. }: &Settings| {
        (*limit > 0.0).then(|| layout.y(limit / decay.as_secs_f64()))
    };
    let at = |x: f64, y: Option<f64>| Some(Point::new(x, y?));
    let mut line = |from: Option<Point>, to: Option<Point>| {
        marks.extend(from.zip(to).map(|(from, to)| Mark::Line { from, to, stroke }));
    };
    let mut settings = scope.settings().clone();
    let mut right = layout.plot.right();
    for (x, turned) in seen(layout, scope) {
        let now = y(&settings);
        // Each setting reads the text that it wrote, so this cannot fail.
        let _ = settings.set(&turned.name, &turned.from);
        let before = y(&settings);
        if x < right && before != now {
            line(at(x, now), at(right, now));
            line(at(x, before), at(x, now));
            right = x;
        }
    }
    let y = y(&settings);
    line(at(layout.plot.x, y), at(right, y));
}

/// A flag at each change, with its text if there is room.
pub(super) fn flags(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope) {
    let plot = layout.plot;
    let mut poles = Vec::new();
    let mut free = plot.right();
    let mut flags = seen(layout, scope).filter(|(x, _)| *x <= plot.right()).peekable();
    while let Some((x, turned)) = flags.next() {
        poles.push(plot.upright(x));
        marks.push(flag(x, plot.y));
        let text = format!("{} {} → {}", turned.name, turned.from, turned.to);
        let wide = width(&text, SMALL) + AWAY + 4.0;
        let y = plot.y - 5.0;
        let before = flags.peek().map_or(plot.x, |(x, _)| x + AWAY);
        if x + wide <= free {
            marks.push(small(x + AWAY, y, &text, Ink::Text, Anchor::Start));
            free = x;
        } else if x - wide >= before && x <= free {
            marks.push(small(x - 4.0, y, &text, Ink::Text, Anchor::End));
            free = x - wide;
        } else {
            free = free.min(x);
        }
    }
    if !poles.is_empty() {
        marks.push(Mark::Segments { pairs: poles, stroke: Stroke::dashed(Ink::Crosshair, 1.0) });
    }
}
