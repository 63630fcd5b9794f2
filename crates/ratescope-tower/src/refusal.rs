//! Responses to refused requests.
//!
//! [`Problem`] answers with status 429 and problem details (RFC 9457) of the type that the RateLimit
//! draft registers. [`GrpcStatus`](super::GrpcStatus) answers with a gRPC status. A closure can answer with anything:
//!
//! ```
//! use http::Response;
//! use ratescope::Policy;
//! use ratescope_tower::{RateLimitLayer, Refused};
//! use ratescope::rules::{MemoryStore, Rules};
//!
//! let policy: Policy = "gcra 10/1s per ip".parse()?;
//! let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000))
//!     .answer(|refused: &Refused<'_>| {
//!         let mut response = Response::new(format!("Slow down: {}.\n", refused.decision));
//!         *response.status_mut() = refused.status();
//!         response
//!     });
//! # let _ = limit;
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! The layer adds the [headers](super::Headers) to any of these responses.
//!
//! A request that lacks a required [key](super::RateLimitLayer::key) is answered in the same way, with the status and the
//! reason of an [`Unidentified`].

use super::draft;
use super::fields::Head;
use super::headers::{Headers, up};
use super::prepared::Prepared;
use super::unidentified::Unidentified;
use http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use ratescope::outcome::Retry;
use ratescope::rules::{Decision, LimitOutcome, OnStoreFailure, Rule, StateSource};
use ratescope::time::Span;
use serde_json::Value;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A refused request, and the reason.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The request.
    pub head: Head<'a>,
    /// The decision. If the queue is full, it is that the request may pass after a wait. If the request is
    /// unidentified, no limit was asked, and it has no outcomes.
    pub decision: &'a Decision,
    /// When the request would pass, if nothing is counted before, with the [jitter](super::RateLimitLayer::retry_jitter);
    /// `None` if that is not known.
    pub retry: Option<Retry>,
    /// Why the limits were not asked: the request lacks a [key](super::RateLimitLayer::key).
    pub unidentified: Option<&'a Unidentified>,
    pub(super) prepared: &'a Prepared,
}

impl<'a> Refused<'a> {
    /// A request that this decision refuses, or that can't wait.
    pub(super) fn new(head: Head<'a>, decision: &'a Decision, prepared: &'a Prepared) -> Self {
        let retry = retry(decision).flatten().map(|retry| match retry {
            Retry::After(wait) => Retry::After(later(wait, prepared.retry_jitter)),
            Retry::Never => Retry::Never,
        });
        Refused { head, decision, retry, unidentified: None, prepared }
    }

    /// A request that lacks a key. The decision is empty.
    pub(super) fn unidentified(
        head: Head<'a>,
        decision: &'a Decision,
        why: &'a Unidentified,
        prepared: &'a Prepared,
    ) -> Self {
        Refused { head, decision, retry: None, unidentified: Some(why), prepared }
    }

    pub(super) fn respond<B>(&self, answer: &impl Answer<B>, headers: &Headers) -> Response<B> {
        let mut response = answer.answer(self);
        let retry = Some(self.retry_after());
        if let Some(mut values) = headers.values(self.prepared, self.decision, retry, true) {
            values.write(response.headers_mut());
        }
        if let Some(challenge) = self.unidentified.and_then(Unidentified::challenge) {
            let headers = response.headers_mut();
            headers.entry(WWW_AUTHENTICATE).or_insert_with(|| challenge.clone());
        }
        response
    }

    /// How long until the request would pass; `None` if it never would, or if that is not known.
    pub fn retry_after(&self) -> Option<Span> {
        self.retry.and_then(Retry::wait)
    }

    /// True if it was refused because the store failed, as its rule demands.
    pub fn is_unavailable(&self) -> bool {
        is_unavailable(self.decision)
    }

    /// True if it was refused because the queue is full, or because the client has its share of the slots.
    pub fn is_queue_full(&self) -> bool {
        self.unidentified.is_none() && self.decision.is_allowed()
    }

    /// 429, or 503 if the store failed, or the status of an unidentified request.
    pub fn status(&self) -> StatusCode {
        match (self.unidentified, self.is_unavailable()) {
            (Some(why), _) => why.status(),
            (None, true) => StatusCode::SERVICE_UNAVAILABLE,
            (None, false) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The names of the limits that the request exceeds, as in RateLimit-Policy. A limit that refuses because the store
    /// failed is not exceeded.
    pub fn violated(&self) -> impl Iterator<Item = &str> {
        let is_exceeded = |one: &LimitOutcome<'_>| {
            let is_known = one.source != StateSource::Unknown;
            is_known && !one.rule.is_shadow() && !one.outcome.is_allowed()
        };
        let exceeded = self.decision.outcomes().filter(is_exceeded);
        exceeded.filter_map(|one| Some(self.prepared.limit(one.at)?.name.as_str()))
    }

    /// One sentence for the client. It says nothing about others who share the limit.
    pub(super) fn detail(&self) -> String {
        if let Some(why) = self.unidentified {
            return why.reason().to_owned();
        }
        let why = match (self.is_unavailable(), self.is_queue_full()) {
            (true, _) => "The limits can't be checked at the moment",
            (_, true) => "Too many requests are waiting",
            _ => "There were too many requests",
        };
        match self.retry {
            Some(Retry::After(wait)) => format!("{why}; try again in {} s.", up(wait)),
            Some(Retry::Never) => "The request costs more than is ever allowed.".to_owned(),
            None => format!("{why}."),
        }
    }
}

/// A random time from `wait` on, up to `most` later.
fn later(wait: Span, most: Span) -> Span {
    if most == Span::ZERO {
        return wait;
    }
    // The keys of each RandomState differ, and its hash spreads them over all 64 bits.
    let share = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
    Span::try_from_secs_f64((wait.as_secs_f64() + most.as_secs_f64() * share).min(f64::MAX))
        .unwrap_or(wait)
}

/// When to retry if the store failed. The end of an outage is unknown; a store on Redis is asked again after 0.1 to 5
/// s.
pub const RECOVERY: Span = Span::from_secs(1);

/// When an event would pass, or can be retried if the store failed. The outer `None`: it passes at once.
pub fn retry(decision: &Decision) -> Option<Option<Retry>> {
    match decision.wait() {
        Some(Span::ZERO) => None,
        Some(wait) => Some(Some(Retry::After(wait))),
        None => Some(
            decision
                .retry_after()
                .or_else(|| is_unavailable(decision).then_some(Retry::After(RECOVERY))),
        ),
    }
}

/// True if a decision refuses because the store failed.
pub fn is_unavailable(decision: &Decision) -> bool {
    let refuses = |rule: &Rule| rule.on_store_failure() == OnStoreFailure::Refuse;
    decision.fault.is_some() && decision.decided_by().is_some_and(|one| refuses(one.rule))
}

/// Makes the responses to refused requests, with the body type of the service.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer with a `Response<{B}>`",
    note = "write the types of a closure: `|refused: &Refused<'_>| -> Response<Body>`, with the body of the service"
)]
pub trait Answer<B>: Send + Sync + 'static {
    /// Makes a response.
    fn answer(&self, refused: &Refused<'_>) -> Response<B>;
}

impl<B, F: Fn(&Refused<'_>) -> Response<B> + Send + Sync + 'static> Answer<B> for F {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        self(refused)
    }
}

/// Answers with status 429, or 503 if the store failed, and `application/problem+json`. Its member
/// `retry_after` has the seconds of the header Retry-After. An unidentified request has the status of its
/// [`Unidentified`], whose reason is the `detail`, and a problem without a type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Problem;

impl<B: From<String>> Answer<B> for Problem {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        let problem = match (refused.unidentified, refused.is_unavailable()) {
            (Some(why), _) => draft::of_status(why.status()),
            (None, true) => draft::REDUCED_CAPACITY,
            (None, false) if refused.is_queue_full() => draft::REDUCED_CAPACITY,
            (None, false) => draft::QUOTA_EXCEEDED,
        };
        let text = |text: &str| Value::from(text).to_string();
        let violated: Vec<String> = refused.violated().map(text).collect();
        let violated = match refused.unidentified {
            Some(_) => String::new(),
            None => format!(",\"{}\":[{}]", draft::VIOLATED, violated.join(",")),
        };
        let retry = refused.retry_after().map(|wait| format!(",\"retry_after\":{}", up(wait)));
        let body = format!(
            "{{\"type\":{},\"title\":{},\"status\":{},\"detail\":{}{violated}{}}}\n",
            text(problem.kind),
            text(problem.title),
            refused.status().as_u16(),
            text(&refused.detail()),
            retry.unwrap_or_default(),
        );
        let mut response = Response::new(body.into());
        *response.status_mut() = refused.status();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }
}
