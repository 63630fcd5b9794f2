//! Rules: a file that says which limits apply to which events.
//!
//! ```
//! use ratescope::rules::{Reloaded, MemoryStore, Rules};
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
//! let rules = MemoryStore::new(Rules::read("rules.yaml", text)?, 100_000);
//! let login = |user| {
//!     let fields = &[("user", user), ("path", "/login"), ("ip", "192.0.2.7")];
//!     rules.check(&Event { time: Time::ZERO, cost: 1.0, fields })
//! };
//! assert!(login("ann").is_allowed() && login("bob").is_allowed());
//! assert_eq!(login("eve").to_string(), "refused by web:path=/login,ip: level 3, limit 2");
//!
//! // Replace the rules: states that still mean the same are kept. Here the new text is wrong.
//! let wrong = text.replace("gcra 3/1m", "gcra 3/1m brust 2");
//! let reloaded = rules.reload("rules.yaml", &wrong, Time::ZERO);
//! let Reloaded::Rejected(error) = reloaded else { panic!() };
//! assert!(error.to_string().starts_with("rules.yaml:5:22: \"brust\": unexpected word;"));
//! # Ok::<(), ratescope::rules::RulesError>(())
//! ```
//!
//! # The file
//! It is YAML in the format of [envoyproxy/ratelimit] (Lyft's), extended. Nothing is ignored: an
//! unknown key is a mistake. All mistakes are reported at once, with their places.
//!
//! | key | in | meaning |
//! |---|---|---|
//! | `domain` | the top | the first part of each rule's name |
//! | `descriptors` | the top, a descriptor | a list of descriptors |
//! | `key` | a descriptor | the name of a field: letters, digits and `-_./:@~$*!`; `hash(NAME)` for a [secret](crate::policy::Per) |
//! | `value` | a descriptor | the value that the field must have, in which `*` stands for any characters; without `value`, any value that is not empty |
//! | `network` | a descriptor | instead of `value`: networks that contain the address in the field, as in `10.0.0.0/8, 2001:db8::/32` |
//! | `rate_limit` | both | `unit` (second, minute, hour, day, week, month of 30 days, year of 365) and `requests_per_unit`, or `unlimited: true`; a [fixed window](crate::limit::fixed_window) |
//! | `limit` | both | instead of `rate_limit`: a limit in the text form of a [policy](crate::policy), where a rate alone is a fixed window, too; several limits as a list or joined by `&`; or `unlimited` |
//! | `name`, `replaces` | both, or in `rate_limit` | a name, and the names of rules that do not apply when this rule does |
//! | `throttle` | both | `hard` (the default), `soft 10%` or `elastic up to 2x while load < 70%`: see [`Throttle`] |
//! | `shadow`, `shadow_mode` | both | `true`: the rule decides and counts, but never refuses |
//! | `cost` | both | the cost of each event in these limits, instead of the event's own cost |
//! | `on_store_failure` | both | `allow`, `refuse` or `local` (the default): see [`OnStoreFailure`] |
//! | `share` | both | how the limits are shared on Redis: `exact` (the default), `leased 100ms` or `synced 1s`, see [`share`](crate::share); at the top, of all rules that don't say it and can be shared so |
//! | `share_threshold` | a descriptor | `true`: all values that match the `*` or `network` share one count |
//! | `quota_mode` | a descriptor | `true`: an event is refused only if all such rules refuse; accepted, without effect, where no event has several such rules |
//! | `detailed_metric`, `value_to_metric`, `metadata` | a descriptor | accepted and ignored |
//!
//! Anchors, aliases and merge keys (`<<: *usual`) are those of YAML 1.1.
//!
//! A key with null, `""` or `[]` counts as absent, since Envoy Gateway writes all keys. So does `name` at the top of a
//! file without a limit there: it is the name of the file. A key may be within itself, since a client of Envoy's
//! protocol may send it twice; its second value is then counted as `key#2`.
//!
//! A limit without `per` counts for each combination of the fields of its descriptor and of the
//! descriptors around it, as in envoyproxy/ratelimit. At the top it counts all events together.
//!
//! # Which rules apply
//! A service calls envoyproxy/ratelimit with lists of keys and values, and each list is looked up
//! separately. Here an event has fields, and all lists that they can form are looked up at once:
//!
//! 1. Among descriptors of one list with the same `key`, at most one is chosen: the one with exactly the value of the
//!    field, or else the first in the file with a network that contains the value, or else the first whose wildcard
//!    matches, or else the one without a value. If the field is missing or empty, none is chosen.
//! 2. The list within a chosen descriptor is searched in the same way. The limit of a descriptor applies unless a rule
//!    within it does: the deepest rule counts. A descriptor with neither a limit nor a list is a rule, too: its events
//!    are not limited.
//! 3. Descriptors with different keys do not compete: all that are chosen apply, together with the
//!    limit at the top, which is for every event.
//! 4. A rule does not apply if another rule that applies replaces it.
//!
//! A key `hash(NAME)` is the field NAME, whose values are [secret](crate::policy::Per) in all rules of the file: logs,
//! Redis and Live show a hash, and so does the name of a rule with such a `value`. A wildcard is shown as it is.
//!
//! An event has to pass all rules that apply. It counts in all their limits or in none; limiters that
//! count refused events count it in any case. [`Rules::explain`] says for each rule why it applies or
//! does not.
//!
//! # Exemptions
//! A descriptor with a value or a network and no limit exempts those events from the descriptors of its own
//! list, and with `replaces` from others, too:
//!
//! ```
//! use ratescope::rules::{MemoryStore, Rules};
//! use ratescope::{Event, Time};
//!
//! let text = "
//! domain: web
//! descriptors:
//!   - {key: ip, limit: gcra 1/1m, name: addresses}
//!   - {key: ip, network: 10.0.0.0/8}
//!   - {key: user, value: monitor, rate_limit: {unlimited: true, replaces: [{name: addresses}]}}
//! ";
//! let rules = MemoryStore::new(Rules::read("rules.yaml", text)?, 100_000);
//! let twice = |user, ip| {
//!     let fields = &[("user", user), ("ip", ip)];
//!     let event = Event { time: Time::ZERO, cost: 1.0, fields };
//!     rules.check(&event).is_allowed() && rules.check(&event).is_allowed()
//! };
//! assert!(!twice("ann", "192.0.2.7"));
//! assert!(twice("ann", "10.0.2.7") && twice("monitor", "192.0.2.8"));
//! # Ok::<(), ratescope::rules::RulesError>(())
//! ```
//!
//! A client of IPv6 has the address of its group, as in `2001:db8:0:1::/64`, so a network that is smaller than the
//! groups matches no client.
//!
//! # What is refused at load
//! A file is refused if it cannot be read, or makes no sense: two descriptors of one list for the same values, or a
//! wildcard or network after another that contains all of its values; a limit that is unlimited and has a number; a
//! limit that never admits the cost of an event, which is 1 unless the rule has another; rules that replace each other,
//! or an unknown rule; settings without a limit; a file without any rule. It is also refused if it is too large: a text
//! of more than [`LONGEST`] bytes, nested more than 64 levels deep, with more than 100,000 parts after aliases are
//! expanded, with more than 10,000 rules, or with more than 4 KiB of keys and values on the path to a rule. A store
//! that has only f64 also checks [`Rules::exact_in_f64`].
//!
//! [`Rules::new`] makes rules in code, and checks them in the same way.
//!
//! # Before it is put in force
//! `ratescope check rules.yaml` says what each rule means, and what is wrong with a file; `explain` says
//! which rules apply to a request, and why others do not. `ratescope test rules.yaml cases.yaml` runs [`cases`],
//! events with times and expectations, for CI. `ratescope simulate --rules` puts a log through the file. A rule that is
//! still in doubt begins as a [shadow](#shadows).
//!
//! # While a service runs
//! [`MemoryStore`] decides; threads can share it. [`MemoryStore::reload`] replaces the rules, at once and only if
//! the new ones have no mistakes. [`Reloaded`] says which limits keep their states. `ratescope_tower::watch`
//! follows a file. A service asks a [`Store`]: a [`MemoryStore`], or the same rules with their states on Redis; an
//! `Arc<dyn Store>` is either, chosen at run time. [`MemoryStore::save`] and [`MemoryStore::restore`] outlast a restart.
//!
//! [`Exceptions`] give a key other numbers for a while, whatever the file says.
//!
//! # Shadows
//! A shadow counts as if it could refuse: an event that a rule in force refuses, or that the shadow itself would
//! refuse, counts as refused. Each shadow is judged on its own, together with the rules in force. A later charge counts
//! in the shadows that would have let the event pass. So a shadow that is put in force decides as it said it would. The layer of `ratescope-tower` counts and logs
//! the events that shadows would have refused.
//!
//! [envoyproxy/ratelimit]: https://github.com/envoyproxy/ratelimit#configuration

pub(crate) mod by_rules;
pub mod cases;
mod decide;
pub(crate) mod decision;
mod draft;
mod error;
pub(crate) mod exceptions;
mod explain;
mod fault;
mod file;
mod in_code;
mod in_words;
mod matching;
mod memory_store;
mod nearer;
mod numbers;
mod observed;
mod opening;
mod part;
mod paths;
pub(crate) mod plan;
mod reader;
mod reload;
mod saved;
mod settings;
pub(crate) mod sketch;
mod store;
mod stored_key;
mod throttle;
mod top_keys;
mod utf8;
mod value;
mod wildcards;
pub(crate) mod yaml;

pub use crate::address::Networks;
pub use decision::{Decision, LimitOutcome, StateSource};
pub use error::{Mistake, RulesError};
pub use exceptions::{Exception, Exceptions};
pub use explain::Why;
pub use fault::{Cause, Fault};
pub use in_code::NewRule;
pub use memory_store::MemoryStore;
pub use numbers::Numbers;
pub use observed::{Observed, Observer};
pub use opening::OpenError;
pub use part::{Intent, Part};
pub use plan::PlannedLimit;
pub use reload::{Changes, Reloaded};
pub use settings::OnStoreFailure;
pub use store::{BoxFuture, Decisions, Details, Memory, Store};
pub use stored_key::StoredKey;
pub use throttle::{Load, Throttle};
pub use top_keys::{TopKey, TopKeys};
pub use utf8::decode;
pub use value::{Step, Value, Wildcard};
pub use yaml::LONGEST;

use crate::policy::{KeySecret, Limit, Per};
use crate::share::Share;
use error::At;
use matching::Matcher;
use settings::RuleSettings;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The rules of a file, or of [code](Rules::new).
#[derive(Clone, Debug)]
pub struct Rules {
    file: String,
    domain: String,
    /// In the order of the file.
    rules: Vec<Rule>,
    /// The index of the rule for all events.
    always: Option<usize>,
    /// Finds the other rules.
    matcher: Option<Arc<dyn Matcher>>,
    /// The fields that any of the rules marks as secret.
    secret_fields: HashSet<String>,
    key_secret: KeySecret,
    plan: plan::Plan,
    remarks: Vec<Mistake>,
}

/// A rule: its events, and the limits that they have to pass.
#[derive(Clone, Debug)]
pub struct Rule {
    name: String,
    path: Vec<Step>,
    line: usize,
    /// Where its limits are in the file.
    limits_at: At,
    settings: RuleSettings,
}

impl Rules {
    /// Reads the rules in `text`; `file` is its name, for errors.
    ///
    /// # Errors
    /// When anything in it is wrong or unknown; the error has all mistakes.
    pub fn read(file: &str, text: &str) -> Result<Self, RulesError> {
        file::read(file, text)
    }

    /// Remarks on words that were read otherwise than they are written in the file, such as a key `Value`, which articles print for `value`.
    pub fn remarks(&self) -> &[Mistake] {
        &self.remarks
    }

    /// Rules before the index for matching is built. Each gets its name.
    fn of(file: String, domain: String, rules: Vec<Rule>) -> Self {
        let of_steps = rules.iter().flat_map(|rule| &rule.path).filter(|step| step.secret);
        let of_limits =
            rules.iter().flat_map(Rule::limits).flat_map(|limit| limit.per.secret_fields());
        let secret_fields = of_steps.map(|step| step.key.as_str()).chain(of_limits);
        let secret_fields = secret_fields.map(str::to_owned).collect();
        let made = Rules {
            file,
            domain,
            rules,
            always: None,
            matcher: None,
            secret_fields,
            key_secret: KeySecret::EMPTY,
            plan: plan::Plan::default(),
            remarks: Vec::new(),
        };
        made.with_key_secret(KeySecret::EMPTY)
    }

    /// Sets the secret with which [secret fields](crate::policy::Per) of keys are hashed; the default is
    /// [`KeySecret::EMPTY`]. A reload keeps it. A field that one rule marks is secret in all rules.
    ///
    /// ```
    /// use ratescope::policy::KeySecret;
    /// use ratescope::rules::Rules;
    /// use ratescope::{Event, Time};
    ///
    /// let text = "domain: web\ndescriptors:\n- {key: hash(email), limit: gcra 3/1m}\n";
    /// let rules = Rules::read("rules.yaml", text)?.with_key_secret(KeySecret::new(b"of all our processes"));
    /// let limit = &rules.rules()[0].limits()[0];
    /// assert_eq!(limit.to_string(), "gcra 3/1m burst 3 per hash(email)");
    /// let event = Event { time: Time::ZERO, cost: 1.0, fields: &[("email", "ann@example.org")] };
    /// assert_eq!(limit.per.key(&event), "email=#d8c8946f226a74bd0e9304b9eb564716");
    /// # Ok::<(), ratescope::rules::RulesError>(())
    /// ```
    #[must_use]
    pub fn with_key_secret(mut self, secret: KeySecret) -> Self {
        let is_secret = |field: &str| self.secret_fields.contains(field);
        for Rule { name, path, settings, .. } in &mut self.rules {
            path.iter_mut().for_each(|step| step.secret |= is_secret(&step.key));
            for limit in settings.limits.iter_mut().chain(&mut settings.relaxed) {
                limit.per = core::mem::take(&mut limit.per).hashing(is_secret, &secret);
            }
            *name = draft::name(&self.domain, path);
        }
        self.key_secret = secret;
        self.plan = plan::Plan::new(&self.rules, self.limit_names());
        self
    }

    /// The secret for the secret fields of keys.
    pub fn key_secret(&self) -> KeySecret {
        self.key_secret.clone()
    }

    /// True if this field is secret: a rule marks it, or it is used by a rule and needs no mark.
    pub fn is_secret(&self, field: &str) -> bool {
        self.secret_fields.contains(field)
    }

    /// True if any field is secret.
    pub fn has_secrets(&self) -> bool {
        !self.secret_fields.is_empty()
    }

    /// Checks that a store with f64 alone, such as Redis, can compute all limits exactly: see
    /// [`in_f64`](crate::limit::in_f64). Such a store should refuse other rules when they are read.
    ///
    /// # Errors
    /// Lists the limits that are outside of the domain, with their places.
    pub fn exact_in_f64(&self) -> Result<(), RulesError> {
        self.refuse(Limit::not_in_f64)
    }

    /// Refuses the rules if `problem` finds one in any limit.
    pub fn refuse(&self, problem: impl Fn(&Limit) -> Option<String>) -> Result<(), RulesError> {
        let mut mistakes = Vec::new();
        for rule in &self.rules {
            for limit in rule.limits().iter().chain(rule.relaxed()) {
                if let Some(problem) = problem(limit) {
                    mistakes.push(Mistake::new(rule.limits_at, &limit.to_string(), problem));
                }
            }
        }
        if mistakes.is_empty() { Ok(()) } else { Err(RulesError::new(&self.file, mistakes)) }
    }

    /// Refuses rules that say how processes [share](Rule::share) them, and are not exact: for a store that no processes
    /// share.
    ///
    /// # Errors
    /// Lists these rules.
    pub fn refuse_shares(&self) -> Result<(), RulesError> {
        let mut mistakes = Vec::new();
        for rule in &self.rules {
            if let Some(share) = rule.share().filter(|share| *share != Share::Exact) {
                let problem = "the states are in the memory of one process, which shares them with no other; leave \
                               share out, or keep them on Redis";
                mistakes.push(Mistake::new(rule.limits_at, &share.to_string(), problem));
            }
        }
        if mistakes.is_empty() { Ok(()) } else { Err(RulesError::new(&self.file, mistakes)) }
    }

    /// Has limits [shared](Rule::share) in this way whose rules don't say it, if they can be.
    #[must_use]
    pub fn with_share(mut self, share: Share) -> Self {
        self.rules.iter_mut().for_each(|rule| rule.settings.share_by_default(share));
        self
    }

    /// An error about the whole file.
    pub fn wrong(&self, problem: String) -> RulesError {
        RulesError::new(&self.file, vec![Mistake::new(At { line: 1, column: 1 }, "", problem)])
    }

    /// The name of the file, as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The domain, which is the first part of each rule's name.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The names of all fields of descriptors and limits, each once.
    pub fn fields(&self) -> Vec<&str> {
        self.fields_of(|_| true)
    }

    /// The fields of the rules for which `of` is true.
    #[doc(hidden)]
    pub fn fields_of(&self, of: impl Fn(&Rule) -> bool) -> Vec<&str> {
        let each = self.rules.iter().filter(|rule| of(rule)).flat_map(|rule| {
            let steps = rule.path.iter().map(|step| &step.key);
            steps.chain(rule.limits().iter().flat_map(|limit| limit.per.fields()))
        });
        let mut seen = HashSet::new();
        each.map(String::as_str).filter(|field| seen.insert(*field)).collect()
    }

    /// The keys by which limits count, each once, in the order of the file. If there are several, the keys of one event
    /// may be on different nodes of a cluster, and no node alone can decide.
    pub fn subjects(&self) -> Vec<&Per> {
        let each = self.rules.iter().flat_map(Rule::limits).map(|limit| &limit.per);
        let mut seen = HashSet::new();
        each.filter(|per| seen.insert(*per)).collect()
    }

    /// The names of the limits of each rule, as clients see them in headers: the [name](Limit::named) of the limit; or else
    /// that of its rule in the file, or the full name of the rule, where a number follows from the second limit on. A
    /// name that several have is taken for none.
    pub fn limit_names(&self) -> Vec<Vec<String>> {
        let own =
            self.rules.iter().flat_map(Rule::limits).filter_map(|limit| limit.name.as_deref());
        let labels = self.rules.iter().filter_map(Rule::label);
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for name in labels.chain(own) {
            *seen.entry(name).or_default() += 1;
        }
        let is_only = |name: &&str| seen.get(*name) == Some(&1);
        let of_rule = |rule: &Rule| {
            let usual = rule.label().filter(is_only).unwrap_or(rule.name());
            let name = |(i, limit): (usize, &Limit)| match limit.name.as_deref().filter(is_only) {
                Some(own) => own.to_owned(),
                None if i == 0 => usual.to_owned(),
                None => format!("{usual}#{}", i + 1),
            };
            rule.limits().iter().enumerate().map(name).collect()
        };
        self.rules.iter().map(of_rule).collect()
    }

    /// All rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// True if both have the same rules, apart from their lines.
    fn say_the_same_as(&self, other: &Rules) -> bool {
        let same = |(a, b): (&Rule, &Rule)| a.name == b.name && a.settings == b.settings;
        self.rules.len() == other.rules.len() && self.rules.iter().zip(&other.rules).all(same)
    }
}

impl Rule {
    /// The unique name, as in `messaging:message_type=marketing,to_number`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The `name` in the file, by which other rules may replace it.
    pub fn label(&self) -> Option<&str> {
        self.settings.label.as_deref()
    }

    /// The fields that an event must have; empty if the rule is for all events.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// The line of the file where it begins.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The limits that an event must pass; empty if it is not limited.
    pub fn limits(&self) -> &[Limit] {
        &self.settings.limits
    }

    /// The limits while the throttle relaxes them; empty for a hard rule.
    pub fn relaxed(&self) -> &[Limit] {
        &self.settings.relaxed
    }

    /// How strictly the limits are enforced.
    pub fn throttle(&self) -> Throttle {
        self.settings.throttle
    }

    /// True if it decides and counts, but never refuses.
    pub fn is_shadow(&self) -> bool {
        self.settings.shadow
    }

    /// The cost of each event in this rule, if it replaces the event's own.
    pub fn cost(&self) -> Option<f64> {
        self.settings.cost
    }

    /// The cost of an event for this rule, rounded up, for counters of whole numbers.
    pub fn hits(&self, cost: f64) -> u64 {
        // The cast saturates.
        libm::ceil(self.cost().unwrap_or(cost)) as u64
    }

    /// How its events are decided when the store can't be asked.
    pub fn on_store_failure(&self) -> OnStoreFailure {
        self.settings.on_store_failure
    }

    /// How its limits on Redis are shared, if it says so.
    pub fn share(&self) -> Option<Share> {
        self.settings.share
    }

    /// The names of the rules that do not apply when this one does.
    pub fn replaces(&self) -> &[String] {
        &self.settings.replaces
    }

    /// True if it replaces the other rule, where both apply.
    pub fn does_replace(&self, other: &Rule) -> bool {
        other.label().is_some_and(|label| self.replaces().iter().any(|name| name == label))
    }
}
