//! The jobs of a lane's clients, as texts for a table.

use crate::compare::{Comparison, Lane};
use crate::plot::axis;
use ratescope::rate::Rate;
use ratescope::time::Span;

/// The numbers of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// How long all jobs took, or how many requests are left.
    pub done: String,
    /// Requests sent for each that passed.
    pub sent: String,
    /// The longest time from the first try of a request until it passed.
    pub longest: String,
    /// The requests a second that the service saw, as a multiple of the limit.
    pub load: String,
    /// The most requests in a second of the clock.
    pub busiest: String,
    /// The share of requests that had been refused before.
    pub retries: String,
    /// When the first client was done, and when the last.
    pub spread: String,
}

/// The numbers of a lane at the end of the run so far, against `limit`, the common rate; `None` without clients.
pub fn job(lane: &Lane, limit: Rate) -> Option<Job> {
    let crowd = lane.crowd()?;
    let count = axis::readout_count;
    let seconds = |span: Span| axis::seconds(span.as_secs_f64());
    let [first, last] = crowd.done();
    let given_up = match crowd.given_up() {
        0 => String::new(),
        n => format!(", {} given up", count(n)),
    };
    let done = match last {
        Some(last) => format!("after {}{given_up}", seconds(last)),
        None => format!("{} left{given_up}", count(crowd.left())),
    };
    let spread = match (first, last) {
        (Some(first), Some(last)) => format!("{} to {}", seconds(first), seconds(last)),
        (Some(first), None) => format!("{} to never so far", seconds(first)),
        _ => "none so far".to_owned(),
    };
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let sent = match crowd.passed() {
        0 => format!("{}, none passed", count(crowd.sent())),
        passed => axis::readout(share(crowd.sent(), passed)),
    };
    Some(Job {
        done,
        sent,
        longest: seconds(crowd.longest()),
        load: format!("{}×", axis::readout(crowd.rate(limit.per()) / limit.frequency())),
        busiest: count(crowd.busiest().into()),
        retries: format!("{} %", libm::round(100.0 * share(crowd.retries(), crowd.sent()))),
        spread,
    })
}

/// The number of requests that were sent. Clients send different numbers in each lane; then the least and the most.
pub fn sent(comparison: &Comparison) -> String {
    let own = comparison.lanes().iter().map(|lane| lane.crowd().map_or(0, |crowd| crowd.sent()));
    let [least, most] = own.fold([u64::MAX, 0], |[least, most], n| [least.min(n), most.max(n)]);
    let [least, most] = [least, most].map(|n| axis::readout_count(comparison.sent() + n));
    if least == most { least } else { format!("{least} to {most}") }
}
