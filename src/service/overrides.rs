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

/// A limit as a rule writes it, in one way for one time (`10/1m`), and its store.
type Opened = (String, Arc<Domain>);

/// The stores of such limits, the one that was used last at the end.
pub(super) struct Overrides {
    states: Arc<States>,
    probe: Arc<Probe>,
    known: Mutex<Vec<Opened>>,
}

impl Overrides {
    pub(super) fn new(states: Arc<States>, probe: Arc<Probe>) -> Self {
        Overrides { states, probe, known: Mutex::default() }
    }

    /// The store of a limit. If there are too many, the one that was not used for longest is forgotten.
    pub(super) fn store(&self, limit: &RateLimitOverride) -> Result<Opened, NoAnswer> {
        let name = name(limit)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match known.iter().position(|(other, _)| *other == name) {
            Some(place) => known.remove(place),
            None => self.open(name)?,
        };
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(opened.clone());
        Ok(opened)
    }

    fn open(&self, name: String) -> Result<Opened, NoAnswer> {
        let text = format!("domain: override\nlimit: fixed-window {name} per descriptor\n");
        let rules = Rules::read("override", &text);
        let store = rules.and_then(|rules| self.states.open(rules));
        let store = store.map_err(|error| invalid(&error.to_string()))?;
        Ok((name, domain::of(store, &self.probe)))
    }
}

fn name(limit: &RateLimitOverride) -> Result<String, NoAnswer> {
    let unit = response::span(limit.unit);
    let unit = unit.ok_or_else(|| invalid(&format!("{} is not a known unit", limit.unit)))?;
    let span = unit.times(f64::from(limit.unit_multiplier.unwrap_or(1).max(1)));
    Ok(format!("{}/{span}", limit.requests_per_unit))
}

fn invalid(why: &str) -> NoAnswer {
    NoAnswer::Invalid(format!("limit: {why}"))
}
