//! The red and the blue line, the exact count and the limit; and the drawing of any line.

use super::layout::Layout;
use super::{Viewport, models, turned};
use crate::plot::{Fill, Ink, Mark, Point, Stroke};
use crate::scope::Scope;
use crate::trace::{self, Column, Extent};
use crate::view::compare::level::{self, Scale};
use crate::view::compare::numbers;
use crate::view::label::below;
use ratescope::time::Time;

/// The distance between two points of a curve, in CSS pixels.
const STEP: f64 = 2.0;

/// A column's range of fewer CSS pixels is invisible.
const VISIBLE: f64 = 0.5;

/// The ink of a lane's level.
pub(super) const LEVEL: Ink = Ink::Lane(7);

/// The red or the blue line.
#[derive(Clone, Copy)]
enum Line {
    Red,
    Blue,
}

impl Line {
    /// The value at `at` in events per second, without events after the point.
    fn at(self, point: &trace::TracePoint, at: Time) -> f64 {
        match self {
            Line::Red => point.rate_at(at),
            Line::Blue => point.smoothed_at(at),
        }
    }

    /// The stretch of the line in a column.
    fn of(self, column: &Column) -> Stretch {
        let (end, range) = match self {
            Line::Red => (column.end.rate, column.rate),
            Line::Blue => (column.end.smoothed, column.smoothed),
        };
        Stretch { first: column.first, last: column.last(), end, range }
    }
}

/// The red and the blue line at an instant, in events per second.
pub(super) fn at(scope: &Scope, at: Time) -> (f64, f64) {
    let column = scope.instrument().trace().column_at(at);
    column.map_or((0.0, 0.0), |c| (c.end.rate_at(at), c.end.smoothed_at(at)))
}

/// The level at an instant of the lane that decides; `None` if Exim's limiter decides.
pub(super) fn level(scope: &Scope, at: Time) -> Option<f64> {
    let lane = scope.instrument().lane()?;
    if at < scope.now() {
        numbers::column(scope.now(), lane, at).map(|column| column.end)
    } else {
        Some(lane.level(at).0)
    }
}

pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    columns: &[&Column],
    scope: &Scope,
    view: &Viewport,
) {
    let now = scope.now().min(layout.time.to);
    let [red, blue] = [Line::Red, Line::Blue].map(|line| {
        path(layout, columns, now, true, &|c| line.of(c), &|c, at| line.at(&c.end, at))
    });
    marks.push(Mark::Clip(layout.plot));
    if scope.settings().exact {
        let exact = count(layout, scope, now);
        marks.push(Mark::Polyline { points: exact, stroke: Stroke::solid(Ink::Exact, 1.5) });
    }
    models::draw(marks, layout, scope, now);
    let lane = scope.instrument().lane();
    let width = if view.on_limit { 3.0 } else { 1.5 };
    if let Some(lane) = lane {
        let from = layout.time.from;
        let to = layout.time.to;
        let columns = lane.history().columns(from, to, 1.0 / layout.time.pace);
        let scale = Scale { plot: layout.plot, top: layout.per_decay(layout.top) };
        level::draw(marks, &layout.time, scale, lane, &columns, scope.now(), LEVEL);
    } else {
        turned::limit(marks, layout, scope, Stroke::dashed(Ink::Limit, width));
    }
    if lane.is_none() {
        marks.extend(below(&red, layout.plot.bottom(), Fill::new(Ink::Rate, 0.09)));
    }
    if !view.hides_blue {
        marks.push(Mark::Polyline { points: blue, stroke: Stroke::solid(Ink::Smoothed, 3.0) });
    }
    marks.push(Mark::Polyline { points: red, stroke: Stroke::solid(Ink::Rate, 1.75) });
    marks.push(Mark::Unclip);
}

/// The course of a line in a column.
pub(super) struct Stretch {
    pub(super) first: Time,
    pub(super) last: Time,
    /// The value just after the last point, in events per second.
    pub(super) end: f64,
    pub(super) range: Extent,
}

/// The points of one line: through each column as `of` says, and between columns in closed form by `at`, the line's
/// value at an instant after a column. If `whole`, the columns begin with the run, so a line whose first column is in
/// sight begins at zero; otherwise it begins with the first column.
pub(super) fn path<C>(
    layout: &Layout,
    columns: &[&C],
    now: Time,
    whole: bool,
    of: &dyn Fn(&C) -> Stretch,
    at: &dyn Fn(&C, Time) -> f64,
) -> Vec<Point> {
    let mut points = Vec::with_capacity(columns.len() + 64);
    let first = columns.first().map(|column| of(column).first);
    // Before the first event every line is at zero.
    if whole && first.is_none_or(|first| first >= layout.time.from) {
        let until = first.unwrap_or(now);
        points.push(Point::new(layout.x(Time::ZERO.min(until)).max(layout.plot.x), layout.y(0.0)));
        points.push(Point::new(layout.x(until), layout.y(0.0)));
    }
    let mut before: Option<(&C, Time)> = None;
    for column in columns {
        let Stretch { first, last, end, range: Extent { low, high } } = of(column);
        if let Some((before, last)) = before {
            curve(&mut points, layout, [last, first], &|time| at(before, time));
        }
        let x = (layout.x(first) + layout.x(last)) / 2.0;
        if layout.y(low) - layout.y(high) > VISIBLE {
            points.push(Point::new(x, layout.y(high)));
            points.push(Point::new(x, layout.y(low)));
        }
        points.push(Point::new(layout.x(last), layout.y(end)));
        before = Some((column, last));
    }
    if let Some((before, last)) = before {
        curve(&mut points, layout, [last, now], &|time| at(before, time));
    }
    points
}

/// Adds the points of the line from the end of a column, at `last`, to the next event, at `until`.
fn curve(
    points: &mut Vec<Point>,
    layout: &Layout,
    [last, until]: [Time; 2],
    at: &dyn Fn(Time) -> f64,
) {
    let from = layout.x(last);
    let to = layout.x(until);
    // Adjacent columns need no points between them.
    if to - from < 1.0 {
        return;
    }
    // The steps count from the event, not from the edge, so the points move with the line and don't shimmer.
    let first = libm::ceil((layout.plot.x - from).max(0.0) / STEP).max(1.0);
    let end = libm::ceil((to - from) / STEP);
    for i in first as i64..end as i64 {
        let x = from + i as f64 * STEP;
        points.push(Point::new(x, layout.y(at(layout.time.time_at(x)))));
    }
    points.push(Point::new(to, layout.y(at(until))));
}

/// The points of the exact count, the number of events in the last decay interval, as far as the history reaches.
fn count(layout: &Layout, scope: &Scope, now: Time) -> Vec<Point> {
    let instrument = scope.instrument();
    let trace = instrument.trace();
    let period = instrument.period();
    let start = layout.x(Time::ZERO).max(layout.plot.x);
    let steps = libm::floor((layout.x(now) - start) / STEP).max(0.0) as usize;
    let mut points: Vec<Point> = Vec::with_capacity(2 * steps);
    for i in 0..=steps {
        let x = start + i as f64 * STEP;
        let at = layout.time.time_at(x);
        let Some((before, _)) = trace.total_at(at.before(period)) else { continue };
        let events = trace.total_at(at).map_or(0, |(upto, _)| upto - before);
        let y = layout.y(events as f64 / period.as_secs_f64());
        // A count changes in steps.
        if let Some(last) = points.last().filter(|last| last.y != y) {
            points.push(Point::new(x, last.y));
        }
        points.push(Point::new(x, y));
    }
    points
}
