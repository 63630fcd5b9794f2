//! The answers of rules in words of Envoy's protocol.

use super::decide::{Answers, COUNTED_AT, OneAnswer};
use super::message::{Code, DescriptorStatus, HeaderValue, RateLimit, RateLimitResponse, Unit};
use http::HeaderMap;
use prost_types::value::Kind;
use prost_types::{Duration, ListValue, Struct, Value};
use ratescope::outcome::Retry;
use ratescope::policy::{Limit, tightness};
use ratescope::rules::{Decision, LimitOutcome, Rule};
use ratescope::time::{Span, Time};
use ratescope_tower::internal::{retry, waiting};

/// The units, the longest first.
const UNITS: [(Unit, Span); 7] = [
    (Unit::Year, Span::from_hours(24 * 365)),
    (Unit::Month, Span::from_hours(24 * 30)),
    (Unit::Week, Span::from_hours(24 * 7)),
    (Unit::Day, Span::from_hours(24)),
    (Unit::Hour, Span::from_hours(1)),
    (Unit::Minute, Span::from_mins(1)),
    (Unit::Second, Span::from_secs(1)),
];

/// The span of a unit; `None` if the unit is unknown.
pub(super) fn span(unit: i32) -> Option<Span> {
    UNITS.iter().find(|(known, _)| *known as i32 == unit).map(|(_, span)| *span)
}

/// The status of a descriptor. `retry` says when the event would pass, if not at once; `is_known` whether the
/// descriptor has a rule.
pub(super) fn status(
    decision: Option<&Decision>,
    retry: Option<Option<Retry>>,
    is_known: impl FnOnce() -> bool,
) -> DescriptorStatus {
    let code = if retry.is_some() { Code::OverLimit } else { Code::Ok };
    let code = code.into();
    let decided =
        decision.and_then(|decision| decision.decided_by().or_else(|| decision.outcomes().next()));
    let Some(one) = decided else {
        // As envoyproxy/ratelimit says of rules without a limit.
        let is_free = decision.is_some() && is_known();
        let limit_remaining = if is_free { u32::MAX } else { 0 };
        return DescriptorStatus { code, limit_remaining, ..DescriptorStatus::default() };
    };
    let (remaining, reset) = match one.quota() {
        // A proxy can't wait, so room in a queue does not count as remaining.
        Some(quota) => {
            let at_once = quota.remaining - waiting(&one.limit.limiter);
            (at_once.max(0.0), Some(quota.reset))
        }
        None => (one.outcome.limit - one.outcome.level, None),
    };
    // The casts saturate.
    let limit_remaining = remaining as u32;
    let retry = retry.flatten().and_then(Retry::wait).filter(|_| limit_remaining == 0);
    DescriptorStatus {
        code,
        current_limit: Some(limit(&one)),
        limit_remaining,
        duration_until_reset: retry.or(reset).map(duration),
    }
}

/// True if the limit for all requests decides about a descriptor, instead of the descriptor's own.
pub(super) fn decides(whole: &OneAnswer, own: &OneAnswer) -> bool {
    let outcome = |answer: &OneAnswer| Some(answer.as_ref()?.1.decided_by()?.outcome);
    match (outcome(whole), outcome(own)) {
        (Some(whole), Some(own)) => tightness(&own, &whole).is_lt(),
        (whole, _) => whole.is_some(),
    }
}

fn limit(LimitOutcome { rule, limit: Limit { limiter, .. }, .. }: &LimitOutcome<'_>) -> RateLimit {
    let quota = limiter.quota();
    let (unit, multiplier) = quota.map_or((Unit::Unknown, 1), |quota| in_units(quota.per()));
    RateLimit {
        name: name(rule).to_owned(),
        requests_per_unit: quota.map_or(u32::MAX, |quota| quota.count() as u32),
        unit: unit.into(),
        unit_multiplier: (multiplier != 1).then_some(multiplier),
    }
}

/// A span as a multiple of the longest unit that divides it.
fn in_units(span: Span) -> (Unit, u32) {
    let micros = span.micros_up();
    let times = |unit: Span| {
        let unit = unit.micros_up();
        let times = if micros % unit == 0 { micros / unit } else { 0 };
        u32::try_from(times).ok().filter(|times| *times > 0)
    };
    let found = UNITS.iter().find_map(|(unit, span)| Some((*unit, times(*span)?)));
    found.unwrap_or((Unit::Unknown, 1))
}

fn name(rule: &Rule) -> &str {
    rule.label().unwrap_or(rule.name())
}

fn duration(span: Span) -> Duration {
    let micros = span.micros_up();
    Duration { seconds: micros / 1_000_000, nanos: (micros % 1_000_000) as i32 * 1000 }
}

/// The response with these statuses. `counted` is when hits were counted, if the request is allowed.
pub(super) fn whole(
    statuses: Vec<DescriptorStatus>,
    answers: &Answers,
    counted: Option<Time>,
) -> RateLimitResponse {
    let is_refused = statuses.iter().any(|status| status.code == Code::OverLimit as i32);
    let overall_code = if is_refused { Code::OverLimit } else { Code::Ok };
    let metadata = match counted {
        _ if is_refused => refusal(answers),
        Some(at) => Struct { fields: [named(COUNTED_AT, at.as_micros().to_string())].into() },
        None => Struct::default(),
    };
    RateLimitResponse {
        overall_code: overall_code.into(),
        statuses,
        response_headers_to_add: headers(answers),
        dynamic_metadata: Some(metadata).filter(|metadata| !metadata.fields.is_empty()),
    }
}

/// A text of the dynamic metadata.
fn named(name: &str, text: String) -> (String, Value) {
    (name.to_owned(), Value { kind: Some(Kind::StringValue(text)) })
}

/// The refusal of a request that can't be read: `why` is for the log of the proxy.
pub(super) fn unread(why: &str, descriptors: usize) -> RateLimitResponse {
    let code = Code::OverLimit.into();
    RateLimitResponse {
        overall_code: code,
        statuses: vec![DescriptorStatus { code, ..DescriptorStatus::default() }; descriptors],
        dynamic_metadata: Some(Struct { fields: [named("unread", why.to_owned())].into() }),
        ..RateLimitResponse::default()
    }
}

/// The headers of all answers: the longest wait of a refusal, the numbers of the limit with the least left, and the
/// lists of all limits.
fn headers(answers: &Answers) -> Vec<HeaderValue> {
    let wait = |decision: &Decision| retry(decision).flatten().and_then(Retry::wait);
    let mut each: Vec<_> = answers.iter().flatten().collect();
    each.sort_by_key(|(_, decision)| core::cmp::Reverse(wait(decision)));
    let mut headers = HeaderMap::new();
    for (domain, decision) in each {
        domain.front.write(decision, &mut headers);
    }
    let each = headers.iter().filter_map(|(name, value)| {
        let value = value.to_str().ok()?.to_owned();
        Some(HeaderValue { key: name.as_str().to_owned(), value })
    });
    each.collect()
}

/// Which rules refused.
fn refusal(answers: &Answers) -> Struct {
    let each = || answers.iter().flatten();
    let outcomes = || each().flat_map(|(_, decision)| decision.outcomes());
    let list = |is_shadow: bool| {
        let refuses =
            |one: &LimitOutcome<'_>| !one.outcome.is_allowed() && one.rule.is_shadow() == is_shadow;
        let text = |one: LimitOutcome<'_>| Value {
            kind: Some(Kind::StringValue(one.rule.name().to_owned())),
        };
        outcomes().filter(refuses).map(text).collect::<Vec<_>>()
    };
    let lists = [("refused_by", list(false)), ("shadow_refused_by", list(true))];
    let lists = lists.into_iter().filter(|(_, values)| !values.is_empty());
    let fields = lists.map(|(name, values)| {
        (name.to_owned(), Value { kind: Some(Kind::ListValue(ListValue { values })) })
    });
    Struct { fields: fields.collect() }
}
