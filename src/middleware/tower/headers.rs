//! The headers of responses.
//!
//! | header | what it says | when |
//! |---|---|---|
//! | `Retry-After`, `X-Ratelimit-Retry-After` | whole seconds until the request would pass, rounded up | the request is refused, and would pass later |
//! | `X-RateLimit-Limit` | the quota of the limit with the least remaining | a limit applies |
//! | `X-RateLimit-Remaining` | what remains of that quota, rounded down | |
//! | `X-RateLimit-Reset` | whole seconds until the whole quota is available again, rounded up | |
//! | `RateLimit-Policy`, `RateLimit` | the same for all limits that apply, in the form of the draft | |
//!
//! If an inner service or layer has set headers already:
//!
//! * `Retry-After` and `X-Ratelimit-Retry-After` stay as they are.
//! * The three `X-RateLimit-` headers belong together. Those with the smaller remaining amount are
//!   sent, so a client of two layers learns of the limit that it meets first.
//! * The last two are lists, to which the layer adds its items.
//!
//! The headers leave out shadows, and limits of which nothing is known because the store failed.
//!
//! # The draft's fields
//! ```text
//! ratelimit-policy: "web:user";q=100;w=60, "web:path=/login,ip";q=5;w=60
//! ratelimit: "web:user";r=98;t=2, "web:path=/login,ip";r=0;t=12
//! ```
//!
//! Each item is a limit of a rule. Its name is the rule's `name` in the file, if no other rule has it,
//! or else the full name of the rule; the second limit of a rule has `#2` appended, and so on. `q` and
//! `w` are the limit's [quota](crate::limit::any::AnyLimiter::quota) in units, and its window in
//! seconds. `r` is what remains. `t` is the time in seconds until the whole quota is available again: a
//! client that spreads the remaining units over it is never refused. If nothing remains and the request
//! was refused, `t` is the time until the request would pass. There is no partition key, since it would
//! show who else shares the limit.
//!
//! # Sources
//! RFC 9110, section 10.2.3 (Retry-After). "What is a rate limiter?" (system design notes, 2023)
//! for the `X-` ones. `draft-ietf-httpapi-ratelimit-headers-11` for the last two.

use super::draft;
use super::prepared::Prepared;
use crate::rules::{Answered, Place, Source, Standing, Standings};
use crate::time::Span;
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use smallvec::SmallVec;
use std::sync::Arc;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_RETRY_AFTER: HeaderName = HeaderName::from_static("x-ratelimit-retry-after");

/// Which headers responses have. The default is [`Headers::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// `Retry-After`.
    pub retry_after: bool,
    /// `X-Ratelimit-Retry-After`.
    pub x_retry_after: bool,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    pub x_ratelimit: bool,
    /// `RateLimit-Policy` and `RateLimit`.
    pub ratelimit: bool,
    /// Whether the last five are in all responses, or only in refusals.
    pub always: bool,
    /// The unit of costs in the terms of the draft, such as `content-bytes`; `None` for requests.
    pub unit: Option<&'static str>,
}

impl Default for Headers {
    fn default() -> Self {
        Headers::ALL
    }
}

impl Headers {
    /// All of them.
    pub const ALL: Headers = Headers {
        retry_after: true,
        x_retry_after: true,
        x_ratelimit: true,
        ratelimit: true,
        always: true,
        unit: None,
    };

    /// No headers.
    pub const NONE: Headers = Headers {
        retry_after: false,
        x_retry_after: false,
        x_ratelimit: false,
        ratelimit: false,
        always: false,
        unit: None,
    };

    /// Whether the standings of the client are needed.
    pub(super) fn want_standings(&self) -> bool {
        self.x_ratelimit || self.ratelimit
    }

    /// The headers for a request that passed, or that was `refused` and would pass after that time.
    pub(super) fn values(
        &self,
        prepared: Arc<Prepared>,
        answered: &Answered,
        refused: Option<Option<Span>>,
    ) -> Values {
        let retry = refused.flatten();
        let is_wanted = self.want_standings() && (self.always || refused.is_some());
        let standings = answered.standings.as_ref().filter(|_| is_wanted);
        let known = |standing: &Standing<'_>| is_known(answered, standing.place);
        let standings = || standings.into_iter().flat_map(Standings::iter).filter(known);
        let left = |standing: Standing<'_>| Left::of(&standing, retry);
        let least = || standings().min_by(|a, b| a.remaining.total_cmp(&b.remaining));
        Values {
            prepared,
            retry_after: retry.filter(|_| self.retry_after).map(up),
            x_retry_after: retry.filter(|_| self.x_retry_after).map(up),
            least: self.x_ratelimit.then(least).flatten().map(left),
            all: standings().filter(|_| self.ratelimit).map(left).collect(),
        }
    }
}

/// Whether the store, or this process in its place, knows the state of a limit.
fn is_known(answered: &Answered, place: Place) -> bool {
    let assumed = || {
        let mut opinions = answered.ruling.opinions();
        opinions.any(|opinion| opinion.place == place && opinion.source == Source::Nowhere)
    };
    answered.fault.is_none() || !assumed()
}

/// The numbers in the headers of one response. They become headers when the response is there.
#[derive(Debug)]
pub(super) struct Values {
    prepared: Arc<Prepared>,
    retry_after: Option<u64>,
    x_retry_after: Option<u64>,
    least: Option<Left>,
    all: SmallVec<[Left; 2]>,
}

/// The part of a limit that a client has left.
#[derive(Clone, Copy, Debug)]
struct Left {
    place: Place,
    remaining: u64,
    /// Seconds until the whole quota is available again, or until the refused request would pass.
    reset: u64,
}

impl Left {
    fn of(standing: &Standing<'_>, retry: Option<Span>) -> Self {
        // The cast saturates if the remaining amount is infinite.
        let remaining = standing.remaining as u64;
        let retry = retry.filter(|_| remaining == 0);
        let reset = retry.map_or(standing.reset_after, |retry| retry.min(standing.reset_after));
        Left { place: standing.place, remaining, reset: up(reset) }
    }
}

impl Values {
    /// Adds the headers to those of a response.
    pub(super) fn put(&self, headers: &mut HeaderMap) {
        let mut put = |name, value| {
            headers.entry(name).or_insert(value);
        };
        if let Some(seconds) = self.retry_after {
            put(RETRY_AFTER, seconds.into());
        }
        if let Some(seconds) = self.x_retry_after {
            put(X_RETRY_AFTER, seconds.into());
        }
        if let Some(least) = &self.least
            && let Some(of_limit) = self.prepared.limit(least.place)
            && !says_less(headers, least.remaining)
        {
            headers.insert(X_LIMIT, of_limit.quota.clone());
            headers.insert(X_REMAINING, least.remaining.into());
            headers.insert(X_RESET, least.reset.into());
        }
        let (mut policies, mut limits) = (None::<HeaderValue>, Line::new());
        for left in &self.all {
            let Some(of_limit) = self.prepared.limit(left.place) else { continue };
            draft::add_limit(&mut limits, &of_limit.name_in_list, left.remaining, left.reset);
            policies = Some(match policies {
                None => of_limit.policy.clone(),
                Some(before) => joined(&before, &of_limit.policy),
            });
        }
        if let (Some(policies), Ok(limits)) = (policies, HeaderValue::from_bytes(&limits)) {
            headers.append(draft::POLICY, policies);
            headers.append(draft::LIMIT, limits);
        }
    }
}

/// Whether a response already says that no more than this remains.
fn says_less(headers: &HeaderMap, remaining: u64) -> bool {
    let said = headers.get(X_REMAINING).and_then(|value| value.to_str().ok());
    said.and_then(|said| said.parse::<u64>().ok()).is_some_and(|said| said <= remaining)
}

/// A line of text, without an allocation if it is short.
pub(super) type Line = SmallVec<[u8; 128]>;

/// Writes a number, several times faster than std: it is done a few times for each request.
pub(super) fn write(line: &mut Line, number: u64) {
    let (mut digits, mut rest, mut from) = ([b'0'; 20], number, 20);
    while from > 0 && (rest > 0 || from == 20) {
        from -= 1;
        if let Some(digit) = digits.get_mut(from) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
    }
    line.extend_from_slice(digits.get(from..).unwrap_or_default());
}

/// Joins two lists.
fn joined(list: &HeaderValue, more: &HeaderValue) -> HeaderValue {
    let list = [list.as_bytes(), more.as_bytes()].join(b", ".as_slice());
    HeaderValue::try_from(list).unwrap_or_else(|_| more.clone())
}

/// Whole seconds, rounded up.
pub(super) fn up(span: Span) -> u64 {
    libm::ceil(span.secs()) as u64
}
