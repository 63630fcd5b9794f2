//! The outages of a store. The log has a line for the beginning of an outage and one for its end, however many
//! decisions are made meanwhile.

use super::meters;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use ratescope::internal::plural;
use ratescope::rules::{Decision, Fault, StateSource};
use ratescope::time::{Span, Time};
use std::sync::{Mutex, PoisonError};

/// How long a store must not fail until the outage ends. So a store that fails now and then causes at most two lines in
/// this time.
const CALM: Span = Span::from_secs(1);

/// How far the time of a decision may lie behind that of another: an event may have waited so long for the store. If it
/// lies further behind, the clock was set back.
pub(super) const LATE: Span = Span::from_mins(1);

/// The outages of a store, as its decisions show them.
#[derive(Debug, Default)]
pub struct Outages {
    is_out: AtomicBool,
    /// The time of the last failure, in microseconds.
    failed: AtomicI64,
    /// The decisions without the store in this outage.
    decisions: AtomicU64,
    last: Mutex<Option<Fault>>,
}

impl Outages {
    /// Notes whether a decision was made by the store. It says nothing about the store if that did not have to be asked:
    /// because no limit applies, or by a lease or a sync.
    pub fn note(&self, decision: &Decision, layer: Option<&str>, now: Time) {
        if let Some(fault) = &decision.fault {
            meters::count_fault(fault, layer);
            self.decisions.fetch_add(1, Ordering::Relaxed);
            self.failed(fault, layer, now);
        } else if decision.placed_outcomes().iter().any(|one| one.source != StateSource::Here) {
            self.answered(layer, now);
        }
    }

    /// The last failure of an outage that has not ended.
    pub fn fault(&self) -> Option<Fault> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone().filter(|_| self.is_out.load(Ordering::Relaxed))
    }

    /// Notes that the store failed.
    pub fn failed(&self, fault: &Fault, layer: Option<&str>, now: Time) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
        self.failed.store(now.as_micros(), Ordering::Relaxed);
        if !self.is_out.swap(true, Ordering::Relaxed) {
            let cause = fault.cause();
            tracing::warn!(
                target: "ratescope",
                layer,
                fault = fault.name(),
                cause,
                "{fault}; until it answers again, each rule decides as its on_store_failure says",
            );
        }
    }

    /// Notes that the store answered.
    pub fn answered(&self, layer: Option<&str>, now: Time) {
        if self.is_out.load(Ordering::Relaxed) {
            self.may_be_back(layer, now);
        }
    }

    #[cold]
    fn may_be_back(&self, layer: Option<&str>, now: Time) {
        let failed = Time::from_micros(self.failed.load(Ordering::Relaxed));
        let is_set_back = now < failed.before(LATE);
        let is_calm = is_set_back || failed.until(now) >= CALM;
        if !is_calm || !self.is_out.swap(false, Ordering::Relaxed) {
            return;
        }
        let decisions = self.decisions.swap(0, Ordering::Relaxed);
        let s = plural(decisions);
        let were = if decisions == 1 { "was" } else { "were" };
        tracing::info!(
            target: "ratescope",
            layer,
            decisions,
            "the store answers again; {decisions} decision{s} {were} made without it",
        );
    }
}
