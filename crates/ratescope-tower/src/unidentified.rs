//! Fields that a request must have, and the refusal of a request that lacks one.

use super::fields::{FieldSource, Head};
use super::layer::RateLimitLayer;
use core::fmt;
use http::{HeaderValue, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;

/// Why a request is refused before any limit is asked: it lacks a [key](RateLimitLayer::key), or its key is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unidentified {
    status: StatusCode,
    reason: Cow<'static, str>,
    challenge: Option<HeaderValue>,
}

impl Unidentified {
    /// A refusal with a status, such as 401 or 400, and a short reason, which the client is told. A status that is not
    /// an error becomes 400.
    pub fn new(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Self {
        let is_error = status.is_client_error() || status.is_server_error();
        let status = if is_error { status } else { StatusCode::BAD_REQUEST };
        Unidentified { status, reason: reason.into(), challenge: None }
    }

    /// The refusal of a request whose path has something that servers read in different ways.
    #[doc(hidden)]
    pub fn doubtful(what: &str) -> Self {
        let reason = format!("The path has {what}, which servers read in different ways.");
        Unidentified::new(StatusCode::BAD_REQUEST, reason)
    }

    /// The refusal of a request that would be counted by a field without a source.
    pub(super) fn without_source(field: &str) -> Self {
        let reason =
            format!("The service has no source for the field {field}, which a rule counts by.");
        Unidentified::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }

    /// Adds the header `WWW-Authenticate`, such as `Bearer`, which HTTP demands of a response with 401.
    pub fn with_challenge(self, challenge: HeaderValue) -> Self {
        Unidentified { challenge: Some(challenge), ..self }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The reason, as the client is told.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The header `WWW-Authenticate`, if there is one.
    pub fn challenge(&self) -> Option<&HeaderValue> {
        self.challenge.as_ref()
    }
}

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.as_u16(), self.reason)
    }
}

impl core::error::Error for Unidentified {}

impl<S, A, C, W> RateLimitLayer<S, A, C, W> {
    /// Takes a field that a request must have, such as the key of an API, from a closure that may fail:
    ///
    /// ```
    /// use http::{HeaderValue, StatusCode};
    /// use ratescope_tower::{Head, RateLimitLayer, Unidentified};
    /// use ratescope::{Policy, rules::MemoryStore};
    ///
    /// const KEYS: [(&str, &str); 1] = [("5ecret", "ann")];
    ///
    /// let policy: Policy = "gcra 10/1s per user".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000)).key("user", |request: Head<'_>| {
    ///     let unknown = |reason| {
    ///         let why = Unidentified::new(StatusCode::UNAUTHORIZED, reason);
    ///         why.with_challenge(HeaderValue::from_static("ApiKey"))
    ///     };
    ///     let key = request.headers.get("x-api-key").ok_or_else(|| unknown("An API key is missing."))?;
    ///     let known = KEYS.iter().find(|(known, _)| key == known);
    ///     let (_, user) = known.ok_or_else(|| unknown("Nobody has this API key."))?;
    ///     Ok(Some((*user).into()))
    /// });
    /// # let _ = limit;
    /// # Ok::<(), ratescope::ParseError>(())
    /// ```
    ///
    /// An `Err` refuses the request before the store is asked. Nothing is counted in any limit. The layer's
    /// [`Answer`](super::Answer) makes the response, which has no `Retry-After`, and the
    /// [meters](super::meters) count the request as `unidentified`. With `Ok(None)` the request has no such
    /// field: a descriptor for it does not apply, and in a limit `per` that field all such requests share one key.
    ///
    /// The closure is asked only about requests for which a rule needs the field: if `user` is the key of a descriptor
    /// within `path: /api`, nobody has to log in elsewhere. It is called once, and once more if the store has to be
    /// waited for. A field that only shadows need refuses nobody.
    pub fn key(
        self,
        field: &str,
        find: impl for<'a> Fn(Head<'a>) -> Result<Option<Cow<'a, str>>, Unidentified>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.source(field, FieldSource::Demand(Arc::new(find)))
    }
}
