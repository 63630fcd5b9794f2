//! The headers of responses.
//!
//! | header | what it says | when |
//! |---|---|---|
//! | `Retry-After`, `X-Ratelimit-Retry-After` | whole seconds until the request would pass, rounded up, with [jitter](super::RateLimitLayer::retry_jitter) if the layer adds some; 1 if the store failed | the request is refused, and would pass later |
//! | `X-RateLimit-Limit` | the quota of the limit with the least remaining | a limit applies |
//! | `X-RateLimit-Remaining` | what remains of that quota, rounded down | |
//! | `X-RateLimit-Reset` | whole seconds until the whole quota is available again, rounded up; in a refusal by this limit, or with nothing remaining, until the request would pass | |
//! | `X-RateLimit-Soft` | the names of the limits that the request exceeds, in quotes, as in `"web:user"` | it passes only since their throttle is soft or elastic |
//! | `RateLimit-Policy`, `RateLimit` | the same for all limits that apply, in the form of the draft | |
//!
//! If an inner service or layer has set headers already:
//!
//! * `Retry-After` and `X-Ratelimit-Retry-After` stay as they are.
//! * The three `X-RateLimit-` headers belong together. Those with the smaller remaining amount are
//!   sent, so a client of two layers learns of the limit that it meets first.
//! * `RateLimit-Policy` and `RateLimit` are lists, to which the layer adds its items.
//!
//! A limit that may delay requests (`leaky-bucket`) gives the room that remains in its queue. Where no request can
//! wait, as in an answer for a proxy or while the layer's queue is full, it gives the number of requests that would
//! pass at once.
//!
//! The headers leave out shadows, limits that never refuse, and limits whose states are unknown because the store failed.
//!
//! # The draft's fields
//! ```text
//! ratelimit-policy: "web:user";q=100;w=60, "web:path=/login,ip";q=5;w=60
//! ratelimit: "web:user";r=98;t=2, "web:path=/login,ip";r=0;t=12
//! ```
//!
//! Each item is a limit of a rule. Its name is its [own](ratescope::policy::Limit::named), as in `gcra 10/1s as often`;
//! or else the rule's `name` in the file; or else the full name of the rule. A name that two have is taken for none.
//! Without a name of its own, the second limit of a rule has `#2` appended, and so on. `q` and `w` are the limit's
//! [quota](ratescope::limit::any::AnyLimiter::quota) in units, and its window in seconds. `r` is the rest of the quota.
//! `t` is the time in seconds until the whole quota is available again: a client that spreads the remaining units over
//! it is never refused. If the request was refused, and the limit refused it or nothing remains, `t` is the time until
//! the request would pass. For a limit of 0, under which no request ever passes, `t` is at least the window, so that
//! nobody retries at once. There is no partition key, since it would show who else shares the limit.
//!
//! # Pages of other origins
//! A script may read only those headers of another origin that the response exposes, and not even the status of a
//! response without the headers of CORS. So the layer for CORS goes outside of this one, where it completes refusals, too,
//! and exposes [`ALL_NAMES`]. There it also answers preflights, so that they are not counted:
//!
//! ```
//! use axum::{Router, routing::get};
//! use ratescope::{MemoryStore, Policy};
//! use ratescope_tower::{RateLimitLayer, headers};
//! use tower_http::cors::{Any, CorsLayer};
//!
//! let policy: Policy = "gcra 10/1s".parse()?;
//! let cors = CorsLayer::new().allow_origin(Any).expose_headers(headers::ALL_NAMES);
//! let app: Router = Router::new()
//!     .route("/", get(|| async { "hello\n" }))
//!     .layer(RateLimitLayer::new(MemoryStore::new(policy, 100_000)))
//!     .layer(cors); // of axum's layers, the last is the outermost
//! # Ok::<(), ratescope::ParseError>(())
//! ```
//!
//! A service that answers preflights itself [skips](super::RateLimitLayer::skip) requests with the method `OPTIONS`, unless
//! they shall count.
//!
//! # Sources
//! RFC 9110, section 10.2.3 (Retry-After). "What is a rate limiter?" (system design notes, 2023)
//! for the `X-` ones. `draft-ietf-httpapi-ratelimit-headers-11` for the last two.

use super::draft;
use super::prepared::{Prepared, PreparedLimit};
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use ratescope::internal::{PlacedOutcome, RawQuota};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::nginx::Delay;
use ratescope::rules::Decision;
use ratescope::time::Span;
use smallvec::SmallVec;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_RETRY_AFTER: HeaderName = HeaderName::from_static("x-ratelimit-retry-after");
const X_SOFT: HeaderName = HeaderName::from_static("x-ratelimit-soft");

/// The names of all headers that the layer adds, for the `Access-Control-Expose-Headers` of
/// [CORS](self#pages-of-other-origins).
pub const ALL_NAMES: [HeaderName; 8] = [
    RETRY_AFTER,
    X_RETRY_AFTER,
    X_LIMIT,
    X_REMAINING,
    X_RESET,
    X_SOFT,
    draft::POLICY,
    draft::LIMIT,
];

/// Which headers responses have. The default is [`Headers::ALL`].
///
/// ```
/// use ratescope_tower::Headers;
///
/// let headers = Headers::NONE.retry_after(true).x_ratelimit(true);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    pub(super) retry_after: bool,
    pub(super) x_retry_after: bool,
    pub(super) x_ratelimit: bool,
    pub(super) ratelimit: bool,
    pub(super) always: bool,
    pub(super) unit: Option<&'static str>,
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

    /// Sets whether refusals have `Retry-After`.
    #[must_use]
    pub const fn retry_after(self, is_sent: bool) -> Headers {
        Headers { retry_after: is_sent, ..self }
    }

    /// Sets whether refusals have `X-Ratelimit-Retry-After`.
    #[must_use]
    pub const fn x_retry_after(self, is_sent: bool) -> Headers {
        Headers { x_retry_after: is_sent, ..self }
    }

    /// Sets whether there are `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` and, where a request passes
    /// softly, `X-RateLimit-Soft`.
    #[must_use]
    pub const fn x_ratelimit(self, is_sent: bool) -> Headers {
        Headers { x_ratelimit: is_sent, ..self }
    }

    /// Sets whether there are `RateLimit-Policy` and `RateLimit`.
    #[must_use]
    pub const fn ratelimit(self, is_sent: bool) -> Headers {
        Headers { ratelimit: is_sent, ..self }
    }

    /// Sets whether the headers of [`x_ratelimit`](Self::x_ratelimit) and [`ratelimit`](Self::ratelimit) are in all
    /// responses, or only in refusals.
    #[must_use]
    pub const fn always(self, is_always: bool) -> Headers {
        Headers { always: is_always, ..self }
    }

    /// Sets the unit of costs in the terms of the draft, such as `content-bytes`; without it, a cost is a number of
    /// requests.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Headers {
        Headers { unit: Some(unit), ..self }
    }

    /// True if any header needs the quotas.
    pub(super) fn want_quotas(&self) -> bool {
        self.x_ratelimit || self.ratelimit
    }

    /// The headers for a request, `None` if there are none. `refused` is `None` if the request passed, or else the time
    /// after which it would pass, if it ever would. The remaining quota includes room for requests that wait, but not
    /// in a refusal, nor with `is_at_once`.
    pub(super) fn values(
        &self,
        prepared: &Prepared,
        decision: &Decision,
        refused: Option<Option<Span>>,
        is_at_once: bool,
    ) -> Option<Box<Values>> {
        let retry = refused.flatten();
        let is_wanted = self.want_quotas() && (self.always || refused.is_some());
        if !is_wanted && retry.is_none() {
            return None;
        }
        let mut values = Box::<Values>::default();
        values.retry_after = retry.filter(|_| self.retry_after).map(up);
        values.x_retry_after = retry.filter(|_| self.x_retry_after).map(up);
        let mut each = SmallVec::<[OfLimit<'_>; 4]>::new();
        let outcomes = if is_wanted { decision.placed_outcomes() } else { &[] };
        for &PlacedOutcome { at, outcome, quota, .. } in outcomes {
            let Some(mut quota) = quota else { continue };
            if let Some(limit) = prepared.limit(at) {
                if is_at_once || refused.is_some() {
                    quota.remaining = (quota.remaining - limit.waiting).max(0.0);
                }
                let rounded = RoundedQuota::new(&quota, retry, outcome.is_allowed());
                each.push(OfLimit { limit, remaining: quota.remaining, rounded });
            }
        }
        if self.x_ratelimit {
            let least = each.iter().reduce(|a, b| if b.remaining < a.remaining { b } else { a });
            values.least = least.map(|of| (of.limit.quota.clone(), of.rounded));
            if refused.is_none() && decision.is_soft() {
                values.soft = soft(prepared, outcomes);
            }
        }
        if self.ratelimit {
            let limits = draft::limits(each.iter().map(|of| (of.limit.item.as_str(), of.rounded)));
            values.limits = HeaderValue::try_from(limits).ok();
            values.policies = prepared.policies(&each);
        }
        Some(values)
    }
}

/// A limit and its numbers, as the headers of a response give them.
#[derive(Clone, Copy)]
pub(super) struct OfLimit<'a> {
    pub(super) limit: &'a PreparedLimit,
    remaining: f64,
    rounded: RoundedQuota,
}

/// The remaining quota of a limit, rounded to whole numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundedQuota {
    /// In units.
    pub(super) remaining: u64,
    /// The seconds until the whole quota is available again, or until the refused request would pass.
    pub(super) reset: u64,
}

/// The part of a limiter's room that is for events that wait; the rest would pass at once. In a leaky bucket
/// only one event passes at once, into an empty queue.
pub fn waiting(limiter: &AnyLimiter) -> f64 {
    match limiter {
        AnyLimiter::LeakyBucket(bucket) => (bucket.queue() - 1.0).max(0.0),
        AnyLimiter::Nginx(nginx) => match nginx.delay() {
            Delay::Beyond(first) => nginx.burst().saturating_sub(first) as f64,
            Delay::Never => 0.0,
        },
        _ => 0.0,
    }
}

/// The headers of one response, until the response is there.
#[derive(Debug, Default)]
pub(super) struct Values {
    retry_after: Option<u64>,
    x_retry_after: Option<u64>,
    /// The size of the quota with the least remaining, and its numbers.
    least: Option<(HeaderValue, RoundedQuota)>,
    soft: Option<HeaderValue>,
    /// RateLimit-Policy and RateLimit.
    policies: Option<HeaderValue>,
    limits: Option<HeaderValue>,
}

impl RoundedQuota {
    /// `retry` is the time after which a refused request would pass. `allows` says whether this limit allowed it.
    fn new(quota: &RawQuota, retry: Option<Span>, allows: bool) -> Self {
        // The cast saturates if the remaining amount is infinite.
        let remaining = quota.remaining as u64;
        let reset = match retry {
            // By the draft, Retry-After should not be earlier than the reset.
            Some(retry) if remaining == 0 || !allows => retry.min(quota.reset),
            _ => quota.reset,
        };
        RoundedQuota { remaining, reset: up(reset) }
    }
}

impl Values {
    /// Moves the headers to those of a response.
    pub(super) fn write(&mut self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after {
            headers.entry(RETRY_AFTER).or_insert(number(seconds));
        }
        if let Some(seconds) = self.x_retry_after {
            headers.entry(X_RETRY_AFTER).or_insert(number(seconds));
        }
        if let Some((quota, RoundedQuota { remaining, reset })) = self.least.take() {
            let said = headers.get(X_REMAINING);
            if !said.is_some_and(|said| is_at_most(said, remaining)) {
                headers.insert(X_REMAINING, number(remaining));
                headers.insert(X_LIMIT, quota);
                headers.insert(X_RESET, number(reset));
            }
        }
        if let Some(soft) = self.soft.take() {
            headers.append(X_SOFT, soft);
        }
        if let (Some(policies), Some(limits)) = (self.policies.take(), self.limits.take()) {
            headers.append(draft::POLICY, policies);
            headers.append(draft::LIMIT, limits);
        }
    }
}

/// The names of the limits that an event exceeds, though it passes.
fn soft(prepared: &Prepared, outcomes: &[PlacedOutcome]) -> Option<HeaderValue> {
    let exceeded = outcomes.iter().filter(|one| one.exceeds && !one.is_shadow);
    let names = exceeded.filter_map(|one| Some(draft::name_in_list(&prepared.limit(one.at)?.name)));
    HeaderValue::try_from(names.collect::<Vec<_>>().join(", ")).ok()
}

/// True if a header already names this remaining amount or less.
fn is_at_most(said: &HeaderValue, remaining: u64) -> bool {
    let said = said.to_str().ok().and_then(|said| said.parse::<u64>().ok());
    said.is_some_and(|said| said <= remaining)
}

/// The numbers below [`SMALL`], three digits each.
const DIGITS: &str = match str::from_utf8(&digits()) {
    Ok(digits) => digits,
    Err(_) => "",
};

const SMALL: usize = 1000;

const fn digits() -> [u8; 3 * SMALL] {
    let mut digits = [b'0'; 3 * SMALL];
    let mut i = 0;
    while i < SMALL {
        digits[3 * i] += (i / 100) as u8;
        digits[3 * i + 1] += (i / 10 % 10) as u8;
        digits[3 * i + 2] += (i % 10) as u8;
        i += 1;
    }
    digits
}

/// A number as a header, without an allocation if it is small. This saves 6 % of the instructions of a request with all
/// headers, and 10 % if the remaining amount is small as well.
pub(super) fn number(number: u64) -> HeaderValue {
    if number < SMALL as u64 {
        let place = 3 * number as usize;
        let zeros = usize::from(number < 100) + usize::from(number < 10);
        return HeaderValue::from_static(DIGITS.get(place + zeros..place + 3).unwrap_or_default());
    }
    let mut digits = itoa::Buffer::new();
    HeaderValue::from_str(digits.format(number)).unwrap_or_else(|_| number.into())
}

/// Whole seconds, rounded up.
pub fn up(span: Span) -> u64 {
    let whole = span.as_secs_f64() as u64;
    whole.saturating_add(u64::from((whole as f64) < span.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_and_without_an_allocation() {
        for n in (0..1100).chain([9_999, 1_000_000, u64::MAX - 1, u64::MAX]) {
            assert_eq!(number(n), n.to_string());
        }
    }
}
