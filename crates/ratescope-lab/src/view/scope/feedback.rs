//! The feedback to a click on the graph.

use super::layout::{STRIP, plot};
use super::limit_text;
use crate::plot::axis;
use crate::scope::Scope;
use crate::view::Feedback;

/// The verdict on the last event, on a canvas of the given size; `None` before the first event.
pub fn feedback(scope: &Scope, size: [f64; 2]) -> Option<Feedback> {
    let instrument = scope.instrument();
    let event = instrument.last()?;
    let outcome = event.outcome;
    let refused = !event.outcome.is_allowed();
    let words = if refused {
        let limit = limit_text(outcome.limit);
        format!("refused now: {} of {limit}", axis::readout(outcome.level))
    } else if instrument.lane().is_none() && event.limiter.measures_only() {
        format!("measured now: {}", axis::readout(outcome.level))
    } else {
        "allowed now".to_owned()
    };
    let row = if refused { 1.5 } else { 0.5 };
    let marks = vec![plot(size).bottom() + 4.0 + row * STRIP];
    Some(Feedback { words, refused, marks, rooms: vec![[2.0, size[1]]] })
}
