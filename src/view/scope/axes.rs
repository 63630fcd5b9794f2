//! The grid, both vertical scales, the time scale, and the names of the strips.

use super::Look;
use super::frame::{Frame, LANE};
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Baseline, Ink, Mark, Point, Stroke};
use crate::time::Span;
use crate::view::label::label;

/// The distance that two horizontal grid lines should have, in CSS pixels.
const ROW: f64 = 56.0;

pub(super) fn draw(marks: &mut Vec<Mark>, frame: &Frame, look: &Look) {
    frame.time.gaps(marks, frame.plot, look.gaps, true);
    times(marks, frame, look);
    rates(marks, frame);
    lanes(marks, frame);
}

/// Both vertical scales; the grid belongs to the left one.
fn rates(marks: &mut Vec<Mark>, frame: &Frame) {
    let plot = frame.plot;
    let rows = (plot.height / ROW).max(2.0) as usize;
    let top = frame.per_decay(frame.top());
    let ticks = axis::ticks(0.0, top, rows);
    let y = |value: f64| plot.bottom() - value / top * plot.height;
    let line = |value: f64| {
        let y = y(value);
        (Point::new(plot.x, y), Point::new(plot.right(), y))
    };
    let pairs = ticks.iter().map(|tick| line(tick.value)).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    for tick in &ticks {
        let text = number(frame, tick, top);
        marks.push(label(plot.x - 8.0, y(tick.value), &text, Anchor::End, Baseline::Middle));
    }
    let per_second = frame.top();
    // The two zeros are one, and on the right there is a lane's name beside it.
    for tick in axis::ticks(0.0, per_second, rows).into_iter().filter(|tick| tick.value > 0.0) {
        let y = plot.bottom() - tick.value / per_second * plot.height;
        let text = number(frame, &tick, per_second);
        marks.push(label(plot.right() + 8.0, y, &text, Anchor::Start, Baseline::Middle));
    }
    let interval = Span::from_secs(frame.per_decay(1.0)).unwrap_or_default();
    let left = format!("events per {interval}");
    marks.push(label(8.0, 15.0, &left, Anchor::Start, Baseline::Middle));
    let end = plot.right() + if frame.narrow { 74.0 } else { 100.0 };
    marks.push(label(end, 15.0, "per second", Anchor::End, Baseline::Middle));
}

/// How a tick is written: in full, where there is room for all up to `top`.
fn number(frame: &Frame, tick: &Tick, top: f64) -> String {
    let room = if frame.narrow { 1e4 } else { 1e6 };
    if top < room { tick.label.clone() } else { axis::compact(tick.value) }
}

/// The time scale, backwards from the right edge.
fn times(marks: &mut Vec<Mark>, frame: &Frame, look: &Look) {
    let plot = frame.plot;
    let y = plot.bottom() + 2.0 * LANE + 14.0;
    let lines = frame.time.scale(marks, y);
    let line = |x: f64| (Point::new(x, plot.y), Point::new(x, plot.bottom()));
    let pairs = lines.into_iter().map(line).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    frame.time.end(marks, y, look.live);
}

fn lanes(marks: &mut Vec<Mark>, frame: &Frame) {
    let plot = frame.plot;
    let top = plot.bottom() + 4.0;
    let base = |y: f64| (Point::new(plot.x, y), Point::new(plot.right(), y));
    let pairs = vec![base(top + LANE - 1.5), base(top + 2.0 * LANE - 1.5)];
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let x = plot.right() + 8.0;
    marks.push(label(x, top + 0.5 * LANE, "allowed", Anchor::Start, Baseline::Middle));
    marks.push(label(x, top + 1.5 * LANE, "× refused", Anchor::Start, Baseline::Middle));
}
