//! The fate of the event of a click, and the place where it lands.

use super::layout::{Layout, STRIP};
use super::{Viewport, limit_text, lines};
use crate::plot::axis;
use crate::plot::{Ink, Mark};
use crate::scope::Scope;
use crate::view::click::{self, Fate, Fates, Place};

/// The decision about the last event; `None` before the first event. The level is in events per second.
pub fn fates(scope: &Scope) -> Option<Fates> {
    let instrument = scope.instrument();
    let event = instrument.last()?;
    let outcome = event.outcome;
    let allowed = outcome.is_allowed();
    let words = if !allowed {
        let limit = limit_text(outcome.limit);
        format!("refused now: {} of {limit}", axis::readout(outcome.level))
    } else if instrument.lane().is_none() && event.limiter.measures_only() {
        format!("measured now: {}", axis::readout(outcome.level))
    } else {
        "allowed now".to_owned()
    };
    let level = if allowed { outcome.level } else { outcome.limit };
    let level = level / scope.settings().decay.as_secs_f64();
    Some(Fates { words, each: vec![Fate { allowed, level }] })
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, view: &Viewport) {
    let ink = if scope.instrument().lane().is_some() { lines::LEVEL } else { Ink::Rate };
    let place = |_: usize, fate: &Fate| {
        let row = if fate.allowed { 0.5 } else { 1.5 };
        let line = layout.y(fate.level).max(layout.plot.y);
        Place { line, mark: layout.strips + row * STRIP, ink }
    };
    click::draw(marks, view, &|at| layout.x(at), &place, &[[2.0, view.size[1]]]);
}
