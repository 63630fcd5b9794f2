//! What responses say of limits.
//!
//! | header | what it says | where |
//! |---|---|---|
//! | `Retry-After`, `X-Ratelimit-Retry-After` | whole seconds until the request would pass, rounded up | refusals that need not be for ever |
//! | `X-RateLimit-Limit` | the quota of the limit of which the least remains | wherever a limit applies |
//! | `X-RateLimit-Remaining` | what remains of it, rounded down | |
//! | `X-RateLimit-Reset` | whole seconds until all of it is there again, rounded up | |
//! | `RateLimit-Policy`, `RateLimit` | the same of all limits that apply, as the draft has it | |
//!
//! What a layer or service within has said already stays: it is nearer to what was asked for. Shadows
//! are not told.
//!
//! # Sources
//! RFC 9110, section 10.2.3 (Retry-After). "What is a rate limiter?" (system design notes, 2023)
//! for the `X-` ones. `draft-ietf-httpapi-ratelimit-headers-11` for the last two.

use super::draft;
use super::known::OfRules;
use crate::rules::{Standing, Standings};
use crate::time::Span;
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use smallvec::SmallVec;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_RETRY_AFTER: HeaderName = HeaderName::from_static("x-ratelimit-retry-after");

/// Which headers responses have: all of them, unless it is said.
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
    /// Whether the last five stand in all responses, or only where the request was refused.
    pub always: bool,
    /// What the draft calls the unit of a cost: `content-bytes`, for example. Without it, requests.
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

    /// None at all.
    pub const NONE: Headers = Headers {
        retry_after: false,
        x_retry_after: false,
        x_ratelimit: false,
        ratelimit: false,
        always: false,
        unit: None,
    };

    /// Whether it must be known how the sender of every request stands.
    pub(super) fn want_standings(&self) -> bool {
        self.x_ratelimit || self.ratelimit
    }

    /// Those of a request that passed, or that was `refused` and passes after so long.
    pub(super) fn told(
        &self,
        known: &OfRules,
        standings: Option<&Standings>,
        refused: Option<Option<Span>>,
    ) -> Told {
        let mut told = Told::default();
        let retry = refused.flatten();
        if let Some(retry) = retry {
            let wanted = [(self.retry_after, RETRY_AFTER), (self.x_retry_after, X_RETRY_AFTER)];
            for (_, name) in wanted.into_iter().filter(|(is_wanted, _)| *is_wanted) {
                told.0.push((name, up(retry).into()));
            }
        }
        let wanted = self.want_standings() && (self.always || refused.is_some());
        if let Some(standings) = standings.filter(|_| wanted) {
            if self.x_ratelimit {
                told.add_least(known, standings, retry);
            }
            if self.ratelimit {
                told.add_all(known, standings, retry);
            }
        }
        told
    }
}

/// Headers for one response.
#[derive(Debug, Default)]
pub(super) struct Told(SmallVec<[(HeaderName, HeaderValue); 7]>);

impl Told {
    fn add_least(&mut self, known: &OfRules, standings: &Standings, retry: Option<Span>) {
        let Some(least) = standings.least() else { return };
        let Some(of_limit) = known.limit(least.place) else { return };
        self.0.push((X_LIMIT, of_limit.quota.clone()));
        self.0.push((X_REMAINING, remaining(&least).into()));
        self.0.push((X_RESET, reset(&least, retry).into()));
    }

    fn add_all(&mut self, known: &OfRules, standings: &Standings, retry: Option<Span>) {
        let (mut policies, mut limits) = (None::<HeaderValue>, String::new());
        let each = standings.iter().filter_map(|each| Some((known.limit(each.place)?, each)));
        for (of_limit, standing) in each {
            let reset = reset(&standing, retry);
            draft::add_limit(&mut limits, &of_limit.name, remaining(&standing), reset);
            policies = Some(match policies {
                None => of_limit.policy.clone(),
                Some(before) => joined(&before, &of_limit.policy),
            });
        }
        if let (Some(policies), Ok(limits)) = (policies, HeaderValue::try_from(limits)) {
            self.0.push((draft::POLICY, policies));
            self.0.push((draft::LIMIT, limits));
        }
    }

    /// Puts them where they are not yet.
    pub(super) fn put(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            headers.entry(name).or_insert(value);
        }
    }
}

/// Two lists as one.
fn joined(list: &HeaderValue, more: &HeaderValue) -> HeaderValue {
    let list = [list.as_bytes(), more.as_bytes()].join(b", ".as_slice());
    HeaderValue::try_from(list).unwrap_or_else(|_| more.clone())
}

fn remaining(standing: &Standing<'_>) -> u64 {
    // Casts saturate; what is infinite is as much as can be said.
    standing.remaining as u64
}

/// How long until all is there again; or, of what refused a request, until that would pass.
fn reset(standing: &Standing<'_>, retry: Option<Span>) -> u64 {
    let retry = retry.filter(|_| remaining(standing) == 0);
    up(retry.map_or(standing.reset_after, |retry| retry.min(standing.reset_after)))
}

/// Whole seconds, rounded up.
pub(super) fn up(span: Span) -> u64 {
    libm::ceil(span.secs()) as u64
}
