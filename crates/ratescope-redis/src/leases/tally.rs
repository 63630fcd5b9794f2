//! The counts of the leases and syncs of all stores on a connection.

use super::Leases;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The counts of the [leases and syncs](ratescope::share) of all stores on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leased {
    /// The decisions that were made without a call.
    pub here: u64,
    /// The events that were taken in advance.
    pub lent: u64,
    /// Of these, the events that were given back.
    pub given_back: u64,
    /// Of these, the events that could not be given back, and count until their limits forget them.
    pub lost: u64,
    /// The calls by which Redis was told of counted events.
    pub told: u64,
    /// The events that Redis was told of without an answer. They may not be counted.
    pub told_lost: u64,
    /// How long the oldest event that Redis was not told of has waited.
    pub waits: Duration,
    /// The longest time from an event until the answer to the call that told Redis of it: the s + d of the promise.
    pub slowest: Duration,
}

/// The counts of [`Leased`].
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The leases of each store on the connection.
    pub(super) stores: Mutex<Vec<Weak<Leases>>>,
    pub(super) here: AtomicU64,
    pub(super) lent: AtomicU64,
    pub(super) given_back: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) told: AtomicU64,
    pub(super) told_lost: AtomicU64,
    /// In microseconds.
    pub(super) slowest: AtomicU64,
}

impl Tally {
    /// The leases of the stores that there are.
    pub(crate) fn stores(&self) -> Vec<Arc<Leases>> {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let there = stores.iter().filter_map(Weak::upgrade).collect();
        stores.retain(|one| one.strong_count() > 0);
        there
    }

    pub(crate) fn counts(&self) -> Leased {
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Leased {
            here: read(&self.here),
            lent: read(&self.lent),
            given_back: read(&self.given_back),
            lost: read(&self.lost),
            told: read(&self.told),
            told_lost: read(&self.told_lost),
            waits: self.stores().iter().map(|store| store.waits()).max().unwrap_or_default(),
            slowest: Duration::from_micros(read(&self.slowest)),
        }
    }
}
