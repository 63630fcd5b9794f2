//! What is counted, by the `metrics` facade: for Prometheus and whatever else has an exporter.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `ratescope_requests_total` | `outcome`: `allowed`, `delayed`, `refused`, `unavailable` | what became of requests |
//! | `ratescope_decisions_total` | `rule`, `outcome`: `allowed`, `soft`, `refused`, `shadow_refused` | what each limit of each rule that applied said |
//! | `ratescope_waiting` | | requests that wait in the queue now |
//! | `ratescope_store_errors_total` | `fault`: as [`Fault::name`](crate::rules::Fault::name) has it | decisions for which the store could not be asked |
//! | `ratescope_store_seconds` | | how long a store took to answer that has to be waited for |
//! | `ratescope_keys` | | keys that this process remembers, of all limits, counted each second at most |
//! | `ratescope_keys_forgotten_total` | | keys that it forgot for want of room |
//! | `ratescope_reloads_total` | `outcome`: as [`Seen::name`](crate::middleware::watch::Seen::name) has it | rule files that were read anew |
//!
//! `unavailable` is a request that was refused since the store failed and its rule says so. A shadow
//! that would have refused is `shadow_refused`.
//!
//! The recorder is to be installed before the first request: who counts is looked up once.

use crate::rules::{Fault, Memory, Opinion};
use crate::time::{Span, Time};
use core::sync::atomic::{AtomicI64, Ordering};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

/// What counts requests.
pub(super) struct Meters {
    allowed: Counter,
    delayed: Counter,
    refused: Counter,
    unavailable: Counter,
    waiting: Gauge,
    store_seconds: Histogram,
    keys: Gauge,
    forgotten: Counter,
    /// When the keys are to be counted next, in microseconds.
    due: AtomicI64,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Allowed,
    Delayed,
    Refused,
    Unavailable,
}

impl Meters {
    pub(super) fn new() -> Self {
        describe();
        let requests = |outcome| counter!("ratescope_requests_total", "outcome" => outcome);
        Meters {
            allowed: requests("allowed"),
            delayed: requests("delayed"),
            refused: requests("refused"),
            unavailable: requests("unavailable"),
            waiting: gauge!("ratescope_waiting"),
            store_seconds: histogram!("ratescope_store_seconds"),
            keys: gauge!("ratescope_keys"),
            forgotten: counter!("ratescope_keys_forgotten_total"),
            due: AtomicI64::new(i64::MIN),
        }
    }

    pub(super) fn count(&self, fate: Fate) {
        let counter = match fate {
            Fate::Allowed => &self.allowed,
            Fate::Delayed => &self.delayed,
            Fate::Refused => &self.refused,
            Fate::Unavailable => &self.unavailable,
        };
        counter.increment(1);
    }

    pub(super) fn waiting(&self) -> &Gauge {
        &self.waiting
    }

    pub(super) fn took(&self, span: Span) {
        self.store_seconds.record(span.secs());
    }

    /// Counts the keys, which takes a look at all tables, if that was a second ago.
    pub(super) fn count_keys(&self, now: Time, memory: impl FnOnce() -> Option<Memory>) {
        let (now, due) = (now.as_micros(), self.due.load(Ordering::Relaxed));
        // A clock that was set back is followed.
        let is_due = now >= due || now < due.saturating_sub(SECOND);
        let next = now.saturating_add(SECOND);
        let exchanged =
            || self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        if is_due
            && exchanged().is_ok()
            && let Some(memory) = memory()
        {
            self.keys.set(memory.keys as f64);
            self.forgotten.absolute(memory.forgotten);
        }
    }
}

const SECOND: i64 = 1_000_000;

/// What counts the decisions of a rule.
#[derive(Debug)]
pub(super) struct RuleMeters {
    allowed: Counter,
    soft: Counter,
    refused: Counter,
    shadow_refused: Counter,
}

impl RuleMeters {
    pub(super) fn new(rule: &str) -> Self {
        let decisions = |outcome: &'static str| {
            let rule = rule.to_owned();
            counter!("ratescope_decisions_total", "rule" => rule, "outcome" => outcome)
        };
        RuleMeters {
            allowed: decisions("allowed"),
            soft: decisions("soft"),
            refused: decisions("refused"),
            shadow_refused: decisions("shadow_refused"),
        }
    }

    pub(super) fn count(&self, opinion: &Opinion<'_>) {
        let counter = match (opinion.outcome.is_allowed(), opinion.exceeds) {
            (true, false) => &self.allowed,
            (true, true) => &self.soft,
            (false, _) if opinion.rule.is_shadow() => &self.shadow_refused,
            (false, _) => &self.refused,
        };
        counter.increment(1);
    }
}

/// Counts a decision for which the store could not be asked. It is seldom, or all else is slow.
pub(super) fn count_fault(fault: &Fault) {
    counter!("ratescope_store_errors_total", "fault" => fault.name()).increment(1);
}

/// Counts a rule file that was read anew.
pub(super) fn count_reload(outcome: &'static str) {
    counter!("ratescope_reloads_total", "outcome" => outcome).increment(1);
}

/// Tells the recorder what is what.
fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_counter!("ratescope_requests_total", "What became of requests");
    describe_counter!("ratescope_decisions_total", "What each limit of each rule said");
    describe_gauge!("ratescope_waiting", "Requests that wait in the queue");
    describe_counter!("ratescope_store_errors_total", "Decisions without the store");
    describe_histogram!("ratescope_store_seconds", Unit::Seconds, "How long the store took");
    describe_gauge!("ratescope_keys", "Keys that are remembered, of all limits");
    describe_counter!(
        "ratescope_keys_forgotten_total",
        "Keys that were forgotten for want of room"
    );
    describe_counter!("ratescope_reloads_total", "Rule files that were read anew");
}
