//! The exact count of a sliding window, with which estimators and limiters are compared.

use ratescope::{Span, Time};
use std::collections::VecDeque;

/// The events of the last `window`.
pub(crate) struct ExactWindow {
    window: Span,
    events: VecDeque<(Time, f64)>,
}

impl ExactWindow {
    pub(crate) fn new(window: Span) -> Self {
        ExactWindow { window, events: VecDeque::new() }
    }

    /// Counts an event that is no earlier than the last, and returns the cost of all events after
    /// `now - window` and up to `now`.
    pub(crate) fn add(&mut self, now: Time, cost: f64) -> f64 {
        self.events.push_back((now, cost));
        while self.events.front().is_some_and(|&(at, _)| at <= now.before(self.window)) {
            self.events.pop_front();
        }
        // In Rust an empty `sum` is -0, which would be displayed.
        self.events.iter().fold(0.0, |sum, &(_, cost)| sum + cost)
    }
}
