//! The fate of the event of a click in each lane, and the place where it lands.

use super::layout::Layout;
use super::level::Scale;
use super::{Viewport, top};
use crate::compare::Comparison;
use crate::plot::Mark;
use crate::view::click::{self, Fate, Fates, Place};

/// The decisions about the event of the present. `None` if a lane has no event in the column of the present.
pub fn fates(comparison: &Comparison) -> Option<Fates> {
    let lanes = comparison.lanes();
    let fate = |lane: &crate::compare::Lane| {
        let (_, judged) = lane.history().column_at(comparison.now())?.judged?;
        let allowed = judged.is_allowed();
        Some(Fate { allowed, level: if allowed { judged.level } else { judged.limit } })
    };
    let each: Vec<_> = lanes.iter().map(fate).collect::<Option<_>>()?;
    let allowed = each.iter().filter(|fate| fate.allowed).count();
    let words = match lanes.len() {
        n if n == allowed => "allowed now by all".to_owned(),
        _ if allowed == 0 => "refused now by all".to_owned(),
        n => format!("allowed now by {allowed} of {n}"),
    };
    Some(Fates { words, each })
}

pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    comparison: &Comparison,
    view: &Viewport,
) {
    let place = |i: usize, fate: &Fate| {
        let parts = layout.lane(i);
        let strip = if fate.allowed { parts.allowed } else { parts.refused };
        let top = view
            .tops
            .get(i)
            .copied()
            .or_else(|| Some(top(comparison.lanes().get(i)?, view.right, view.window)));
        let scale = Scale { plot: parts.level, top: top.unwrap_or(1.0) };
        let line = scale.y(fate.level).max(parts.level.y);
        Place { line, mark: strip.top + strip.height / 2.0, ink: layout.ink(i) }
    };
    // The page lays the controls of a lane over the head above its plot.
    let rooms: Vec<_> = layout.plots().map(|plot| [plot.y, plot.bottom()]).collect();
    click::draw(marks, view, &|at| layout.time.x(at), &place, &rooms);
}
