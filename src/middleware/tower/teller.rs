//! The headers, counters and refusals of the layer, for a front end that is no layer.

use super::fields::Head;
use super::layer::LayerSettings;
use super::prepared::Prepared;
use super::refusal::{Problem, Refused, retry};
use super::report::{self, LogSampler};
use crate::outcome::Retry;
use crate::rules::by_rules::ByRules;
use crate::rules::{Answered, Ruling};
use crate::time::Time;
use http::{HeaderMap, Response};
use std::sync::Arc;

/// Tells clients and counters about the answers of a store.
pub(crate) struct Teller {
    settings: LayerSettings,
    preparations: ByRules<Prepared>,
    faults: LogSampler,
}

impl Default for Teller {
    fn default() -> Self {
        let settings = LayerSettings::default();
        let faults = LogSampler::new(settings.logged);
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
        if let Some(fault) = &answered.fault {
            report::fault(&self.faults, fault, None, now);
        }
    }

    /// Adds the headers to those of a response. An event that would have to wait is refused.
    pub(crate) fn put(&self, answered: &Answered, headers: &mut HeaderMap) {
        let refused = retry(answered).map(|retry| retry.and_then(Retry::wait));
        let prepared = self.prepared(&answered.ruling);
        if let Some(mut values) = self.settings.headers.values(&prepared, &answered.ruling, refused)
        {
            values.put(headers);
        }
    }

    /// The refusal as problem details, with the headers.
    pub(crate) fn refusal<B: From<String>>(
        &self,
        head: Head<'_>,
        answered: &Answered,
    ) -> Response<B> {
        let prepared = self.prepared(&answered.ruling);
        Refused::new(head, answered, &prepared).respond(&Problem, &self.settings.headers)
    }
}
