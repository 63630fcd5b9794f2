//! A lane: its scale, its level, its strips of events and the tag with its present level.

use super::Viewport;
use super::flights;
use super::layout::{Layout, Parts};
use super::level::{self, Scale, places};
use super::numbers;
use crate::compare::{Comparison, Lane};
use crate::lane::history::{Column, Columns};
use crate::plot::axis;
use crate::plot::{Anchor, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{SMALL, number, small, tag, width};
use crate::view::strip::{self, Group};

/// The height of the tag beside a line.
const TAG: f64 = 16.0;

/// The height of the digits beside the scale.
const DIGITS: f64 = 9.0;

/// The time axis with its grid through all plots, and the stretches of time that were not watched.
pub(super) fn axis(marks: &mut Vec<Mark>, layout: &Layout, view: &Viewport) {
    let last = layout.plots().last();
    for plot in layout.plots() {
        layout.time.warming(marks, plot, view.warming, Some(plot) == last);
        layout.time.gaps(marks, plot, view.gaps, Some(plot) == last);
    }
    let lines = layout.time.scale(marks, layout.axis, view.live);
    let mut pairs = Vec::with_capacity(lines.len() * 9);
    for plot in layout.plots() {
        pairs.extend(lines.iter().map(|x| plot.upright(*x)));
    }
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let plots: Vec<_> = layout.plots().collect();
    layout.time.end(marks, layout.axis, view.live);
    // A flag on top of its pole would cover the text in the head of a lane.
    layout.time.poles(marks, view.flags, &plots, layout.axis);
}

#[allow(clippy::too_many_arguments)] // One lane is drawn from all of these.
pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    i: usize,
    comparison: &Comparison,
    lane: &Lane,
    columns: &Columns<'_>,
    top: f64,
    view: &Viewport,
) {
    let parts = layout.lane(i);
    let top = if top.is_finite() && top > 0.0 { top } else { 1.0 };
    let scale = Scale { plot: parts.level, top };
    values(marks, layout, scale, &parts);
    // The strips are named once, on the first lane.
    if i == 0 {
        names(marks, layout, &parts);
    }
    level::draw(marks, &layout.time, scale, lane, columns, comparison.now(), layout.ink(i));
    flights::draw(marks, layout, i, comparison, lane, view);
    events(marks, layout, i, columns, view);
    // The reading now, or at the right edge of a picture of the past. Recorded events are decided beyond the right
    // edge.
    let stands = if view.live && comparison.now() <= view.right {
        Some(lane.level(comparison.now()))
    } else {
        numbers::column(comparison.now(), lane, view.right).map(|c| (c.end, c.limit))
    };
    if let Some((level, limit)) = stands {
        stand(marks, layout, scale, layout.ink(i), level, limit);
    }
}

/// The scale of the level and its grid.
fn values(marks: &mut Vec<Mark>, layout: &Layout, scale: Scale, parts: &Parts) {
    let line = |y: f64| (Point::new(layout.left, y), Point::new(layout.right, y));
    let room = (scale.plot.height / DIGITS).clamp(1.0, 3.0);
    let ticks = axis::ticks(0.0, scale.top, room as usize);
    let mut pairs: Vec<_> = ticks.iter().map(|tick| line(scale.y(tick.value))).collect();
    pairs.push(line(parts.allowed.top + parts.allowed.height - 1.5));
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    for tick in &ticks {
        let text = number(tick, scale.top, layout.narrow);
        marks.push(small(layout.left - 8.0, scale.y(tick.value), &text, Ink::Muted, Anchor::End));
    }
}

/// The names of the strips.
fn names(marks: &mut Vec<Mark>, layout: &Layout, parts: &Parts) {
    let x = layout.right + 8.0;
    for (strip, name) in [(parts.refused, "× refused"), (parts.allowed, "allowed")] {
        let y = strip.top + strip.height / 2.0;
        marks.push(small(x, y, name, Ink::Muted, Anchor::Start));
    }
}

/// Refused events above the level and allowed ones below it.
fn events(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    lane: usize,
    columns: &Columns<'_>,
    view: &Viewport,
) {
    let parts = layout.lane(lane);
    let mut allowed = Vec::new();
    let mut refused = Vec::new();
    for (column, edges) in places(&layout.time, columns) {
        for (groups, events, passed) in
            [(&mut allowed, column.allowed, true), (&mut refused, column.refused, false)]
        {
            // The event of a click gets its mark when it has landed.
            let flying = |(at, _)| view.flying(lane, passed, [at, at]);
            let events = events - column.judged.map_or(0, flying).min(events);
            if events > 0 {
                let [first, last] = place(layout, column, edges, events, passed);
                if last >= layout.left && first <= layout.right {
                    groups.push(Group { first, last: last.min(layout.right), events });
                }
            }
        }
    }
    strip::refused(marks, parts.refused, &refused);
    strip::allowed(marks, parts.allowed, &allowed);
}

/// The left and the right end of the events with one verdict in a column. The column has the exact time of its last
/// event only.
fn place(
    layout: &Layout,
    column: &Column,
    [start, end]: [f64; 2],
    events: u32,
    passed: bool,
) -> [f64; 2] {
    match column.judged {
        Some((at, outcome)) if events == 1 && outcome.is_allowed() == passed => {
            [layout.time.x(at); 2]
        }
        // Never later than the last event, so that nothing is drawn in the future.
        Some((at, _)) => [start, layout.time.x(at).max(start).min(end)],
        None => [start, end],
    }
}

/// The tag beside the end of the line: the level and the limit.
fn stand(marks: &mut Vec<Mark>, layout: &Layout, scale: Scale, ink: Ink, level: f64, limit: f64) {
    let room = if layout.narrow { 76.0 } else { 104.0 };
    let mut text = numbers::level(level, limit);
    if width(&text, SMALL) * 1.05 > room - 6.0 {
        text = numbers::short(level);
    }
    let plot = scale.plot;
    // The tag must not cover the names of the strips.
    let y = scale.y(level).max(plot.y + TAG / 2.0 + 1.0).min(plot.bottom() - TAG / 2.0 - 1.0);
    let rect = Rect { x: layout.right + 2.0, y, width: room, height: TAG };
    tag(marks, rect, &text, ink, SMALL);
}
