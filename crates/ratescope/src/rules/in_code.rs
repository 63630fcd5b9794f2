//! Rules that are made in code.
//!
//! They become a tree, which is read like the tree of a file, with equal meaning and equal mistakes.

use super::error::{At, Mistake};
use super::settings::RuleSettings;
use super::value::{Step, Value};
use super::yaml::{Kind, Node};
use super::{OnStoreFailure, Rule, Rules, RulesError, Throttle, file};
use crate::address::Networks;
use crate::limit::any::AnyLimiter;
use crate::policy::{Limit, Policy};
use std::collections::HashMap;

/// The most fields of a rule's path. Descriptors of a file can't be nested much deeper.
const STEPS: usize = 31;

/// A rule in code, for [`Rules::new`]: its events, and the limits that they have to pass. Without a limit it
/// [exempts](crate::rules#exemptions) them.
///
/// Each method is named as the key of a [file](crate::rules#the-file), and means the same.
#[derive(Clone, Debug, Default)]
#[must_use = "it is a rule only among those of Rules::new"]
pub struct NewRule {
    steps: Vec<Step>,
    limits: Vec<String>,
    replaces: Vec<String>,
    /// The other keys, with their values.
    settings: Vec<(&'static str, String)>,
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
        self.limits.push(limiter.into().to_string());
        self
    }

    /// Adds a limit that counts by fields of its own.
    pub fn limit_by(mut self, limit: &Limit) -> Self {
        self.limits.push(limit.to_string());
        self
    }

    /// Names the rule, so that others can replace it.
    pub fn name(self, name: &str) -> Self {
        self.set("name", name)
    }

    /// Replaces the rules of this name where both apply.
    pub fn replaces(mut self, name: &str) -> Self {
        self.replaces.push(name.to_owned());
        self
    }

    /// Sets how strictly the limits are enforced.
    pub fn throttle(self, throttle: Throttle) -> Self {
        self.set("throttle", throttle)
    }

    /// Makes it a [shadow](crate::rules#shadows), which decides and counts, but never refuses.
    pub fn shadow(self) -> Self {
        self.set("shadow", true)
    }

    /// Sets the cost of each event in these limits, in place of the event's own.
    pub fn cost(self, cost: f64) -> Self {
        self.set("cost", cost)
    }

    /// Sets what happens to its events when the store can't be asked.
    pub fn on_store_failure(self, what: OnStoreFailure) -> Self {
        self.set("on_store_failure", what)
    }

    fn set(mut self, key: &'static str, value: impl ToString) -> Self {
        self.settings.retain(|(known, _)| *known != key);
        self.settings.push((key, value.to_string()));
        self
    }

    /// The other keys of its descriptor, besides the path.
    fn pairs(&self, at: At) -> Vec<(Node, Node)> {
        let text = |word: &str| Node::of(at, word);
        let list = |words: &[String]| {
            Node::new(at, Kind::List(words.iter().map(|word| text(word)).collect()))
        };
        let limit = if self.limits.is_empty() { text("unlimited") } else { list(&self.limits) };
        let mut pairs = vec![(text("limit"), limit)];
        pairs.extend(self.settings.iter().map(|(key, value)| (text(key), text(value))));
        if !self.replaces.is_empty() {
            pairs.push((text("replaces"), list(&self.replaces)));
        }
        pairs
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
        let rules: Vec<NewRule> = rules.into_iter().collect();
        let placed = rules.iter().enumerate().map(|(i, rule)| Placed {
            at: At { line: i + 1, column: 1 },
            rest: &rule.steps,
            rule,
        });
        let (all, narrower): (Vec<_>, Vec<_>) = placed.partition(|rule| rule.rest.is_empty());
        if let Some(deep) = narrower.iter().find(|rule| rule.rest.len() > STEPS) {
            let mistake =
                Mistake::new(deep.at, "", format!("a rule about more than {STEPS} fields"));
            return Err(RulesError::new(domain, vec![mistake]));
        }
        // In a file an empty value counts as absent; in code it is a mistake.
        let is_empty = |step: &Step| matches!(&step.value, Value::Is(text) if text.is_empty());
        if let Some(wrong) = narrower.iter().find(|rule| rule.rest.iter().any(is_empty)) {
            let problem = "the value, which can be left out, is empty";
            return Err(RulesError::new(domain, vec![Mistake::new(wrong.at, "", problem)]));
        }
        let at = At { line: 1, column: 1 };
        let mut pairs = vec![(Node::of(at, "domain"), Node::of(at, domain))];
        pairs.extend(all.iter().flat_map(|rule| rule.rule.pairs(rule.at)));
        if !narrower.is_empty() {
            pairs.push((Node::of(at, "descriptors"), descriptors(at, &narrower)));
        }
        file::of(domain, &Node::new(at, Kind::Map(pairs)))
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
            limits_at: At { line: 1, column: 1 },
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

/// A rule with its place, and the rest of its path, which is not yet in the tree.
struct Placed<'a> {
    at: At,
    rest: &'a [Step],
    rule: &'a NewRule,
}

/// The list of descriptors for these rules. A rule whose path ends here needs no descriptor below.
fn descriptors(at: At, rules: &[Placed<'_>]) -> Node {
    let mut places = HashMap::new();
    let mut lists: Vec<(&Step, Vec<Placed<'_>>)> = Vec::new();
    for Placed { at, rest, rule } in rules {
        let [step, rest @ ..] = rest else { continue };
        let place = *places.entry(step).or_insert(lists.len());
        if place == lists.len() {
            lists.push((step, Vec::new()));
        }
        if let Some((_, list)) = lists.get_mut(place) {
            list.push(Placed { at: *at, rest, rule });
        }
    }
    let each = lists.into_iter().map(|(step, list)| descriptor(step, list));
    Node::new(at, Kind::List(each.collect()))
}

/// The descriptor of a step, with the rules whose paths go through it.
fn descriptor(step: &Step, rules: Vec<Placed<'_>>) -> Node {
    let at = rules.first().map_or(At { line: 1, column: 1 }, |rule| rule.at);
    let pair = |key: &str, value: &str| (Node::of(at, key), Node::of(at, value));
    let mut pairs = vec![pair("key", &step.key)];
    match &step.value {
        Value::Any => {}
        Value::Is(text) => pairs.push(pair("value", text)),
        Value::Like(wildcard) => pairs.push(pair("value", wildcard.as_str())),
        Value::Within(networks) => pairs.push(pair("network", &networks.to_string())),
    }
    let (own, deeper): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.rest.is_empty());
    pairs.extend(own.iter().flat_map(|rule| rule.rule.pairs(rule.at)));
    if !deeper.is_empty() {
        pairs.push((Node::of(at, "descriptors"), descriptors(at, &deeper)));
    }
    Node::new(at, Kind::Map(pairs))
}
