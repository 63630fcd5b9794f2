//! Running tests of rules.

use super::{CaseEvent, Cases, Expected, Pairs, Test, What};
use crate::event::{Descriptor, Event, Fields};
use crate::outcome::Retry;
use crate::rules::{Decision, Decisions, Details, LimitOutcome, MemoryStore, Part, Rules, Store};
use crate::time::{Span, Time};
use core::fmt;
use std::collections::HashSet;

/// How many keys of each limit a test can remember.
const KEYS: usize = 100_000;

/// An expectation of a test that was not met.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedCase {
    /// The name of the test.
    pub test: String,
    /// The line of the expectation in the file.
    pub line: usize,
    /// The column of the expectation, in characters from 1.
    pub column: usize,
    /// The number of the event in the test, from 1; repeated events count.
    pub event: u64,
    /// The time of the event.
    pub time: Time,
    /// The expectation.
    pub expected: String,
    /// The event's outcome, in words.
    pub got: String,
}

/// As in `12:9: five a day: event 6 at 10 s: expected refused, got allowed ...`
impl fmt::Display for FailedCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedCase { test, line, column, event, time, expected, got } = self;
        write!(f, "{line}:{column}: {test}: event {event} at {time} s: ")?;
        write!(f, "expected {expected}, got {got}")
    }
}

impl Cases {
    /// Runs the tests and returns the failures of each, in the order of [`names`](Self::names). A test
    /// ends with the first event that fails, since all later events depend on it.
    pub fn run(&self, rules: &Rules) -> Vec<Vec<FailedCase>> {
        let ruled = MemoryStore::new(rules.clone(), KEYS);
        let run = |test: &Test| {
            let mut asked = HashSet::new();
            let failures = test.run(&ruled, &mut asked);
            // The next test begins with empty states; those of other rules still are.
            ruled.clear(asked);
            failures
        };
        self.tests.iter().map(run).collect()
    }
}

impl Test {
    /// Returns the failures, and adds the indices of the rules that were asked.
    fn run(&self, ruled: &MemoryStore, asked: &mut HashSet<usize>) -> Vec<FailedCase> {
        ruled.set_load(self.load);
        let mut number = 0;
        for case in &self.events {
            if case.load.is_some() {
                ruled.set_load(case.load);
            }
            for n in 0..case.times {
                number += 1;
                let listed = case.listed();
                let whole: [&dyn Fields; 1] = [&case.fields];
                let listed: Vec<&dyn Fields> = listed.iter().map(|it| it as &dyn Fields).collect();
                let is_listed = !listed.is_empty();
                let fields = if is_listed { listed.as_slice() } else { whole.as_slice() };
                let (time, cost) = (case.time(n), case.cost);
                let events: Vec<Event<'_>> =
                    fields.iter().map(|fields| Event { time, cost, fields: *fields }).collect();
                let decisions = decide(ruled, &events, is_listed);
                let outcomes = decisions.iter().flat_map(Decision::placed_outcomes);
                asked.extend(outcomes.map(|one| one.rule));
                let got = Got { decisions: &decisions, ruled, events: &events, is_listed };
                let failures = case.failures(&got, &self.name, number);
                if !failures.is_empty() {
                    return failures;
                }
            }
        }
        Vec::new()
    }
}

impl CaseEvent {
    fn failures(&self, got: &Got<'_>, test: &str, event: u64) -> Vec<FailedCase> {
        let mut failures = Vec::new();
        for Expected { at, what } in &self.expected {
            let Some(got_instead) = got.instead_of(what) else { continue };
            failures.push(FailedCase {
                test: test.to_owned(),
                line: at.line,
                column: at.column,
                event,
                time: got.events.first().map_or(Time::ZERO, |event| event.time),
                expected: what.to_string(),
                got: got_instead,
            });
        }
        failures
    }
}

/// Decides about an event, or about descriptors together, which then can't wait.
fn decide(ruled: &MemoryStore, events: &[Event<'_>], is_listed: bool) -> Decisions {
    let details = if is_listed { Details::default().at_once() } else { Details::default() };
    let parts: Vec<Part<'_>> = events.iter().map(Part::count).collect();
    ruled.decide_now(&parts, details).unwrap_or_default()
}

/// A descriptor as Envoy sends it. Other names of the request are those of its other descriptors.
struct Listed<'a> {
    entries: Vec<(&'a str, &'a str)>,
    all: &'a [Pairs],
    is_first: bool,
}

impl Fields for Listed<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let own = self.entries.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let others = || self.all.iter().flatten().filter(|(key, _)| key == name);
        // Of several values the least, as the service takes it.
        own.or_else(|| others().map(|(_, value)| value.as_str()).min())
    }

    fn descriptor(&self) -> Option<Descriptor<'_>> {
        Some(Descriptor { entries: &self.entries, is_first: self.is_first })
    }
}

impl CaseEvent {
    /// Its descriptors. The rule for all events is asked once: with the only one, or apart.
    fn listed(&self) -> Vec<Listed<'_>> {
        let all = self.descriptors.as_slice();
        let is_alone = all.len() == 1;
        let mut listed: Vec<Listed<'_>> = Vec::new();
        for pairs in all {
            let entries = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            listed.push(Listed { entries: entries.collect(), all, is_first: is_alone });
        }
        if all.len() > 1 {
            listed.push(Listed { entries: Vec::new(), all, is_first: true });
        }
        listed
    }
}

/// The result of an event, or of descriptors that were decided together.
struct Got<'a> {
    decisions: &'a [Decision],
    ruled: &'a MemoryStore,
    events: &'a [Event<'a>],
    is_listed: bool,
}

impl<'a> Got<'a> {
    fn is_allowed(&self, decision: &Decision) -> bool {
        decision.wait().is_some_and(|wait| !self.is_listed || wait == Span::ZERO)
    }

    /// The decision that counts: the first that refuses, or else the first with a limit.
    fn decided(&self) -> Option<(&'a Decision, &'a Event<'a>)> {
        let each = || self.decisions.iter().zip(self.events);
        each()
            .find(|(decision, _)| !self.is_allowed(decision))
            .or_else(|| each().find(|(decision, _)| decision.decided_by().is_some()))
            .or_else(|| each().next())
    }
    /// The actual outcome in words; `None` if it is the expected one.
    fn instead_of(&self, what: &What) -> Option<String> {
        let (decision, event) = self.decided()?;
        let is_allowed = self.is_allowed(decision);
        match what {
            What::Decision(expected) => {
                let is_soft = self.decisions.iter().any(Decision::is_soft);
                let soft = if is_soft { "allowed softly" } else { "allowed" };
                let got = if is_allowed { soft } else { "refused" };
                (got != *expected).then(|| decision.to_string())
            }
            What::By(expected) => {
                let same = match (expected, decision.decided_by()) {
                    (Some(name), Some(by)) => is_named(name, &by),
                    (None, None) => true,
                    _ => false,
                };
                (!same).then(|| decision.to_string())
            }
            What::Wait(expected) => {
                (decision.wait() != Some(*expected)).then(|| decision.to_string())
            }
            What::Retry(expected) => {
                let got = if is_allowed { Retry::NOW } else { self.ruled.retry_after(event) };
                (got.wait() != *expected).then(|| match got {
                    Retry::NOW => "a retry at once".to_owned(),
                    Retry::After(wait) => format!("a retry in {wait}"),
                    Retry::Never => "no retry".to_owned(),
                })
            }
            What::Shadow(expected) => {
                let got: Vec<_> =
                    self.decisions.iter().flat_map(Decision::shadow_refusals).collect();
                let same = expected.iter().all(|name| got.iter().any(|by| is_named(name, by)))
                    && got.iter().all(|by| expected.iter().any(|name| is_named(name, by)));
                (!same).then(|| {
                    let mut names: Vec<&str> = got.iter().map(|by| by.rule.name()).collect();
                    names.dedup();
                    shadows(&names)
                })
            }
        }
    }
}

/// True if an outcome belongs to the rule with this full name, or this name in the file.
fn is_named(name: &str, by: &LimitOutcome<'_>) -> bool {
    by.rule.name() == name || by.rule.label() == Some(name)
}

fn shadows<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "no shadow that refuses".to_owned(),
        names => format!("a refusal of the shadow {}", names.join(" and ")),
    }
}

/// The text after "expected".
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Decision(decision) => f.write_str(decision),
            What::By(Some(rule)) => write!(f, "a decision by {rule}"),
            What::By(None) => f.write_str("no limit that applies"),
            What::Wait(span) => write!(f, "a wait of {span}"),
            What::Retry(Some(span)) => write!(f, "a retry in {span}"),
            What::Retry(None) => f.write_str("no retry"),
            What::Shadow(names) => f.write_str(&shadows(names)),
        }
    }
}
