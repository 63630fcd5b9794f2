//! Rules: a file that says which limits are for which events.

pub mod cases;
mod error;
mod explain;
mod file;
mod matching;
mod reader;
mod reload;
mod ruled;
mod ruling;
mod settings;
mod throttle;
mod value;
mod words;
mod yaml;

pub use error::{Mistake, RulesError};
pub use explain::Why;
pub use reload::{Changes, Reloaded};
pub use ruled::Ruled;
pub use ruling::{Opinion, Ruling};
pub use settings::OnStoreFailure;
pub use throttle::{Load, Throttle};
pub use value::{Step, Value, Wildcard};
pub use yaml::LONGEST;

use crate::policy::Limit;
use matching::Level;
use settings::Settings;

/// The rules of a file.
#[derive(Clone, Debug)]
pub struct Rules {
    file: String,
    domain: String,
    /// In the order of the file.
    rules: Vec<Rule>,
    /// The one that is for all events.
    always: Option<usize>,
    top: Level,
    /// Whether any of them replaces another.
    replaces: bool,
}

/// A rule: what its events are, and what they have to pass.
#[derive(Clone, Debug)]
pub struct Rule {
    name: String,
    path: Vec<Step>,
    line: usize,
    settings: Settings,
}

impl Rules {
    /// Reads the rules that stand in `text`; `file` is its name, for errors.
    ///
    /// # Errors
    /// When anything in it is wrong, or not known; all mistakes at once.
    pub fn read(file: &str, text: &str) -> Result<Self, RulesError> {
        file::read(file, text)
    }

    /// The name of the file, as it was given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The domain, which is the first part of each rule's name.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The names of the fields that descriptors and limits are about, each once.
    pub fn fields(&self) -> Vec<&str> {
        let mut fields: Vec<&str> = Vec::new();
        for rule in &self.rules {
            let steps = rule.path.iter().map(|step| step.key.as_str());
            let limits = rule.limits().iter().flat_map(|limit| limit.per.fields());
            for field in steps.chain(limits.map(String::as_str)) {
                if !fields.contains(&field) {
                    fields.push(field);
                }
            }
        }
        fields
    }

    /// All rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl Rules {
    /// Whether both decide alike about every event. In which lines they stand is not compared.
    fn say_the_same_as(&self, other: &Rules) -> bool {
        let same = |a: &Rule, b: &Rule| a.name == b.name && a.settings == b.settings;
        let (a, b) = (self.rules(), other.rules());
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
    }
}

impl Rule {
    /// Its name, as in `messaging:message_type=marketing,to_number`: no two rules have the same.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name that the file gives it, by which others may replace it.
    pub fn label(&self) -> Option<&str> {
        self.settings.label.as_deref()
    }

    /// The fields that an event must have; none, for all events.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// The line of the file in which it begins.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What an event must pass; without any, it is not limited.
    pub fn limits(&self) -> &[Limit] {
        &self.settings.limits
    }

    /// The same limits while the rule is stretched; none where it never is.
    pub fn stretched(&self) -> &[Limit] {
        &self.settings.stretched
    }

    /// How firmly the limits are held.
    pub fn throttle(&self) -> Throttle {
        self.settings.throttle
    }

    /// Whether it decides and counts, but never refuses.
    pub fn is_shadow(&self) -> bool {
        self.settings.shadow
    }

    /// What each event costs here, whatever it costs by itself.
    pub fn cost(&self) -> Option<f64> {
        self.settings.cost
    }

    /// What happens when the store of its states can't be asked.
    pub fn on_store_failure(&self) -> OnStoreFailure {
        self.settings.on_store_failure
    }

    /// The names of the rules that are not asked where this one is.
    pub fn replaces(&self) -> &[String] {
        &self.settings.replaces
    }

    fn does_replace(&self, other: &Rule) -> bool {
        other.label().is_some_and(|label| self.replaces().iter().any(|name| name == label))
    }
}
