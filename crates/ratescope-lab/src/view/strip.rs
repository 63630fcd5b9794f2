//! A strip of events: allowed ones as bars, refused ones as crosses.

use super::label::{SMALL, small, width};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};

/// Events closer together than this, in CSS pixels, are drawn as a band.
const APART: f64 = 7.0;

/// The width of the bar of events that are not close to others.
const THICK: f64 = 3.0;

/// Half the size of a cross.
const ARM: f64 = 3.5;

/// The place of a strip, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// The left edge, at which events are cut off.
    pub(super) left: f64,
    pub(super) right: f64,
    /// The upper edge.
    pub(super) top: f64,
    pub(super) height: f64,
    /// The x of the start of the run: marks placed relative to it move with time.
    pub(super) origin: f64,
}

/// Events with one verdict in one column of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The x of the first event, in CSS pixels.
    pub(super) first: f64,
    /// The x of the last event.
    pub(super) last: f64,
    /// The number of events, at least one.
    pub(super) events: u32,
}

/// The bars of allowed events, from left to right.
pub(super) fn allowed(marks: &mut Vec<Mark>, strip: Strip, groups: &[Group]) {
    marks.push(Mark::Rects { rects: bars(strip, groups), fill: Fill::new(Ink::Allowed, 1.0) });
    counts(marks, strip, groups, Ink::Allowed);
}

/// The crosses of refused events, from left to right: one for each group, or a row side by side where crosses would
/// overlap.
pub(super) fn refused(marks: &mut Vec<Mark>, strip: Strip, groups: &[Group]) {
    let y = strip.top + strip.height / 2.0;
    let mut arms = Vec::new();
    let mut cross = |x: f64| {
        arms.push((Point::new(x - ARM, y - ARM), Point::new(x + ARM, y + ARM)));
        arms.push((Point::new(x - ARM, y + ARM), Point::new(x + ARM, y - ARM)));
    };
    let mut last_x = f64::NEG_INFINITY;
    let mut filled = i64::MIN;
    let mut groups_left = groups.iter().peekable();
    while let Some(group) = groups_left.next() {
        let x = group.last;
        let next_x = groups_left.peek().map_or(f64::INFINITY, |next| next.last);
        let narrow = x - group.first < APART;
        if narrow && x - last_x >= APART && next_x - x >= APART {
            cross(x);
        } else {
            // Each cross of a row has a place of its width. The places are fixed in time, not on the screen.
            let place = |x: f64| libm::floor((x.max(strip.left) - strip.origin) / APART) as i64;
            for place in place(group.first).max(filled.saturating_add(1))..=place(x) {
                cross(strip.origin + (place as f64 + 0.5) * APART);
                filled = place;
            }
        }
        last_x = x;
    }
    marks.push(Mark::Segments { pairs: arms, stroke: Stroke::solid(Ink::Refused, 1.75) });
    counts(marks, strip, groups, Ink::Refused);
}

/// Writes the number of events at an instant beside their mark, if there is room.
fn counts(marks: &mut Vec<Mark>, strip: Strip, groups: &[Group], ink: Ink) {
    let arm = if ink == Ink::Refused { ARM } else { 1.0 };
    let mut taken = strip.left;
    let mut groups = groups.iter().peekable();
    while let Some(group) = groups.next() {
        let next = groups.peek().map_or(strip.right, |next| next.first - arm);
        let mut end = group.last + arm;
        // Up to two events need no number.
        if group.events > 2 && group.last - group.first < APART && group.first > strip.left {
            let text = group.events.to_string();
            let wide = width(&text, SMALL) + 2.0;
            let away = arm + 2.5;
            let y = strip.top + strip.height / 2.0;
            let before = group.first - away;
            let after = group.last + away;
            if after + wide < next {
                marks.push(small(after, y, &text, ink, Anchor::Start));
                end = after + wide;
            } else if before - wide > taken {
                marks.push(small(before, y, &text, ink, Anchor::End));
            }
        }
        taken = end;
    }
}

/// A bar for each group, higher for more events. Touching neighbours of equal height become one bar.
fn bars(strip: Strip, groups: &[Group]) -> Vec<Rect> {
    let mut bars: Vec<Rect> = Vec::new();
    let mut groups = groups.iter().peekable();
    while let Some(group) = groups.next() {
        // Two thirds of the strip for one event, all of it for a thousand.
        let size = libm::log10(f64::from(group.events)).min(3.0) / 3.0;
        let height = libm::round((strip.height - 3.0) * (2.0 + size) / 3.0);
        // Where bars would touch, they are thin.
        let next = groups.peek().map_or(f64::INFINITY, |next| next.first);
        let before = bars.last().map_or(f64::NEG_INFINITY, |bar| bar.right());
        let is_alone = group.first - before > APART && next - group.last > APART;
        let thick = if is_alone { THICK } else { 0.0 };
        let left = (group.first - thick / 2.0).max(strip.left);
        let right = (group.last + thick / 2.0).max(left);
        match bars.last_mut() {
            Some(bar) if left - bar.right() < 0.75 && bar.height == height => {
                bar.width = right.max(bar.right()) - bar.x;
            }
            _ => {
                let y = strip.top + strip.height - 2.0 - height;
                let width = (right - left).max(1.5);
                bars.push(Rect { x: left, y, width, height });
            }
        }
    }
    bars
}
