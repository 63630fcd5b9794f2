//! The exact count of a sliding window: the oracle that the estimators are compared with.
//!
//! It remembers every event in the window, so its size grows with the traffic; the other
//! estimators avoid that. A capacity bounds it. When that bound has cost it exactness,
//! [`ExactWindow::count_at`] returns `None`.

use crate::time::{Span, Time};
use std::collections::VecDeque;

/// Counts what arrived in the last `window`. It keeps 16 bytes an event, for `capacity` events at
/// most.
#[derive(Clone, Debug)]
pub struct ExactWindow {
    window: Span,
    capacity: usize,
    events: VecDeque<(Time, f64)>,
    /// When the latest of the events that are no longer remembered came.
    forgotten: Option<Time>,
}

impl ExactWindow {
    /// An empty window of the given length, which remembers at most `capacity` events.
    pub fn new(window: Span, capacity: usize) -> Self {
        ExactWindow { window, capacity, events: VecDeque::new(), forgotten: None }
    }

    /// Counts an event of cost `cost` at `now`. If time runs backwards, the event counts at the last
    /// time seen, so the events stay in order.
    pub fn add(&mut self, now: Time, cost: f64) {
        let now = self.events.back().map_or(now, |&(last, _)| now.max(last));
        self.drop_old(now);
        self.events.push_back((now, cost));
        if self.events.len() > self.capacity {
            self.forget();
        }
    }

    /// The cost of all events after `now - window` and up to `now`: an event leaves the window
    /// exactly one `window` after it came. `None` when an event of that interval is forgotten:
    /// because there was no room for it, or because `now` is in the past and the event has left the
    /// window since.
    pub fn count_at(&self, now: Time) -> Option<f64> {
        let from = now.before(self.window);
        if self.forgotten.is_some_and(|at| at > from) {
            return None;
        }
        let inside = self.events.iter().filter(|&&(at, _)| at > from && at <= now);
        // In Rust an empty `sum` is -0, which would be displayed.
        Some(inside.map(|&(_, cost)| cost).fold(0.0, |sum, cost| sum + cost))
    }

    fn drop_old(&mut self, now: Time) {
        let from = now.before(self.window);
        while self.events.front().is_some_and(|&(at, _)| at <= from) {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.forgotten = self.events.pop_front().map(|(at, _)| at);
    }
}
