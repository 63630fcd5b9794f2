//! Prepares once for all requests what depends only on the rules: the counters of each rule, and the
//! constant headers of each limit.

use super::layer::Settings;
use super::meters::RuleMeters;
use super::{draft, report};
use crate::limit::any::AnyLimiter;
use crate::policy::Limit;
use crate::rules::{Opinion, Place, Rule, Rules};
use arc_swap::ArcSwap;
use http::HeaderValue;
use std::collections::HashMap;
use std::sync::Arc;

/// The preparations for the last two rules that were asked for. After a reload, answers by the rules
/// before still arrive for a while, between those by the new ones.
#[derive(Default)]
pub(super) struct Known(ArcSwap<[Option<Arc<OfRules>>; 2]>);

/// The preparations for some rules.
#[derive(Debug)]
pub(super) struct OfRules {
    rules: Arc<Rules>,
    each: Vec<OfRule>,
}

/// The preparations for a rule.
#[derive(Debug)]
struct OfRule {
    meters: RuleMeters,
    limits: Vec<OfLimit>,
    stretched: Vec<OfLimit>,
}

/// The headers of a limit that are the same for all clients.
#[derive(Debug)]
pub(super) struct OfLimit {
    /// The name in the file, if no other rule has it, or else the full name of the rule; a number
    /// follows from its second limit on.
    pub(super) name: String,
    /// The same in the form of the draft.
    pub(super) name_in_list: String,
    pub(super) quota: HeaderValue,
    /// The item in RateLimit-Policy.
    pub(super) policy: HeaderValue,
}

impl Known {
    /// The preparations for `rules`, made when they are new.
    pub(super) fn of(&self, rules: &Arc<Rules>, settings: &Settings) -> Arc<OfRules> {
        let known = self.0.load();
        if let Some(found) = known.iter().flatten().find(|known| Arc::ptr_eq(&known.rules, rules)) {
            return Arc::clone(found);
        }
        report::fields_without_source(rules, &settings.keys);
        let made = Arc::new(OfRules::new(rules, settings.headers.unit));
        let [last, _] = &**known;
        self.0.store(Arc::new([Some(Arc::clone(&made)), last.clone()]));
        made
    }
}

impl OfRules {
    fn new(rules: &Arc<Rules>, unit: Option<&str>) -> Self {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for label in rules.rules().iter().filter_map(Rule::label) {
            *seen.entry(label).or_default() += 1;
        }
        let of = |rule: &Rule| {
            let own = rule.label().filter(|label| seen.get(label) == Some(&1));
            let name = own.unwrap_or(rule.name());
            let of_limits = |limits: &[Limit]| {
                let each = limits.iter().enumerate();
                each.map(|(i, limit)| OfLimit::new(name, i, &limit.limiter, unit)).collect()
            };
            let (limits, stretched) = (of_limits(rule.limits()), of_limits(rule.stretched()));
            OfRule { meters: RuleMeters::new(rule.name()), limits, stretched }
        };
        OfRules { rules: Arc::clone(rules), each: rules.rules().iter().map(of).collect() }
    }

    /// Counts the answer of a limit.
    pub(super) fn count(&self, opinion: &Opinion<'_>) {
        if let Some(rule) = self.each.get(opinion.place.rule) {
            rule.meters.count(opinion);
        }
    }

    /// The headers of a limit.
    pub(super) fn limit(&self, place: Place) -> Option<&OfLimit> {
        let rule = self.each.get(place.rule)?;
        let limits = if place.is_stretched { &rule.stretched } else { &rule.limits };
        limits.get(place.limit)
    }
}

impl OfLimit {
    fn new(name: &str, place: usize, limiter: &AnyLimiter, unit: Option<&str>) -> Self {
        let mut name = draft::name(name);
        if place > 0 {
            name = format!("{name}#{}", place + 1);
        }
        // A limiter that never refuses has no quota.
        let quota = limiter.quota();
        let count = quota.map_or(u64::MAX, |quota| quota.count() as u64);
        let window = quota.map_or(1, |quota| libm::ceil(quota.per().secs()) as u64);
        let name_in_list = draft::name_in_list(&name);
        let policy = draft::policy(&name_in_list, count, window, unit);
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(""));
        OfLimit { name, name_in_list, quota: count.into(), policy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::RateLimit;
    use crate::rules::Ruled;

    /// Answers by the rules before a reload and after it, in turn.
    #[test]
    fn two_rules_in_turn_are_prepared_once_each() {
        let rules = |text: &str| Arc::new(Rules::read("rules.yaml", text).expect(text));
        let old = rules("domain: d\nlimit: 1/1s per user\n");
        let new = rules("domain: d\nlimit: 2/1s per user\n");
        let settings = RateLimit::new(Arc::new(Ruled::new((*old).clone(), 10))).settings;
        let known = Known::default();
        let first = [&old, &new].map(|rules| known.of(rules, &settings));
        for _ in 0..3 {
            for (rules, first) in [&old, &new].into_iter().zip(&first) {
                assert!(Arc::ptr_eq(&known.of(rules, &settings), first));
            }
        }
    }
}
