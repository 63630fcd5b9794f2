//! The exact count of a sliding window: the oracle that the estimators are held against.
//!
//! It remembers every event in the window, so it is as large as the traffic; the others exist
//! because of that. A capacity bounds it, and [`ExactWindow::count_at`] says when that has cost
//! it exactness.

use crate::time::{Span, Time};
use std::collections::VecDeque;

/// Counts what arrived in the last `window`: 16 bytes an event, and at most `capacity` of them.
#[derive(Clone, Debug)]
pub struct ExactWindow {
    window: Span,
    capacity: usize,
    events: VecDeque<(Time, f64)>,
    /// When the latest event that is no longer remembered came.
    forgotten: Option<Time>,
}

impl ExactWindow {
    /// An empty window of the given length, which remembers at most `capacity` events.
    pub fn new(window: Span, capacity: usize) -> Self {
        ExactWindow { window, capacity, events: VecDeque::new(), forgotten: None }
    }

    /// Counts an event of cost `cost` at `now`. Time running backwards counts as the last time
    /// seen, so that the events stay in order.
    pub fn add(&mut self, now: Time, cost: f64) {
        let now = self.events.back().map_or(now, |&(last, _)| now.max(last));
        self.drop_old(now);
        self.events.push_back((now, cost));
        if self.events.len() > self.capacity {
            self.forget();
        }
    }

    /// The cost of all events after `now - window` and up to `now`: an event leaves exactly one
    /// window after it came. `None` when one of them is forgotten: because there was no room, or
    /// because `now` is in the past and the window then reached further back than it does today.
    pub fn count_at(&self, now: Time) -> Option<f64> {
        let from = now.before(self.window);
        if self.forgotten.is_some_and(|at| at > from) {
            return None;
        }
        let inside = self.events.iter().filter(|&&(at, _)| at > from && at <= now);
        // A sum of nothing is -0 in Rust, and would be shown so.
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
