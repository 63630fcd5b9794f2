//! A span for each decision, of `tracing`, for subscribers that take spans of the level debug. To others it costs nothing.

use super::forms::ECHO;
use http::StatusCode;
use ratescope::internal::shown;
use tracing::field::Empty;
use tracing::{Span, debug_span};

pub(super) fn decision(domain: &str) -> Span {
    debug_span!(
        target: "ratescope",
        "decision",
        otel.kind = "server",
        otel.status_code = Empty,
        domain = %shown(domain, ECHO),
        outcome = Empty,
    )
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Allowed,
    Refused,
    /// There is no decision.
    Failed,
}

impl Ended {
    /// The end of a request, by the status of its answer.
    pub(super) fn by(status: StatusCode) -> Self {
        match status.as_u16() {
            401 | 403 | 429 => Ended::Refused,
            _ if status.is_success() => Ended::Allowed,
            _ => Ended::Failed,
        }
    }

    /// Writes it into the span of the decision.
    pub(super) fn record(self, span: &Span) {
        let outcome = match self {
            Ended::Allowed => "allowed",
            Ended::Refused => "refused",
            Ended::Failed => "error",
        };
        span.record("outcome", outcome);
        if self == Ended::Failed {
            span.record("otel.status_code", "ERROR");
        }
    }
}
