//! The queue of requests that a leaky bucket delays.

use core::sync::atomic::{AtomicUsize, Ordering};
use metrics::Gauge;
use std::sync::Arc;

/// The number of places in the queue, and of those taken.
pub(super) struct Room {
    places: usize,
    taken: AtomicUsize,
}

impl Room {
    pub(super) fn new(places: usize) -> Self {
        Room { places, taken: AtomicUsize::new(0) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.places
    }

    /// The number of waiting requests.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes a place if there is one.
    pub(super) fn enter(self: &Arc<Self>, gauge: &Gauge) -> Option<Seat> {
        let more = |taken: usize| (taken < self.places).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        gauge.increment(1.0);
        Some(Seat { room: Arc::clone(self), gauge: gauge.clone() })
    }
}

/// A place in the queue. It is free again when this is dropped, together with the request.
pub(super) struct Seat {
    room: Arc<Room>,
    gauge: Gauge,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(1, Ordering::Relaxed);
        self.gauge.decrement(1.0);
    }
}
