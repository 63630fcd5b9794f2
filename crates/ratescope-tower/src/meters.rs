//! The counters, through the `metrics` facade: for Prometheus and any other exporter.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `ratescope_requests_total` | `outcome`: `allowed`, `delayed`, `refused`, `unavailable`, `unidentified` | requests |
//! | `ratescope_decisions_total` | `rule`, `outcome`: `allowed`, `soft`, `refused`, `shadow_refused` | answers of each limit of each rule that applied |
//! | `ratescope_waiting` | | requests in the queue |
//! | `ratescope_store_errors_total` | `fault`: as [`Fault::name`](ratescope::rules::Fault::name) has it | decisions without the store |
//! | `ratescope_store_seconds` | | time until the store answered, if it did not answer at once |
//! | `ratescope_charges_lost_total` | `reason`: `cost`, `runtime`, `dropped` | later costs that were not counted |
//! | `ratescope_keys` | | keys in the memory of this process, for all limits; updated once a second |
//! | `ratescope_keys_evicted_total` | | keys that were evicted because there was no room |
//! | `ratescope_reloads_total` | `outcome`: as [`FileNews::name`](crate::watch::FileNews::name) has it | changed rule files |
//!
//! A request is `unavailable` if it was refused because the store failed, as its rule demands, and `unidentified` if it
//! lacks a [key](super::RateLimitLayer::key), so that no limit was asked. A decision is `shadow_refused` if a shadow would
//! have refused the request. A charge is lost because its `cost` is negative or NaN; because the store has to be waited
//! for and there is no `runtime`; or because the task that charges was `dropped`, as at the end of a runtime.
//!
//! A service with several layers gives each a [name](super::RateLimitLayer::name). All counters but the last then have the
//! label `layer`. Without names, the layers' counters add up, except the keys: `ratescope_keys` is that of one layer, and
//! `ratescope_keys_evicted_total` the largest of all.
//!
//! Install the recorder before the first request. The layer looks it up once.

use super::outages::LATE;
use super::refusal::{is_unavailable, retry};
use core::sync::atomic::{AtomicI64, Ordering};
use metrics::{Counter, Gauge, Histogram, Label, counter, gauge, histogram};
use ratescope::internal::PlacedOutcome;
use ratescope::rules::{Decision, Fault, Memory};
use ratescope::time::{Span, Time};

/// The counters of requests and of the store.
pub(super) struct Meters {
    allowed: Counter,
    delayed: Counter,
    refused: Counter,
    unavailable: Counter,
    unidentified: Counter,
    waiting: Gauge,
    store_seconds: Histogram,
    keys: Gauge,
    evicted: Counter,
    /// The time at which to count the keys next, in microseconds.
    due: AtomicI64,
}

/// The labels of a counter of the layer of this name.
fn labels<const N: usize>(layer: Option<&str>, own: [(&'static str, &str); N]) -> Vec<Label> {
    let layer = layer.map(|name| ("layer", name));
    let all = own.into_iter().chain(layer);
    all.map(|(key, value)| Label::new(key, value.to_owned())).collect()
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It passed at once.
    Allowed,
    /// It passed after a wait.
    Delayed,
    /// A limit refused it.
    Refused,
    /// It was refused because the store failed.
    Unavailable,
    /// It lacked a field, and no limit was asked.
    Unidentified,
}

impl RequestOutcome {
    /// The outcome of a request that limits allowed or refused.
    pub fn of(is_refused: bool) -> Self {
        if is_refused { RequestOutcome::Refused } else { RequestOutcome::Allowed }
    }

    /// The outcome of a request with this decision, which can't wait.
    pub fn of_decision(decision: &Decision) -> Self {
        if is_unavailable(decision) {
            RequestOutcome::Unavailable
        } else {
            RequestOutcome::of(retry(decision).is_some())
        }
    }
}

impl Meters {
    pub(super) fn new(layer: Option<&str>) -> Self {
        describe();
        let requests =
            |outcome| counter!("ratescope_requests_total", labels(layer, [("outcome", outcome)]));
        let own = || labels(layer, []);
        Meters {
            allowed: requests("allowed"),
            delayed: requests("delayed"),
            refused: requests("refused"),
            unavailable: requests("unavailable"),
            unidentified: requests("unidentified"),
            waiting: gauge!("ratescope_waiting", own()),
            store_seconds: histogram!("ratescope_store_seconds", own()),
            keys: gauge!("ratescope_keys", own()),
            evicted: counter!("ratescope_keys_evicted_total", own()),
            due: AtomicI64::new(i64::MIN),
        }
    }

    pub(super) fn count(&self, outcome: RequestOutcome) {
        let counter = match outcome {
            RequestOutcome::Allowed => &self.allowed,
            RequestOutcome::Delayed => &self.delayed,
            RequestOutcome::Refused => &self.refused,
            RequestOutcome::Unavailable => &self.unavailable,
            RequestOutcome::Unidentified => &self.unidentified,
        };
        counter.increment(1);
    }

    pub(super) fn waiting(&self) -> &Gauge {
        &self.waiting
    }

    pub(super) fn took(&self, span: Span) {
        self.store_seconds.record(span.as_secs_f64());
    }

    /// Counts the keys, at most once a second, since that visits all tables.
    pub(super) fn count_keys(&self, now: Time, memory: impl FnOnce() -> Option<Memory>) {
        let now = now.as_micros();
        let due = self.due.load(Ordering::Relaxed);
        let is_set_back = now < due.saturating_sub(LATE.micros_up());
        if now < due && !is_set_back {
            return;
        }
        let next = now.saturating_add(SECOND);
        // Of several threads, one counts.
        let exchanged = self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        if exchanged.is_ok()
            && let Some(memory) = memory()
        {
            self.keys.set(memory.keys as f64);
            self.evicted.absolute(memory.evicted);
        }
    }
}

const SECOND: i64 = 1_000_000;

#[derive(Debug)]
pub(super) struct RuleMeters {
    allowed: Counter,
    soft: Counter,
    refused: Counter,
    shadow_refused: Counter,
}

impl RuleMeters {
    pub(super) fn new(rule: &str, layer: Option<&str>) -> Self {
        let decisions = |outcome| {
            let labels = labels(layer, [("rule", rule), ("outcome", outcome)]);
            counter!("ratescope_decisions_total", labels)
        };
        RuleMeters {
            allowed: decisions("allowed"),
            soft: decisions("soft"),
            refused: decisions("refused"),
            shadow_refused: decisions("shadow_refused"),
        }
    }

    pub(super) fn count(&self, answer: &PlacedOutcome) {
        let counter = match (answer.outcome.is_allowed(), answer.exceeds) {
            (true, false) => &self.allowed,
            (true, true) => &self.soft,
            (false, _) if answer.is_shadow => &self.shadow_refused,
            (false, _) => &self.refused,
        };
        counter.increment(1);
    }
}

/// Registers the counters of decisions without the store, with 0.
pub(super) fn register_faults(layer: Option<&str>) {
    for fault in ["late", "lost", "unreachable", "resting", "overloaded", "failed"] {
        _ = counter!("ratescope_store_errors_total", labels(layer, [("fault", fault)]));
    }
}

/// Counts a decision without the store. Failures are rare, so the counter is looked up each time.
pub(super) fn count_fault(fault: &Fault, layer: Option<&str>) {
    let labels = labels(layer, [("fault", fault.name())]);
    counter!("ratescope_store_errors_total", labels).increment(1);
}

/// Counts a charge that was lost.
pub(super) fn count_lost(reason: &'static str, layer: Option<&str>) {
    counter!("ratescope_charges_lost_total", labels(layer, [("reason", reason)])).increment(1);
}

/// Counts a changed rule file.
pub(super) fn count_reload(outcome: &'static str) {
    counter!("ratescope_reloads_total", "outcome" => outcome).increment(1);
}

/// Describes the counters to the recorder.
pub fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_counter!("ratescope_requests_total", "Requests by outcome");
    describe_counter!("ratescope_decisions_total", "Answers of the limits by rule and outcome");
    describe_gauge!("ratescope_waiting", "Requests in the queue");
    describe_counter!("ratescope_store_errors_total", "Decisions without the store");
    describe_histogram!("ratescope_store_seconds", Unit::Seconds, "Time until the store answered");
    describe_counter!("ratescope_charges_lost_total", "Later costs that were not counted");
    describe_gauge!("ratescope_keys", "Keys in memory, for all limits");
    describe_counter!("ratescope_keys_evicted_total", "Keys evicted because there was no room");
    describe_counter!("ratescope_reloads_total", "Changed rule files by outcome");
}
