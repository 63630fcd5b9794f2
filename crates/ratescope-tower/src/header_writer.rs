//! The headers, counters and refusals of the layer, for other front ends.

use super::fields::Head;
use super::layer::LayerSettings;
use super::outages::Outages;
use super::prepared::Prepared;
use super::refusal::{Problem, Refused, retry};
use core::fmt;
use http::{HeaderMap, Response};
use ratescope::internal::ByRules;
use ratescope::outcome::Retry;
use ratescope::rules::Decision;
use ratescope::time::Time;
use std::sync::Arc;

/// Writes headers and refusals, and counts, as the layer does.
pub struct HeaderWriter {
    settings: LayerSettings,
    preparations: ByRules<Prepared>,
}

impl fmt::Debug for HeaderWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderWriter").finish_non_exhaustive()
    }
}

impl HeaderWriter {
    /// For a store whose failures `outages` notes.
    pub fn new(outages: Arc<Outages>) -> Self {
        let settings = LayerSettings { outages, ..LayerSettings::default() };
        HeaderWriter { settings, preparations: ByRules::default() }
    }

    /// The outages of the store.
    pub fn outages(&self) -> &Arc<Outages> {
        &self.settings.outages
    }

    fn prepared(&self, decision: &Decision) -> Arc<Prepared> {
        self.preparations.get(decision.rules(), |rules| Prepared::new(rules, &self.settings))
    }

    /// Counts the outcome of each limit, and whether the store failed.
    pub fn count(&self, decision: &Decision, now: Time) {
        self.prepared(decision).count(decision);
        self.settings.outages.note(decision.fault.as_ref(), None, now);
    }

    /// Adds the headers to those of a response. An event that would have to wait is refused.
    pub fn write(&self, decision: &Decision, headers: &mut HeaderMap) {
        let refused = retry(decision).map(|retry| retry.and_then(Retry::wait));
        let prepared = self.prepared(decision);
        let headers_of = &self.settings.headers;
        if let Some(mut values) = headers_of.values(&prepared, decision, refused, true) {
            values.write(headers);
        }
    }

    /// The refusal as problem details, with the headers.
    pub fn refusal<B: From<String>>(&self, head: Head<'_>, decision: &Decision) -> Response<B> {
        let prepared = self.prepared(decision);
        Refused::new(head, decision, &prepared).respond(&Problem, &self.settings.headers)
    }
}
