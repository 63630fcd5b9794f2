//! What is answered to a request that is refused.
//!
//! [`Problem`] answers with status 429 and problem details (RFC 9457) of the kind that the
//! RateLimit draft registers, [`Grpc`] as gRPC wants it, and a closure with whatever you like:
//!
//! ```
//! use http::Response;
//! use ratescope::Policy;
//! use ratescope::middleware::{RateLimit, Refused};
//! use ratescope::rules::{Ruled, Rules};
//!
//! let policy: Policy = "gcra 10/1s per ip".parse()?;
//! let limit = RateLimit::new(Ruled::new(Rules::from(policy), 100_000))
//!     .answer(|refused: &Refused<'_>| {
//!         let mut response = Response::new(format!("Slow down: {}.\n", refused.ruling));
//!         *response.status_mut() = refused.status();
//!         response
//!     })
//!     .layer();
//! # let _ = limit;
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! The [headers](super::Headers) are added to what is answered here.

use super::draft;
use super::headers::up;
use super::keys::Head;
use super::known::OfRules;
use crate::outcome::Retry;
use crate::rules::{Fault, OnStoreFailure, Opinion, Rule, Ruling};
use crate::time::Span;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

/// A request that is refused, and why.
#[derive(Clone, Copy)]
pub struct Refused<'a> {
    /// The request.
    pub head: Head<'a>,
    /// What the rules made of it. Where the queue is full, they let it pass after a wait.
    pub ruling: &'a Ruling,
    /// When it would pass, if nothing is counted before; none, where that is not known.
    pub retry: Option<Retry>,
    /// Why the store could not be asked, if it could not.
    pub fault: Option<&'a Fault>,
    pub(super) known: &'a OfRules,
}

impl Refused<'_> {
    /// How long until it would pass. None where it never would, or where that is not known.
    pub fn retry_after(&self) -> Option<Span> {
        self.retry.and_then(Retry::wait)
    }

    /// Whether it was refused since the store failed, and not for what the sender did.
    pub fn is_unavailable(&self) -> bool {
        let refuses = |rule: &Rule| rule.on_store_failure() == OnStoreFailure::Refuse;
        let decided = self.ruling.decided_by();
        self.fault.is_some() && decided.is_none_or(|opinion| refuses(opinion.rule))
    }

    /// Whether it could not wait, since as many requests do as may.
    pub fn is_queue_full(&self) -> bool {
        self.ruling.is_allowed()
    }

    /// 429, or 503 where it is not for what the sender did.
    pub fn status(&self) -> StatusCode {
        match self.is_unavailable() {
            true => StatusCode::SERVICE_UNAVAILABLE,
            false => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The names of the limits that refuse it, as they stand in RateLimit-Policy.
    pub fn violated(&self) -> impl Iterator<Item = &str> {
        let refuse =
            |opinion: &Opinion<'_>| !opinion.rule.is_shadow() && !opinion.outcome.is_allowed();
        let refusing = self.ruling.opinions().filter(refuse);
        refusing.filter_map(|opinion| Some(self.known.limit(opinion.place)?.name.as_str()))
    }

    /// One sentence for whoever sent it. It says nothing of others who share the limit.
    fn detail(&self) -> String {
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

/// What makes responses to requests that are refused, with a body of the service's kind.
pub trait Answer<B>: Send + Sync + 'static {
    /// The response.
    fn answer(&self, refused: &Refused<'_>) -> Response<B>;
}

impl<B, F: Fn(&Refused<'_>) -> Response<B> + Send + Sync + 'static> Answer<B> for F {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        self(refused)
    }
}

/// Status 429, or 503 where the store failed, with `application/problem+json`. Beside what the RFC and the draft have, a member `retry_after` says what the header does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Problem;

impl<B: From<String>> Answer<B> for Problem {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        let problem = match refused.is_unavailable() || refused.is_queue_full() {
            true => draft::REDUCED_CAPACITY,
            false => draft::QUOTA_EXCEEDED,
        };
        let text = |text: &str| Value::from(text).to_string();
        let violated: Vec<String> = refused.violated().map(text).collect();
        let retry = refused.retry_after().map(|wait| format!(",\"retry_after\":{}", up(wait)));
        let body = format!(
            "{{\"type\":{},\"title\":{},\"status\":{},\"detail\":{},\"{}\":[{}]{}}}\n",
            text(problem.kind),
            text(problem.title),
            refused.status().as_u16(),
            text(&refused.detail()),
            draft::VIOLATED,
            violated.join(","),
            retry.unwrap_or_default(),
        );
        let mut response = Response::new(body.into());
        *response.status_mut() = refused.status();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }
}

/// Status `RESOURCE_EXHAUSTED`, or `UNAVAILABLE` where the store failed, as a response of gRPC that has
/// trailers only: for tonic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grpc;

impl<B: Default> Answer<B> for Grpc {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
        let code = if refused.is_unavailable() { "14" } else { "8" };
        let mut response = Response::new(B::default());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", HeaderValue::from_static(code));
        let message = utf8_percent_encode(&refused.detail(), ESCAPED).to_string();
        if let Ok(message) = HeaderValue::try_from(message) {
            headers.insert("grpc-message", message);
        }
        response
    }
}
