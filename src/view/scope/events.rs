//! The two lanes of events under the plot: allowed ones as bars, refused ones as crosses.

use super::frame::{Frame, LANE};
use crate::plot::{Fill, Ink, Mark, Point, Rect, Stroke};
use crate::trace::Column;

/// Events nearer to each other than this, in CSS pixels, are drawn as a band.
const APART: f64 = 7.0;

/// Half the size of a cross.
const ARM: f64 = 3.5;

pub(super) fn draw(marks: &mut Vec<Mark>, frame: &Frame, columns: &[&Column]) {
    let inside = columns.partition_point(|c| c.last < frame.from);
    let columns = &columns[inside..];
    let top = frame.plot.bottom() + 4.0;

    let allowed: Vec<_> = columns.iter().map(|c| (*c, c.end.allowed)).collect();
    let allowed = bars(frame, &allowed, top);
    marks.push(Mark::Rects { rects: allowed, fill: Fill::new(Ink::Allowed, 1.0) });

    let y = top + 1.5 * LANE;
    let (mut arms, mut crowd) = (Vec::new(), Vec::new());
    let mut last_x = f64::NEG_INFINITY;
    let mut refused = columns.iter().filter(|c| c.end.refused > 0).peekable();
    while let Some(column) = refused.next() {
        let x = frame.x(column.last);
        let next_x = refused.peek().map_or(f64::INFINITY, |next| frame.x(next.last));
        if column.end.refused == 1 && x - last_x >= APART && next_x - x >= APART {
            arms.push((Point::new(x - ARM, y - ARM), Point::new(x + ARM, y + ARM)));
            arms.push((Point::new(x - ARM, y + ARM), Point::new(x + ARM, y - ARM)));
        } else {
            crowd.push((*column, column.end.refused));
        }
        last_x = x;
    }
    let crowd = bars(frame, &crowd, top + LANE);
    marks.push(Mark::Rects { rects: crowd, fill: Fill::new(Ink::Refused, 1.0) });
    marks.push(Mark::Segments { pairs: arms, stroke: Stroke::solid(Ink::Refused, 1.75) });
}

/// One bar a column, higher where it stands for more events; neighbours of a height are one.
fn bars(frame: &Frame, columns: &[(&Column, u32)], top: f64) -> Vec<Rect> {
    let mut bars: Vec<Rect> = Vec::new();
    for &(column, events) in columns.iter().filter(|&&(_, events)| events > 0) {
        // Half of the lane for one event, all of it for a thousand.
        let size = libm::log10(f64::from(events)).min(3.0) / 3.0;
        let height = libm::round((LANE - 3.0) * (0.5 + 0.5 * size));
        let left = frame.x(column.first).max(frame.plot.x);
        let right = frame.x(column.last).max(left);
        match bars.last_mut() {
            Some(bar) if left - bar.right() < 0.75 && bar.height == height => {
                bar.width = right.max(bar.right()) - bar.x;
            }
            _ => {
                let width = (right - left).max(1.5);
                bars.push(Rect { x: left, y: top + LANE - 2.0 - height, width, height });
            }
        }
    }
    bars
}
