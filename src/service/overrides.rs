//! Limits that requests bring along, in place of those of the rules.

use super::decide::NoAnswer;
use super::domain::{self, Domain};
use super::message::RateLimitOverride;
use super::{States, response};
use crate::live::Probe;
use crate::rules::Rules;
use std::sync::{Arc, Mutex, PoisonError};

/// The most limits whose states are kept.
const MOST: usize = 64;

type Known<S> = Vec<(RateLimitOverride, Arc<Domain<S>>)>;

/// The stores of such limits, the one that was used last at the end.
pub(super) struct Overrides<B: States> {
    states: Arc<B>,
    probe: Arc<Probe>,
    known: Mutex<Known<B::Store>>,
}

impl<B: States> Overrides<B> {
    pub(super) fn new(states: Arc<B>, probe: Arc<Probe>) -> Self {
        Overrides { states, probe, known: Mutex::default() }
    }

    /// The store of a limit. If there are too many, the one that was not used for longest is forgotten.
    pub(super) fn store(
        &self,
        limit: &RateLimitOverride,
    ) -> Result<Arc<Domain<B::Store>>, NoAnswer> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|(other, _)| other == limit);
        let domain = match place.map(|place| known.remove(place)) {
            Some((_, domain)) => domain,
            None => self.open(limit)?,
        };
        if known.len() == MOST {
            known.remove(0);
        }
        known.push((*limit, Arc::clone(&domain)));
        Ok(domain)
    }

    fn open(&self, limit: &RateLimitOverride) -> Result<Arc<Domain<B::Store>>, NoAnswer> {
        let invalid = |why: String| NoAnswer::Invalid(format!("limit: {why}"));
        let unit = response::span(limit.unit);
        let unit = unit.ok_or_else(|| invalid(format!("{} is not a known unit", limit.unit)))?;
        let span = unit.times(f64::from(limit.unit_multiplier.unwrap_or(1).max(1)));
        let count = limit.requests_per_unit;
        let text = format!("domain: override\nlimit: fixed-window {count}/{span} per descriptor\n");
        let rules = Rules::read("override", &text);
        let store = rules.and_then(|rules| self.states.open(rules));
        let store = store.map_err(|error| invalid(error.to_string()))?;
        Ok(domain::of(store, &self.probe))
    }
}
