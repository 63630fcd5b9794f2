//! The counters, through the `metrics` facade.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `ratescope_hits_total` | of the rule, `outcome`: `allowed`, `refused`, `shadow_refused` | hits that a rule was asked about |
//! | `ratescope_near_limit_hits_total` | of the rule | allowed hits that left less than a fifth of the limit |
//! | `ratescope_request_seconds` | `protocol`: `grpc`, `json`, `check`, `auth` | time until a request was answered, a histogram |
//! | `ratescope_unknown_domains_total` | | requests for a domain that has no rules; they pass |
//! | `ratescope_request_errors_total` | `error`: `invalid`, `unsupported`, `unavailable`; `unread` | requests without an answer; `unread` were refused since they can't be read |
//! | `ratescope_reloads_total` | `outcome`: `applied`, `rejected`, `removed` | changed rule files |
//! | `ratescope_rules_broken` | | rule files that are wrong, can't be read, or are gone, while older rules are in force |
//!
//! The labels of a rule are its `domain`, its full name as `rule`, and the steps of its path as `key1`, `key2` and so
//! on, each as in `path` or `path_/login`. They come from the rules alone: no request adds labels, not even with an
//! override or an unknown domain. Each counter is there from the start, with 0. There are also the counters of [the
//! layer](ratescope_tower::meters), whose label `layer` is the domain.
//!
//! # The names of envoyproxy/ratelimit
//! With [`MetricNames::Envoy`], these have the names and labels that its exporter for Prometheus gives:
//!
//! | name | labels | in place of |
//! |---|---|---|
//! | `ratelimit_service_rate_limit_total_hits`, `…_within_limit`, `…_over_limit`, `…_shadow_mode` | `domain`, `key1`, `key2` and so on | `ratescope_hits_total`; hits that a shadow refuses are over the limit, too |
//! | `ratelimit_service_rate_limit_near_limit` | the same | `ratescope_near_limit_hits_total` |
//! | `ratelimit_service_total_requests`, `ratelimit_service_response_time_seconds` | `grpc_method` | `ratescope_request_seconds` of `grpc` |
//! | `ratelimit_service_should_rate_limit_error` | `err_type`: `redis_error`, `service_error` | `ratescope_request_errors_total` |
//! | `ratelimit_service_config_load_success`, `…_error` | | `ratescope_reloads_total` |

use super::decide::NoAnswer;
use core::time::Duration;
use metrics::{
    Counter, Gauge, Histogram, Label, counter, describe_counter, describe_gauge,
    describe_histogram, gauge, histogram,
};
use ratescope::outcome::Outcome;
use ratescope::rules::{Decision, Rule, Rules, Step, Value};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// From this share of the limit on, an event is near it, as in envoyproxy/ratelimit.
const NEAR: f64 = 0.8;

/// Which names the counters have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricNames {
    /// Our own, by the conventions of Prometheus.
    #[default]
    Own,
    /// Those of envoyproxy/ratelimit, for its dashboards and alerts.
    Envoy,
}

/// How a request came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Grpc,
    Json,
    Check,
    Auth,
}

/// The counters of a service that are not of a rule.
pub(super) struct Meters {
    unknown_domains: Counter,
    invalid: Counter,
    unsupported: Counter,
    unavailable: Counter,
    unread: Counter,
    applied: Counter,
    rejected: Counter,
    removed: Counter,
    broken: Gauge,
    /// As envoyproxy/ratelimit has it.
    calls: Counter,
    seconds: [Histogram; 4],
}

impl Meters {
    /// Describes and registers the counters.
    pub(super) fn new(names: MetricNames) -> Self {
        ratescope_tower::meters::describe();
        describe_of_rules(names);
        describe_counter!("ratescope_unknown_domains_total", "Requests for domains without rules");
        describe_gauge!(
            "ratescope_rules_broken",
            "Rule files that are wrong or gone, while earlier rules are in force"
        );
        let unknown_domains = counter!("ratescope_unknown_domains_total");
        let broken = gauge!("ratescope_rules_broken");
        broken.set(0.0);
        let protocols = ["grpc", "json", "check", "auth"];
        match names {
            MetricNames::Own => {
                describe_counter!("ratescope_request_errors_total", "Requests without an answer");
                describe_histogram!(
                    "ratescope_request_seconds",
                    metrics::Unit::Seconds,
                    "Time until a request was answered"
                );
                let error = |error: &'static str| counter!("ratescope_request_errors_total", "error" => error);
                let reload = |outcome: &'static str| counter!("ratescope_reloads_total", "outcome" => outcome);
                Meters {
                    unknown_domains,
                    invalid: error("invalid"),
                    unsupported: error("unsupported"),
                    unavailable: error("unavailable"),
                    unread: error("unread"),
                    applied: reload("applied"),
                    rejected: reload("rejected"),
                    removed: reload("removed"),
                    broken,
                    calls: Counter::noop(),
                    seconds: protocols.map(
                        |protocol| histogram!("ratescope_request_seconds", "protocol" => protocol),
                    ),
                }
            }
            MetricNames::Envoy => {
                const ERRORS: &str = "ratelimit_service_should_rate_limit_error";
                const CALLS: &str = "ratelimit_service_total_requests";
                const SECONDS: &str = "ratelimit_service_response_time_seconds";
                const LOADED: &str = "ratelimit_service_config_load_success";
                const NOT_LOADED: &str = "ratelimit_service_config_load_error";
                describe_counter!(ERRORS, "Requests without an answer");
                describe_counter!(CALLS, "Calls by gRPC");
                describe_histogram!(SECONDS, metrics::Unit::Seconds, "Time of a call by gRPC");
                describe_counter!(LOADED, "Changed rule files that are in force");
                describe_counter!(NOT_LOADED, "Changed rule files that are not in force");
                let error = |error: &'static str| counter!(ERRORS, "err_type" => error);
                let method = "ShouldRateLimit";
                let mut seconds = protocols.map(|_| Histogram::noop());
                seconds[Protocol::Grpc as usize] = histogram!(SECONDS, "grpc_method" => method);
                Meters {
                    unknown_domains,
                    invalid: error("service_error"),
                    unsupported: error("service_error"),
                    unavailable: error("redis_error"),
                    unread: error("service_error"),
                    applied: counter!(LOADED),
                    rejected: counter!(NOT_LOADED),
                    removed: counter!(LOADED),
                    broken,
                    calls: counter!(CALLS, "grpc_method" => method),
                    seconds,
                }
            }
        }
    }

    pub(super) fn count_unknown_domain(&self) {
        self.unknown_domains.increment(1);
    }

    pub(super) fn count_no_answer(&self, why: &NoAnswer) {
        let counter = match why {
            NoAnswer::Invalid(_) => &self.invalid,
            NoAnswer::Unsupported(_) => &self.unsupported,
            NoAnswer::Unavailable(_) => &self.unavailable,
        };
        counter.increment(1);
    }

    pub(super) fn count_unread(&self) {
        self.unread.increment(1);
    }

    pub(super) fn count_reload(&self, is_good: bool, is_removed: bool) {
        let counter = match (is_good, is_removed) {
            (true, true) => &self.removed,
            (true, false) => &self.applied,
            (false, _) => &self.rejected,
        };
        counter.increment(1);
    }

    /// Says how many files are broken now.
    pub(super) fn set_broken(&self, broken: usize) {
        self.broken.set(broken as f64);
    }

    /// Counts a request that was answered after this time.
    pub(super) fn answered(&self, protocol: Protocol, took: Duration) {
        if let Some(seconds) = self.seconds.get(protocol as usize) {
            seconds.record(took.as_secs_f64());
        }
        if matches!(protocol, Protocol::Grpc) {
            self.calls.increment(1);
        }
    }
}

const HITS: &str = "ratescope_hits_total";
const NEAR_HITS: &str = "ratescope_near_limit_hits_total";
const TOTAL: &str = "ratelimit_service_rate_limit_total_hits";
const WITHIN: &str = "ratelimit_service_rate_limit_within_limit";
const ENVOY_NEAR: &str = "ratelimit_service_rate_limit_near_limit";
const OVER: &str = "ratelimit_service_rate_limit_over_limit";
const SHADOW: &str = "ratelimit_service_rate_limit_shadow_mode";

fn describe_of_rules(names: MetricNames) {
    const NEAR_TEXT: &str = "Allowed hits that left less than a fifth of the limit";
    let described: &[[&'static str; 2]] = match names {
        MetricNames::Own => {
            &[[HITS, "Hits that a rule was asked about, by outcome"], [NEAR_HITS, NEAR_TEXT]]
        }
        MetricNames::Envoy => &[
            [TOTAL, "Hits that a rule was asked about"],
            [WITHIN, "Hits that a rule allowed"],
            [ENVOY_NEAR, NEAR_TEXT],
            [OVER, "Hits that a rule refused, or would have as a shadow"],
            [SHADOW, "Hits that a shadow would have refused"],
        ],
    };
    for [name, help] in described {
        describe_counter!(*name, *help);
    }
}

/// The counters of each rule of a file.
pub(super) struct FileMeters {
    each: Vec<RuleMeters>,
}

/// The counters of a rule, each of which is incremented by the hits of an event with this outcome.
struct RuleMeters {
    allowed: SmallVec<[Counter; 2]>,
    near: Counter,
    refused: SmallVec<[Counter; 3]>,
}

impl FileMeters {
    pub(super) fn new(rules: &Arc<Rules>, names: MetricNames) -> Self {
        let of = |rule: &Rule| RuleMeters::new(rules.domain(), rule, names);
        FileMeters { each: rules.rules().iter().map(of).collect() }
    }

    /// Counts the outcome of each rule for an event of this cost.
    pub(super) fn count(&self, decision: &Decision, cost: f64) {
        let rules = decision.rules().rules();
        for answers in decision.by_rule() {
            let Some(place) = answers.first().map(|answer| answer.rule) else { continue };
            let (Some(meters), Some(rule)) = (self.each.get(place), rules.get(place)) else {
                continue;
            };
            let refused = answers.iter().any(|answer| !answer.outcome.is_allowed());
            let near = answers.iter().any(|answer| is_near(&answer.outcome));
            let hits = rule.hits(cost);
            let counters: &[Counter] = if refused { &meters.refused } else { &meters.allowed };
            counters.iter().for_each(|counter| counter.increment(hits));
            if near && !refused {
                meters.near.increment(hits);
            }
        }
    }
}

fn is_near(outcome: &Outcome) -> bool {
    outcome.level > NEAR * outcome.limit
}

impl RuleMeters {
    fn new(domain: &str, rule: &Rule, names: MetricNames) -> Self {
        let keys = rule.path().iter().enumerate();
        let keys = keys.map(|(i, step)| Label::new(format!("key{}", i + 1), label(step)));
        let domain = Label::new("domain", domain.to_owned());
        match names {
            MetricNames::Own => {
                let own = [domain, Label::new("rule", rule.name().to_owned())];
                let labels: Vec<Label> = own.into_iter().chain(keys).collect();
                let hits = |outcome: &'static str| {
                    let mut labels = labels.clone();
                    labels.push(Label::from_static_parts("outcome", outcome));
                    counter!(HITS, labels)
                };
                // A rule is a shadow, or it is not, until a reload.
                let refused = if rule.is_shadow() { "shadow_refused" } else { "refused" };
                RuleMeters {
                    allowed: smallvec![hits("allowed")],
                    near: counter!(NEAR_HITS, labels.clone()),
                    refused: smallvec![hits(refused)],
                }
            }
            MetricNames::Envoy => {
                let labels: Vec<Label> = [domain].into_iter().chain(keys).collect();
                let [total, within, near, over, shadow] = [TOTAL, WITHIN, ENVOY_NEAR, OVER, SHADOW]
                    .map(|name| counter!(name, labels.clone()));
                let mut refused = smallvec![total.clone(), over];
                if rule.is_shadow() {
                    refused.push(shadow);
                }
                RuleMeters { allowed: smallvec![total, within], near, refused }
            }
        }
    }
}

/// A step as envoyproxy/ratelimit names it.
fn label(step: &Step) -> String {
    match &step.value {
        Value::Any => step.key.clone(),
        Value::Within(_) => step.to_string(),
        Value::Is(text) => format!("{}_{}", step.key, step.shown(text)),
        Value::Like(wildcard) => format!("{}_{}", step.key, wildcard.as_str()),
    }
}
