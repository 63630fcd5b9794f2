//! Running tests of rules.

use super::{CaseEvent, Cases, Expected, Test, What};
use crate::event::Event;
use crate::outcome::Retry;
use crate::rules::{Decision, LimitOutcome, MemoryStore, Rules};
use crate::time::Time;
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
                let event = Event { time: case.time(n), cost: case.cost, fields: &case.fields };
                let decision = ruled.check(&event);
                asked.extend(decision.placed_outcomes().iter().map(|one| one.place.rule));
                let got = Got { decision: &decision, ruled, event: &event };
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
                time: got.event.time,
                expected: what.to_string(),
                got: got_instead,
            });
        }
        failures
    }
}

/// The result of an event.
struct Got<'a> {
    decision: &'a Decision,
    ruled: &'a MemoryStore,
    event: &'a Event<'a>,
}

impl Got<'_> {
    /// The actual outcome in words; `None` if it is the expected one.
    fn instead_of(&self, what: &What) -> Option<String> {
        match what {
            What::Decision(expected) => {
                let soft = if self.decision.is_soft() { "allowed softly" } else { "allowed" };
                let got = if self.decision.is_allowed() { soft } else { "refused" };
                (got != *expected).then(|| self.decision.to_string())
            }
            What::By(expected) => {
                let same = match (expected, self.decision.decided_by()) {
                    (Some(name), Some(by)) => is_named(name, &by),
                    (None, None) => true,
                    _ => false,
                };
                (!same).then(|| self.decision.to_string())
            }
            What::Wait(expected) => {
                (self.decision.wait() != Some(*expected)).then(|| self.decision.to_string())
            }
            What::Retry(expected) => {
                let got = if self.decision.is_allowed() {
                    Retry::NOW
                } else {
                    self.ruled.retry_after(self.event)
                };
                (got.wait() != *expected).then(|| match got {
                    Retry::NOW => "a retry at once".to_owned(),
                    Retry::After(wait) => format!("a retry in {wait}"),
                    Retry::Never => "no retry".to_owned(),
                })
            }
            What::Shadow(expected) => {
                let got: Vec<_> = self.decision.shadow_refusals().collect();
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
