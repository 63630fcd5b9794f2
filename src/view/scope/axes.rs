//! The grid, both vertical scales, the time scale, and the stretches nobody saw.

use super::Look;
use super::frame::{Frame, LANE};
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Baseline, Fill, Ink, Mark, Point, Rect, Stroke, Text};
use crate::scope::pace::Gap;
use crate::time::{Span, Time};

/// The distance that two horizontal grid lines should have, in CSS pixels.
const ROW: f64 = 56.0;

/// The distance that two vertical grid lines should have, in CSS pixels.
const COLUMN: f64 = 96.0;

/// The size of all text on the axes.
const SIZE: f64 = 12.0;

pub(super) fn draw(marks: &mut Vec<Mark>, frame: &Frame, look: &Look) {
    gaps(marks, frame, look.gaps);
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
    let window = look.window.secs();
    let columns = (plot.width / COLUMN).max(2.0) as usize;
    let y = plot.bottom() + 2.0 * LANE + 14.0;
    let mut pairs = Vec::new();
    for tick in axis::time_ticks(window, columns) {
        let x = plot.right() - tick.value * frame.pace;
        pairs.push((Point::new(x, plot.y), Point::new(x, plot.bottom())));
        // A label centred on either edge would leave the picture or meet the scale.
        if x - plot.x > 24.0 && plot.right() - x > 24.0 {
            marks.push(label(x, y, &tick.label, Anchor::Middle, Baseline::Middle));
        }
    }
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let right = if look.live { "now".to_owned() } else { clock(look.right) };
    marks.push(label(plot.right(), y, &right, Anchor::Middle, Baseline::Middle));
}

/// The time on the scope, as in `at 1m5s`.
fn clock(at: Time) -> String {
    let seconds = libm::round(at.as_secs() * 10.0) / 10.0;
    format!("at {}", Span::from_secs(seconds).unwrap_or_default())
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

fn gaps(marks: &mut Vec<Mark>, frame: &Frame, gaps: &[Gap]) {
    let plot = frame.plot;
    for gap in gaps.iter().filter(|gap| gap.to > frame.from && gap.from < frame.to) {
        let from = frame.x(gap.from).max(plot.x);
        let to = frame.x(gap.to).min(plot.right());
        let (x, y, width, height) = (from, plot.y, to - from, plot.height);
        let fill = Fill::new(Ink::Gap, 1.0);
        marks.push(Mark::Rects { rects: vec![Rect { x, y, width, height }], fill });
        let unseen = match gap.skipped == Span::ZERO {
            true => "while hidden".to_owned(),
            false => format!("while hidden; stood still for {}", axis::seconds(gap.skipped.secs())),
        };
        if width > 6.0 * unseen.len() as f64 {
            let x = from + width / 2.0;
            marks.push(label(x, plot.y + 14.0, &unseen, Anchor::Middle, Baseline::Middle));
        }
    }
}

pub(super) fn label(x: f64, y: f64, text: &str, anchor: Anchor, baseline: Baseline) -> Mark {
    let at = Point::new(x, y);
    let (text, ink, size) = (text.to_owned(), Ink::Muted, SIZE);
    Mark::Text(Text { at, text, ink, size, bold: false, anchor, baseline })
}
