//! Events for the log, through the `tracing` facade: refusals with their reasons in numbers, also those of shadows, which
//! refuse nothing, and changed rule files.
//!
//! Events that clients can cause are logged at most a few times a second, with the number of events left out, and with
//! the first 48 bytes of each field of a key. So an attack does not fill the log. A [secret
//! field](ratescope::policy::Per) is logged as its hash.

use super::layer::LayerSettings;
use super::meters;
use super::own::unknown_limits;
use super::proxies::Proxies;
use super::unidentified::Unidentified;
use crate::watch::FileNews;
use core::fmt;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use ratescope::event::{Event, Fields};
use ratescope::internal::{beginning, shown};
use ratescope::policy::{Limit, Per};
use ratescope::rules::{Decision, LimitOutcome, Reloaded, Rule, Rules, RulesError, Value};
use ratescope::time::{Span, Time};
use std::borrow::Cow;

/// The longest value of a field that is logged whole, in bytes.
const LONGEST: usize = 48;

/// The longest reason that is logged whole, in bytes: a sentence, and the name of a field.
const LONGEST_REASON: usize = 200;

/// Lets a few events through each second.
pub(super) struct LogSampler {
    per_second: u64,
    /// The current second.
    second: AtomicI64,
    /// The number of events in it.
    seen: AtomicU64,
    /// The number of events left out since the last that was logged.
    passed_over: AtomicU64,
}

impl LogSampler {
    pub(super) fn new(per_second: u64) -> Self {
        LogSampler {
            per_second,
            second: AtomicI64::new(i64::MIN),
            seen: AtomicU64::new(0),
            passed_over: AtomicU64::new(0),
        }
    }

    /// `Some` if an event is to be logged now, with the number of events left out before. `now` is read for this call: the
    /// time of an event may be of another second, and each change of the second begins a new count. Threads that race at
    /// the turn of a second may log one or two more.
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

/// The fields of an event, cut unless they are secret.
struct Cut<'a>(&'a Per, &'a dyn Fields);

impl Cut<'_> {
    fn is_cut(&self, name: &str) -> bool {
        let is_long = self.1.value(name).is_some_and(|text| text.len() > LONGEST);
        is_long && !self.0.is_secret(name) && !self.1.is_secret(name)
    }
}

impl Fields for Cut<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let text = self.1.value(name)?;
        Some(if self.is_cut(name) { beginning(text, LONGEST) } else { text })
    }

    fn is_secret(&self, name: &str) -> bool {
        self.1.is_secret(name)
    }
}

/// The key of an event, which ends with `...` if a value in it is cut.
fn key(limit: &Limit, event: &Event<'_>) -> String {
    let fields = &Cut(&limit.per, event.fields);
    let mut key = limit.per.key(&Event { fields, ..*event });
    if limit.per.fields().iter().any(|field| fields.is_cut(field)) {
        key.push_str("...");
    }
    key
}

/// Logs a refusal by the layer of this name, of an event that would pass after `retry_after`.
pub(super) fn refused(
    event: &Event<'_>,
    decision: &Decision,
    retry_after: Option<Span>,
    layer: Option<&str>,
    passed_over: u64,
) {
    let Some(LimitOutcome { rule, limit, outcome, .. }) = decision.decided_by() else {
        return;
    };
    tracing::info!(
        target: "ratescope",
        layer,
        rule = rule.name(),
        limit = %limit,
        key = key(limit, event),
        level = outcome.level,
        bound = outcome.limit,
        retry_after = retry_after.map(Span::as_secs_f64),
        passed_over,
        "{}{decision}",
        if decision.is_allowed() { "refused, as the queue is full: " } else { "" },
    );
}

/// Logs that the layer of this name let a request through that a shadow would have refused.
#[cold]
pub(super) fn let_through(
    event: &Event<'_>,
    shadow: &LimitOutcome<'_>,
    layer: Option<&str>,
    passed_over: u64,
) {
    let LimitOutcome { rule, limit, outcome, .. } = shadow;
    tracing::info!(
        target: "ratescope",
        layer,
        rule = rule.name(),
        limit = %limit,
        key = key(limit, event),
        level = outcome.level,
        bound = outcome.limit,
        passed_over,
        "let through, as {} is a shadow that would refuse: level {}, limit {}",
        rule.name(),
        outcome.level,
        outcome.limit,
    );
}

/// Logs that the layer of this name refused a request because it lacks a field.
pub(super) fn unidentified(field: &str, why: &Unidentified, layer: Option<&str>, passed_over: u64) {
    tracing::info!(
        target: "ratescope",
        layer,
        field,
        status = why.status().as_u16(),
        reason = beginning(why.reason(), LONGEST_REASON),
        passed_over,
        "refused before the limits were asked",
    );
}

/// Logs a later cost that is negative or NaN, which counts as 0.
pub(super) fn bad_cost(cost: f64, layer: Option<&str>, passed_over: u64) {
    tracing::warn!(
        target: "ratescope",
        layer,
        cost,
        passed_over,
        "a charge is negative or no number, and is not counted; a cost is from 0 to 1e12",
    );
}

/// Logs that the limits of a request's own don't fit the rules.
pub(super) fn bad_limits(error: &RulesError, layer: Option<&str>, passed_over: u64) {
    tracing::warn!(
        target: "ratescope",
        layer,
        passed_over,
        "the limits of a request's own do not fit, and those of the rules decide: {error}",
    );
}

/// Logs the fields of rules that no source gives, the values that no request has, and the limiters that can't give a
/// reservation back.
pub(super) fn unfit(rules: &Rules, settings: &LayerSettings) {
    for field in settings.sources.missing(rules) {
        tracing::warn!(
            target: "ratescope",
            layer = settings.name.as_deref(),
            field,
            "rules are about a field that the layer has no source for: {}, and rules for a certain value never apply",
            if settings.sources.refuse_missing {
                "requests that would be counted by it are refused"
            } else {
                "all clients share one key"
            },
        );
    }
    let unknown_limits = unknown_limits(rules, &settings.limiters);
    for unmatched in settings.sources.unmatched(rules).into_iter().chain(unknown_limits) {
        tracing::warn!(target: "ratescope", layer = settings.name.as_deref(), "{unmatched}");
    }
    not_normal_for_layer(rules, settings);
    if let Some(remark) = settings.sources.proxies.as_ref().and_then(Proxies::remark) {
        tracing::warn!(target: "ratescope", layer = settings.name.as_deref(), "{remark}");
    }
    if !settings.reserves {
        return;
    }
    let keeps = |rule: &&Rule| {
        rule.cost().is_none() && rule.limits().iter().any(|limit| !limit.limiter.can_undo())
    };
    for rule in rules.rules().iter().filter(keeps) {
        tracing::warn!(
            target: "ratescope",
            layer = settings.name.as_deref(),
            rule = rule.name(),
            "a limiter of this rule can't give back, so what a request reserves is never given back",
        );
    }
}

/// A value of a rule that no request has, since its normal form differs.
#[derive(Debug)]
pub struct NotNormal<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The field of the value.
    pub field: &'a str,
    /// The value, as it is written.
    pub value: &'a str,
    /// The normal form.
    pub normal: Cow<'a, str>,
}

/// The values of rules that no request has. `normal` gives the normal form of a value of a field.
pub fn not_normal<'a>(
    rules: &'a Rules,
    normal: impl Fn(&str, &'a str) -> Cow<'a, str>,
) -> impl Iterator<Item = NotNormal<'a>> {
    let steps = rules.rules().iter().flat_map(|rule| rule.path().iter().map(move |s| (rule, s)));
    steps.filter_map(move |(rule, step)| {
        let (field, value) = match &step.value {
            Value::Is(text) => (step.key.as_str(), text.as_str()),
            Value::Like(wildcard) => (step.key.as_str(), wildcard.as_str()),
            _ => return None,
        };
        let normal = normal(field, value);
        (normal != value).then_some(NotNormal { rule, field, value, normal })
    })
}

impl fmt::Display for NotNormal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotNormal { field, value, normal, .. } = self;
        let [value, normal] = [value, &**normal].map(|text| shown(text, LONGEST));
        write!(
            f,
            "no request has the {field} {value}, since it is read as {normal}; write {normal}"
        )
    }
}

/// Logs the values of rules that no request has, since their normal form differs.
fn not_normal_for_layer(rules: &Rules, settings: &LayerSettings) {
    for NotNormal { rule, field, value, normal } in settings.sources.not_normal(rules) {
        tracing::warn!(
            target: "ratescope",
            layer = settings.name.as_deref(),
            rule = rule.name(),
            field,
            value = beginning(value, LONGEST),
            normal = beginning(&normal, LONGEST),
            "no request has this value, since the layer sees fields in their normal form",
        );
    }
}

/// Logs that requests without a field share one count.
#[cold]
pub(super) fn keyless(rule: &str, field: &str, layer: Option<&str>) {
    tracing::warn!(
        target: "ratescope",
        layer,
        rule,
        field,
        "all requests without this field share one count; give each request the field, or write a rule for each of its \
         values, which does not apply to them",
    );
}

/// Logs that the peer is not known.
pub(super) fn no_peer() {
    tracing::warn!(
        target: "ratescope",
        "rules are about the field ip, but the server does not say where connections come from: all \
         such requests share one key; see RateLimitLayer::peer",
    );
}

/// Counts and logs a change of a rule file: for
/// [`Watch::every`](crate::watch::Watch::every). Wrong rules are logged as an error, with
/// all their mistakes, and so is a file that can't be read.
pub fn log_reload(news: FileNews) {
    meters::count_reload(news.name());
    match news {
        FileNews::Read { reloaded: Reloaded::Unchanged | Reloaded::Applied(_), .. } => {
            tracing::info!(target: "ratescope", "{news}");
        }
        FileNews::Read { reloaded: Reloaded::Rejected(_), .. } | FileNews::Unreadable(_) => {
            tracing::error!(target: "ratescope", "{news}");
        }
    }
}
