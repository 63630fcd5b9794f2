//! The cumulative picture: requests sent, and requests that each lane allowed.

use super::Viewport;
use super::layout::{Layout, ROW};
use super::level::places;
use super::numbers;
use super::trail::Trail;
use crate::compare::{Comparison, Lane};
use crate::lane::history::{Column, Columns};
use crate::plot::axis;
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{SMALL, bold, label, number, small};
use ratescope::time::Time;

/// A count of events from an instant on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// The count before the column of that instant.
    before: u64,
    of: fn(&Column) -> u64,
}

impl Count {
    /// Events sent from `from` on, as far as the lane's history reaches.
    pub(super) fn of_sent(lane: &Lane, from: Time) -> Self {
        let events = |c: &Column| u64::from(c.allowed) + u64::from(c.refused);
        Self::beginning(lane, from, |c| c.sent, events)
    }

    /// Events that a lane allowed from `from` on.
    pub(super) fn of_allowed(lane: &Lane, from: Time) -> Self {
        Self::beginning(lane, from, |c| c.passed, |c| c.allowed.into())
    }

    fn beginning(lane: &Lane, from: Time, of: fn(&Column) -> u64, own: fn(&Column) -> u64) -> Self {
        let first = lane.history().column_at(from.max(lane.history().oldest()));
        Count { before: first.map_or(0, |c| of(c).saturating_sub(own(c))), of }
    }

    /// The count at the end of a column.
    pub(super) fn at(&self, column: &Column) -> u64 {
        (self.of)(column).saturating_sub(self.before)
    }

    /// The count at an instant; zero before the history.
    pub(super) fn until(&self, comparison: &Comparison, lane: &Lane, at: Time) -> u64 {
        numbers::column(comparison.now(), lane, at).map_or(0, |column| self.at(column))
    }
}

/// The lane whose history reaches back furthest, with its index; `None` without lanes.
pub(super) fn elder(comparison: &Comparison) -> Option<(usize, &Lane)> {
    comparison.lanes().iter().enumerate().min_by_key(|(_, lane)| lane.history().oldest())
}

pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    comparison: &Comparison,
    columns: &[Columns<'_>],
    view: &Viewport,
) {
    let Some(plot) = layout.totals else { return };
    let top = if view.top.is_finite() && view.top > 0.0 { view.top } else { 1.0 };
    let y = |count: u64| plot.bottom() - (count as f64 / top).min(1.1) * plot.height;
    let title = if comparison.lanes().iter().any(|lane| lane.crowd().is_some()) {
        "In this window: allowed per lane"
    } else {
        "In this window: sent, and allowed per lane"
    };
    scale(marks, layout, plot, top, title);
    marks.push(Mark::Clip(Rect { y: plot.y - 2.0, height: plot.height + 4.0, ..plot }));
    let end = layout.time.x(comparison.now()).min(layout.right);
    let mut rows = Vec::with_capacity(columns.len() + 1);
    let from = layout.time.from;
    // The requests of clients differ from lane to lane.
    let alike = comparison.lanes().iter().all(|lane| lane.crowd().is_none());
    if let Some((i, lane)) = elder(comparison).filter(|_| alike)
        && let Some(columns) = columns.get(i)
    {
        let sent = Count::of_sent(lane, from);
        let points = steps(layout, columns, end, plot.bottom(), |c| y(sent.at(c)));
        marks.push(Mark::Polyline { points, stroke: Stroke::solid(Ink::Exact, 3.5) });
        let count = sent.until(comparison, lane, view.right);
        insert(&mut rows, Row { y: y(count), lane: None, count });
    }
    for (i, (lane, columns)) in comparison.lanes().iter().zip(columns).enumerate() {
        let allowed = Count::of_allowed(lane, from);
        let points = steps(layout, columns, end, plot.bottom(), |c| y(allowed.at(c)));
        marks.push(Mark::Polyline { points, stroke: Stroke::solid(layout.ink(i), 1.75) });
        let count = allowed.until(comparison, lane, view.right);
        insert(&mut rows, Row { y: y(count), lane: Some(i), count });
    }
    marks.push(Mark::Unclip);
    names(marks, layout, plot, &mut rows, end >= layout.right);
}

/// The scale of counts and the title.
fn scale(marks: &mut Vec<Mark>, layout: &Layout, plot: Rect, top: f64, title: &str) {
    let ticks = axis::ticks(0.0, top, (plot.height / 36.0).max(2.0) as usize);
    let y = |value: f64| plot.bottom() - value / top * plot.height;
    let pairs = ticks.iter().map(|tick| plot.across(y(tick.value))).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    for tick in &ticks {
        let text = number(tick, top, layout.narrow);
        marks.push(small(plot.x - 8.0, y(tick.value), &text, Ink::Muted, Anchor::End));
    }
    marks.push(label(8.0, layout.title, title, Anchor::Start));
}

/// The line of a count, whose zero is at the height `zero`: it steps up at a single event, and slopes over a column
/// of several events.
fn steps(
    layout: &Layout,
    columns: &Columns<'_>,
    until: f64,
    zero: f64,
    y: impl Fn(&Column) -> f64,
) -> Vec<Point> {
    let mut line = Trail::with_capacity(columns.len());
    let mut last = zero;
    for (column, [start, end]) in places(&layout.time, columns) {
        let next = y(column);
        if line.points.is_empty() {
            line.to(start.max(layout.left), last);
        }
        if next != last {
            let x = column.judged.map_or(start, |(at, _)| layout.time.x(at));
            let one = u64::from(column.allowed) + u64::from(column.refused) == 1;
            line.to(if one { x } else { start }, last);
            line.to(if one { x } else { x.max(start).min(end) }, next);
            last = next;
        }
    }
    if !line.points.is_empty() {
        line.to(until, last);
    }
    line.points
}

/// A text beside the end of a line.
struct Row {
    y: f64,
    /// `None` for the requests sent.
    lane: Option<usize>,
    count: u64,
}

/// Adds a row; rows are in the order of their lines, from the top.
fn insert(rows: &mut Vec<Row>, row: Row) {
    let place = rows.partition_point(|other| other.y <= row.y);
    rows.insert(place, row);
}

/// The names and counts of all lines, each as near to the end of its line as the others leave room. A stroke joins them if
/// the lines end at the edge: those of a run that is still on its way end somewhere before.
fn names(marks: &mut Vec<Mark>, layout: &Layout, plot: Rect, rows: &mut [Row], at_edge: bool) {
    let above = plot.y - 4.0;
    let below = plot.bottom() + 4.0;
    let pitch = ((below - above) / rows.len().max(1) as f64).min(ROW);
    let ends: Vec<f64> = rows.iter().map(|row| row.y).collect();
    let mut least = above + pitch / 2.0;
    for row in rows.iter_mut() {
        row.y = row.y.max(least);
        least = row.y + pitch;
    }
    let mut most = below - pitch / 2.0;
    for row in rows.iter_mut().rev() {
        row.y = row.y.min(most);
        most = row.y - pitch;
    }
    for (row, end) in rows.iter().zip(ends) {
        let [from, to] = [plot.right() + 2.0, plot.right() + 10.0];
        let ink = row.lane.map_or(Ink::Exact, |i| layout.ink(i));
        if at_edge {
            let points = vec![Point::new(from, end), Point::new(to, row.y)];
            marks.push(Mark::Polyline { points, stroke: Stroke::solid(ink, 1.0) });
        }
        let count = numbers::count(row.count);
        match row.lane {
            Some(i) => {
                chip(marks, to, row.y, pitch - 2.0, i, layout.ink(i));
                marks.push(small(to + 22.0, row.y, &count, Ink::Text, Anchor::Start));
            }
            None => {
                let text = format!("{count} sent");
                marks.push(small(to + 3.0, row.y, &text, Ink::Muted, Anchor::Start));
            }
        }
    }
}

/// The width of a lane's number.
const CHIP: f64 = 18.0;

/// The number of lane `i` on its colour, with its left edge at `x`.
pub(super) fn chip(marks: &mut Vec<Mark>, x: f64, y: f64, height: f64, i: usize, ink: Ink) {
    let rect = Rect { x, y: y - height / 2.0, width: CHIP, height };
    marks.push(Mark::Rounded { rect, radius: 3.0, fill: Fill::new(ink, 1.0) });
    let text = (i + 1).to_string();
    let size = SMALL.min(height);
    marks.push(bold(x + CHIP / 2.0, y, &text, Ink::Panel, size, Anchor::Middle));
}
