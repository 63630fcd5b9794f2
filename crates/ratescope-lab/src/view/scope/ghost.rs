//! The ghost: the rates of two senders that start from rest and send as much as the limit allows. One sends all at
//! once, the other evenly, and both stop before a refusal. The ghost stands still while time runs.

use super::layout::Layout;
use crate::plot::{Anchor, Ink, Mark, Point, Stroke};
use crate::scope::Scope;
use crate::view::label::small;

/// The distance between two points of a curve, in CSS pixels.
const STEP: f64 = 2.0;

/// The place at which the ghost begins, as a share of the width.
const BEGIN: f64 = 0.1;

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope) {
    // The settings of a run are always valid for a limiter, so this cannot fail.
    let Ok(outlook) = scope.settings().outlook() else { return };
    let plot = layout.plot;
    let begin = plot.x + BEGIN * plot.width;
    let point = |seconds: f64, rate: f64| {
        Point::new(begin + seconds * layout.time.pace, layout.y(rate / outlook.decay))
    };
    marks.push(Mark::Clip(plot));
    let visible = (plot.right() - begin) / layout.time.pace;
    let burst = |t| outlook.burst_at(t).map(|rate| point(t, rate));
    let even = |t| outlook.even_at(t).map(|rate| point(t, rate));
    curve(marks, layout, begin, &[], &burst);
    // The last even event that passes gets a separate point, since the steps may miss it.
    let last = outlook.last_passes();
    curve(marks, layout, begin, &[last], &even);
    // Each name is beside its curve, a tenth of the decay interval after the highest point.
    let later = 0.1 * outlook.decay;
    for (name, at) in
        [("at once", burst(visible.min(later))), ("even", even(visible.min(last + later)))]
    {
        let Some(at) = at else { continue };
        let (x, up, anchor) = if at.x + 60.0 < plot.right() {
            (at.x + 6.0, 3.0, Anchor::Start)
        } else {
            (plot.right() - 6.0, 9.0, Anchor::End)
        };
        marks.push(small(x, at.y - up, name, Ink::Limit, anchor));
    }
    marks.push(Mark::Unclip);
}

/// A line that rises from zero at `begin` and follows the curve `at` to the right edge. Besides points at even steps,
/// it has points at the seconds `through` after its beginning.
fn curve(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    begin: f64,
    through: &[f64],
    at: &dyn Fn(f64) -> Option<Point>,
) {
    let right = layout.plot.right();
    let steps = libm::floor((right - begin) / STEP).max(0.0) as usize;
    let mut points = Vec::with_capacity(steps + 3);
    points.push(Point::new(begin, layout.plot.bottom()));
    points.extend((0..=steps).filter_map(|i| at(i as f64 * STEP / layout.time.pace)));
    if points.len() == 1 {
        return;
    }
    for point in through.iter().filter_map(|&t| at(t)).filter(|point| point.x <= right) {
        points.insert(points.partition_point(|before| before.x <= point.x), point);
    }
    marks.push(Mark::Polyline { points, stroke: Stroke::dashed(Ink::Limit, 1.0) });
}
