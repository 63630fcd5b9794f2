//! The grid, the vertical scale, the time scale, and the names of the strips.

use super::Viewport;
use super::layout::{HEADING, Layout, STRIP};
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Ink, Mark, Stroke};
use crate::view::label::{SIZE, TAG, label, number, spaced};
use crate::view::timebase::flag;
use ratescope::time::Span;

/// The intended distance of horizontal grid lines, in CSS pixels.
const ROW: f64 = 56.0;

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, view: &Viewport) {
    layout.time.gaps(marks, layout.plot, view.gaps, true);
    times(marks, layout, view);
    rates(marks, layout);
    strips(marks, layout);
}

/// The vertical scale, and its grid, without the numbers that the tag of the limit would cover, even in part.
fn rates(marks: &mut Vec<Mark>, layout: &Layout) {
    let plot = layout.plot;
    let rows = (plot.height / ROW).max(2.0) as usize;
    let top = layout.per_decay(layout.top);
    let ticks = axis::ticks(0.0, top, rows);
    let height = |tick: &Tick| plot.bottom() - tick.value / top * plot.height;
    let pairs = ticks.iter().map(|tick| plot.across(height(tick))).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let limit = if layout.has_limit() { layout.limit_y() } else { f64::NEG_INFINITY };
    for tick in &ticks {
        let y = height(tick);
        if (y - limit).abs() >= (TAG + SIZE) / 2.0 {
            let text = number(tick, top, layout.narrow);
            marks.push(label(plot.x - 8.0, y, &text, Anchor::End));
        }
    }
    let interval = spaced(Span::try_from_secs_f64(layout.per_decay(1.0)).unwrap_or_default());
    marks.push(label(8.0, HEADING, &format!("events per {interval}"), Anchor::Start));
}

/// The time scale, backwards from the right edge.
fn times(marks: &mut Vec<Mark>, layout: &Layout, view: &Viewport) {
    let plot = layout.plot;
    let y = layout.axis();
    let lines = layout.time.scale(marks, y, view.live);
    let pairs = lines.into_iter().map(|x| plot.upright(x)).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    layout.time.end(marks, y, view.live);
    let poles = layout.time.poles(marks, view.flags, &[plot], y);
    marks.extend(poles.into_iter().map(|x| flag(x, plot.y)));
}

fn strips(marks: &mut Vec<Mark>, layout: &Layout) {
    let plot = layout.plot;
    let top = layout.strips;
    let pairs = [1.0, 2.0].map(|n| plot.across(top + n * STRIP - 1.5)).to_vec();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let x = plot.right() + 8.0;
    marks.push(label(x, top + 0.5 * STRIP, "allowed", Anchor::Start));
    marks.push(label(x, top + 1.5 * STRIP, "× refused", Anchor::Start));
}
