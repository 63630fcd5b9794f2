//! Events for the log, through the `tracing` facade: refusals with their reasons in numbers, failures
//! of the store, and changed rule files.
//!
//! Events that clients can cause are logged at most a few times a second, with the number of those
//! left out. So an attack does not fill the log.

use super::keys::Keys;
use super::meters;
use super::refused::Refused;
use crate::event::Event;
use crate::middleware::watch::Seen;
use crate::rules::{Fault, Opinion, Reloaded, Rules};
use crate::time::{Span, Time};
use core::error::Error;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Once;

/// Lets a few events through each second.
pub(super) struct Sample {
    per_second: u64,
    /// The current second.
    second: AtomicI64,
    /// The number of events in it.
    seen: AtomicU64,
    /// The number of events left out since the last one that was let through.
    passed_over: AtomicU64,
}

impl Sample {
    pub(super) fn new(per_second: u64) -> Self {
        let (second, seen) = (AtomicI64::new(i64::MIN), AtomicU64::new(0));
        Sample { per_second, second, seen, passed_over: AtomicU64::new(0) }
    }

    /// Whether to log an event that happens now; if so, the number of events left out before. Threads
    /// that meet at the turn of a second may let one or two more through.
    pub(super) fn take(&self, now: Time) -> Option<u64> {
        let second = now.as_micros().div_euclid(1_000_000);
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.seen.store(0, Ordering::Relaxed);
        }
        if self.seen.fetch_add(1, Ordering::Relaxed) < self.per_second {
            return Some(self.passed_over.swap(0, Ordering::Relaxed));
        }
        self.passed_over.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// Logs a refusal.
pub(super) fn refused(event: &Event<'_>, refused: &Refused<'_>, passed_over: u64) {
    let Some(Opinion { rule, limit, outcome, .. }) = refused.ruling.decided_by() else { return };
    tracing::info!(
        target: "ratescope",
        rule = rule.name(),
        limit = %limit,
        key = limit.per.key(event),
        level = outcome.level,
        bound = outcome.limit,
        retry_after = refused.retry_after().map(Span::secs),
        passed_over,
        "{}{}",
        if refused.is_queue_full() { "refused, as the queue is full: " } else { "" },
        refused.ruling,
    );
}

/// Logs a failure of the store.
pub(super) fn fault(fault: &Fault, passed_over: u64) {
    let cause = fault.source().map(tracing::field::display);
    tracing::warn!(target: "ratescope", fault = fault.name(), cause, passed_over, "{fault}");
}

/// Logs the fields of rules for which the layer has no source. Such rules would silently limit nobody,
/// or all clients together.
pub(super) fn fields_without_source(rules: &Rules, keys: &Keys) {
    for field in rules.fields().into_iter().filter(|field| !keys.know(field)) {
        tracing::warn!(
            target: "ratescope",
            field,
            "no request has this field, which rules are about: the layer has no source for it",
        );
    }
}

/// Logs once that the peer is not known.
pub(super) fn no_peer() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            target: "ratescope",
            "no request has the field ip, which rules are about: the server does not say where \
             connections come from; see RateLimit::peer",
        );
    });
}

/// Counts and logs a change of a rule file: for
/// [`Watch::every`](crate::middleware::watch::Watch::every). Wrong rules are logged as an error, with
/// all their mistakes, and so is a file that can't be read.
pub fn seen(seen: Seen) {
    meters::count_reload(seen.name());
    match seen {
        Seen::Read(Reloaded::Unchanged | Reloaded::Applied(_)) => {
            tracing::info!(target: "ratescope", "{seen}");
        }
        Seen::Read(Reloaded::Rejected(_)) | Seen::Unreadable(_) => {
            tracing::error!(target: "ratescope", "{seen}");
        }
    }
}
