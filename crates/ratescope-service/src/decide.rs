//! The decision about a request of Envoy's protocol.
//!
//! Each descriptor is an event of its own, for the rule with exactly its keys. The rule at the top of a file is for the
//! whole request, and gets an event of its own if there are several descriptors, so that their order does not matter. A
//! request is one decision: all of these events are counted, or none is.

use super::message::{
    DescriptorStatus, Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse,
};
use super::spans::{self, Ended};
use super::{Domain, Forms, Service, response, together};
use core::fmt;
use ratescope::clock::Clock;
use ratescope::event::{Descriptor, Event, Fields};
use ratescope::internal::escaped;
use ratescope::limit::MAX_COST;
use ratescope::outcome::Retry;
use ratescope::policy::is_credential;
use ratescope::rules::{Decision, Details, Fault, Intent, Part, Rule, Rules, Store};
use ratescope::time::Time;
use ratescope_tower::internal::{RequestOutcome, is_unavailable, retry};
use smallvec::SmallVec;
use std::sync::Arc;
use tracing::Instrument;

/// The most descriptors of a request, and the most entries of a descriptor.
const MOST: usize = 64;

/// The entry of a descriptor, and the value of the dynamic metadata, that says when hits were counted.
pub(super) const COUNTED_AT: &str = "counted_at";

/// All details about an event that can't wait.
pub(super) const DETAILS: Details = Details::ALL.at_once();

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The request is malformed.
    Invalid(String),
    /// The request asks for something that this service can't do.
    Unsupported(String),
    /// The store can't be asked, and a rule then refuses.
    Unavailable(Fault),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Invalid(why) | NoAnswer::Unsupported(why) => f.write_str(why),
            NoAnswer::Unavailable(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for NoAnswer {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // The fault is shown in place of this error, so its source comes next.
            NoAnswer::Unavailable(fault) => fault.source(),
            _ => None,
        }
    }
}

impl NoAnswer {
    fn no_refund() -> Self {
        let why = "is_negative_hits: a limit that applies, or its store, can't give back";
        NoAnswer::Unsupported(why.to_owned())
    }
}

/// The fields of one descriptor of a request. Missing fields are taken from the other descriptors.
struct Listed<'a> {
    entries: SmallVec<[(&'a str, &'a str); 4]>,
    all: &'a [RateLimitDescriptor],
    is_first: bool,
    forms: &'a Forms,
}

impl<'a> Listed<'a> {
    /// The entries of a descriptor, but for the time at which hits to give back were counted.
    fn new(own: &'a RateLimitDescriptor, all: &'a [RateLimitDescriptor], forms: &'a Forms) -> Self {
        let own = own.entries.iter().filter(|entry| !is_time(own, entry));
        let entries = own.map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
        Listed { entries, all, is_first: false, forms }
    }

    /// A key made from its entries and the limit that it brings along. Secrets are hashed.
    fn text(&self, rules: &Rules, limit: &str) -> String {
        let entry = |(key, value): &(&str, &str)| {
            let is_secret =
                rules.is_secret(key) || is_credential(key) || self.forms.secret.contains(*key);
            let value = if is_secret {
                rules.key_secret().hashed(value)
            } else {
                escaped(value).to_string()
            };
            format!(",{}={value}", escaped(key))
        };
        let entries: String = self.entries.iter().map(entry).collect();
        format!("{},{limit}{entries}", escaped(rules.domain()))
    }
}

impl Fields for Listed<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        if let Some((key, place)) = name.split_once('#') {
            // The rules count the second of equal keys as `key#2`.
            let place = place.parse::<usize>().ok()?.checked_sub(1)?;
            let equal = self.entries.iter().filter(|(known, _)| *known == key);
            return equal.map(|(_, value)| *value).nth(place);
        }
        let own = self.entries.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let others = || self.all.iter().flat_map(|descriptor| &descriptor.entries);
        let named = || others().filter(|entry| entry.key == name).map(|entry| entry.value.as_str());
        // Of several values the least, so that the order of descriptors does not matter.
        own.or_else(|| named().min())
    }

    fn is_secret(&self, name: &str) -> bool {
        self.forms.secret.contains(name)
    }

    fn descriptor(&self) -> Option<Descriptor<'_>> {
        Some(Descriptor { entries: &self.entries, is_first: self.is_first })
    }
}

/// The store of a limit that a descriptor brings along, and the key there.
type Instead = (Arc<Domain>, [(&'static str, String); 1]);

/// One descriptor that is asked about.
struct Question<'a> {
    fields: Listed<'a>,
    /// Asked in place of the rules.
    instead: Option<Instead>,
    hits: f64,
    is_look: bool,
    /// When the hits were counted, if they are given back.
    counted: Option<Time>,
    /// True if a rule of another descriptor replaces its own.
    is_replaced: bool,
}

impl Question<'_> {
    /// The intent of its part at `now`.
    fn intent(&self, now: Time) -> Intent<'static> {
        match (self.counted, self.is_look) {
            (Some(_), _) => Intent::Settle { now, passed: None },
            (_, true) => Intent::Look,
            _ => Intent::Count,
        }
    }

    /// When the event would pass; `None` if it passes at once, as returned hits always do.
    fn retry(&self, decision: &Decision) -> Option<Option<Retry>> {
        retry(decision).filter(|_| self.counted.is_none())
    }
}

impl<C: Clock> Service<C> {
    /// Decides about a request, and counts it if it is allowed.
    ///
    /// A domain without rules is not limited. `hits_addend` of a descriptor replaces that of the request; if it is 0,
    /// the answer is whether one more hit would pass, and nothing is counted. With `is_negative_hits` the hits are
    /// given back, as far as they certainly still count since the time of the entry `counted_at`. A limiter that would
    /// delay an event refuses it here, since a proxy can't wait.
    ///
    /// # Errors
    /// If the request is malformed, or if the store can't be asked and a rule then refuses.
    pub async fn should_rate_limit(
        &self,
        request: &RateLimitRequest,
    ) -> Result<RateLimitResponse, NoAnswer> {
        let span = spans::decision(&request.domain);
        let answer = self.answer(request).instrument(span.clone()).await;
        let ended = match &answer {
            Ok(answer) if answer.overall_code() == super::Code::OverLimit => Ended::Refused,
            Ok(_) => Ended::Allowed,
            Err(_) => Ended::Failed,
        };
        ended.record(&span);
        if let Err(why) = &answer {
            self.meters().count_no_answer(why);
        }
        answer
    }

    async fn answer(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, NoAnswer> {
        check(request)?;
        let Some(domain) = self.domain(&request.domain) else {
            self.meters().count_unknown_domain();
            let free = || response::status(None, None, || false);
            return Ok(RateLimitResponse {
                overall_code: super::Code::Ok.into(),
                statuses: request.descriptors.iter().map(|_| free()).collect(),
                ..RateLimitResponse::default()
            });
        };
        let request = match self.forms.request(request, &domain.store.rules()) {
            Ok(request) => request,
            Err(why) => return Ok(self.refuse_unread(&why, request.descriptors.len())),
        };
        let entries = request.descriptors.iter().flat_map(|descriptor| &descriptor.entries);
        self.hear_load(entries.map(|entry| (entry.key.as_str(), entry.value.as_str())));
        let questions = self.questions(&domain, &request)?;
        let answers = self.answers(&domain, &questions).await;
        // A reload may have brought rules that can't give back.
        self.check_refunds(&domain, &questions)?;
        let is_counted = questions.iter().any(|question| question.intent(Time::ZERO).is_count());
        let fault = answers.iter().flatten().find(|(_, decision)| is_unavailable(decision));
        if let Some((_, Decision { fault: Some(fault), .. })) = fault {
            if is_counted {
                domain.front.count_request(RequestOutcome::Unavailable);
            }
            return Err(NoAnswer::Unavailable(fault.clone()));
        }
        let each: Vec<_> = answers.iter().zip(&questions).collect();
        let (own, for_all) = each.split_at(request.descriptors.len().min(each.len()));
        let statuses: Vec<DescriptorStatus> = own
            .iter()
            .map(|own| {
                let decides = for_all.first().filter(|whole| response::decides(whole.0, own.0));
                let (answer, question) = *decides.unwrap_or(own);
                let decision = answer.as_ref().map(|(_, decision)| decision);
                let retry = decision.and_then(|decision| question.retry(decision));
                response::status(decision, retry, || self.is_known(&domain, question))
            })
            .collect();
        let each =
            questions.iter().zip(&answers).filter(|(one, _)| one.intent(Time::ZERO).is_count());
        let counted = each.filter_map(|(_, answer)| Some(answer.as_ref()?.1.time)).min();
        let response = response::whole(statuses, &answers, counted);
        if is_counted {
            let is_refused = response.overall_code() == super::Code::OverLimit;
            domain.front.count_request(RequestOutcome::of(is_refused));
        }
        Ok(response)
    }

    fn questions<'a>(
        &'a self,
        domain: &Arc<Domain>,
        request: &'a RateLimitRequest,
    ) -> Result<SmallVec<[Question<'a>; 2]>, NoAnswer> {
        let all = request.descriptors.as_slice();
        let rules = domain.store.rules();
        let of = |descriptor: &'a RateLimitDescriptor| {
            let fields = Listed::new(descriptor, all, &self.forms);
            let instead = match &descriptor.limit {
                Some(limit) => {
                    let (name, store) = self.overrides.store(limit, |rules| self.open(rules))?;
                    // On Redis, the keys of all such limits belong to one rule.
                    let text = fields.text(&rules, &name);
                    Some((store, [("descriptor", text)]))
                }
                None => None,
            };
            let whole = f64::from(request.hits_addend.max(1));
            let own = descriptor.hits_addend.map(|own| own as f64);
            let is_look = own == Some(0.0);
            let hits = if is_look { 1.0 } else { own.unwrap_or(whole) };
            let counted = if is_look { None } else { counted(descriptor)? };
            Ok(Question { fields, instead, hits, is_look, counted, is_replaced: false })
        };
        let questions: Result<SmallVec<[_; 2]>, NoAnswer> = all.iter().map(of).collect();
        let mut questions = questions?;
        if rules.is_any_for_all() {
            ask_for_all(&mut questions, all, &self.forms);
        }
        if questions.len() > 1 && rules.has_replacements() {
            replace(&rules, &mut questions);
        }
        // All mistakes are found before anything is counted.
        self.check_refunds(domain, &questions)?;
        Ok(questions)
    }

    /// Fails if hits are to be given back in limits that can't.
    fn check_refunds(
        &self,
        domain: &Arc<Domain>,
        questions: &[Question<'_>],
    ) -> Result<(), NoAnswer> {
        for question in questions.iter().filter(|question| question.counted.is_some()) {
            let (domain, event) = self.event(domain, question, Time::ZERO);
            if question.is_replaced {
                continue;
            }
            let rules = domain.store.rules();
            if !rules.can_undo_all(&rules.ask(&event, None)) {
                return Err(NoAnswer::no_refund());
            }
        }
        Ok(())
    }

    /// The answers to all questions, which are decided together; `None` where no rule is asked.
    async fn answers(&self, domain: &Arc<Domain>, questions: &[Question<'_>]) -> Answers {
        let asked = || questions.iter().filter(|question| !question.is_replaced);
        let now = self.clock.now();
        let events: SmallVec<[_; 2]> =
            asked().map(|question| self.event(domain, question, now)).collect();
        let parts: SmallVec<[(&Arc<Domain>, Part<'_>); 2]> = events
            .iter()
            .zip(asked())
            .map(|((domain, event), question)| {
                (*domain, Part { event, numbers: None, intent: question.intent(now) })
            })
            .collect();
        let answers = together::decide(&parts, DETAILS).await;
        // Later, if the store had to be waited for.
        let asked = now;
        let now = self.clock.now();
        if self.states.is_on_redis() {
            domain.front.took(asked.until(now));
        }
        let plain: SmallVec<[Part<'_>; 2]> = parts.iter().map(|(_, part)| *part).collect();
        let decided = Part::decided(&plain, &answers, DETAILS);
        for (((domain, event), decision), is_decided) in events.iter().zip(&answers).zip(decided) {
            if is_decided {
                domain.front.record(event, decision, now);
            }
        }
        let domains = events.iter().map(|(domain, _)| Arc::clone(domain));
        let mut each = domains.zip(answers);
        questions
            .iter()
            .map(|question| if question.is_replaced { None } else { each.next() })
            .collect()
    }

    /// The event of a question, and the domain that decides about it.
    fn event<'a>(
        &self,
        domain: &'a Arc<Domain>,
        question: &'a Question<'_>,
        now: Time,
    ) -> (&'a Arc<Domain>, Event<'a>) {
        let (time, cost) = question.counted.map_or((now, question.hits), |at| (at, -question.hits));
        match &question.instead {
            Some((instead, fields)) => (instead, Event { time, cost, fields }),
            None => (domain, Event { time, cost, fields: &question.fields }),
        }
    }

    /// True if a descriptor has a rule, even one without limits.
    fn is_known(&self, domain: &Domain, question: &Question<'_>) -> bool {
        question.instead.is_some() || !domain.store.rules().matching(&question.fields).is_empty()
    }
}

/// The answers to all descriptors, followed by that of the rule at the top if it was asked apart, each with its domain.
pub(super) type Answers = SmallVec<[OneAnswer; 2]>;

/// `None` where no rule is asked.
pub(super) type OneAnswer = Option<(Arc<Domain>, Decision)>;

/// Asks the rule at the top of the file. It counts the highest number of hits that a descriptor takes; if no descriptor
/// takes hits, it gives back the highest number that a descriptor gives back, as counted at the earliest of their times;
/// and if all peek, it peeks. A request with one descriptor, for the rules, asks both in one question.
fn ask_for_all<'a>(
    questions: &mut SmallVec<[Question<'a>; 2]>,
    all: &'a [RateLimitDescriptor],
    forms: &'a Forms,
) {
    if let [only] = questions.as_mut_slice()
        && only.instead.is_none()
    {
        only.fields.is_first = true;
        return;
    }
    let most = |is_refund: bool| {
        let each =
            questions.iter().filter(|one| !one.is_look && one.counted.is_some() == is_refund);
        each.map(|one| one.hits).reduce(f64::max)
    };
    let (takes, gives) = (most(false), most(true));
    let counted = questions.iter().filter_map(|question| question.counted).min();
    questions.push(Question {
        fields: Listed { entries: SmallVec::new(), all, is_first: true, forms },
        instead: None,
        hits: takes.or(gives).unwrap_or(1.0),
        is_look: takes.or(gives).is_none(),
        counted: counted.filter(|_| takes.is_none()),
        is_replaced: false,
    });
}

/// Marks the descriptors whose rule is replaced by the rule of another descriptor.
fn replace(rules: &Rules, questions: &mut [Question<'_>]) {
    let of = |question: &Question<'_>| match &question.instead {
        Some(_) => Vec::new(),
        None => rules.matching(&question.fields),
    };
    let matching: Vec<Vec<&Rule>> = questions.iter().map(of).collect();
    let replaced = |own: &[&Rule]| {
        let mut others = matching.iter().flatten();
        !own.is_empty() && others.any(|other| own.iter().all(|rule| other.does_replace(rule)))
    };
    for (question, own) in questions.iter_mut().zip(&matching) {
        question.is_replaced = replaced(own);
    }
}

/// True for the entry that says when the hits of a descriptor were counted, which it gives back.
fn is_time(descriptor: &RateLimitDescriptor, entry: &Entry) -> bool {
    descriptor.is_negative_hits && entry.key == COUNTED_AT
}

/// When the hits of a descriptor were counted, if it gives them back. Without that time, a client that held many
/// requests open would get more back at once than ever counted at one time.
fn counted(descriptor: &RateLimitDescriptor) -> Result<Option<Time>, NoAnswer> {
    if !descriptor.is_negative_hits {
        return Ok(None);
    }
    let entry = descriptor.entries.iter().find(|entry| is_time(descriptor, entry));
    let micros = entry.and_then(|entry| entry.value.parse().ok());
    let why = || {
        NoAnswer::Invalid(format!(
            "is_negative_hits: hits are given back by the time at which they were counted; add the entry {COUNTED_AT} \
             with the value that the dynamic metadata of the answer had, in microseconds since 1970"
        ))
    };
    micros.map(|micros| Some(Time::from_micros(micros))).ok_or_else(why)
}

/// Refuses malformed requests.
fn check(request: &RateLimitRequest) -> Result<(), NoAnswer> {
    let invalid = |why: &str| Err(NoAnswer::Invalid(why.to_owned()));
    if request.domain.is_empty() {
        return invalid("the domain is missing");
    }
    if request.descriptors.is_empty() {
        return invalid("there are no descriptors");
    }
    if request.descriptors.len() > MOST {
        return invalid("there are more than 64 descriptors");
    }
    for descriptor in &request.descriptors {
        if descriptor.entries.iter().all(|entry| is_time(descriptor, entry)) {
            return invalid("a descriptor has no entries");
        }
        if descriptor.entries.len() > MOST {
            return invalid("a descriptor has more than 64 entries");
        }
        if descriptor.hits_addend.is_some_and(|hits| hits as f64 > MAX_COST) {
            return invalid("hits_addend is more than 1e12");
        }
    }
    Ok(())
}
