//! Rules: a file that says which limits are for which events.
//!
//! ```
//! use ratescope::rules::{Reloaded, Ruled, Rules};
//! use ratescope::{Event, Time};
//!
//! let text = "
//! domain: web
//! descriptors:
//!   - key: user
//!     limit: gcra 3/1m
//!   - key: path
//!     value: /login
//!     descriptors:
//!       - key: ip
//!         rate_limit: {unit: minute, requests_per_unit: 2}
//! ";
//! let rules = Ruled::new(Rules::read("rules.yaml", text)?, 100_000);
//! let login = |user| {
//!     let fields = &[("user", user), ("path", "/login"), ("ip", "192.0.2.7")];
//!     rules.check(&Event { time: Time::ZERO, cost: 1.0, fields })
//! };
//! assert!(login("ann").is_allowed() && login("bob").is_allowed());
//! assert_eq!(login("eve").to_string(), "refused by web:path=/login,ip: level 3, limit 2");
//!
//! // New rules in place of the old ones: all states that mean the same go on.
//! let wrong = text.replace("gcra 3/1m", "gcra 3/1m brust 2");
//! let reloaded = rules.reload("rules.yaml", &wrong, Time::ZERO);
//! let Reloaded::Rejected(error) = reloaded else { panic!() };
//! assert!(error.to_string().starts_with("rules.yaml:5:22: \"brust\": not read;"));
//! # Ok::<(), ratescope::rules::RulesError>(())
//! ```
//!
//! # The file
//! It is YAML as [envoyproxy/ratelimit] (Lyft's) reads it, with more. Nothing is passed over: a key
//! that is not known is a mistake, and all mistakes are told at once, with their places.
//!
//! | key | in | meaning |
//! |---|---|---|
//! | `domain` | the top | the first part of each rule's name |
//! | `descriptors` | the top, a descriptor | a list of descriptors |
//! | `key` | a descriptor | the field that it is about |
//! | `value` | a descriptor | the value that the field must have; a `*` in it stands for any characters; without it, any that is not empty |
//! | `rate_limit` | both | `unit` (second, minute, hour, day, week, month of 30 days, year of 365) and `requests_per_unit`, or `unlimited: true`; a [fixed window](crate::limit::fixed_window) |
//! | `limit` | both | instead of it, a limit in the text form of a [policy](crate::policy), several of them as a list or joined by `&`, or `unlimited` |
//! | `name`, `replaces` | both, or in `rate_limit` | a name, and a list of the names of those rules that do not apply where this one does |
//! | `throttle` | both | `hard` unless it says `soft 10%` or `elastic up to 2x while load < 70%`: see [`Throttle`] |
//! | `shadow`, `shadow_mode` | both | `true`: decides and counts, and never refuses |
//! | `cost` | both | what each event counts for in these limits, whatever it costs by itself |
//! | `on_store_failure` | both | `allow`, `refuse` or `local`, which it is unless it says so: see [`OnStoreFailure`] |
//! | `share_threshold` | a descriptor | `true`: all values that its `*` admits share one count |
//! | `detailed_metric`, `value_to_metric`, `metadata` | a descriptor | read, and without meaning here |
//!
//! A limit without `per` counts for each combination of the fields of its descriptor and of those
//! around it, which is what envoyproxy/ratelimit does. At the top it counts for all together.
//!
//! # Which rules apply
//! A service asks envoyproxy/ratelimit with lists of keys and values, and each is looked up by itself.
//! Here an event has fields, and all lists that can be made of them are looked up at once:
//!
//! 1. Of the descriptors of one list with the same `key`, one at most is chosen: the one with the very
//!    value of the field, or else the first in the file whose stars admit it, or else the one without a
//!    value. Where the event has no such field, or an empty one, it is none.
//! 2. Within a chosen descriptor the same is done with its own list. The limit of a descriptor applies
//!    unless a rule within it does: the deepest one counts. A descriptor with neither a limit nor a
//!    list is a rule, too: its events are not limited.
//! 3. Descriptors with different keys do not compete: all that are chosen apply, together with the
//!    limit at the top, which is for every event.
//! 4. What is replaced by another rule that applies does not.
//!
//! An event has to pass all rules that apply, and counts in all their limits or in none; there it
//! counts in each, whatever any of them says. [`Rules::explain`] says of each rule why it applies or
//! not.
//!
//! # What is refused at load
//! Whatever can't be read, and whatever can't have been meant: two descriptors of one list for the same
//! values, or a wildcard behind one that admits all of its values; a key that an outer descriptor has
//! already; a limit that is both unlimited and so many; a cost that the limit never admits; rules that
//! replace each other, or one that is not there; settings of a limit where there is none; a file
//! without any rule. What would grow beyond bounds, too: a text of more than [`LONGEST`] bytes, nested
//! more than 64 levels deep, of more than 100,000 parts with aliases written out, of more than 10,000
//! rules, or with more than 4 KiB of keys and values on the way to one. [`Rules::exact_in_f64`] is
//! asked by a store that has no more than f64.
//!
//! # While a service runs
//! [`Ruled`] decides, shared between threads as it is. [`Ruled::reload`] puts new rules in place of the
//! old ones, at once and only if nothing is wrong with them, and [`Reloaded`] says what came of it and
//! which limits go on with the states that they had. `middleware::watch` follows a file, and [`cases`]
//! are tests of one.
//!
//! What serves requests asks an [`AsyncStore`]: a [`Ruled`], or the same rules with their states on
//! Redis.
//!
//! # Shadows
//! A shadow counts what it would count if it could refuse: an event that a rule in force refuses, or
//! the shadow itself, counts as refused in it. Each is judged alone, beside the rules in force.
//!
//! [envoyproxy/ratelimit]: https://github.com/envoyproxy/ratelimit#configuration

mod async_store;
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
mod standing;
mod throttle;
mod value;
mod words;
mod yaml;

pub use async_store::{Answered, AsyncStore, Details, Fault};
pub use error::{Mistake, RulesError};
pub use explain::Why;
pub use reload::{Changes, Reloaded};
pub use ruled::Ruled;
pub use ruling::{Opinion, Ruling};
pub use settings::OnStoreFailure;
pub use standing::{Standing, Standings};
pub use throttle::{Load, Throttle};
pub use value::{Step, Value, Wildcard};
pub use yaml::LONGEST;

use crate::policy::{Limit, Policy};
use error::At;
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
    /// Where its limits stand.
    limits_at: At,
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

    /// Whether a store that has only f64, such as Redis, computes all limits exactly: see
    /// [`in_f64`](crate::limit::in_f64). A store that does not should refuse them when they are read.
    ///
    /// # Errors
    /// When one is beyond that, with its place.
    pub fn exact_in_f64(&self) -> Result<(), RulesError> {
        let mut mistakes = Vec::new();
        for rule in &self.rules {
            for limit in rule.limits().iter().chain(rule.stretched()) {
                if let Err(error) = limit.limiter.exact_in_f64() {
                    let problem = format!("not exact where only f64 exists, as on Redis: {error}");
                    mistakes.push(Mistake::new(rule.limits_at, &limit.to_string(), problem));
                }
            }
        }
        if mistakes.is_empty() { Ok(()) } else { Err(RulesError::new(&self.file, mistakes)) }
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

/// A single policy as rules: one rule, named `policy`, which is for all events.
impl From<Policy> for Rules {
    fn from(policy: Policy) -> Self {
        let (domain, limits) = ("policy".to_owned(), policy.limits().to_vec());
        let settings = Settings { limits, ..Settings::default() };
        let limits_at = At { line: 1, column: 1 };
        let (name, path) = (domain.clone(), Vec::new());
        let rule = Rule { name, path, line: 1, limits_at, settings };
        let (file, top) = (domain.clone(), Level::default());
        Rules { file, domain, rules: vec![rule], always: Some(0), top, replaces: false }
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

    /// One of its limits, as it is or stretched.
    fn limit(&self, place: usize, is_stretched: bool) -> Option<&Limit> {
        let limits = if is_stretched { self.stretched() } else { self.limits() };
        limits.get(place)
    }

    fn does_replace(&self, other: &Rule) -> bool {
        other.label().is_some_and(|label| self.replaces().iter().any(|name| name == label))
    }
}
