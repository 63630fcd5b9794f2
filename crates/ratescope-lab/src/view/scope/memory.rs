//! The limiter's memory, if the settings want it: at the crosshair, or else at the right edge.

use super::layout::Layout;
use super::{Viewport, crosshair};
use crate::plot::{Anchor, Ink, Mark, Stroke};
use crate::scope::Scope;
use crate::view::label::small;
use crate::view::memory::{Memory, fading, heading, of_lane, shade};
use ratescope::estimate::exim::DecayingRate;
use ratescope::time::Time;

/// The drawn memory in words, if one is drawn.
pub fn words(scope: &Scope, view: &Viewport) -> Option<String> {
    seen(&Layout::new(scope, view), scope, view).map(|memory| memory.words)
}

/// Draws the weight of past events on an axis of its own, below the plot.
pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, view: &Viewport) {
    let Some(plot) = layout.memory else { return };
    let pairs = [plot.y, plot.bottom()].map(|y| plot.across(y)).to_vec();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let x = plot.x - 8.0;
    for (y, text) in [(plot.y, "100\u{202f}%"), (plot.bottom(), "0")] {
        marks.push(small(x, y, text, Ink::Muted, Anchor::End));
    }
    if let Some(memory) = seen(layout, scope, view) {
        shade(marks, &memory, &layout.time, plot);
        let right = view.size[0] - 6.0;
        heading(marks, &memory, [plot.x + 2.0, right], plot.y - 9.0);
    }
}

/// The drawn memory, if any.
fn seen(layout: &Layout, scope: &Scope, view: &Viewport) -> Option<Memory> {
    let plot = layout.memory?;
    let crosshair = view.crosshair().filter(|x| (plot.x..=plot.right()).contains(x));
    let pointed = crosshair.map(|x| crosshair::pointed(scope, layout, x).0);
    let at = pointed.unwrap_or(scope.now().min(view.right));
    if at < Time::ZERO {
        return None;
    }
    match scope.instrument().lane() {
        Some(lane) => of_lane(lane, at, scope.now()),
        None => {
            let column = scope.instrument().trace().column_at(at);
            let period = column.map_or(scope.instrument().period(), |column| column.end.decay);
            Some(fading(at, DecayingRate { period }))
        }
    }
}
