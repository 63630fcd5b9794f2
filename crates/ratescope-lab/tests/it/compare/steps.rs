//! The steps in which time is told do not matter, and a link is a recording.

use super::*;
use proptest::prelude::*;
use ratescope::Span;
use ratescope_lab::compare::Link;
use ratescope_lab::run::Command;
use ratescope_lab::run::commands::MEMORY;
use ratescope_lab::run::pace::{CATCH_UP, Pace};

/// Checks that two runs are the same: counts, levels, and all of the finest columns.
#[track_caller]
fn same_run(a: &Comparison, b: &Comparison) {
    let state = |r: &Comparison| (r.now(), r.sent(), r.settings().clone(), r.is_scripted());
    assert_eq!(state(a), state(b));
    assert_eq!(a.lanes().len(), b.lanes().len());
    for (a_lane, b_lane) in a.lanes().iter().zip(b.lanes()) {
        assert_eq!(counts(a_lane), counts(b_lane), "{}", a_lane.template());
        assert_eq!(a_lane.level(a.now()), b_lane.level(b.now()), "{}", a_lane.template());
        let columns = |lane: &Lane| -> Vec<_> {
            let columns = lane.history().columns(Time::ZERO, a.now(), 0.0);
            columns.iter().copied().collect()
        };
        assert_eq!(columns(a_lane), columns(b_lane), "{}", a_lane.template());
    }
}

fn command() -> impl Strategy<Value = (f64, Command)> {
    let what = prop_oneof![
        (1_u32..20).prop_map(Command::Events),
        recorded::set("limit", &["10/10s", "3/1s", "5/1m"]),
        recorded::set(
            "lanes",
            &["gcra", "exim strict;gcra per user & fixed-window;earrrl", "sliding-log"]
        ),
        recorded::set(
            "script",
            &["", "7 at 2s, 3/1s bursts user a", "5/1s poisson to 4s cost 2 user b"]
        ),
        recorded::set("auto", &["on", "off"]),
        recorded::set("auto-rate", &["0.5", "40"]),
        recorded::set("cost", &["0", "1", "2.5"]),
        recorded::set("seed", &["7"]),
    ];
    // Some of them at the very same instant, and some at the last one of a column.
    let gap = prop_oneof![4 => 0.0..2.0, 1 => Just(0.0), 1 => Just(0.016384), 1 => Just(0.016383)];
    (gap, what)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_steps_in_which_time_is_told_do_not_matter(
        commands in prop::collection::vec(command(), 0..12),
        frames in prop::collection::vec(0.001_f64..0.4, 1..60),
        most in 1_usize..30,
    ) {
        let [once, often] = recorded::in_steps(commands, &frames, [most, usize::MAX]);
        same_run(&once, &often);
    }

    /// Also when a person acts where a frame had to end early.
    #[test]
    fn a_recording_replays_the_run(
        commands in prop::collection::vec((command(), 1_usize..40), 0..12),
    ) {
        let [comparison, replayed] = recorded::recorded(commands);
        same_run(&comparison, &replayed);
    }
}

#[test]
fn a_pace_drives_it() {
    let mut comparison = comparison(&[("speed", "2")]);
    let mut pace = Pace::default();
    (0..=60).for_each(|frame| pace.run(&mut comparison, f64::from(frame) * 50.0));
    assert_eq!(comparison.now(), at(6.0));
    same_run(&comparison, &run(&[("speed", "2")], 6.0));
    assert_eq!(pace.gaps(), []);
}

/// Lanes with many states take longer for an event, so fewer events are generated for an absence.
#[test]
fn an_absence_with_too_much_work_is_cut() {
    let lane = ["exim per user"; 8].join("&");
    let lanes = [lane.as_str(); 4].join(";");
    let users = (1..8).map(|i| format!("1 at 1s user u{i}")).collect::<Vec<_>>().join(",");
    let mut comparison =
        comparison(&[("lanes", &lanes), ("script", &users), ("auto-rate", "10000")]);
    let mut pace = Pace::default();
    pace.run(&mut comparison, 0.0);
    pace.run(&mut comparison, 600_000.0);
    // An event counts for as many as each eighth of the 256 states, and so does the end of a column.
    let seen = CATCH_UP / (32.0 * 10_061.0);
    assert!((pace.gaps()[0].to.as_secs_f64() - seen).abs() < 1e-3, "{:?} and {seen}", pace.gaps());
}

/// Looking is no command: a recording has the last speed and window, and does not say since when.
#[test]
fn what_only_changes_the_view_is_not_recorded() {
    let mut comparison = comparison(&[]);
    comparison.advance(at(1.0), usize::MAX);
    comparison.set("speed", "3").unwrap();
    comparison.set("window", "5m").unwrap();
    let link = comparison.link().unwrap();
    assert_eq!(
        (link.settings.common.speed, link.settings.common.window.as_secs_f64()),
        (3.0, 300.0)
    );
    assert_eq!(link.commands, []);
}

/// A command and the events of its own instant: the command is first, also after a frame that had
/// to end in the middle of a burst.
#[test]
fn an_instant_is_never_left_half_done() {
    let mut comparison = comparison(&[("auto", "off"), ("script", "50 at 1s"), ("lanes", "gcra")]);
    comparison.advance(at(2.0), 70);
    assert_eq!((comparison.sent(), comparison.now()), (50, Time::from_micros(1_000_001)));
}

/// Of several actions in one instant, the last does not undo the rest: a lane that was taken out and
/// put back has forgotten, and automatic events that were stopped and started have started over.
#[test]
fn all_changes_of_an_instant_are_recorded() {
    for (name, there, back) in [("lanes", "sliding-log", "gcra"), ("auto", "off", "on")] {
        let mut comparison = comparison(&[("lanes", "gcra"), ("auto-rate", "40")]);
        comparison.advance(at(2.0), usize::MAX);
        comparison.set(name, there).unwrap();
        comparison.set(name, back).unwrap();
        comparison.advance(at(3.0), usize::MAX);
        let mut replayed = Comparison::open(&comparison.link().unwrap()).unwrap();
        replayed.advance(at(3.0), usize::MAX);
        same_run(&comparison, &replayed);
    }
}

/// Commands are work as well: those of a link that is all bursts do not come in one call.
#[test]
fn bursts_of_a_link_are_bounded_work() {
    let link: Link = format!("auto=off&do={}", ["1:events*10000"; 10].join(",")).parse().unwrap();
    let mut comparison = Comparison::open(&link).unwrap();
    comparison.advance(at(2.0), 30_000);
    assert_eq!(comparison.sent(), 30_000);
    comparison.advance(at(2.0), usize::MAX);
    assert_eq!((comparison.sent(), comparison.now()), (100_000, at(2.0)));
}

/// A lane forgets its events in time, so that a picture does not walk through all of them for ever.
#[test]
fn a_full_log_is_forgotten() {
    let text = "limit=100000/10s&auto=off&lanes=sliding-log&script=10000/1s to 10s&at=1000";
    let link: Link = text.parse().unwrap();
    let mut comparison = Comparison::open(&link).unwrap();
    comparison.advance(link.at, usize::MAX);
    assert_eq!(comparison.lanes()[0].level(link.at), (0.0, 100_000.0));
    assert_eq!(comparison.sent(), 99_999);
}

/// A link has the commands that are done and those still to come.
#[test]
fn a_run_with_more_commands_than_a_link_can_hold_has_a_link_that_reads() {
    let coming = ["9:events"; MEMORY].join(",");
    let mut comparison =
        Comparison::open(&format!("auto=off&do={coming}").parse().unwrap()).unwrap();
    assert_eq!(comparison.link().map(|link| link.commands.len()), Some(MEMORY));
    comparison.click();
    assert_eq!(comparison.link(), None);
    let error = format!("do={coming},9:events").parse::<Link>().unwrap_err();
    assert_eq!(error.problem(), "more than 10000 commands");
}

#[test]
fn a_run_with_too_many_commands_has_no_link() {
    let mut comparison = comparison(&[("lanes", "gcra")]);
    for i in 0..=MEMORY as u64 {
        assert!(i < MEMORY as u64 || comparison.link().is_some());
        comparison.advance(Time::ZERO.after(Span::from_micros(i)), usize::MAX);
        comparison.click();
    }
    assert_eq!(comparison.link(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of the values that a setting has while no event comes, the last is enough for a link.
    #[test]
    fn a_recording_replays_every_gesture(
        rate in prop::sample::select(vec!["0.5", "5", "50"]),
        script in prop::sample::select(vec!["", "2 at 1s, 3/1s bursts user a"]),
        steps in prop::collection::vec((gesture_step(), 0_i64..40_000), 0..200),
    ) {
        let mut comparison = comparison(&[("lanes", "gcra;exim per user"), ("auto-rate", rate), ("script", script)]);
        for ((name, value), gap) in &steps {
            comparison.advance(comparison.now().after(Span::from_micros(*gap as u64)), usize::MAX);
            match *name {
                "events" => comparison.click(),
                name => comparison.set(name, value).unwrap(),
            }
        }
        comparison.advance(comparison.now().after(Span::from_secs(2)), usize::MAX);
        let mut replayed = Comparison::open(&comparison.link().unwrap()).unwrap();
        replayed.advance(comparison.now(), usize::MAX);
        same_run(&comparison, &replayed);
    }
}

/// One of few settings and values, so that some come in a row and some go back.
fn gesture_step() -> impl Strategy<Value = (&'static str, &'static str)> {
    let set = |name: &'static str, values: &'static [&'static str]| {
        prop::sample::select(values).prop_map(move |value| (name, value))
    };
    prop_oneof![
        6 => set("auto-rate", &["0.5", "2", "5", "20", "50"]),
        4 => set("cost", &["0", "1", "2.5"]),
        1 => set("auto", &["on", "off"]),
        1 => set("pattern", &["poisson", "steady"]),
        1 => set("window", &["1m", "2m"]),
        1 => set("limit", &["10/10s", "5/10s"]),
        4 => set("script", &["", "2 at 1s, 3/1s bursts user a", "1 at 2s user b, 2/1s user a"]),
        1 => Just(("events", "")),
    ]
}

/// A frame that ends with the last instant of a column leaves the next column to the next event.
#[test]
fn a_click_just_after_a_column_is_in_the_next() {
    let mut comparison =
        comparison(&[("auto", "off"), ("script", "1 at 16383us"), ("lanes", "gcra")]);
    comparison.advance(at(1.0), 1);
    assert_eq!(comparison.now(), Time::from_micros(16384));
    comparison.click();
    let mut replayed = Comparison::open(&comparison.link().unwrap()).unwrap();
    replayed.advance(comparison.now(), usize::MAX);
    same_run(&comparison, &replayed);
    let columns = comparison.lanes()[0].history().columns(Time::ZERO, at(1.0), 0.0);
    assert_eq!(columns.iter().map(|column| column.allowed).collect::<Vec<_>>(), [1, 1]);
}
