//! The headers, counters, refusals and log of the layer, for other front ends.

use super::fields::Head;
use super::layer::{LOGGED, LayerSettings};
use super::meters::{self, Meters, RequestOutcome};
use super::outages::Outages;
use super::prepared::Prepared;
use super::refusal::{Problem, Refused, retry};
use super::report::{self, LogSampler};
use core::fmt;
use http::{HeaderMap, Response};
use ratescope::event::Event;
use ratescope::internal::ByRules;
use ratescope::outcome::Retry;
use ratescope::rules::Decision;
use ratescope::time::{Span, Time};
use std::sync::Arc;

/// Writes headers and refusals, counts and logs, as the layer does.
pub struct HeaderWriter {
    settings: LayerSettings,
    preparations: ByRules<Prepared>,
    refusals: LogSampler,
    shadow_refusals: LogSampler,
    meters: Meters,
}

impl fmt::Debug for HeaderWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderWriter").finish_non_exhaustive()
    }
}

impl HeaderWriter {
    /// As the layer of this name, for a store whose failures `outages` notes.
    pub fn new(name: &str, outages: Arc<Outages>) -> Self {
        let settings =
            LayerSettings { name: Some(name.into()), outages, ..LayerSettings::default() };
        meters::register_faults(Some(name));
        HeaderWriter {
            settings,
            preparations: ByRules::default(),
            refusals: LogSampler::new(LOGGED),
            shadow_refusals: LogSampler::new(LOGGED),
            meters: Meters::new(Some(name)),
        }
    }

    /// The outages of the store.
    pub fn outages(&self) -> &Arc<Outages> {
        &self.settings.outages
    }

    fn prepared(&self, decision: &Decision) -> Arc<Prepared> {
        self.preparations.get(decision.rules(), |rules| Prepared::new(rules, None, &self.settings))
    }

    /// Counts the outcome of each limit, and whether the store failed. Logs a refusal, also one of a shadow. An event
    /// that would have to wait is refused.
    pub fn record(&self, event: &Event<'_>, decision: &Decision, now: Time) {
        let name = self.settings.name.as_deref();
        let prepared = self.prepared(decision);
        prepared.count(decision);
        prepared.note_keyless(event, decision, name);
        self.settings.outages.note(decision.fault.as_ref(), name, now);
        if let Some(retry) = retry(decision) {
            if let Some(passed_over) = self.refusals.take(now) {
                let retry_after = retry.and_then(Retry::wait);
                report::refused(event, decision, retry_after, name, passed_over);
            }
        } else if let Some(first) = decision.shadow_refusals().next()
            && let Some(passed_over) = self.shadow_refusals.take(now)
        {
            report::let_through(event, &first, name, passed_over);
        }
    }

    /// Counts a request by its outcome.
    pub fn count_request(&self, outcome: RequestOutcome) {
        self.meters.count(outcome);
    }

    /// Notes how long the store took to answer.
    pub fn took(&self, span: Span) {
        self.meters.took(span);
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
