//! Policies: several limits, each for a key of its own. All or none, and one language for them.

mod carlson;
mod invariants;
mod keys;
mod retrying;
mod text;
mod together;

use crate::common::worst::exact;
use crate::doubling;
use crate::judged::Judged;
use crate::random;
use crate::table;
use proptest::prelude::*;
use random::*;
use ratescope::policy::Limit;
use ratescope::{Event, MemoryStore, Policy, Span, Time};

/// The keys of randomly drawn limits.
const PER: [&str; 5] = ["user", "ip", "user+ip", "ip+path", "all"];

/// An event as the tests know it: its time, its cost, and who sent it from where. It has no path.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    cost: f64,
    from: [&'static str; 2],
}

impl Sent {
    /// The verdict of `ask` about the event.
    fn ask<T>(&self, ask: impl FnOnce(&Event<'_>) -> T) -> T {
        let [user, ip] = self.from;
        ask(&Event { time: self.at, cost: self.cost, fields: &[("user", user), ("ip", ip)] })
    }

    /// The value of a field, as a person would say it.
    fn value(&self, field: &str) -> &str {
        match field {
            "user" => self.from[0],
            "ip" => self.from[1],
            _ => "",
        }
    }
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn store(policy: Policy) -> MemoryStore {
    MemoryStore::new(policy, 1000)
}

fn check(store: &MemoryStore, sent: &Sent) -> Judged {
    sent.ask(|event| store.check(event).into())
}

/// From one to four limits of about the same scale, that of the case, any two of them as likely to
/// decide.
fn limits() -> impl Strategy<Value = (Case, Vec<Limit>)> {
    let other = (prop::sample::select(&KINDS), magnitude(-0.5, 0.5), magnitude(-0.5, 0.5));
    let per = || prop::sample::select(&PER);
    (cases(&KINDS), per(), prop::collection::vec((other, per()), 0..4)).prop_map(
        |(first, per, others)| {
            let limit = |case: &Case, per: &str| Limit {
                limiter: case.limiter.clone(),
                per: per.parse().unwrap(),
                name: None,
            };
            let mut limits = vec![limit(&first, per)];
            for ((kind, count, period), per) in others {
                let count = (first.count * count).max(1.0);
                let period = Span::try_from_secs_f64(first.period.as_secs_f64() * period).unwrap();
                limits.push(limit(&case(kind, count, period, count), per));
            }
            (first, limits)
        },
    )
}

/// Steps, each by one of three users from one of two addresses.
fn sent(backwards: bool) -> impl Strategy<Value = Vec<(Step, [&'static str; 2])>> {
    let user = prop::sample::select(&["ann", "bob", "eve"]);
    let from = (user, prop::sample::select(&["x", "y"])).prop_map(|(user, ip)| [user, ip]);
    let pairs = prop::collection::vec(from, 60);
    (steps(backwards), pairs).prop_map(|(steps, from)| steps.into_iter().zip(from).collect())
}

/// The steps on the scale of `case`.
fn events(case: &Case, sent: &[(Step, [&'static str; 2])]) -> Vec<Sent> {
    let steps: Vec<Step> = sent.iter().map(|(step, _)| *step).collect();
    let events = case.events(&steps).into_iter().zip(sent);
    events.map(|((at, cost), (_, from))| Sent { at, cost, from: *from }).collect()
}
