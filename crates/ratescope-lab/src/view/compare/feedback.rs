//! The feedback to a click on the lanes.

use super::Viewport;
use super::layout::Layout;
use crate::compare::Comparison;
use crate::view::Feedback;

/// The feedback to the latest click: how many lanes allowed its event. `None` if a lane has no event in the column of
/// the present.
pub fn feedback(comparison: &Comparison, view: &Viewport) -> Option<Feedback> {
    let lanes = comparison.lanes();
    let layout = Layout::new(lanes, view);
    let last = |lane: &crate::compare::Lane| lane.history().column_at(comparison.now())?.judged;
    let verdicts: Vec<bool> = lanes
        .iter()
        .map(|lane| last(lane).map(|(_, outcome)| outcome.is_allowed()))
        .collect::<Option<_>>()?;
    let allowed = verdicts.iter().filter(|allowed| **allowed).count();
    let words = match lanes.len() {
        n if n == allowed => "allowed now by all".to_owned(),
        _ if allowed == 0 => "refused now by all".to_owned(),
        n => format!("allowed now by {allowed} of {n}"),
    };
    let middle = |(i, allowed): (usize, &bool)| {
        let parts = layout.lane(i);
        let strip = if *allowed { parts.allowed } else { parts.refused };
        strip.top + strip.height / 2.0
    };
    let marks = verdicts.iter().enumerate().map(middle).collect();
    // The page lays the controls of a lane over the head above its plot.
    let rooms = layout.plots().map(|plot| [plot.y, plot.bottom()]).collect();
    Some(Feedback { words, refused: allowed == 0, marks, rooms })
}
