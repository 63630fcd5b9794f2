//! Limits that requests bring along, in place of those of the rules.

use super::decide::NoAnswer;
use super::domain::Domain;
use super::message::RateLimitOverride;
use super::response;
use ratescope::rules::{Rules, RulesError};
use std::sync::{Arc, Mutex, PoisonError};

/// The most limits whose states are kept.
const MOST: usize = 64;

/// The normal text of a limit (`10/1m` for 60 s and for 1 min), and its store.
type Opened = (String, Arc<Domain>);

/// A cache of the stores of such limits, the most recently used last.
#[derive(Default)]
pub(super) struct Overrides(Mutex<Vec<Opened>>);

impl Overrides {
    /// The store of a limit, which `open` makes if it is not in the cache. A full cache evicts the least recently used.
    pub(super) fn store(
        &self,
        limit: &RateLimitOverride,
        open: impl FnOnce(Rules) -> Result<Arc<Domain>, RulesError>,
    ) -> Result<Opened, NoAnswer> {
        let name = name(limit)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match known.iter().position(|(other, _)| *other == name) {
            Some(place) => known.remove(place),
            None => {
                let text = format!("domain: override\nlimit: fixed-window {name} per descriptor\n");
                let opened = Rules::read("override", &text).and_then(open);
                (name, opened.map_err(|error| invalid(&error.to_string()))?)
            }
        };
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(opened.clone());
        Ok(opened)
    }
}

fn name(limit: &RateLimitOverride) -> Result<String, NoAnswer> {
    let unit = response::span(limit.unit);
    let unit = unit.ok_or_else(|| match limit.unit {
        0 => invalid("it has no unit; write SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR"),
        unknown => invalid(&format!("{unknown} is not a known unit")),
    })?;
    let span = unit.times(f64::from(limit.unit_multiplier.unwrap_or(1).max(1)));
    Ok(format!("{}/{span}", limit.requests_per_unit))
}

fn invalid(why: &str) -> NoAnswer {
    NoAnswer::Invalid(format!("limit: {why}"))
}
