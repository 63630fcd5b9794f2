//! Tests of rules: events with their times, and the expected result of each.
//!
//! ```yaml
//! tests:
//!   - name: five marketing messages a day to a number
//!     events:
//!       - at: 0
//!         fields: {message_type: marketing, to_number: 2061234567}
//!         times: 5
//!         every: 1s
//!         expect: allowed
//!       - at: 10s
//!         fields: {message_type: marketing, to_number: 2061234567}
//!         expect: refused
//!         by: messaging:message_type=marketing,to_number
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `at` | the time, in seconds or as a span such as `1m30s`; by default that of the event before |
//! | `fields` | names and texts; a number is read as a text |
//! | `descriptors` | in place of `fields`: a list of what Envoy sends, each with its names and texts in their order, decided together as for Envoy: a rule applies to the descriptor with exactly its names, and nothing waits |
//! | `cost` | the cost; 1 by default |
//! | `times`, `every` | the number of such events, 1 by default, and the span between two, 0 by default |
//! | `load` | the load of the service from this event on, as in `80%`; a test may begin with a load, too |
//! | `expect` | `allowed` within the limit, `softly` beyond it, or `refused` |
//! | `by` | the rule that decided, by its full name or its `name` in the file, or `none` |
//! | `wait` | how long the event waits in a queue |
//! | `retry_after` | when the event would pass: a span, or `never` |
//! | `shadow` | all shadows that would refuse the event, each by one of its names, or `none` |
//!
//! Source: the unit tests of rules in Prometheus (`promtool test rules`). Time is virtual, keys are
//! strict, and a failure says what was expected and what happened. Each test begins with empty states.

mod run;

pub use run::FailedCase;

use super::error::At;
use super::reader::{Map, MapKeys, TreeReader};
use super::yaml::{self, Node};
use super::{Load, RulesError};
use crate::limit::MAX_COST;
use crate::text::{ParseError, number};
use crate::time::{Span, Time};
use std::collections::HashSet;

const FILE: MapKeys = MapKeys { what: "a file of tests", keys: &[&["tests"]] };

const TEST: MapKeys = MapKeys { what: "a test", keys: &[&["name", "load", "events"]] };

const EVENT: MapKeys = MapKeys {
    what: "an event",
    keys: &[&[
        "at",
        "fields",
        "descriptors",
        "cost",
        "load",
        "times",
        "every",
        "expect",
        "by",
        "wait",
        "retry_after",
        "shadow",
    ]],
};

/// The most events in a file of tests.
const MOST: u32 = 10_000_000;

/// The tests of a file.
#[derive(Clone, Debug)]
pub struct Cases {
    pub(super) file: String,
    pub(super) tests: Vec<Test>,
}

#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) load: Option<Load>,
    pub(super) events: Vec<CaseEvent>,
}

/// Names and their texts.
type Pairs = Vec<(String, String)>;

/// One or several equal events, and the expectation of each.
#[derive(Clone, Debug)]
pub(super) struct CaseEvent {
    pub(super) at: Time,
    pub(super) fields: Pairs,
    /// In place of the fields, unless it is empty.
    pub(super) descriptors: Vec<Pairs>,
    pub(super) cost: f64,
    pub(super) load: Option<Load>,
    pub(super) times: u32,
    pub(super) every: Span,
    pub(super) expected: Vec<Expected>,
}

/// An expectation, with its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) at: At,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Decision(&'static str),
    /// The rule; `None` if no limit may apply.
    By(Option<String>),
    Wait(Span),
    Retry(Option<Span>),
    Shadow(Vec<String>),
}

impl Cases {
    /// Reads the tests in `text`; `file` is its name, for errors.
    ///
    /// # Errors
    /// When anything in it is wrong or unknown; the error has all mistakes.
    pub fn read(file: &str, text: &str) -> Result<Self, RulesError> {
        let root = yaml::read(text).map_err(|mistake| RulesError::new(file, vec![mistake]))?;
        let mut reading = Reading { reader: TreeReader::default(), events: 0 };
        let tests = reading.tests(&root);
        let cases = tests.map(|tests| Cases { file: file.to_owned(), tests });
        reading.reader.finish(file, cases)
    }

    /// The name of the file, as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The names of the tests.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|test| test.name.as_str())
    }

    /// The names of the fields of all events, each once. A name that no rule uses may be misspelled.
    pub fn fields(&self) -> Vec<&str> {
        let events = self.tests.iter().flat_map(|test| &test.events);
        let pairs = events.flat_map(|event| event.descriptors.iter().chain([&event.fields]));
        let names = pairs.flatten().map(|(name, _)| name.as_str());
        let mut seen = HashSet::new();
        names.filter(|name| seen.insert(*name)).collect()
    }
}

struct Reading {
    reader: TreeReader,
    events: u32,
}

impl Reading {
    fn tests(&mut self, root: &Node) -> Option<Vec<Test>> {
        let map = self.reader.map(root, &FILE)?;
        let Some(node) = map.get("tests") else {
            self.reader.missing(&map, "there are no tests; write tests: and a list");
            return None;
        };
        let mut tests = Vec::new();
        let mut names = HashSet::new();
        for item in self.reader.list(node, "tests")? {
            let Some(test) = self.test(item) else { continue };
            if !names.insert(test.name.clone()) {
                self.reader.wrong(item.get("name").unwrap_or(item), "another test has this name");
            }
            tests.push(test);
        }
        Some(tests)
    }

    fn test(&mut self, node: &Node) -> Option<Test> {
        let map = self.reader.map(node, &TEST)?;
        let (Some(name), Some(events)) = (map.get("name"), map.get("events")) else {
            self.reader.missing(&map, "a test has a name and events");
            return None;
        };
        let name = self.reader.text(name, "a name").unwrap_or("").to_owned();
        let load = map.get("load").and_then(|node| self.reader.parse(node, "a load"));
        let mut steps: Vec<CaseEvent> = Vec::new();
        let mut at = Time::ZERO;
        for item in self.reader.list(events, "events")? {
            let Some(step) = self.step(item, at) else { continue };
            at = step.last();
            steps.push(step);
        }
        if steps.iter().all(|step| step.expected.is_empty()) && self.reader.mistakes.is_empty() {
            self.reader.missing(&map, "nothing is expected; write expect: allowed, for example");
        }
        Some(Test { name, load, events: steps })
    }

    /// Reads an event; without `at` it comes at the time of the last one.
    fn step(&mut self, node: &Node, last: Time) -> Option<CaseEvent> {
        let map = self.reader.map(node, &EVENT)?;
        let at = map.get("at").and_then(|node| self.time(node)).unwrap_or(last);
        let load = map.get("load").and_then(|node| self.reader.parse(node, "a load"));
        let every = map.get("every").and_then(|node| self.reader.parse(node, "a span"));
        let every = every.unwrap_or_default();
        let times = map.get("times").and_then(|node| self.times(node)).unwrap_or(1);
        self.events = self.events.saturating_add(times);
        if self.events > MOST {
            self.reader.missing(&map, format!("more than {MOST} events in this file"));
            return None;
        }
        let cost = map.get("cost").and_then(|node| self.cost(node)).unwrap_or(1.0);
        let fields = map.get("fields").map(|node| self.fields(node)).unwrap_or_default();
        let descriptors = map.get("descriptors").map(|node| self.descriptors(node));
        if let (Some(node), Some(_)) = (map.get("descriptors"), map.get("fields")) {
            self.reader.wrong(node, "an event has fields or descriptors");
        }
        let descriptors = descriptors.unwrap_or_default();
        let expected = self.expected(&map);
        Some(CaseEvent { at, fields, descriptors, cost, load, times, every, expected })
    }

    fn time(&mut self, node: &Node) -> Option<Time> {
        let text = self.reader.text(node, "a time")?;
        let span = || text.parse::<Span>().map(|span| Time::ZERO.after(span));
        let time = text.parse::<Time>().or_else(|_| span());
        let help = "not a time; write seconds, or a span such as 1m30s";
        time.map_err(|_: ParseError| self.reader.wrong(node, help)).ok()
    }

    fn times(&mut self, node: &Node) -> Option<u32> {
        let times = self.reader.text(node, "a number")?.parse().ok().filter(|n| *n > 0);
        if times.is_none() {
            self.reader.wrong(node, format!("not a whole number from 1 to {MOST}"));
        }
        times
    }

    fn cost(&mut self, node: &Node) -> Option<f64> {
        let cost = number(self.reader.text(node, "a cost")?).filter(|cost| *cost <= MAX_COST);
        if cost.is_none() {
            self.reader.wrong(node, "not a cost; write a number from 0 to 1e12, without exponent");
        }
        cost
    }

    /// Reads fields: any names, with texts that may be empty.
    fn fields(&mut self, node: &Node) -> Pairs {
        let Some(map) = self.reader.any_map(node, "fields") else { return Vec::new() };
        let mut fields = Vec::new();
        for (key, value) in map.pairs() {
            let empty = value.is_nothing() || value.word().is_empty() && value.what() == "a text";
            let text = if empty { Some("") } else { self.reader.text(value, "a field") };
            fields.extend(text.map(|text| (key.word().to_owned(), text.to_owned())));
        }
        fields
    }

    /// Reads descriptors as Envoy sends them: no more than a request may have, and none of them empty.
    fn descriptors(&mut self, node: &Node) -> Vec<Pairs> {
        const MOST: usize = 64;
        let items = self.reader.list(node, "descriptors").unwrap_or_default();
        let descriptors: Vec<Pairs> = items.iter().map(|item| self.fields(item)).collect();
        let is_sound = (1..=MOST).contains(&descriptors.len())
            && descriptors.iter().all(|entries| (1..=MOST).contains(&entries.len()));
        if !is_sound && self.reader.mistakes.is_empty() {
            let help = "write from 1 to 64 descriptors, each with from 1 to 64 names";
            self.reader.wrong(node, help);
        }
        descriptors
    }

    fn expected(&mut self, map: &Map<'_>) -> Vec<Expected> {
        const DECISIONS: [(&str, &str); 3] =
            [("allowed", "allowed"), ("softly", "allowed softly"), ("refused", "refused")];
        let mut expected = Vec::new();
        let mut expect = |node: &Node, what: Option<What>| {
            expected.extend(what.map(|what| Expected { at: node.at, what }));
        };
        if let Some(node) = map.get("expect") {
            let decision = self.reader.one_of(node, "a decision", &DECISIONS);
            expect(node, decision.map(What::Decision));
        }
        if let Some(node) = map.get("by") {
            let by = self.reader.text(node, "a rule");
            expect(node, by.map(|by| What::By((by != "none").then(|| by.to_owned()))));
        }
        if let Some(node) = map.get("wait") {
            expect(node, self.reader.parse(node, "a wait").map(What::Wait));
        }
        if let Some(node) = map.get("retry_after") {
            let what = match node.word() {
                "never" => Some(What::Retry(None)),
                _ => self.reader.parse(node, "a wait").map(|span| What::Retry(Some(span))),
            };
            expect(node, what);
        }
        if let Some(node) = map.get("shadow") {
            let names = match node.word() {
                "none" => Some(Vec::new()),
                _ => self.reader.list(node, "shadow").map(|items| self.names(items)),
            };
            expect(node, names.map(What::Shadow));
        }
        expected
    }

    /// Reads the names of rules, each once.
    fn names(&mut self, items: &[Node]) -> Vec<String> {
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        for item in items {
            let Some(name) = self.reader.text(item, "a rule") else { continue };
            if !seen.insert(name) {
                self.reader.wrong(item, "it is listed already");
            }
            names.push(name.to_owned());
        }
        names
    }
}

impl CaseEvent {
    /// When the `n`th of these events comes, counted from 0.
    pub(super) fn time(&self, n: u32) -> Time {
        let span = Span::try_from_secs_f64(self.every.as_secs_f64() * f64::from(n));
        self.at.after(span.unwrap_or(self.every))
    }

    fn last(&self) -> Time {
        self.time(self.times - 1)
    }
}
