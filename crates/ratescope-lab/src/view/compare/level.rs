//! The level of a lane and its limit, as lines.

use super::COLUMN;
use super::trail::Trail;
use crate::lane::history::{Column, Columns, History};
use crate::lane::processes::Shared;
use crate::lane::{CURVES, Lane};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{SMALL, below, bold};
use crate::view::timebase::Timebase;
use ratescope::limit::any::AnyLimiter;
use ratescope::time::Time;

/// A column's range of fewer CSS pixels is invisible.
const VISIBLE: f64 = 0.5;

/// The distance of two names of users.
const NAME: f64 = 12.0;

/// The vertical scale of a lane.
#[derive(Clone, Copy, Debug)]
pub(in crate::view) struct Scale {
    pub(in crate::view) plot: Rect,
    /// The level at the upper edge.
    pub(in crate::view) top: f64,
}

impl Scale {
    /// The y of a level; a level beyond the upper edge stays just above it.
    pub(super) fn y(&self, level: f64) -> f64 {
        let share = (level / self.top).min(1.1);
        self.plot.bottom() - share.max(0.0) * self.plot.height
    }
}

/// Draws both lines up to `now`, where they end at the lane's present level and limit. A lane with a curve for each user
/// has these in place of the level, and one of several processes has thin ones besides.
pub(in crate::view) fn draw(
    marks: &mut Vec<Mark>,
    time: &Timebase,
    scale: Scale,
    lane: &Lane,
    columns: &Columns<'_>,
    now: Time,
    ink: Ink,
) {
    let (level, limit) = lines(time, scale, lane, lane.history(), columns, lane.level(now), now);
    marks.push(Mark::Clip(Rect {
        y: scale.plot.y - 1.0,
        height: scale.plot.height + 2.0,
        ..scale.plot
    }));
    let is_per_user = lane.shared().is_none() && !lane.curves().is_empty();
    let lines_of = |number: usize, history: &History| {
        let columns =
            history.columns(time.from, time.time_at(scale.plot.right()), COLUMN / time.pace);
        lines(time, scale, lane, history, &columns, lane.level_of(number, now), now).0
    };
    let curves = lane.curves().iter().zip(0_u8..);
    let curves = curves
        .map(|(curve, number)| (&curve.user, number, lines_of(number.into(), &curve.history)));
    let bottom = scale.plot.bottom();
    let mut names: Vec<(f64, &str, Ink)> = Vec::with_capacity(CURVES);
    let mut name = |points: &[Point], text, ink| {
        let end = points.last().map_or(bottom, |last| last.y);
        let place = names.partition_point(|(other, ..)| *other <= end);
        names.insert(place, (end, text, ink));
    };
    let limit = Mark::Polyline { points: limit, stroke: Stroke::dashed(Ink::Limit, 1.25) };
    let own = Mark::Polyline { points: level.clone(), stroke: Stroke::solid(ink, 1.75) };
    if is_per_user {
        marks.push(limit);
        for (user, number, points) in curves {
            name(&points, user, Ink::Lane(number + 1));
            let stroke = Stroke::solid(Ink::Lane(number + 1), 1.75);
            marks.push(Mark::Polyline { points, stroke });
        }
    } else {
        let beliefs: Vec<_> = curves.map(|(_, _, points)| points).collect();
        let in_advance = lane.shared().is_some_and(Shared::lends);
        if in_advance {
            // The lent events lie between the two lines.
            let counted =
                beliefs.iter().filter_map(|points| below(points, bottom, Fill::new(ink, 0.14)));
            marks.extend(counted);
        }
        marks.extend(below(&level, bottom, Fill::new(ink, 0.14)));
        marks.push(limit);
        if let Some(first) = beliefs.first() {
            name(first, if in_advance { "with leases" } else { "each believes" }, Ink::Muted);
            name(&level, "true", ink);
        }
        for points in beliefs {
            marks.push(Mark::Polyline { points, stroke: Stroke::solid(Ink::Muted, 1.0) });
        }
        marks.push(own);
    }
    marks.push(Mark::Unclip);
    at_ends(marks, scale.plot, names);
}

/// Writes the names of curves, each as near to the end of its curve as the others leave room, from the top down.
fn at_ends(marks: &mut Vec<Mark>, plot: Rect, names: Vec<(f64, &str, Ink)>) {
    let pitch = (plot.height / names.len().max(1) as f64).min(NAME);
    let mut least = plot.y + pitch / 2.0;
    let mut most = plot.bottom() - pitch * (names.len() as f64 - 0.5);
    for (end, text, ink) in names {
        let y = (end - pitch / 2.0).max(least).min(most.max(least));
        (least, most) = (y + pitch, most + pitch);
        marks.push(bold(plot.right() - 4.0, y, text, ink, SMALL.min(pitch), Anchor::End));
    }
}

/// The line of the level of a history, and that of the limit; at `now` they stand at these.
fn lines(
    time: &Timebase,
    scale: Scale,
    lane: &Lane,
    history: &History,
    columns: &Columns<'_>,
    (at_now, limit_now): (f64, f64),
    now: Time,
) -> (Vec<Point>, Vec<Point>) {
    let mut level = Trail::with_capacity(columns.len());
    let mut limit = Trail::default();
    let end_of_run = time.x(now);
    let begun = time.x(history.oldest());
    for (column, [start, end]) in places(time, columns) {
        if level.points.is_empty() {
            // The level before the first column is unknown. Allowed events raise the level, so with these the line
            // enters at the column's lowest level, otherwise at its highest.
            let entering = if column.allowed > 0 { column.low } else { column.high };
            level.to(start.max(begun), scale.y(entering));
            limit.to(start.max(begun), scale.y(column.limit));
        }
        jump(&mut level, time, scale, column, [start, end]);
        if end > end_of_run {
            // The column is still filling.
            break;
        }
        let after = scale.y(column.end);
        if let Some(before) = level.points.last().map(|last| last.y)
            && column.judged.is_none()
            && after - before > VISIBLE
            && let Some(x) = fall(time, lane, [start, end])
        {
            level.to(x, before);
            level.to(x, after);
        }
        level.to(end, after);
        limit.to(end, scale.y(column.limit));
    }
    if !level.points.is_empty() {
        level.to(end_of_run, scale.y(at_now));
        limit.to(end_of_run, scale.y(limit_now));
    }
    (level.points, limit.points)
}

/// Draws the events of a column as one upright stretch over the column's range, at the time of its last event. The
/// stretch ends on the side nearer to the column's last level.
fn jump(level: &mut Trail, time: &Timebase, scale: Scale, column: &Column, [start, end]: [f64; 2]) {
    let Some((at, _)) = column.judged else { return };
    let low = scale.y(column.low);
    let high = scale.y(column.high);
    if low - high > VISIBLE {
        let x = time.x(at).max(start).min(end);
        let at_end = scale.y(column.end);
        let ends_high = at_end - high < low - at_end;
        let [first, last] = if ends_high { [low, high] } else { [high, low] };
        level.to(x, first);
        level.to(x, last);
    }
}

/// Where the level falls at once in a column without events, if the lane has a window, which forgets an event from one
/// instant to the next. Only of a window of the clock is that instant known; others forget within the column.
fn fall(time: &Timebase, lane: &Lane, [start, end]: [f64; 2]) -> Option<f64> {
    let [limit] = lane.policy().limits() else { return None };
    match &limit.limiter {
        AnyLimiter::FixedWindow(fixed) => {
            let edge = fixed.window(time.time_at(end)).map(|[edge, _]| time.x(edge));
            Some(edge.map_or((start + end) / 2.0, |edge| edge.max(start).min(end)))
        }
        AnyLimiter::SlidingWindow(_) | AnyLimiter::SlidingLog(_) => Some((start + end) / 2.0),
        _ => None,
    }
}

/// Every column with its left and right edges.
pub(super) fn places<'a>(
    time: &Timebase,
    columns: &'a Columns<'a>,
) -> impl Iterator<Item = (&'a Column, [f64; 2])> {
    let first = time.x(columns.first);
    let width = columns.width.as_secs_f64() * time.pace;
    let place = move |i: usize| first + i as f64 * width;
    columns.iter().enumerate().map(move |(i, column)| (column, [place(i), place(i + 1)]))
}
