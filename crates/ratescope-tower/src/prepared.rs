//! Prepares once for all requests what depends only on the rules: the counters of each rule, the
//! constant headers of each limit, and which limits may delay a request.

use super::draft;
use super::fields::RequestFields;
use super::headers::{OfLimit, up, waiting};
use super::layer::LayerSettings;
use super::meters::RuleMeters;
use super::queue::{KeyHashes, Queue};
use super::report;
use super::unidentified::Unidentified;
use http::HeaderValue;
use ratescope::event::{Event, Fields};
use ratescope::internal::Ask;
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;
use ratescope::rules::{Decision, Place, Rule, Rules};
use ratescope::time::Time;
use smallvec::SmallVec;
use std::sync::{Arc, Once};

/// The preparations for some rules.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) rules: Arc<Rules>,
    each: Vec<PreparedRule>,
    /// True if any limit may delay a request.
    may_delay: bool,
    /// The names of the fields that rules are about, each once.
    pub(super) fields: Vec<String>,
    /// True if any of them may be the client's address.
    pub(super) by_ip: bool,
    /// The indices of the sources whose fields a request must have.
    demanding: Vec<usize>,
    /// The fields without a source, each with the refusal of requests that would be counted by it.
    missing: Vec<(String, Unidentified)>,
    keyless: Vec<Keyless>,
}

/// A limit that counts requests without one of its fields together.
#[derive(Debug)]
struct Keyless {
    rule: usize,
    limit: usize,
    field: String,
    told: Once,
}

/// The preparations for a rule.
#[derive(Debug)]
struct PreparedRule {
    meters: RuleMeters,
    /// `None` for limiters that never refuse.
    limits: Vec<Option<PreparedLimit>>,
    stretched: Vec<Option<PreparedLimit>>,
}

/// The headers of a limit that are the same for all clients.
#[derive(Debug)]
pub(super) struct PreparedLimit {
    /// The [name](Rules::limit_names), in ASCII.
    pub(super) name: String,
    /// The size of its quota.
    pub(super) quota: HeaderValue,
    /// How much of its room is for requests that wait.
    pub(super) waiting: f64,
    /// The beginning of the item in RateLimit.
    pub(super) item: String,
    /// The item in RateLimit-Policy.
    policy: HeaderValue,
}

impl Prepared {
    pub(super) fn new(rules: &Arc<Rules>, settings: &LayerSettings) -> Self {
        let unit = settings.headers.unit;
        let of = |(rule, names): (&Rule, Vec<String>)| {
            let of_limits = |limits: &[Limit]| {
                let each = limits.iter().zip(&names);
                each.map(|(limit, name)| PreparedLimit::new(name, &limit.limiter, unit)).collect()
            };
            PreparedRule {
                meters: RuleMeters::new(rule.name(), settings.name.as_deref()),
                limits: of_limits(rule.limits()),
                stretched: of_limits(rule.stretched()),
            }
        };
        let each = rules.rules().iter().zip(rules.limit_names()).map(of).collect();
        let may_delay =
            rules.rules().iter().flat_map(Rule::limits).any(|limit| limit.limiter.delays());
        let fields: Vec<String> = rules.fields().into_iter().map(str::to_owned).collect();
        let by_ip = fields.iter().any(|field| settings.sources.may_be_ip(field));
        let demanding = settings.sources.demanding(&rules.fields_of(|rule| !rule.is_shadow()));
        let missing = match settings.sources.refuse_missing {
            true => settings.sources.missing(rules).collect(),
            false => Vec::new(),
        };
        let refusal = |field: &str| (field.to_owned(), Unidentified::without_source(field));
        Prepared {
            each,
            may_delay,
            fields,
            by_ip,
            demanding,
            missing: missing.into_iter().map(refusal).collect(),
            keyless: keyless(rules),
            rules: Arc::clone(rules),
        }
    }

    /// If a rule for this request needs a field and its source failed, returns the field and the reason. The request is
    /// then refused before any limit is asked. A field that only shadows need refuses nobody.
    #[inline]
    pub(super) fn unidentified<'f>(
        &'f self,
        fields: &'f RequestFields<'_>,
    ) -> Option<(&'f str, &'f Unidentified)> {
        let needs_none = self.demanding.is_empty() && self.missing.is_empty();
        if needs_none { None } else { self.demand(fields) }
    }

    fn demand<'f>(&'f self, fields: &'f RequestFields<'_>) -> Option<(&'f str, &'f Unidentified)> {
        let asked = self.rules.ask(&Event { time: Time::ZERO, cost: 0.0, fields }, None);
        for ask in asked.iter().filter(|ask| !ask.is_shadow) {
            let limit =
                self.rules.rules().get(ask.rule).and_then(|rule| rule.limits().get(ask.limit));
            for field in limit.into_iter().flat_map(|limit| limit.per.fields()) {
                if let Some((field, why)) = self.missing.iter().find(|(known, _)| known == field) {
                    return Some((field, why));
                }
                fields.value(field);
            }
        }
        fields.failure(&self.demanding)
    }

    /// Logs once that a limit counts all requests together that lack a field of its key.
    #[inline]
    pub(super) fn note_keyless(&self, event: &Event<'_>, decision: &Decision, layer: Option<&str>) {
        for one in self.keyless.iter().filter(|one| !one.told.is_completed()) {
            let place = (one.rule, one.limit);
            let mut answers = decision.placed_outcomes().iter();
            let mut is_asked =
                || answers.any(|answer| (answer.place.rule, answer.place.limit) == place);
            // A source is asked only where a limit needs it.
            if is_asked()
                && event.field(&one.field).is_empty()
                && let Some(rule) = self.rules.rules().get(one.rule)
            {
                one.told.call_once(|| report::keyless(rule.name(), &one.field, layer));
            }
        }
    }

    pub(super) fn is_for(&self, rules: &Arc<Rules>) -> bool {
        Arc::ptr_eq(&self.rules, rules)
    }

    /// The keys for which an event may have to wait; `None` if it never has to.
    #[inline]
    pub(super) fn delaying(&self, event: &Event<'_>, queue: &Queue) -> Option<KeyHashes> {
        if self.may_delay { self.delaying_keys(event, queue) } else { None }
    }

    fn delaying_keys(&self, event: &Event<'_>, queue: &Queue) -> Option<KeyHashes> {
        let asked = self.rules.ask(event, None);
        let of = |ask: &Ask| {
            let rule = self.rules.rules().get(ask.rule)?;
            let limit = rule.limits().get(ask.limit).filter(|limit| limit.limiter.delays())?;
            (!rule.is_shadow() && !ask.is_stretched).then_some((ask.rule, ask.limit, limit))
        };
        let mut delaying = asked.iter().filter_map(of).peekable();
        delaying.peek()?;
        // All clients share the key of a limit without fields, so nobody can take more than a share.
        let keyed = delaying.filter(|(_, _, limit)| !limit.per.fields().is_empty());
        let hash = |(rule, place, limit): (usize, usize, &Limit)| {
            let values = limit.per.fields().iter().map(|field| event.field(field));
            queue.hash((rule, place, values.collect::<Vec<_>>()))
        };
        Some(keyed.map(hash).collect())
    }

    /// Counts the answers of the limits.
    pub(super) fn count(&self, decision: &Decision) {
        for one in decision.placed_outcomes() {
            if let Some(rule) = self.each.get(one.place.rule) {
                rule.meters.count(one);
            }
        }
    }

    /// RateLimit-Policy for these limits.
    pub(super) fn policies(&self, each: &[OfLimit<'_>]) -> Option<HeaderValue> {
        match each {
            [] => None,
            [one] => Some(one.limit.policy.clone()),
            _ => {
                let items: SmallVec<[&[u8]; 4]> =
                    each.iter().map(|of| of.limit.policy.as_bytes()).collect();
                HeaderValue::try_from(items.join(&b", "[..])).ok()
            }
        }
    }

    /// The headers of a limit; `None` if its limiter never refuses.
    pub(super) fn limit(&self, place: Place) -> Option<&PreparedLimit> {
        let rule = self.each.get(place.rule)?;
        let limits = if place.is_stretched { &rule.stretched } else { &rule.limits };
        limits.get(place.limit)?.as_ref()
    }
}

/// The limits that count by fields which their rules do not ask for.
fn keyless(rules: &Rules) -> Vec<Keyless> {
    let mut all = Vec::new();
    for (i, rule) in rules.rules().iter().enumerate() {
        for (j, limit) in rule.limits().iter().enumerate() {
            let is_sure = |field: &str| {
                matches!(field, "method" | "path")
                    || rule.path().iter().any(|step| step.key == field)
            };
            for field in limit.per.fields().iter().filter(|field| !is_sure(field)) {
                all.push(Keyless { rule: i, limit: j, field: field.clone(), told: Once::new() });
            }
        }
    }
    all
}

impl PreparedLimit {
    fn new(name: &str, limiter: &AnyLimiter, unit: Option<&str>) -> Option<Self> {
        let quota = limiter.quota()?;
        let (count, window) = (quota.count() as u64, up(quota.per()));
        let name = draft::name(name);
        let in_list = draft::name_in_list(&name);
        Some(PreparedLimit {
            name,
            quota: count.into(),
            waiting: waiting(limiter),
            item: draft::item(&in_list),
            // All of it is escaped, so a header can hold it.
            policy: HeaderValue::try_from(draft::policy(&in_list, count, window, unit)).ok()?,
        })
    }
}
