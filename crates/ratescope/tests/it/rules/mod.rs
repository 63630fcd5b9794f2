//! Rule files: good ones with their cases, bad ones with their errors, and rules
//! at work.

mod corpus;
mod custom;
mod deciding;
mod exceptions;
mod files;
mod in_code;
mod invariants;
mod large;
mod matching;
mod reload;
mod secrets;
mod settling;
mod stores;
mod threads;
mod throttle;
mod top_keys;
mod with_limits;

use crate::doubling;
use crate::random;
use ratescope::rules::{Decision, MemoryStore, Rules};
use ratescope::{Event, Time};

/// Rules that must be right.
#[track_caller]
fn read(text: &str) -> Rules {
    Rules::read("rules.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn ruled(text: &str) -> MemoryStore {
    MemoryStore::new(read(text), 1000)
}

/// The decision about an event of cost 1 at a time in seconds.
fn check(ruled: &MemoryStore, seconds: f64, fields: &[(&str, &str)]) -> Decision {
    let fields = fields.to_vec();
    ruled.check(&Event {
        time: Time::try_from_secs_f64(seconds).unwrap(),
        cost: 1.0,
        fields: &fields,
    })
}

/// How many of `n` events at one time pass.
fn passed(ruled: &MemoryStore, n: usize, seconds: f64, fields: &[(&str, &str)]) -> usize {
    (0..n).filter(|_| check(ruled, seconds, fields).is_allowed()).count()
}
