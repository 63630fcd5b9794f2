//! What logs say of their events as a whole, which a summary takes along.

use super::BadSummary;

/// What is known of the events as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The word for them, in plural.
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
    /// Adds that of others.
    ///
    /// # Errors
    /// When their costs are the values of another field; nothing changes then.
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
