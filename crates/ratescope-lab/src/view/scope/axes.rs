//! The grid, both vertical scales, the time scale, and the names of the strips.

use super::Viewport;
use super::layout::{Layout, STRIP};
use super::tags::Tag;
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Ink, Mark, Stroke};
use crate::view::label::{SIZE, TAG, label, number, spaced};
use ratescope::time::Span;

/// The distance that two horizontal grid lines should have, in CSS pixels.
const ROW: f64 = 56.0;

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, view: &Viewport, tags: &[Tag]) {
    layout.time.gaps(marks, layout.plot, view.gaps, true);
    times(marks, layout, view);
    rates(marks, layout, tags);
    strips(marks, layout);
}

/// Both vertical scales; the grid belongs to the left one.
fn rates(marks: &mut Vec<Mark>, layout: &Layout, tags: &[Tag]) {
    let plot = layout.plot;
    let rows = (plot.height / ROW).max(2.0) as usize;
    let per_decay = layout.per_decay(layout.top);
    let per_second = layout.top;
    let ticks = axis::ticks(0.0, per_decay, rows);
    let line = |tick: &Tick| plot.across(height(layout, tick, per_decay));
    let pairs = ticks.iter().map(line).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let limit = if layout.has_limit() { layout.limit_y() } else { f64::NEG_INFINITY };
    numbers(marks, layout, &ticks, per_decay, (plot.x - 8.0, Anchor::End), &[limit]);
    // Both scales have the same zero. Only the left one writes it: on the right the name of a strip is close to it.
    let ticks = axis::ticks(0.0, per_second, rows);
    let ticks = ticks.get(1..).unwrap_or_default();
    let covered: Vec<f64> = tags.iter().map(|tag| tag.0).collect();
    numbers(marks, layout, ticks, per_second, (plot.right() + 8.0, Anchor::Start), &covered);
    let interval = spaced(Span::from_secs(layout.per_decay(1.0)).unwrap_or_default());
    let left = format!("events per {interval}");
    marks.push(label(8.0, 15.0, &left, Anchor::Start));
    let end = plot.right() + if layout.narrow { 74.0 } else { 100.0 };
    marks.push(label(end, 15.0, "per second", Anchor::End));
}

/// The y of a tick on a scale up to `top`.
fn height(layout: &Layout, tick: &Tick, top: f64) -> f64 {
    layout.plot.bottom() - tick.value / top * layout.plot.height
}

/// The numbers of a scale up to `top`. Those that a tag would cover, even in part, are left out.
fn numbers(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    ticks: &[Tick],
    top: f64,
    (x, anchor): (f64, Anchor),
    tags: &[f64],
) {
    for tick in ticks {
        let y = height(layout, tick, top);
        if tags.iter().all(|tag| (y - tag).abs() >= (TAG + SIZE) / 2.0) {
            marks.push(label(x, y, &number(tick, top, layout.narrow), anchor));
        }
    }
}

/// The time scale, backwards from the right edge.
fn times(marks: &mut Vec<Mark>, layout: &Layout, view: &Viewport) {
    let plot = layout.plot;
    let y = plot.bottom() + 2.0 * STRIP + 14.0;
    let lines = layout.time.scale(marks, y, view.live);
    let pairs = lines.into_iter().map(|x| plot.upright(x)).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    layout.time.end(marks, y, view.live);
    layout.time.flags(marks, view.flags, &[plot], y);
}

fn strips(marks: &mut Vec<Mark>, layout: &Layout) {
    let plot = layout.plot;
    let top = plot.bottom() + 4.0;
    let pairs = [1.0, 2.0].map(|n| plot.across(top + n * STRIP - 1.5)).to_vec();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let x = plot.right() + 8.0;
    marks.push(label(x, top + 0.5 * STRIP, "allowed", Anchor::Start));
    marks.push(label(x, top + 1.5 * STRIP, "× refused", Anchor::Start));
}
