//! The two strips of events under the plot.

use super::layout::{Layout, STRIP};
use crate::plot::Mark;
use crate::trace::Column;
use crate::view::strip::{self, Group, Strip};
use ratescope::time::Time;

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, columns: &[&Column]) {
    let inside = columns.partition_point(|c| c.last() < layout.time.from);
    let groups = |events: fn(&Column) -> u32| -> Vec<Group> {
        let group = |c: &&Column| {
            let first = layout.x(c.first);
            let last = layout.x(c.last());
            Group { first, last, events: events(c) }
        };
        columns[inside..].iter().filter(|c| events(c) > 0).map(group).collect()
    };
    let left = layout.plot.x;
    let right = layout.plot.right();
    let top = layout.plot.bottom() + 4.0;
    let origin = layout.x(Time::ZERO);
    let strip = |top: f64| Strip { left, right, top, height: STRIP, origin };
    strip::allowed(marks, strip(top), &groups(|c| c.end.allowed));
    strip::refused(marks, strip(top + STRIP), &groups(|c| c.end.refused));
}
