//! The headers, counters and refusals of the layer, for a front end that is no layer.

use super::fields::Head;
use super::layer::LayerSettings;
use super::prepared::Prepared;
use super::refusal::{Problem, Refused, retry};
use super::report::{self, LogSampler};
use http::{HeaderMap, Response};
use ratescope::internal::ByRules;
use ratescope::outcome::Retry;
use ratescope::rules::{Answered, Ruling};
use ratescope::time::Time;
use std::sync::Arc;

/// Tells clients and counters about the answers of a store.
pub struct Teller {
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
    pub fn count(&self, answered: &Answered, now: Time) {
        self.prepared(&answered.ruling).count(&answered.ruling);
        if let Some(fault) = &answered.fault {
            report::fault(&self.faults, fault, None, now);
        }
    }

    /// Adds the headers to those of a response. An event that would have to wait is refused.
    pub fn put(&self, answered: &Answered, headers: &mut HeaderMap) {
        let refused = retry(answered).map(|retry| retry.and_then(Retry::wait));
        let prepared = self.prepared(&answered.ruling);
        if let Some(mut values) = self.settings.headers.values(&prepared, &answered.ruling, refused)
        {
            values.put(headers);
        }
    }

    /// The refusal as problem details, with the headers.
    pub fn refusal<B: From<String>>(&self, head: Head<'_>, answered: &Answered) -> Response<B> {
        let prepared = self.prepared(&answered.ruling);
        Refused::new(head, answered, &prepared).respond(&Problem, &self.settings.headers)
    }
}
