//! Prepares the parts that depend only on the rules once for all requests: the counters of each rule, the
//! constant headers of each limit, and which limits may delay a request.

use super::draft;
use super::fields::{RequestFields, UNKNOWN};
use super::headers::{OfLimit, number, up, waiting};
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
use ratescope::rules::{Decision, Numbers, PlannedLimit, Rule, Rules};
use ratescope::time::{Span, Time};
use smallvec::SmallVec;
use std::sync::{Arc, Once};

/// The preparations for some rules.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) rules: Arc<Rules>,
    /// Those of a request's own; `None` for the usual ones.
    pub(super) numbers: Option<Numbers>,
    meters: Vec<RuleMeters>,
    /// In the order of the plan. `None` for limiters that never refuse.
    limits: Vec<Option<PreparedLimit>>,
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
    /// The fields that may be the client's address, with the same refusal, if a client without one is refused.
    by_peer: Vec<(String, Unidentified)>,
    keyless: Vec<Keyless>,
    /// How much later than needed a refusal may say to retry, at most.
    pub(super) retry_jitter: Span,
}

/// A limit that counts requests without one of its fields together.
#[derive(Debug)]
struct Keyless {
    /// The index of the limit in the plan.
    at: usize,
    field: String,
    told: Once,
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
    /// The preparations for requests with these numbers of their own, or with the usual ones.
    pub(super) fn new(
        rules: &Arc<Rules>,
        numbers: Option<Numbers>,
        settings: &LayerSettings,
    ) -> Self {
        let unit = settings.headers.unit;
        let name = settings.name.as_deref();
        let meters = rules.rules().iter().map(|rule| RuleMeters::new(rule.name(), name)).collect();
        let of = |at: usize, planned: &PlannedLimit| {
            let own = numbers.as_ref().and_then(|numbers| numbers.limit(at));
            PreparedLimit::new(&planned.name, &own.unwrap_or(&planned.limit).limiter, unit)
        };
        let plan = rules.plan().iter().enumerate();
        let limits: Vec<_> = plan.map(|(at, planned)| of(at, planned)).collect();
        let may_delay =
            rules.rules().iter().flat_map(Rule::limits).any(|limit| limit.limiter.delays());
        let fields: Vec<String> = rules.fields().into_iter().map(str::to_owned).collect();
        let by_ip = fields.iter().any(|field| settings.sources.may_be_ip(field));
        let demanding = settings.sources.demanding(&rules.fields_of(|rule| !rule.is_shadow()));
        let refusal = |field: &str| (field.to_owned(), Unidentified::without_source(field));
        let (mut missing, mut by_peer) = (Vec::new(), Vec::new());
        if settings.sources.refuse_missing {
            missing.extend(settings.sources.missing(rules).map(refusal));
            let may_be_ip = |field: &&str| settings.sources.may_be_ip(field);
            by_peer.extend(rules.fields().into_iter().filter(may_be_ip).map(refusal));
        }
        Prepared {
            meters,
            limits,
            may_delay,
            fields,
            by_ip,
            demanding,
            missing,
            by_peer,
            keyless: keyless(rules),
            retry_jitter: settings.retry_jitter,
            rules: Arc::clone(rules),
            numbers,
        }
    }

    /// If a rule for this request needs a field and its source failed, returns the field and the reason. The request is
    /// then refused before any limit is asked. A field that only shadows need refuses nobody.
    #[inline]
    pub(super) fn unidentified<'f>(
        &'f self,
        fields: &'f RequestFields<'_>,
    ) -> Option<(&'f str, &'f Unidentified)> {
        let is_peerless = !self.by_peer.is_empty() && fields.is_peerless();
        let needs_none = self.demanding.is_empty() && self.missing.is_empty() && !is_peerless;
        if needs_none { None } else { self.demand(fields) }
    }

    fn demand<'f>(&'f self, fields: &'f RequestFields<'_>) -> Option<(&'f str, &'f Unidentified)> {
        let asked = self.rules.ask(&Event { time: Time::ZERO, cost: 0.0, fields }, None);
        for ask in asked.iter().filter(|ask| !ask.is_shadow) {
            let planned = self.rules.plan().get(ask.at);
            for field in planned.into_iter().flat_map(|planned| planned.limit.per.fields()) {
                let is_it = |(known, _): &&(String, Unidentified)| known == field;
                if let Some((field, why)) = self.missing.iter().find(is_it) {
                    return Some((field, why));
                }
                let value = fields.value(field);
                if value == Some(UNKNOWN)
                    && let Some((field, why)) = self.by_peer.iter().find(is_it)
                {
                    return Some((field, why));
                }
            }
        }
        fields.failure(&self.demanding)
    }

    /// Logs once that a limit counts all requests together that lack a field of its key.
    #[inline]
    pub(super) fn note_keyless(&self, event: &Event<'_>, decision: &Decision, layer: Option<&str>) {
        for one in self.keyless.iter().filter(|one| !one.told.is_completed()) {
            let mut answers = decision.placed_outcomes().iter();
            let answer = answers.find(|answer| answer.at == one.at);
            // A source is asked only where a limit needs it.
            if let Some(answer) = answer
                && event.fields.bytes(&one.field).is_none_or(<[u8]>::is_empty)
                && let Some(rule) = self.rules.rules().get(answer.rule)
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
            let PlannedLimit { limit, is_relaxed, .. } = self.rules.plan().get(ask.at)?;
            let may_delay = limit.limiter.delays() && !ask.is_shadow && !is_relaxed;
            may_delay.then_some((ask.at, limit))
        };
        let mut delaying = asked.iter().filter_map(of).peekable();
        delaying.peek()?;
        // All clients share the key of a limit without fields, so nobody can take more than a share.
        let keyed = delaying.filter(|(_, limit)| !limit.per.fields().is_empty());
        let hash = |(at, limit): (usize, &Limit)| {
            let values = limit.per.fields().iter().map(|field| event.field(field));
            queue.hash((at, values.collect::<Vec<_>>()))
        };
        Some(keyed.map(hash).collect())
    }

    /// Counts the answers of the limits.
    pub(super) fn count(&self, decision: &Decision) {
        for one in decision.placed_outcomes() {
            if let Some(meters) = self.meters.get(one.rule) {
                meters.count(one);
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

    /// The headers of a limit, by its index in the plan; `None` if its limiter never refuses.
    pub(super) fn limit(&self, at: usize) -> Option<&PreparedLimit> {
        self.limits.get(at)?.as_ref()
    }
}

/// The limits that count by fields which their rules do not ask for.
fn keyless(rules: &Rules) -> Vec<Keyless> {
    let mut all = Vec::new();
    for (at, planned) in rules.plan().iter().enumerate() {
        let path = rules.rules().get(planned.rule).map_or(&[][..], Rule::path);
        let is_sure = |field: &str| {
            matches!(field, "method" | "path") || path.iter().any(|step| step.key == field)
        };
        for field in planned.limit.per.fields().iter().filter(|field| !is_sure(field)) {
            all.push(Keyless { at, field: field.clone(), told: Once::new() });
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
            quota: number(count),
            waiting: waiting(limiter),
            item: draft::item(&in_list),
            // All of it is escaped, so a header can hold it.
            policy: HeaderValue::try_from(draft::policy(&in_list, count, window, unit)).ok()?,
        })
    }
}
