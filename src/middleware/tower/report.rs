//! What goes to the log, by the `tracing` facade: refusals with their reasons in numbers, failures of
//! the store, and what came of rule files that changed.
//!
//! What senders can bring about is told a few times a second at most, with how many more there were:
//! an attack does not fill the log.

use super::keys::Keys;
use super::meters;
use super::refused::Refused;
use crate::event::Event;
use crate::middleware::watch::Seen;
use crate::rules::{Fault, Opinion, Rules};
use crate::time::{Span, Time};
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Once;

/// Lets a few through in each second.
pub(super) struct Sample {
    per_second: u64,
    /// The second that it is.
    second: AtomicI64,
    /// How many there were in it.
    seen: AtomicU64,
    /// How many were passed over since the last one that was let through.
    passed_over: AtomicU64,
}

impl Sample {
    pub(super) fn new(per_second: u64) -> Self {
        let (second, seen) = (AtomicI64::new(i64::MIN), AtomicU64::new(0));
        Sample { per_second, second, seen, passed_over: AtomicU64::new(0) }
    }

    /// Whether to tell of what happens now, and then how many were passed over before. Threads that
    /// meet at the turn of a second may let one or two more through.
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

/// Tells of a refusal.
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

/// Tells that the store could not be asked.
pub(super) fn fault(fault: &Fault, passed_over: u64) {
    tracing::warn!(target: "ratescope", fault = fault.name(), passed_over, "{fault}");
}

/// Tells of fields that no request has, since the layer was not told where they are: what is limited
/// by them is not limited at all, or all together.
pub(super) fn fields_without_source(rules: &Rules, keys: &Keys) {
    for field in rules.fields().into_iter().filter(|field| !keys.know(field)) {
        tracing::warn!(
            target: "ratescope",
            field,
            "no request has this field, which rules are about: the layer has no source for it",
        );
    }
}

/// Tells, once, that nobody says where connections come from.
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

/// Counts and tells what was seen of a rule file: for
/// [`Watch::every`](crate::middleware::watch::Watch::every). Rules that are wrong are an error, told in full.
pub fn seen(seen: Seen) {
    meters::count_reload(seen.name());
    match seen.name() {
        "unchanged" | "applied" => tracing::info!(target: "ratescope", "{seen}"),
        _ => tracing::error!(target: "ratescope", "{seen}"),
    }
}
