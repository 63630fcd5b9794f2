//! A run of any experiment: its settings, its commands, and the link that replays it.
#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use proptest::prelude::*;
use ratescope::Time;
use ratescope_lab::compare::Comparison;
use ratescope_lab::run::{Command, Experiment, Link, Named, Run};
use ratescope_lab::scope::Scope;

pub fn at(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

pub fn settings<S: Named>(changes: &[(&str, &str)]) -> S {
    let mut settings = S::default();
    for (name, value) in changes {
        settings.set(name, value).unwrap();
    }
    settings
}

/// The run of a link, at the time that the link says.
pub fn run(link: &str) -> Scope {
    replayed(&link.parse().unwrap())
}

/// The run of a link to Compare, at the time that the link says.
pub fn compared(link: &str) -> Comparison {
    replayed(&link.parse().unwrap())
}

fn replayed<E: Experiment>(link: &Link<E::Settings>) -> Run<E> {
    let mut run = Run::open(link).unwrap();
    run.advance(link.at, usize::MAX);
    run
}

/// A command that gives a setting one of some values.
pub fn set(
    name: &'static str,
    values: &'static [&'static str],
) -> impl Strategy<Value = Command> + use<> {
    prop::sample::select(values)
        .prop_map(move |value| Command::Set { name: name.to_owned(), value: value.to_owned() })
}

/// Texts that are nearly right: some of these words, with spaces between them or without, and other characters.
pub fn nearly(words: &'static str) -> impl Strategy<Value = String> {
    let words: Vec<&str> = words.split_whitespace().chain([""]).collect();
    let word = prop_oneof![9 => prop::sample::select(words).prop_map(str::to_owned), 1 => ".{0,3}"];
    (prop::collection::vec(word, 0..12), prop::sample::select(&["", " ", "  "][..]))
        .prop_map(|(words, gap)| words.join(gap))
}

/// Fails unless a link has each of these changes, and nothing but it.
#[track_caller]
pub fn assert_names_what_is_not_usual<S: Named>(changes: [(&str, &str); 3]) {
    assert_eq!(Link::<S>::default().to_string(), "");
    for (name, value) in changes {
        let settings: S = settings(&[(name, value)]);
        let mut link = Link { settings, ..Link::default() };
        assert_eq!(link.to_string(), format!("{name}={value}"));
        link.paused = true;
        assert_eq!(link.to_string(), format!("{name}={value}&paused"));
    }
}

/// A run of commands with the gaps before them, in one step; and in frames of which each takes steps of
/// the first number of events, and then one of the second.
pub fn in_steps<E: Experiment + Clone>(
    commands: Vec<(f64, Command)>,
    frames: &[f64],
    most: [usize; 2],
) -> [Run<E>; 2] {
    let mut time = Time::ZERO;
    let timed = |(gap, command)| {
        time = at(time.as_secs_f64() + gap);
        (time, command)
    };
    let commands = commands.into_iter().map(timed).collect();
    let mut once = Run::open(&Link { commands, ..Link::default() }).unwrap();
    let mut often = once.clone();
    let end = frames.iter().fold(Time::ZERO, |now, frame| {
        let now = at(now.as_secs_f64() + frame);
        // Few events at a time, so that a frame ends in the middle of things.
        while often.now() < now {
            often.advance(now, most[0]);
        }
        often.advance(now, most[1]);
        now
    });
    once.advance(end, usize::MAX);
    [once, often]
}

/// A run of commands, each after a gap in which at most some events came; and the run that its link
/// replays.
pub fn recorded<E: Experiment>(commands: Vec<((f64, Command), usize)>) -> [Run<E>; 2] {
    let mut run = Run::<E>::new(E::Settings::default()).unwrap();
    for ((gap, command), most) in commands {
        run.advance(at(run.now().as_secs_f64() + gap), most);
        match command {
            Command::Events(n) => (0..n).for_each(|_| run.click()),
            Command::Set { name, value } => run.set(&name, &value).unwrap(),
        }
    }
    let text = run.link().unwrap().to_string();
    let link: Link<E::Settings> = text.parse().unwrap();
    assert_eq!(link.to_string(), text);
    [run, replayed(&link)]
}
