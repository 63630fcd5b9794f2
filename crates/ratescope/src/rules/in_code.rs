//! Rules that are made in code.
//!
//! They have the settings of rules in a file, and are checked by the same functions: see [`Draft`].

use super::draft::{self, Draft};
use super::error::{At, MOST};
use super::matching::{Branch, Level};
use super::reader::TreeReader;
use super::settings::{About, RuleSettings, UNLIMITED};
use super::value::{Step, Value};
use super::{OnStoreFailure, Rule, Rules, RulesError, Throttle};
use crate::address::Networks;
use crate::limit::any::AnyLimiter;
use crate::policy::{Limit, Policy};
use crate::share::Share;
use std::collections::HashMap;

/// A rule in code, for [`Rules::new`]: its events, and the limits that they have to pass. Without a limit it
/// [exempts](crate::rules#exemptions) them.
///
/// Each method is named as the key of a [file](crate::rules#the-file), and means the same.
#[derive(Clone, Debug, Default)]
#[must_use = "it is a rule only among those of Rules::new"]
pub struct NewRule {
    steps: Vec<Step>,
    /// Without its limits.
    settings: RuleSettings,
    limits: Vec<NewLimit>,
}

#[derive(Clone, Debug)]
enum NewLimit {
    /// It counts by the fields of the rule.
    OfRule(AnyLimiter),
    ByItsOwn(Limit),
}

impl NewRule {
    /// A rule for all events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Restricts the rule to events with this field. Its limits count each value apart.
    pub fn each(self, field: &str) -> Self {
        self.step(field, Value::Any)
    }

    /// Restricts the rule to events whose field has this value, in which `*` stands for any characters.
    pub fn value(self, field: &str, value: &str) -> Self {
        self.step(field, Value::new(value))
    }

    /// Restricts the rule to events whose field has an address in these networks.
    pub fn within(self, field: &str, networks: Networks) -> Self {
        self.step(field, Value::Within(networks))
    }

    fn step(mut self, field: &str, value: Value) -> Self {
        self.steps.push(Step { key: field.to_owned(), value, secret: false });
        self
    }

    /// Adds a limit that counts for each combination of the fields of the rule.
    pub fn limit(mut self, limiter: impl Into<AnyLimiter>) -> Self {
        self.limits.push(NewLimit::OfRule(limiter.into()));
        self
    }

    /// Adds a limit that counts by fields of its own.
    pub fn limit_by(mut self, limit: &Limit) -> Self {
        self.limits.push(NewLimit::ByItsOwn(limit.clone()));
        self
    }

    /// Names the rule, so that others can replace it.
    pub fn name(mut self, name: &str) -> Self {
        self.settings.label = Some(name.to_owned());
        self
    }

    /// Replaces the rules of this name where both apply.
    pub fn replaces(mut self, name: &str) -> Self {
        self.settings.replaces.push(name.to_owned());
        self
    }

    /// Sets how strictly the limits are enforced.
    pub fn throttle(mut self, throttle: Throttle) -> Self {
        self.settings.throttle = throttle;
        self
    }

    /// Makes it a [shadow](crate::rules#shadows), which decides and counts, but never refuses.
    pub fn shadow(mut self) -> Self {
        self.settings.shadow = true;
        self
    }

    /// Sets the cost of each event in these limits, in place of the event's own.
    pub fn cost(mut self, cost: f64) -> Self {
        self.settings.cost = Some(cost);
        self
    }

    /// Sets how its events are decided when the store can't be asked.
    pub fn on_store_failure(mut self, what: OnStoreFailure) -> Self {
        self.settings.on_store_failure = what;
        self
    }

    /// Sets how its limits are [shared](crate::share) on Redis.
    pub fn share(mut self, share: Share) -> Self {
        self.settings.share = Some(share);
        self
    }
}

impl Rules {
    /// Rules in code, for a service without a rule file. The domain is the first part of each rule's name.
    ///
    /// ```
    /// use ratescope::limit::exim::{Exim, Mode};
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::rules::{NewRule, MemoryStore, Rules};
    /// use ratescope::{Event, Rate, Time};
    ///
    /// let guesses = Exim { limit: Rate::per_minute(5), mode: Mode::Strict };
    /// let rules = Rules::new("web", [
    ///     NewRule::new().each("user").limit(Gcra::new(Rate::per_minute(100), 30.0)?),
    ///     NewRule::new().value("route", "/login").each("ip").limit(guesses),
    ///     NewRule::new().value("route", "/login").within("ip", "10.0.0.0/8".parse()?), // is not limited
    /// ])?;
    /// let ruled = MemoryStore::new(rules, 100_000);
    /// let passed = |ip| {
    ///     let fields = &[("route", "/login"), ("ip", ip)];
    ///     let event = Event { time: Time::ZERO, cost: 1.0, fields };
    ///     (0..9).filter(|_| ruled.check(&event).is_allowed()).count()
    /// };
    /// assert_eq!(["192.0.2.7", "10.0.0.7"].map(passed), [5, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The mistakes that a file of rules can have. The error has the domain in place of the file, and the number of the
    /// rule, from 1, in place of the line.
    pub fn new(domain: &str, rules: impl IntoIterator<Item = NewRule>) -> Result<Self, RulesError> {
        let mut new = New::default();
        if let Err(problem) = draft::check_domain(domain) {
            new.reader.mistake(place(1), "", problem);
        }
        for (i, rule) in rules.into_iter().enumerate() {
            if new.reader.mistakes.len() >= MOST {
                break;
            }
            if let Err(problem) = new.draft.check_room() {
                new.reader.mistake(place(i + 1), "", problem);
                break;
            }
            new.add(i + 1, rule);
        }
        let all: Vec<(usize, &Rule)> = new.draft.rules().iter().enumerate().collect();
        let top = level(&all, 0, &mut new.reader);
        new.draft.finish(new.reader, domain, domain, place(1), top)
    }

    /// A single policy as rules of a domain: one rule for all events. Unlike in a file, a limit may be given twice, or
    /// refuse every event of cost 1.
    pub fn of_policy(domain: &str, policy: Policy) -> Self {
        let domain = domain.to_owned();
        let limits = policy.limits().to_vec();
        let rule = Rule {
            name: String::new(),
            path: Vec::new(),
            line: 1,
            limits_at: place(1),
            settings: RuleSettings { limits, ..RuleSettings::default() },
        };
        Rules { always: Some(0), ..Rules::of(domain.clone(), domain, vec![rule]) }
    }
}

/// A single policy as rules: one rule for all events, named `policy`.
impl From<Policy> for Rules {
    fn from(policy: Policy) -> Self {
        Rules::of_policy("policy", policy)
    }
}

/// The place of a rule, by its number in the list, from 1.
fn place(number: usize) -> At {
    At { line: number, column: 1 }
}

/// Rules that are being made.
#[derive(Default)]
struct New {
    reader: TreeReader,
    draft: Draft,
}

impl New {
    /// Adds the rule with this number, unless its path is wrong.
    fn add(&mut self, number: usize, rule: NewRule) {
        let NewRule { steps, mut settings, limits } = rule;
        let all = self.draft.always.and_then(|all| self.draft.rules().get(all));
        let at = place(number);
        if let Some(all) = all.filter(|_| steps.is_empty()) {
            let problem = format!("rule {} is for all events, too; write one of the two", all.line);
            return self.reader.mistake(at, "", problem);
        }
        let mut path = Vec::new();
        for Step { key, value, .. } in steps {
            match draft::field(&key) {
                Ok((key, secret)) => path.push(Step { key, value, secret }),
                Err(problem) => return self.reader.mistake(at, &key, problem),
            }
        }
        // In a file an empty value counts as absent; in code it is a mistake.
        if path.iter().any(|step| matches!(&step.value, Value::Is(text) if text.is_empty())) {
            let problem = "the value, which can be left out, is empty";
            return self.reader.mistake(at, "", problem);
        }
        let checked = draft::check_length(path.iter());
        let per = match checked.and_then(|()| draft::per(&path.iter().collect::<Vec<_>>())) {
            Ok(per) => per,
            Err(problem) => return self.reader.mistake(at, "", problem),
        };
        let limit = |limit| match limit {
            NewLimit::OfRule(limiter) => Limit { limiter, per: per.clone(), name: None },
            NewLimit::ByItsOwn(limit) => limit,
        };
        settings.limits = limits.into_iter().map(limit).collect();
        self.check(at, &mut settings);
        let replaces = vec![at; settings.replaces.len()];
        let rule = self.draft.add(number, at, path, settings);
        if !replaces.is_empty() {
            self.draft.replaces(rule, at, replaces);
        }
    }

    fn check(&mut self, at: At, settings: &mut RuleSettings) {
        for key in settings.enforcement().filter(|_| settings.limits.is_empty()) {
            self.reader.mistake(at, key, UNLIMITED);
        }
        for (about, problem) in settings.finish() {
            let word = match about {
                About::Limit(i) => settings.limits.get(i).map(|limit| limit.limiter.to_string()),
                About::Throttle => Some(settings.throttle.to_string()),
                About::Cost => settings.cost.map(|cost| cost.to_string()),
                About::Share => settings.share.map(|share| share.to_string()),
                About::Limits | About::Name => None,
            };
            self.reader.mistake(at, &word.unwrap_or_default(), problem);
        }
    }
}

/// The list of descriptors for rules whose first `depth` steps are the same, each with its index.
fn level(rules: &[(usize, &Rule)], depth: usize, reader: &mut TreeReader) -> Level {
    let mut places = HashMap::new();
    let mut descriptors: Vec<(&Step, Vec<(usize, &Rule)>)> = Vec::new();
    for &(index, rule) in rules {
        let Some(step) = rule.path.get(depth) else { continue };
        // Any of the rules may mark a field as secret.
        let place = *places.entry((&step.key, &step.value)).or_insert(descriptors.len());
        if place == descriptors.len() {
            descriptors.push((step, Vec::new()));
        }
        if let Some((_, within)) = descriptors.get_mut(place) {
            within.push((index, rule));
        }
    }
    let mut level = Level::default();
    for (step, within) in descriptors {
        let below = self::level(&within, depth + 1, reader);
        let mut own = within.iter().filter(|(_, rule)| rule.path.len() == depth + 1);
        let first = own.next();
        let line = first.or(within.first()).map_or(1, |(_, rule)| rule.line);
        let first = Branch { line, rule: first.map(|(index, _)| *index), below };
        // The level refuses these.
        let others = own.map(|&(index, rule)| Branch {
            line: rule.line,
            rule: Some(index),
            below: Level::default(),
        });
        for branch in core::iter::once(first).chain(others) {
            let at = place(branch.line);
            if let Err(problem) = level.add(&step.key, &step.value, branch) {
                reader.mistake(at, &step.to_string(), problem);
            }
        }
    }
    level
}
