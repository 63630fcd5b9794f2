//! The columns of a lane, against a record of everything that happened.

use super::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Outcome, Retry};
use ratescope_lab::lane::history::{Column, LEVELS};

const COST: f64 = 1.5;

/// Microseconds in a column of the finest level.
const FINEST: i64 = 1 << 14;

/// Everything that a lane knew at one instant.
struct Sample {
    at: i64,
    /// The level and the limit.
    after: Outcome,
    judged: Option<(Time, Outcome)>,
    /// From when on another event would pass, at the end of a column.
    again: Option<Time>,
}

/// Every event and every end of a finest column, by the limiter alone.
fn record(limiter: &AnyLimiter, events: &[Sent], end: Time) -> Vec<Sample> {
    let mut state = limiter.initial();
    let mut samples = Vec::new();
    let (mut happened, mut again) = (true, Time::ZERO);
    let mut events = events.iter().peekable();
    for last in (0..).map(|i| (i + 1) * FINEST - 1) {
        let column = last.min(end.as_micros() - 1);
        while let Some((at, cost, _)) = events.next_if(|(at, _, _)| at.as_micros() <= column) {
            let judged = Some((*at, limiter.check(&mut state, *at, *cost)));
            let after = limiter.peek(&state, *at, 0.0);
            happened = true;
            samples.push(Sample { at: at.as_micros(), after, judged, again: None });
        }
        if last >= end.as_micros() {
            return samples;
        }
        let end = Time::from_micros(last);
        let after = limiter.peek(&state, end, 0.0);
        // It is asked after an event, and holds until it has passed.
        if core::mem::take(&mut happened) {
            again = match limiter.retry_after(&state, end, COST) {
                Retry::After(wait) => end.after(wait),
                Retry::Never => Time::LAST,
            };
        }
        if again <= end {
            again = Time::ZERO;
        }
        samples.push(Sample { at: last, after, judged: None, again: Some(again) });
    }
    samples
}

/// The column that begins at `from`, added up.
fn column(samples: &[Sample], fresh: Outcome, from: i64, width: i64) -> Column {
    let start = samples.partition_point(|s| s.at < from);
    let stop = samples.partition_point(|s| s.at < from + width);
    let (before, inside) = (&samples[..start], &samples[start..stop]);
    let enters = before.last().map_or(fresh.level, |s| s.after.level);
    let levels = || inside.iter().map(|s| s.after.level).chain([enters]);
    let count = |samples: &[Sample], passed: bool| {
        let judged = samples.iter().filter_map(|s| s.judged);
        judged.filter(|(_, outcome)| outcome.is_allowed() == passed).count()
    };
    let passed = count(before, true) + count(inside, true);
    let last = samples[..stop].last().map_or(fresh, |s| s.after);
    Column {
        low: levels().fold(f64::INFINITY, f64::min),
        high: levels().fold(0.0, f64::max),
        end: last.level,
        limit: last.limit,
        allowed: count(inside, true) as u32,
        refused: count(inside, false) as u32,
        judged: inside.iter().rev().find_map(|s| s.judged),
        passed: passed as u64,
        sent: (passed + count(before, false) + count(inside, false)) as u64,
        again: samples[..stop].iter().rev().find_map(|s| s.again).unwrap_or(Time::ZERO),
    }
}

const RULES: [&str; 7] = [
    "exim strict",
    "earrrl half-life 3s",
    "token-bucket",
    "leaky-bucket queue 5",
    "fixed-window",
    "sliding-counter",
    "adaptive x2 decay 2s increase 10s floor 3",
];

#[test]
fn every_column_holds_what_happened_in_it() {
    let end = 100.01;
    let changes = [("lanes", &*RULES.join(";")), ("auto-rate", "2"), ("cost", "1.5")];
    let comparison = run(&changes, end);
    let events = merged(&[(&stream(Pattern::Poisson, "2/1s", 1, 0.0, end), 1.5, 0)]);
    assert_eq!(comparison.sent(), events.len() as u64);
    for lane in comparison.lanes() {
        let [limit] = lane.policy().limits() else { panic!("one limit") };
        let limiter = limit.limiter.clone();
        let fresh = limiter.peek(&limiter.initial(), Time::ZERO, 0.0);
        let samples = record(&limiter, &events, at(end));
        for k in 0..LEVELS {
            let width = FINEST << k;
            // The columns of levels 0 and 1 begin later.
            let from = [70.0, 40.0].get(k).copied().unwrap_or(0.0);
            let columns = lane.history().columns(at(from), at(end), width as f64 / 1e6);
            assert_eq!(columns.width.as_secs_f64(), width as f64 / 1e6);
            assert_eq!(columns.first.as_micros(), at(from).as_micros() / width * width);
            let last = columns.first.as_micros() + columns.len() as i64 * width;
            assert!((last - width..last).contains(&at(end).as_micros()), "up to the last one");
            assert_eq!(columns.iter().count(), columns.len());
            let starts = (0..).map(|i| columns.first.as_micros() + i * width);
            for (start, got) in starts.zip(columns.iter()) {
                let want = column(&samples, fresh, start, width);
                assert_eq!(*got, want, "{}, level {k}, from {start}", lane.template());
            }
        }
    }
}

#[test]
fn a_range_gets_the_columns_that_touch_it() {
    let comparison = run(&[("lanes", "gcra")], 20.0);
    let history = comparison.lanes()[0].history();
    for (from, to, first, count) in [
        (1.0, 2.0, 61, 62),
        (1.0, 1.0, 61, 1),
        (-5.0, 0.01, 0, 1),
        (19.99, 100.0, 1220, 1),
        (30.0, 40.0, 1220, 0),
        (-9.0, -8.0, 0, 0),
        (5.0, 4.0, 305, 0),
    ] {
        let columns = history.columns(at(from), at(to), 0.0);
        let got = (columns.first.as_micros() / FINEST, columns.len());
        assert_eq!(got, (first, count), "{from} to {to}");
        assert_eq!(columns.is_empty(), count == 0);
    }
}

#[test]
fn a_column_is_found_as_finely_as_it_is_remembered() {
    let comparison = run(&[("lanes", "gcra")], 400.0);
    let history = comparison.lanes()[0].history();
    for (seconds, k) in [(399.999, 0), (370.0, 0), (360.0, 1), (320.0, 2), (200.0, 3), (0.0, 4)] {
        let coarse = history.columns(at(seconds), at(seconds), (FINEST << k) as f64 / 1e6);
        assert_eq!(history.column_at(at(seconds)), coarse.iter().next(), "at {seconds}");
        assert_eq!(coarse.len(), 1);
    }
    assert_eq!(history.column_at(at(-0.1)), None);
    assert_eq!(history.column_at(at(401.0)), None);
}

#[test]
fn a_lane_that_begins_later_remembers_from_there() {
    // As links of old have it: a lane that a person adds has been there from the start.
    let link = "lanes=gcra&do=10:lanes=gcra;sliding-log".parse().unwrap();
    let mut comparison = Comparison::open(&link).unwrap();
    comparison.advance(at(10.0), usize::MAX);
    let before = comparison.sent();
    comparison.advance(at(20.0), usize::MAX);
    let [_, late] = comparison.lanes() else { panic!("two lanes") };
    assert_eq!(late.history().oldest(), at(10.0));
    assert_eq!(late.allowed() + late.refused(), comparison.sent() - before);
    for seconds in [0.0, 0.1, 3.0] {
        let columns = late.history().columns(Time::ZERO, comparison.now(), seconds);
        assert!(columns.first <= at(10.0) && columns.first.as_secs_f64() > 10.0 - 2.1);
        assert_eq!(columns.iter().map(|c| c.sent).max(), Some(comparison.sent()));
        assert_eq!(columns.iter().map(|c| c.passed).max(), Some(late.allowed()));
    }
    assert_eq!(late.history().column_at(at(9.9)), None);
}
