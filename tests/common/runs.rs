//! Whole runs of the scope and of a comparison, from links: plain Rust, the same natively and in
//! the browser.

use crate::common::limiters::checksum::Checksum;
use ratescope::Time;
use ratescope_lab::compare::{self, Comparison};
use ratescope_lab::lane::history;
use ratescope_lab::scope::{self, Scope};
use ratescope_lab::trace;

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
     leaky-bucket;fixed-window;sliding-window;sliding-counter;sliding-log;adaptive x2 decay 10s floor 5;3/1s %26 gcra\
     &do=3:events*12,40:limit=7/5s,60:pattern=bursts,80.25:cost=2.5",
    "limit=20/20s&auto=off&at=200&lanes=earrrl 1/1s half-life 20s;sliding-window per user;\
     adaptive x3 decay 10s increase 1m floor 5 leaky per ip\
     &script=1/600ms to 150s user a,3/1s bursts user b,40 at 160s cost 1.5,2/1s poisson from 170s",
];

/// The result of each run, a line a lane: the events that it allowed and refused, and a checksum of every
/// number in its columns.
pub(crate) fn runs() -> String {
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
    let counts = [instrument.allowed(), instrument.refused()];
    line("scope", counts, columns, |sum, column| {
        let trace::Column { first, end, rate, smoothed, total } = column;
        sum.time(*first);
        sum.time(end.at);
        let ends = [end.rate, end.smoothed, end.decay.as_secs_f64(), end.increase.as_secs_f64()];
        let judged = [end.judged, end.limit, end.stored.rate];
        let extents = [rate.low, rate.high, smoothed.low, smoothed.high];
        ends.into_iter().chain(judged).chain(extents).for_each(|number| sum.number(number));
        sum.time(end.stored.at);
        [end.allowed.into(), end.refused.into(), *total]
            .into_iter()
            .for_each(|count| sum.add(count));
    })
}

fn compare(link: &str) -> String {
    let link: compare::Link = link.parse().unwrap();
    let mut run = Comparison::open(&link).unwrap();
    run.advance(link.at, usize::MAX);
    let lane = |lane: &compare::Lane| {
        let (name, counts) = (lane.template().to_string(), [lane.allowed(), lane.refused()]);
        let columns = lane.history().columns(Time::ZERO, link.at, 0.0);
        line(&name, counts, columns.iter(), |sum, column| {
            let history::Column { low, high, end, limit, again, judged, .. } = *column;
            [low, high, end, limit].into_iter().for_each(|number| sum.number(number));
            let counts = [column.allowed.into(), column.refused.into(), column.passed, column.sent];
            counts.into_iter().for_each(|count| sum.add(count));
            sum.time(again);
            if let Some((at, outcome)) = judged {
                sum.time(at);
                sum.outcome(outcome, || ratescope::Retry::Never);
            }
        })
    };
    run.lanes().iter().map(lane).collect()
}

fn line<C>(
    name: &str,
    [allowed, refused]: [u64; 2],
    columns: impl IntoIterator<Item = C>,
    add: impl Fn(&mut Checksum, C),
) -> String {
    let (mut count, mut sum) = (0, Checksum::default());
    for column in columns {
        add(&mut sum, column);
        count += 1;
    }
    format!("{name}: {allowed} allowed, {refused} refused, {count} columns {sum}\n")
}
