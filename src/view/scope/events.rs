//! The two strips of events under the plot.

use super::frame::{Frame, LANE};
use crate::lab::trace::Column;
use crate::plot::Mark;
use crate::view::strip::{self, Group, Strip};

pub(super) fn draw(marks: &mut Vec<Mark>, frame: &Frame, columns: &[&Column]) {
    let inside = columns.partition_point(|c| c.last < frame.time.from);
    let groups = |events: fn(&Column) -> u32| -> Vec<Group> {
        let group = |c: &&Column| {
            let (first, last) = (frame.x(c.first), frame.x(c.last));
            Group { first, last, events: events(c) }
        };
        columns[inside..].iter().filter(|c| events(c) > 0).map(group).collect()
    };
    let (left, top) = (frame.plot.x, frame.plot.bottom() + 4.0);
    let strip = |top: f64| Strip { left, top, height: LANE };
    strip::allowed(marks, strip(top), &groups(|c| c.end.allowed));
    strip::refused(marks, strip(top + LANE), &groups(|c| c.end.refused));
}
