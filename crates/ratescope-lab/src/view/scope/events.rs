//! The two strips of events under the plot.

use super::Viewport;
use super::layout::{Layout, STRIP};
use crate::plot::Mark;
use crate::trace::Column;
use crate::view::strip::{self, Group, Strip};
use ratescope::time::Time;

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, columns: &[&Column], view: &Viewport) {
    let inside = columns.partition_point(|c| c.last() < layout.time.from);
    let groups = |allowed: bool| -> Vec<Group> {
        let group = |c: &&Column| {
            let all = if allowed { c.end.allowed } else { c.end.refused };
            // The event of a click gets its mark when it has landed.
            let events = all - view.flying(0, allowed, [c.first, c.last()]).min(all);
            (events > 0).then(|| Group {
                first: layout.x(c.first),
                last: layout.x(c.last()),
                events,
            })
        };
        columns[inside..].iter().filter_map(group).collect()
    };
    let left = layout.plot.x;
    let right = layout.plot.right();
    let top = layout.strips;
    let origin = layout.x(Time::ZERO);
    let strip = |top: f64| Strip { left, right, top, height: STRIP, origin };
    strip::allowed(marks, strip(top), &groups(true));
    strip::refused(marks, strip(top + STRIP), &groups(false));
}
