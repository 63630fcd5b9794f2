//! Defaults of options that depend on the log.

use super::format::{Format, LogShape};
use super::options::{Options, check_field};
use super::order::SLACK;
use super::spread::Spread;
use ratescope::policy::Per;
use ratescope::text::ParseError;
use ratescope::time::Span;

impl LogShape {
    /// The key of clients, also of a limit without `per`. If the options have none, it is the address; in CSV the
    /// column `key`, or without it all events together.
    pub fn key(&self, options: &Options) -> Per {
        if let Some(key) = &options.key {
            return key.clone();
        }
        let has_key = self.fields().is_none_or(|fields| fields.iter().any(|field| field == "key"));
        let name = match self.format() {
            Format::Csv if has_key => "key",
            Format::Csv => "all",
            _ => "ip",
        };
        name.parse().unwrap_or_default()
    }

    /// Refuses a key with a field that the lines of the log do not have.
    ///
    /// # Errors
    /// When a field is unknown; the error names it and the known fields.
    pub fn check_key(&self, key: &Per) -> Result<(), ParseError> {
        key.fields().iter().try_for_each(|name| check_field(name, self.fields()))
    }

    /// How late a line may be and still be sorted; `None` if lines are not sorted, as in CSV, whose times may be
    /// anything.
    pub fn usual_slack(&self, spread: Spread) -> Option<Span> {
        let as_it_comes = self.format() == Format::Csv && spread != Spread::Always;
        (!as_it_comes).then_some(SLACK)
    }
}
