//! The scope without a screen: a run is decided by its commands and their times alone.

mod clock;
mod links;
mod turned;

use crate::{common, recorded};
use proptest::prelude::*;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Limiter, Span, Time};
use ratescope_lab::run::pace::{CATCH_UP, Pace};
use ratescope_lab::run::past::Past;
use ratescope_lab::run::{Arrival, Command, Experiment, Named};
use ratescope_lab::scope::{Instrument, Link, Scope, Settings};
use ratescope_lab::trace::Column;
use recorded::{at, run, settings};

fn quiet() -> Settings {
    settings(&[("auto", "off")])
}

/// Checks that two runs are the same: the bits of both lines, the counts, and all that is drawn.
#[track_caller]
fn same_run(a: &Scope, b: &Scope) {
    let state = |s: &Scope| {
        let i = s.instrument();
        let lines = [i.rate_at(s.now()), i.smoothed_at(s.now())].map(f64::to_bits);
        (s.now(), lines, i.allowed(), i.refused(), i.trace().total(), s.settings().clone())
    };
    assert_eq!(state(a), state(b));
    let columns = |s: &Scope| -> Vec<Column> {
        s.instrument().trace().columns(Time::ZERO, s.now(), 0.0).into_iter().copied().collect()
    };
    assert_eq!(columns(a), columns(b));
}

#[test]
fn a_click_from_rest_lifts_the_rate_to_one() {
    let mut scope = Scope::new(quiet()).unwrap();
    scope.advance(at(3.0), usize::MAX);
    scope.click();
    assert_eq!(scope.instrument().rate_at(scope.now()), 1.0);
    assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (1, 0));
}

#[test]
fn a_burst_of_ten_fits_a_limit_of_ten_and_one_more_does_not() {
    let mut scope = Scope::new(quiet()).unwrap();
    (0..11).for_each(|_| scope.click());
    assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (10, 1));
}

#[test]
fn without_a_limit_nothing_is_refused() {
    let mut scope = Scope::new(settings(&[("auto", "off"), ("limit", "0")])).unwrap();
    (0..1000).for_each(|_| scope.click());
    assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (1000, 0));
}

#[test]
fn leaky_counts_what_it_allowed_and_strict_every_attempt() {
    for (mode, rate) in [("strict", 30.0), ("leaky", 10.0)] {
        let mut scope = Scope::new(settings(&[("auto", "off"), ("mode", mode)])).unwrap();
        (0..30).for_each(|_| scope.click());
        let measured = scope.instrument().rate_at(scope.now());
        assert!((measured - rate).abs() < 1e-6, "{mode}: {measured}");
    }
}

/// In leaky mode, an event that was refused where it was recorded is not in the rate, and one that was allowed there
/// is, whatever would have been decided here.
#[test]
fn the_rate_follows_the_verdicts_that_were_recorded() {
    let verdicts = [true, true, false, true, false, false, true];
    let limiter = Exim { limit: "2/10s".parse().unwrap(), mode: Mode::Leaky };
    let mut state = limiter.initial();
    let mut events = Vec::new();
    for (i, refused) in verdicts.into_iter().enumerate() {
        let time = at(5.0 + i as f64 / 3.0);
        limiter.record(&mut state, time, 1.0, !refused);
        events.push(Arrival { refused: Some(refused), ..Arrival::from((time, 1.0)) });
    }
    let settings = settings(&[("limit", "2"), ("decay", "10s"), ("mode", "leaky")]);
    let mut past = Past::<Instrument>::new(settings, events).unwrap();
    past.look(at(0.0), at(20.0));
    assert_eq!(past.end().rate_at(at(9.0)), limiter.estimator().rate_at(state, at(9.0)));
    assert_eq!((past.end().allowed(), past.end().refused()), (3, 4));
}

/// The red line of a leaky limiter, by its own verdicts as by those that were recorded, is the rate that a real Exim
/// stored.
#[test]
fn the_line_of_a_leaky_limiter_is_what_exim_stored() {
    let [_, _, (_, leaky), _] = common::EXIM;
    let attempts = common::exim(leaky);
    let settings = settings(&[("limit", "10"), ("decay", "10s"), ("mode", "leaky")]);
    for recorded in [false, true] {
        let mut instrument = Instrument::new(&settings, Time::ZERO).unwrap();
        let mut refused = 0;
        for attempt in attempts.iter().filter(|attempt| attempt.key == "cross_leaky") {
            let answer = attempt.answer.as_ref().unwrap();
            let event = Arrival::from((attempt.at, attempt.cost));
            instrument.event(&Arrival { refused: recorded.then_some(answer.over), ..event });
            refused += u64::from(answer.over);
            let stored = instrument.limiter().estimator().rate_at(answer.stored, attempt.at);
            let drawn = instrument.rate_at(attempt.at);
            assert!((drawn - stored).abs() <= 1e-6 * stored, "{drawn} for {stored}");
            assert_eq!(instrument.refused(), refused);
        }
        assert!(refused > 20);
    }
}

#[test]
fn another_decay_interval_keeps_events_per_second() {
    let per_second = |done: &str| {
        let scope = run(&format!("auto-rate=5&at=20{done}"));
        let instrument = scope.instrument();
        lines(&scope).map(|rate| rate / instrument.period().as_secs_f64())
    };
    let (before, after) = (per_second(""), per_second("&do=20:decay=1m"));
    for (before, after) in before.into_iter().zip(after) {
        assert!((before - after).abs() <= 1e-12 * before, "{before} became {after}");
    }
}

#[test]
fn limit_mode_and_increase_interval_leave_the_rate_alone() {
    let rate = |change: &str| {
        let change = if change.is_empty() { String::new() } else { format!("4:{change},") };
        lines(&run(&format!("auto=off&at=9&do=1:events,1.5:events,{change}9:events")))[0]
    };
    let untouched = rate("");
    for change in ["limit=7", "mode=leaky", "increase=2s", "seed=5"] {
        assert_eq!(rate(change), untouched, "{change}");
    }
}

#[test]
fn the_smoothed_rate_goes_on_with_another_increase_interval() {
    let [rate, smoothed] = lines(&run("auto=off&at=3&do=0:events*5"));
    let mut scope = run("auto=off&at=3&do=0:events*5,3:increase=4s");
    assert_eq!(lines(&scope), [rate, smoothed]);
    scope.advance(at(8.0), usize::MAX);
    // dB/dt = (R - B)/q from there on, with R = rate e^(-t/10): the solution, written out.
    let (p, q, d) = (10.0_f64, 4.0_f64, 5.0_f64);
    let forced = rate * p / (p - q) * ((-d / p).exp() - (-d / q).exp());
    let expected = smoothed * (-d / q).exp() + forced;
    assert!((lines(&scope)[1] - expected).abs() <= 1e-12 * expected);
}

fn lines(scope: &Scope) -> [f64; 2] {
    let instrument = scope.instrument();
    [instrument.rate_at(scope.now()), instrument.smoothed_at(scope.now())]
}

fn command() -> impl Strategy<Value = (f64, Command)> {
    let what = prop_oneof![
        (1_u32..20).prop_map(Command::Events),
        recorded::set("decay", &["1s", "10s", "2m"]),
        recorded::set("increase", &["500ms", "30s"]),
        recorded::set("limit", &["0", "3", "12.5"]),
        recorded::set("mode", &["strict", "leaky"]),
        recorded::set("auto", &["on", "off"]),
        recorded::set("pattern", &["steady", "poisson", "bursts", "day-and-night"]),
        recorded::set("auto-rate", &["0.5", "40"]),
        recorded::set("seed", &["7"]),
    ];
    // Some of them at the very same instant.
    (prop_oneof![4 => 0.0..5.0, 1 => Just(0.0)], what)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_steps_in_which_time_is_told_do_not_matter(
        commands in prop::collection::vec(command(), 0..20),
        frames in prop::collection::vec(0.001_f64..0.4, 1..200),
    ) {
        let [once, often] = recorded::in_steps(commands, &frames, [3, 1]);
        same_run(&once, &often);
    }

    /// Also when a person acts where a frame had to end early.
    #[test]
    fn a_recording_replays_the_run(
        commands in prop::collection::vec((command(), 1_usize..60), 0..20),
    ) {
        let [scope, replayed] = recorded::recorded(commands);
        same_run(&scope, &replayed);
    }
}
