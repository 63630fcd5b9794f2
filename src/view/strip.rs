//! A strip of events: allowed ones as bars, refused ones as crosses.

use crate::plot::{Fill, Ink, Mark, Point, Rect, Stroke};

/// Events nearer to each other than this, in CSS pixels, are drawn as a band.
const APART: f64 = 7.0;

/// Half the size of a cross.
const ARM: f64 = 3.5;

/// Where a strip is, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// Its left edge, at which events are cut off.
    pub(super) left: f64,
    /// Its upper edge.
    pub(super) top: f64,
    /// Its height.
    pub(super) height: f64,
}

/// Events with one verdict in one column of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Where the first of them is, in CSS pixels.
    pub(super) first: f64,
    /// Where the last of them is.
    pub(super) last: f64,
    /// How many they are, at least one.
    pub(super) events: u32,
}

/// The bars of allowed events, from left to right.
pub(super) fn allowed(marks: &mut Vec<Mark>, strip: Strip, groups: &[Group]) {
    marks.push(Mark::Rects { rects: bars(strip, groups), fill: Fill::new(Ink::Allowed, 1.0) });
}

/// The crosses of refused events, from left to right; bars where crosses would overlap.
pub(super) fn refused(marks: &mut Vec<Mark>, strip: Strip, groups: &[Group]) {
    let y = strip.top + strip.height / 2.0;
    let (mut arms, mut crowd) = (Vec::new(), Vec::new());
    let mut last_x = f64::NEG_INFINITY;
    let mut groups = groups.iter().peekable();
    while let Some(group) = groups.next() {
        let x = group.last;
        let next_x = groups.peek().map_or(f64::INFINITY, |next| next.last);
        if group.events == 1 && x - last_x >= APART && next_x - x >= APART {
            arms.push((Point::new(x - ARM, y - ARM), Point::new(x + ARM, y + ARM)));
            arms.push((Point::new(x - ARM, y + ARM), Point::new(x + ARM, y - ARM)));
        } else {
            crowd.push(*group);
        }
        last_x = x;
    }
    marks.push(Mark::Rects { rects: bars(strip, &crowd), fill: Fill::new(Ink::Refused, 1.0) });
    marks.push(Mark::Segments { pairs: arms, stroke: Stroke::solid(Ink::Refused, 1.75) });
}

/// One bar a group, higher where it stands for more events; neighbours of a height are one.
fn bars(strip: Strip, groups: &[Group]) -> Vec<Rect> {
    let mut bars: Vec<Rect> = Vec::new();
    for group in groups {
        // Half of the strip for one event, all of it for a thousand.
        let size = libm::log10(f64::from(group.events)).min(3.0) / 3.0;
        let height = libm::round((strip.height - 3.0) * (0.5 + 0.5 * size));
        let left = group.first.max(strip.left);
        let right = group.last.max(left);
        match bars.last_mut() {
            Some(bar) if left - bar.right() < 0.75 && bar.height == height => {
                bar.width = right.max(bar.right()) - bar.x;
            }
            _ => {
                let (y, width) = (strip.top + strip.height - 2.0 - height, (right - left).max(1.5));
                bars.push(Rect { x: left, y, width, height });
            }
        }
    }
    bars
}
