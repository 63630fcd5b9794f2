//! The kind of the events in a log, kept in a summary: their name, their cost and their formats.

use super::BadSummary;

/// The kind of the events in one log or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The word for the events, in plural.
    pub events: String,
    /// The field whose values are the costs; empty if no field was chosen.
    pub cost: String,
    /// The formats of the logs, for a person, each once.
    pub formats: Vec<String>,
}

/// The most formats that are kept.
pub(super) const FORMATS: usize = 32;

/// The word for events of several kinds.
const ANY: &str = "events";

impl Origin {
    /// Adds the events of another log.
    ///
    /// # Errors
    /// When the costs of the two come from different fields; nothing changes then.
    pub(super) fn add(&mut self, other: &Origin) -> Result<(), BadSummary> {
        if self.cost != other.cost {
            return Err(BadSummary::Cost(self.cost.clone(), other.cost.clone()));
        }
        if self.events != other.events {
            ANY.clone_into(&mut self.events);
        }
        for format in &other.formats {
            if self.formats.len() < FORMATS && !self.formats.contains(format) {
                self.formats.push(format.clone());
            }
        }
        Ok(())
    }
}
