//! Whole runs of the scope and of a comparison, from links: plain Rust, the same natively and in
//! the browser.

use ratescope::lab::compare::{self, Comparison};
use ratescope::lab::scope::{self, Scope};
use ratescope::lab::trace::{self, Extent};
use ratescope::{Span, Time};
use std::fmt::Debug;

/// Every pattern, a change of every setting that the lines depend on, and clicks.
const SCOPES: [&str; 2] = [
    "limit=3&decay=10s&increase=30s&auto-rate=0.4&at=60&do=5:events*4,20:pattern=bursts,\
     30:mode=leaky,40:decay=7s",
    "limit=2000&decay=1s&increase=4s&pattern=day-and-night 20s&auto-rate=3000&seed=5&at=45\
     &do=12.5:pattern=poisson,20:increase=900ms,31.7:auto=off",
];

/// Every limiter, several limits in a lane, limits that are per user, a script and commands.
const COMPARISONS: [&str; 2] = [
    "limit=10/10s&auto-rate=4&at=120&lanes=exim strict;exim leaky;earrrl;token-bucket;gcra;\
     leaky-bucket;fixed-window;sliding-window;sliding-counter;sliding-log;adaptive x2 decay 10s floor 5;3/1s + gcra\
     &do=3:events*12,40:limit=7/5s,60:pattern=bursts,80.25:cost=2.5",
    "limit=20/20s&auto=off&at=200&lanes=earrrl 1/1s half-life 20s;sliding-window per user;\
     adaptive x3 decay 10s increase 1m floor 5 leaky per address\
     &script=1/600ms to 150s user a,3/1s bursts user b,40 at 160s cost 1.5,2/1s poisson from 170s",
];

/// What each run comes to, a line a lane: how many it allowed and refused, and a checksum of all
/// its columns.
pub fn runs() -> String {
    SCOPES
        .iter()
        .map(|link| scope(link))
        .chain(COMPARISONS.iter().map(|link| compare(link)))
        .collect()
}

fn scope(link: &str) -> String {
    let link: scope::Link = link.parse().unwrap();
    let mut scope = Scope::open(&link).unwrap();
    scope.advance(link.at, usize::MAX);
    let instrument = scope.instrument();
    let columns = instrument.trace().columns(Time::ZERO, link.at, 0.0);
    let columns: Vec<_> = columns.into_iter().map(Column::of).collect();
    line("scope", instrument.allowed(), instrument.refused(), &columns)
}

fn compare(link: &str) -> String {
    let link: compare::Link = link.parse().unwrap();
    let mut run = Comparison::open(&link).unwrap();
    run.advance(link.at, usize::MAX);
    let lane = |lane: &compare::Lane| {
        let columns = lane.history().columns(Time::ZERO, link.at, 0.0);
        let columns: Vec<_> = columns.iter().collect();
        line(&lane.template().to_string(), lane.allowed(), lane.refused(), &columns)
    };
    run.lanes().iter().map(lane).collect()
}

/// The checksum is FNV-1a of what `Debug` writes: every field, and of a number every digit that
/// tells it from others.
fn line(name: &str, allowed: u64, refused: u64, columns: &[impl Debug]) -> String {
    let text = format!("{columns:?}");
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{name}: {allowed} allowed, {refused} refused, {} columns {sum:016x}\n", columns.len())
}

/// A column of the scope as it was when the checksums were made; what else is known of it since is
/// not in them.
#[derive(Debug)]
struct Column {
    first: Time,
    last: Time,
    end: Point,
    rate: Extent,
    smoothed: Extent,
    total: u64,
}

#[derive(Debug)]
struct Point {
    at: Time,
    rate: f64,
    smoothed: f64,
    decay: Span,
    increase: Span,
    judged: f64,
    limit: f64,
    allowed: u32,
    refused: u32,
}

impl Column {
    fn of(column: &trace::Column) -> Self {
        let trace::Column { first, end, rate, smoothed, total } = *column;
        let trace::Point { at, decay, increase, judged, limit, allowed, refused, .. } = end;
        let [at_end, blue] = [end.rate, end.smoothed];
        let end = Point {
            at,
            rate: at_end,
            smoothed: blue,
            decay,
            increase,
            judged,
            limit,
            allowed,
            refused,
        };
        Column { first, last: at, end, rate, smoothed, total }
    }
}
