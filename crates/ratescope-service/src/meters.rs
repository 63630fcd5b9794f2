//! The counters, with the names that dashboards of envoyproxy/ratelimit know.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `ratelimit_service_rate_limit_total_hits` | of the rule | hits that a rule was asked about |
//! | `ratelimit_service_rate_limit_within_limit` | of the rule | hits that it let pass |
//! | `ratelimit_service_rate_limit_near_limit` | of the rule | passed hits that left less than a fifth of the limit |
//! | `ratelimit_service_rate_limit_over_limit` | of the rule | hits that it refused, also as a shadow |
//! | `ratelimit_service_rate_limit_shadow_mode` | of the rule | hits that it refused as a shadow |
//! | `ratelimit_service_call_should_rate_limit_unknown_domain` | | requests for a domain that has no rules; they pass |
//! | `ratelimit_service_call_should_rate_limit_error` | `error`: `invalid`, `unsupported`, `unavailable`; `unread` | requests without an answer; `unread` were refused since they can't be read |
//! | `ratelimit_service_config_load_success`, `…_error` | | changed rule files that were put in force, and that were not |
//! | `ratescope_rules_broken` | | rule files that are wrong or can't be read, while older rules are in force |
//!
//! The labels of a rule are its `domain`, its full name as `rule`, and the steps of its path as `key1`, `key2` and so
//! on, each as in `path` or `path_/login`. They come from the rules alone: no request adds labels, not even with an
//! override or an unknown domain. There are also the counters of [the layer](ratescope_tower::meters), whose label `layer`
//! is the domain.

use metrics::{Counter, Label, counter, describe_counter, describe_gauge, gauge};
use ratescope::outcome::Outcome;
use ratescope::rules::{Decision, Rule, Rules, Step, Value};
use std::sync::Arc;

/// From this share of the limit on, an event is near it, as in envoyproxy/ratelimit.
const NEAR: f64 = 0.8;

/// Describes the counters to the recorder, those of the layer behind `/auth` among them.
pub(super) fn describe() {
    const OF_RULES: [[&str; 2]; 5] = [
        ["ratelimit_service_rate_limit_total_hits", "Hits that a rule was asked about"],
        ["ratelimit_service_rate_limit_within_limit", "Hits that a rule let pass"],
        ["ratelimit_service_rate_limit_near_limit", "Passed hits that left less than a fifth"],
        ["ratelimit_service_rate_limit_over_limit", "Hits that a rule refused, or would have"],
        ["ratelimit_service_rate_limit_shadow_mode", "Hits that a shadow would have refused"],
    ];
    const OTHERS: [[&str; 2]; 4] = [
        ["ratelimit_service_call_should_rate_limit_unknown_domain", "Requests without rules"],
        ["ratelimit_service_call_should_rate_limit_error", "Requests that got no answer"],
        ["ratelimit_service_config_load_success", "Changed rule files that are in force"],
        ["ratelimit_service_config_load_error", "Changed rule files that are not in force"],
    ];
    for [name, help] in OF_RULES.into_iter().chain(OTHERS) {
        describe_counter!(name, help);
    }
    describe_gauge!("ratescope_rules_broken", "Rule files that can't be read now, or are wrong");
    ratescope_tower::meters::describe();
}

/// The counters of each rule of a file.
pub(super) struct FileMeters {
    each: Vec<RuleMeters>,
}

struct RuleMeters {
    total: Counter,
    within: Counter,
    near: Counter,
    over: Counter,
    shadow: Counter,
}

impl FileMeters {
    pub(super) fn new(rules: &Arc<Rules>) -> Self {
        let each = rules.rules().iter().map(|rule| RuleMeters::new(rules.domain(), rule)).collect();
        FileMeters { each }
    }

    /// Counts the outcome of each rule for an event of this cost.
    pub(super) fn count(&self, decision: &Decision, cost: f64) {
        let rules = decision.rules().rules();
        for answers in decision.by_rule() {
            let Some(place) = answers.first().map(|answer| answer.place.rule) else { continue };
            let (Some(meters), Some(rule)) = (self.each.get(place), rules.get(place)) else {
                continue;
            };
            let refused = answers.iter().any(|answer| !answer.outcome.is_allowed());
            let near = answers.iter().any(|answer| is_near(&answer.outcome));
            let hits = rule.hits(cost);
            meters.total.increment(hits);
            if refused {
                meters.over.increment(hits);
                if rule.is_shadow() {
                    meters.shadow.increment(hits);
                }
            } else {
                meters.within.increment(hits);
                if near {
                    meters.near.increment(hits);
                }
            }
        }
    }
}

fn is_near(outcome: &Outcome) -> bool {
    outcome.level > NEAR * outcome.limit
}

impl RuleMeters {
    fn new(domain: &str, rule: &Rule) -> Self {
        let keys = rule.path().iter().enumerate();
        let keys = keys.map(|(i, step)| Label::new(format!("key{}", i + 1), label(step)));
        let own = [("domain", domain), ("rule", rule.name())];
        let own = own.into_iter().map(|(name, value)| Label::new(name, value.to_owned()));
        let labels: Vec<Label> = own.chain(keys).collect();
        RuleMeters {
            total: counter!("ratelimit_service_rate_limit_total_hits", labels.clone()),
            within: counter!("ratelimit_service_rate_limit_within_limit", labels.clone()),
            near: counter!("ratelimit_service_rate_limit_near_limit", labels.clone()),
            over: counter!("ratelimit_service_rate_limit_over_limit", labels.clone()),
            shadow: counter!("ratelimit_service_rate_limit_shadow_mode", labels),
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

pub(super) fn count_unknown_domain() {
    counter!("ratelimit_service_call_should_rate_limit_unknown_domain").increment(1);
}

pub(super) fn count_error(error: &'static str) {
    counter!("ratelimit_service_call_should_rate_limit_error", "error" => error).increment(1);
}

/// Counts a changed file, and says how many are `broken` now.
pub(super) fn count_load(is_good: bool, broken: usize) {
    if is_good {
        counter!("ratelimit_service_config_load_success").increment(1)
    } else {
        counter!("ratelimit_service_config_load_error").increment(1)
    }
    gauge!("ratescope_rules_broken").set(broken as f64);
}
