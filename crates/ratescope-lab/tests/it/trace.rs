//! The history of a run: folded, bounded, and true to every event.

use proptest::prelude::*;
use ratescope::{Span, Time};
use ratescope_lab::run::Named;
use ratescope_lab::scope::{Scope, Settings};
use ratescope_lab::trace::{COLUMNS, Column, Trace};

fn run(pattern: &str, rate: &str, seconds: u64) -> Scope {
    let mut settings = Settings::default();
    settings.set("pattern", pattern).unwrap();
    settings.set("auto-rate", rate).unwrap();
    let mut scope = Scope::new(settings).unwrap();
    scope.advance(Time::ZERO.after(Span::from_secs(seconds)), usize::MAX);
    scope
}

#[test]
fn every_level_tells_the_same_story() {
    let scope = run("bursts", "3", 600);
    let trace = scope.instrument().trace();
    for seconds in [0.004, 0.05, 0.5, 2.0, 5.0] {
        let columns = trace.columns(Time::ZERO, scope.now(), seconds);
        let events: u64 = columns.iter().map(|c| c.events()).sum();
        assert_eq!(events, trace.total(), "events at {seconds} s a column");
        assert!(columns.is_sorted_by(|a, b| a.last() < b.first), "order at {seconds} s");
        let high = columns.iter().map(|c| c.rate.high).fold(0.0, f64::max);
        let finest = trace.columns(Time::ZERO, scope.now(), 0.0).into_iter().map(|c| c.rate.high);
        assert_eq!(high, finest.fold(0.0, f64::max), "the peak at {seconds} s a column");
    }
}

#[test]
fn a_column_holds_everything_between_its_points() {
    let scope = run("poisson", "20", 60);
    let trace = scope.instrument().trace();
    let fine = trace.columns(Time::ZERO, scope.now(), 0.0);
    for coarse in trace.columns(Time::ZERO, scope.now(), 1.0) {
        let inside = fine.iter().filter(|c| coarse.first <= c.first && c.last() <= coarse.last());
        for column in inside {
            assert!(coarse.rate.low <= column.rate.low && column.rate.high <= coarse.rate.high);
            assert!(coarse.smoothed.low <= column.smoothed.low);
            assert!(column.smoothed.high <= coarse.smoothed.high);
        }
    }
}

#[test]
fn memory_is_bounded_and_the_past_stays_in_sight() {
    let scope = run("steady", "20000", 120);
    let trace = scope.instrument().trace();
    assert_eq!(trace.total(), 2_400_000 - 1);
    let fine = trace.columns(scope.now(), scope.now(), 0.0);
    assert!(fine.len() <= COLUMNS + 11);
    // Two minutes are far more than the finest level holds; a coarser one still has them all.
    let all: u64 = trace.columns(Time::ZERO, scope.now(), 0.0).iter().map(|c| c.events()).sum();
    assert_eq!(all, trace.total());
    const { assert!(Trace::<Column>::BYTES < 8_000_000) };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_exact_count_is_exact(
        gaps in prop::collection::vec(5_000_i64..400_000, 1..300),
        asked in prop::collection::vec(0.0_f64..1.0, 20),
    ) {
        let mut settings = Settings::default();
        settings.set("auto", "off").unwrap();
        let mut scope = Scope::new(settings).unwrap();
        let window = Span::from_secs(10);
        let mut events = Vec::new();
        for gap in gaps {
            let now = Time::from_micros(scope.now().as_micros() + gap);
            scope.advance(now, usize::MAX);
            scope.click();
            events.push(now);
        }
        let trace = scope.instrument().trace();
        for share in asked {
            let at = Time::from_micros((scope.now().as_micros() as f64 * share) as i64);
            let count = |t| trace.total_at(t).unwrap().0 as f64;
            prop_assert_eq!(count(at), events.iter().filter(|&&event| event <= at).count() as f64);
            let before = at.before(window);
            prop_assert!(count(at) - count(before) >= 0.0);
        }
    }
}
