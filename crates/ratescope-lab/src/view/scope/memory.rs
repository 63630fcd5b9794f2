//! The limiter's memory: at the crosshair; just after a click, at the last event; and at the right edge, if the
//! settings say so.

use super::layout::Layout;
use super::{Viewport, crosshair};
use crate::scope::Scope;
use crate::view::memory::{Memory, fading, of_lane};
use ratescope::estimate::exim::DecayingRate;
use ratescope::time::Time;

/// The drawn memory in words, if one is drawn.
pub fn words(scope: &Scope, view: &Viewport) -> Option<String> {
    seen(&Layout::new(scope, view), scope, view).map(|memory| memory.words)
}

/// The drawn memory, if any.
pub(super) fn seen(layout: &Layout, scope: &Scope, view: &Viewport) -> Option<Memory> {
    let plot = layout.plot;
    let clicked = scope.instrument().last().filter(|_| view.clicked).map(|event| event.at);
    let crosshair = view.crosshair().filter(|x| (plot.x..=plot.right()).contains(x));
    let pointed = crosshair.map(|x| crosshair::pointed(scope, layout, x).0);
    let edge = scope.settings().memory.then(|| scope.now().min(view.right));
    let at = clicked.or(pointed).or(edge).filter(|at| *at >= Time::ZERO)?;
    match scope.instrument().lane() {
        Some(lane) => of_lane(lane, at, scope.now()),
        None => {
            let column = scope.instrument().trace().column_at(at);
            let period = column.map_or(scope.instrument().period(), |column| column.end.decay);
            Some(fading(at, DecayingRate { period }))
        }
    }
}
