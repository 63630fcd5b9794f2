//! The headers, counters and refusals of the layer, for a front end that is no layer.

use super::keys::Head;
use super::layer::Settings;
use super::meters;
use super::prepared::Prepared;
use super::refusal::{Answer, Problem, Refused};
use super::report::{self, Sample};
use crate::outcome::{Decision, Retry};
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, Ruling};
use crate::time::{Span, Time};
use http::{HeaderMap, Response};
use std::sync::Arc;

/// Tells clients and counters about the answers of a store.
pub(crate) struct Teller {
    settings: Settings,
    preparations: ByRules<Prepared>,
    faults: Sample,
}

impl Default for Teller {
    fn default() -> Self {
        let settings = Settings::default();
        let faults = Sample::new(settings.logged);
        Teller { settings, preparations: ByRules::default(), faults }
    }
}

impl Teller {
    fn prepared(&self, ruling: &Ruling) -> Arc<Prepared> {
        self.preparations.of(ruling.rules(), |rules| Prepared::new(rules, &self.settings))
    }

    /// Counts the answer of each limit, and counts and logs a failure of the store.
    pub(crate) fn count(&self, answered: &Answered, now: Time) {
        self.prepared(&answered.ruling).count(&answered.ruling);
        let Some(fault) = &answered.fault else { return };
        meters::count_fault(fault, None);
        if let Some(passed_over) = self.faults.take(now) {
            report::fault(fault, passed_over);
        }
    }

    /// Adds the headers to those of a response. An event that would have to wait is refused.
    pub(crate) fn put(&self, answered: &Answered, headers: &mut HeaderMap) {
        let refused = retry(answered).map(|retry| retry.and_then(Retry::wait));
        let prepared = self.prepared(&answered.ruling);
        if let Some(values) = self.settings.headers.values(&prepared, &answered.ruling, refused) {
            values.put(headers);
        }
    }

    /// The refusal as problem details, with the headers.
    pub(crate) fn refusal<B: From<String>>(
        &self,
        head: Head<'_>,
        answered: &Answered,
    ) -> Response<B> {
        let Answered { ruling, fault, .. } = answered;
        let (retry, fault) = (retry(answered).flatten(), fault.as_ref());
        let prepared = &self.prepared(ruling);
        let refused = Refused { head, ruling, retry, fault, prepared };
        let mut response = Problem.answer(&refused);
        self.put(answered, response.headers_mut());
        response
    }
}

/// When an event that does not pass at once would pass; the outer `None` if it passes.
pub(crate) fn retry(answered: &Answered) -> Option<Option<Retry>> {
    match answered.ruling.decision() {
        Decision::Allowed { wait } if wait == Span::ZERO => None,
        Decision::Allowed { wait } => Some(Some(Retry::After(wait))),
        Decision::Refused => Some(answered.retry),
    }
}
