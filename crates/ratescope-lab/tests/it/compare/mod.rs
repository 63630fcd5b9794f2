//! The same events through many limiters: a run is decided by its commands and their times alone.

mod history;
mod invariants;
mod lanes;
mod links;
mod past;
mod steps;
mod texts;

use crate::recorded;
use crate::table;
use ratescope::{Rate, Time};
use ratescope_lab::compare::{Comparison, Lane, Settings};
use ratescope_lab::run::Named;
use ratescope_lab::{traffic::Pattern, traffic::Traffic};
use recorded::{at, settings};

fn comparison(changes: &[(&str, &str)]) -> Comparison {
    Comparison::new(settings(changes)).unwrap()
}

fn run(changes: &[(&str, &str)], seconds: f64) -> Comparison {
    let mut comparison = comparison(changes);
    comparison.advance(at(seconds), usize::MAX);
    comparison
}

fn counts(lane: &Lane) -> (u64, u64) {
    (lane.allowed(), lane.refused())
}

/// An event as the tests know it: its time, its cost, its sender.
type Sent = (Time, f64, usize);

/// A stream of traffic, from scratch.
fn stream(pattern: Pattern, rate: &str, seed: u64, from: f64, to: f64) -> Vec<Time> {
    let rate: Rate = rate.parse().unwrap();
    let traffic = Traffic::new(pattern, rate.frequency(), seed, at(from)).unwrap();
    traffic.take_while(|time| *time < at(to)).collect()
}

/// All events in order; those of one instant in the order of the streams.
fn merged(streams: &[(&[Time], f64, usize)]) -> Vec<Sent> {
    let sent = |&(times, cost, user): &(&[Time], f64, usize)| -> Vec<Sent> {
        times.iter().map(|time| (*time, cost, user)).collect()
    };
    let mut all: Vec<Sent> = streams.iter().flat_map(sent).collect();
    all.sort_by_key(|(time, _, _)| *time);
    all
}
