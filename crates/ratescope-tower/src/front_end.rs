//! The side effects of a decision: it is counted and logged, and headers tell of it. The layer and the rate limit
//! service share this.

use super::fields::Head;
use super::layer::LayerSettings;
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
use std::sync::{Arc, OnceLock};

/// Counts and logs decisions, and writes their headers and refusals.
pub struct FrontEnd {
    pub(super) settings: LayerSettings,
    pub(super) preparations: ByRules<Prepared>,
    /// Made when they are first used, so that the recorder can be installed after the layer was made.
    meters: OnceLock<Meters>,
    pub(super) refusals: LogSampler,
    /// Of requests that shadows would have refused.
    shadow_refusals: LogSampler,
    pub(super) bad_values: LogSampler,
}

impl fmt::Debug for FrontEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontEnd").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl FrontEnd {
    pub(super) fn new(settings: LayerSettings) -> Self {
        let sample = || LogSampler::new(settings.logged);
        FrontEnd {
            preparations: ByRules::default(),
            meters: OnceLock::new(),
            refusals: sample(),
            shadow_refusals: sample(),
            bad_values: sample(),
            settings,
        }
    }

    /// That of a service of this name, for a store whose failures `outages` notes. All counters begin at 0.
    pub fn of_service(name: &str, outages: Arc<Outages>) -> Self {
        meters::register_faults(Some(name));
        let name = Some(name.into());
        let front = FrontEnd::new(LayerSettings { name, outages, ..LayerSettings::default() });
        front.meters();
        front
    }

    /// The name of the layer or of the service.
    pub(super) fn name(&self) -> Option<&str> {
        self.settings.name.as_deref()
    }

    pub(super) fn meters(&self) -> &Meters {
        self.meters.get_or_init(|| Meters::new(self.name()))
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
        self.count(&self.prepared(decision), event, decision, now);
        match retry(decision) {
            Some(retry) => self.log_refusal(event, decision, retry.and_then(Retry::wait), now),
            None => self.log_shadow(event, decision, || now),
        }
    }

    /// Counts the outcome of each limit, and whether the store failed.
    #[inline]
    pub(super) fn count(
        &self,
        prepared: &Prepared,
        event: &Event<'_>,
        decision: &Decision,
        now: Time,
    ) {
        prepared.count(decision);
        prepared.note_keyless(event, decision, self.name());
        self.settings.outages.note(decision, self.name(), now);
    }

    pub(super) fn log_refusal(
        &self,
        event: &Event<'_>,
        decision: &Decision,
        retry_after: Option<Span>,
        now: Time,
    ) {
        if let Some(passed_over) = self.refusals.take(now) {
            report::refused(event, decision, retry_after, self.name(), passed_over);
        }
    }

    /// Logs that an event passes which a shadow would have refused.
    #[inline]
    pub(super) fn log_shadow(
        &self,
        event: &Event<'_>,
        decision: &Decision,
        now: impl FnOnce() -> Time,
    ) {
        if let Some(first) = decision.shadow_refusals().next()
            && let Some(passed_over) = self.shadow_refusals.take(now())
        {
            report::let_through(event, &first, self.name(), passed_over);
        }
    }

    /// Counts a request by its outcome.
    pub fn count_request(&self, outcome: RequestOutcome) {
        self.meters().count(outcome);
    }

    /// Notes how long the store took to answer.
    pub fn took(&self, span: Span) {
        self.meters().took(span);
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
