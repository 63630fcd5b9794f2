//! The scope without a screen: a run is decided by its commands and their times alone.
#![cfg(all(feature = "lab", not(target_arch = "wasm32")))]

use proptest::prelude::*;
use ratescope::lab::run::pace::{CATCH_UP, Pace};
use ratescope::lab::run::{Command, Named};
use ratescope::lab::scope::{Link, Scope, Settings};
use ratescope::lab::trace::Column;
use ratescope::{Span, Time};

fn settings(changes: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in changes {
        settings.set(name, value).unwrap();
    }
    settings
}

fn quiet() -> Settings {
    settings(&[("auto", "off")])
}

fn at(seconds: f64) -> Time {
    Time::from_secs(seconds).unwrap()
}

/// What a run has come to: the bits of both lines, the counts, and all that is drawn.
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

#[test]
fn another_decay_interval_keeps_events_per_second() {
    let per_second = |done: &str| {
        let scope = run(&format!("auto-rate=5&at=20{done}"));
        let instrument = scope.instrument();
        lines(&scope).map(|rate| rate / instrument.period().secs())
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

/// The run of a link, at the time that the link says.
fn run(link: &str) -> Scope {
    let link: Link = link.parse().unwrap();
    let mut scope = Scope::open(&link).unwrap();
    scope.advance(link.at, usize::MAX);
    scope
}

fn lines(scope: &Scope) -> [f64; 2] {
    let instrument = scope.instrument();
    [instrument.rate_at(scope.now()), instrument.smoothed_at(scope.now())]
}

#[test]
fn a_setting_that_cannot_be_read_changes_nothing() {
    let mut scope = Scope::new(Settings::default()).unwrap();
    for (name, value, problem) in [
        ("decay", "10", "\"10\": a unit is missing; write 10s, 10m or 10h"),
        ("decay", "10ms", "\"10ms\": out of range; choose from 100ms to 1w"),
        ("limit", "-1", "\"-1\": out of range; choose from 0 to 1000000000"),
        ("limit", "NaN", "\"NaN\": not a number; choose from 0 to 1000000000"),
        ("auto-rate", "fast", "\"fast\": not a number; choose from 0.001 to 1000000"),
        ("auto-rate", "2000000", "\"2000000\": out of range; choose from 0.001 to 1000000"),
        ("mode", "lax", "\"lax\": write strict or leaky"),
        ("window", "5s", "\"5s\": out of range; choose from 10s to 1d"),
        ("seed", "-1", "\"-1\": write a whole number from 0 up"),
        ("auto", "yes", "\"yes\": write on or off"),
    ] {
        assert_eq!(scope.set(name, value).unwrap_err().to_string(), problem);
        assert_eq!(*scope.settings(), Settings::default());
    }
}

#[test]
fn a_link_names_what_is_not_usual() {
    assert_eq!(Link::default().to_string(), "");
    for (name, value) in [("decay", "20s"), ("auto", "off"), ("recent", "on")] {
        let mut link = Link::default();
        link.settings.set(name, value).unwrap();
        assert_eq!(link.to_string(), format!("{name}={value}"));
        link.paused = true;
        assert_eq!(link.to_string(), format!("{name}={value}&paused"));
    }
}

#[test]
fn a_link_that_is_wrong_says_where() {
    for (link, problem) in [
        ("decay=10x", "\"x\" in \"decay=10x\": not a unit; the units are w, d, h, m, s, ms and us"),
        (
            "limit=10&do=1:evnts*3",
            "\"evnts\" in \"limit=10&do=1:evnts*3\": nothing that can be done; \
             write events or one of decay, increase, limit, mode, auto, pattern, auto-rate, seed, \
             speed, window, exact, ghost, bucket, mean, last, recent, limiter",
        ),
        (
            "do=5:events,1:events",
            "\"1:events\" in \"do=5:events,1:events\": a time before zero or before the one before it",
        ),
    ] {
        assert_eq!(link.parse::<Link>().unwrap_err().to_string(), problem);
    }
}

#[test]
fn time_is_the_viewers_time_at_the_chosen_speed() {
    for (speed, seconds) in [("0.1", 0.1), ("1", 1.0), ("10", 10.0)] {
        let mut scope = Scope::new(settings(&[("speed", speed)])).unwrap();
        let mut pace = Pace::default();
        for frame in 0..=60 {
            pace.run(&mut scope, 5000.0 + f64::from(frame) * 1000.0 / 60.0);
        }
        assert!((scope.now().as_secs() - seconds).abs() <= 1e-6, "{speed}: {:?}", scope.now());
    }
}

#[test]
fn a_stopped_clock_passes_over_the_pause() {
    let mut scope = Scope::new(quiet()).unwrap();
    let mut pace = Pace::default();
    pace.run(&mut scope, 0.0);
    pace.run(&mut scope, 500.0);
    pace.stop();
    pace.run(&mut scope, 900_000.0);
    pace.run(&mut scope, 900_250.0);
    assert_eq!(scope.now(), at(0.75));
}

#[test]
fn an_absence_is_generated_and_marked() {
    let mut scope = Scope::new(settings(&[("pattern", "steady"), ("auto-rate", "2")])).unwrap();
    let mut pace = Pace::default();
    pace.run(&mut scope, 0.0);
    pace.run(&mut scope, 60_000.0);
    assert_eq!(scope.now(), at(60.0));
    let gap = pace.gaps()[0];
    assert_eq!((gap.from, gap.to, gap.skipped), (Time::ZERO, at(60.0), Span::ZERO));
    let mut watched = Scope::new(scope.settings().clone()).unwrap();
    let mut clock = Pace::default();
    (0..=600).for_each(|i| clock.run(&mut watched, f64::from(i) * 100.0));
    same_run(&scope, &watched);
}

#[test]
fn an_absence_with_too_many_events_is_cut_and_says_so() {
    let mut scope = Scope::new(settings(&[("auto-rate", "1000000")])).unwrap();
    let mut pace = Pace::default();
    pace.run(&mut scope, 0.0);
    pace.run(&mut scope, 60_000.0);
    let seen = CATCH_UP / 1e6;
    assert_eq!(pace.gaps()[0].skipped, Span::from_secs(60.0 - seen).unwrap());
    // It takes several frames, each of them bounded.
    let mut frames = 1;
    while scope.now() < pace.gaps()[0].to {
        pace.run(&mut scope, 60_000.0);
        frames += 1;
        assert!(frames < 100, "it never ends");
    }
    assert_eq!(scope.now(), at(seen));
    assert!(frames > 5);
}

fn command() -> impl Strategy<Value = (f64, Command)> {
    let set = |name: &'static str, values: &'static [&'static str]| {
        prop::sample::select(values)
            .prop_map(move |value| Command::Set { name: name.to_owned(), value: value.to_owned() })
    };
    let what = prop_oneof![
        (1_u32..20).prop_map(Command::Events),
        set("decay", &["1s", "10s", "2m"]),
        set("increase", &["500ms", "30s"]),
        set("limit", &["0", "3", "12.5"]),
        set("mode", &["strict", "leaky"]),
        set("auto", &["on", "off"]),
        set("pattern", &["steady", "poisson", "bursts", "day-and-night"]),
        set("auto-rate", &["0.5", "40"]),
        set("seed", &["7"]),
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
        let mut script = Vec::new();
        let mut time = 0.0;
        for (gap, command) in commands {
            time += gap;
            script.push((at(time), command));
        }
        let link = Link { commands: script, ..Link::default() };
        let mut once = Scope::open(&link).unwrap();
        let mut often = once.clone();
        let end = frames.iter().fold(Time::ZERO, |now, f| {
            let now = at(now.as_secs() + f);
            // Few events at a time, so that a frame ends in the middle of things.
            while often.now() < now {
                often.advance(now, 3);
            }
            often.advance(now, 1);
            now
        });
        once.advance(end, usize::MAX);
        same_run(&once, &often);
    }

    /// Also when a person acts where a frame had to end early.
    #[test]
    fn a_recording_replays_the_run(
        commands in prop::collection::vec((command(), 1_usize..60), 0..20),
    ) {
        let mut scope = Scope::new(Settings::default()).unwrap();
        for ((gap, command), most) in commands {
            scope.advance(at(scope.now().as_secs() + gap), most);
            match command {
                Command::Events(n) => (0..n).for_each(|_| scope.click()),
                Command::Set { name, value } => scope.set(&name, &value).unwrap(),
            }
        }
        let text = scope.link().to_string();
        let link: Link = text.parse().unwrap();
        prop_assert_eq!(link.to_string(), text);
        let mut replayed = Scope::open(&link).unwrap();
        replayed.advance(link.at, usize::MAX);
        same_run(&scope, &replayed);
    }
}

/// A frame's steps of a gesture, sixty times a second for as many seconds.
fn drag(scope: &mut Scope, seconds: u32, name: &str, value: impl Fn(u32) -> f64) {
    for step in 0..60 * seconds {
        scope.set(name, &value(step).to_string()).unwrap();
        scope.advance(scope.now().after(Span::micros(16_667)), usize::MAX);
    }
}

#[track_caller]
fn replays(scope: &Scope) -> usize {
    let link = scope.link();
    assert!(link.is_replay());
    let link: Link = link.to_string().parse().unwrap();
    let mut replayed = Scope::open(&link).unwrap();
    replayed.advance(link.at, usize::MAX);
    same_run(scope, &replayed);
    link.commands.len()
}

#[test]
fn a_drag_is_no_more_commands_than_events_come_meanwhile() {
    let mut scope = Scope::new(quiet()).unwrap();
    drag(&mut scope, 100, "auto-rate", |step| 11.0 + f64::from(step) * 0.01);
    assert_eq!(replays(&scope), 1);
    scope.click();
    drag(&mut scope, 100, "auto-rate", |step| 70.0 - f64::from(step) * 0.01);
    assert_eq!(replays(&scope), 3);
    // That of the limit is none at all, as it decides from the start.
    let mut scope = Scope::new(settings(&[("auto-rate", "3"), ("mode", "leaky")])).unwrap();
    drag(&mut scope, 60, "limit", |step| 10.0 + 8.0 * (f64::from(step) * 0.02).sin());
    assert_eq!(replays(&scope), 0);
}

/// The picture never contradicts the settings beside it.
#[test]
fn what_is_turned_decides_the_whole_run_again() {
    let mut scope = run("limit=100&auto-rate=2&at=50&do=5:events*20,30:auto-rate=3");
    assert_eq!(scope.instrument().refused(), 0);
    for (turned, now) in [
        (("limit", "3"), "limit=3"),
        (("mode", "leaky"), "limit=3&mode=leaky"),
        (("decay", "1m"), "limit=3&mode=leaky&decay=1m"),
        (("increase", "7s"), "limit=3&mode=leaky&decay=1m&increase=7s"),
    ] {
        scope.set(turned.0, turned.1).unwrap();
        let told = format!("{now}&auto-rate=2&at=50&do=5:events*20,30:auto-rate=3");
        same_run(&scope, &run(&told));
        assert_eq!(scope.link().to_string(), run(&told).link().to_string());
        assert!(scope.instrument().refused() > 20 && scope.turned().is_empty());
    }
}

/// Of a link's own changes, those of the same setting are undone, and the others stay.
#[test]
fn what_a_link_changes_later_stays_but_for_what_is_turned() {
    let link = "auto-rate=2&mode=leaky&at=50&do=20:mode=strict,30:limit=12";
    let mut scope = run(link);
    let names = |scope: &Scope| -> Vec<String> {
        scope
            .turned()
            .iter()
            .map(|turned| format!("{} {} {}", turned.at, turned.name, turned.to))
            .collect()
    };
    assert_eq!(names(&scope), ["20 mode strict", "30 limit 12"]);
    scope.set("limit", "5").unwrap();
    assert_eq!(names(&scope), ["20 mode strict"]);
    same_run(&scope, &run("limit=5&auto-rate=2&mode=leaky&at=50&do=20:mode=strict"));
    scope.set("mode", "leaky").unwrap();
    same_run(&scope, &run("limit=5&auto-rate=2&mode=leaky&at=50"));
}

/// More than a frame's work is done in pieces. Until then the old picture stays, and whatever is done
/// meanwhile is not lost.
#[test]
fn a_long_run_is_decided_again_in_pieces() {
    let mut scope = run("auto-rate=50000&decay=1s&limit=100000&at=20&do=3:auto-rate=60000");
    let columns = |s: &Scope| s.instrument().trace().columns(Time::ZERO, s.now(), 0.01).len();
    let (before, events) = (columns(&scope), scope.instrument().allowed());
    scope.set("limit", "40000").unwrap();
    assert_eq!(scope.settings().limit, 40_000.0);
    assert_eq!((columns(&scope), scope.instrument().allowed()), (before, events));
    scope.click();
    scope.set("window", "30s").unwrap();
    scope.advance(at(20.01), 200_000);
    assert_eq!(scope.instrument().refused(), 0);
    scope.set("mode", "leaky").unwrap();
    scope.set("auto", "off").unwrap();
    let link = scope.link();
    let mut calls = 0;
    while !scope.catch_up(200_000) {
        assert_eq!(scope.instrument().refused(), 0);
        calls += 1;
    }
    assert!((2..20).contains(&calls), "{calls}");
    assert!(scope.instrument().refused() > 200_000);
    assert_eq!(scope.link(), link);
    let mut again = Scope::open(&link).unwrap();
    again.advance(link.at, usize::MAX);
    same_run(&scope, &again);
}

/// What is too much to be decided again stays as it was, and the change is told.
#[test]
fn too_long_a_run_keeps_its_past_and_remembers_the_change() {
    let mut scope = run("auto-rate=1000000&decay=1s&limit=2000000&at=5");
    for limit in ["900000", "800000", "700000"] {
        scope.set("limit", limit).unwrap();
        scope.advance(scope.now().after(Span::micros(16_000)), usize::MAX);
    }
    let refused = scope.instrument().refused();
    assert!(refused > 0 && refused <= 48_000, "{refused}");
    let [turned] = scope.turned() else { panic!("a drag is one change") };
    assert_eq!((turned.at, turned.name.as_str()), (at(5.0), "limit"));
    assert_eq!([&turned.from, &turned.to], ["2000000", "700000"]);
    scope.advance(at(5.2), usize::MAX);
    scope.set("mode", "leaky").unwrap();
    assert_eq!(scope.turned().len(), 2);
    assert_eq!(scope.link().commands.len(), 4);
}

#[test]
fn a_drag_of_the_rate_replays_what_came_of_it() {
    let mut scope = Scope::new(Settings::default()).unwrap();
    drag(&mut scope, 60, "auto-rate", |step| 0.1 + f64::from(step) * 0.001);
    drag(&mut scope, 10, "auto-rate", |step| [5.0, 0.1][step as usize % 2]);
    assert!(replays(&scope) < 4200 / 4);
}

/// There and back is two changes: what began anew in between stays so.
#[test]
fn a_change_back_is_not_the_same_as_none() {
    for values in [["9", "0.7"], ["0.7", "9"]] {
        let mut scope = Scope::new(settings(&[("pattern", "steady")])).unwrap();
        scope.advance(at(2.0), usize::MAX);
        for value in values {
            scope.set("auto-rate", value).unwrap();
            scope.advance(at(2.01), usize::MAX);
        }
        scope.advance(at(9.0), usize::MAX);
        replays(&scope);
    }
}

/// Any limiter under the scope: it decides, and Exim's rate is still measured beside it.
#[test]
fn another_limiter_decides_in_place_of_exim() {
    let done = "auto=off&at=30&do=5:events*15,20:events*3";
    let mut scope = run(&format!("limit=10&{done}"));
    let rate = |scope: &Scope| lines(scope)[0];
    let measured = rate(&scope);
    for (limiter, refused) in [
        ("token-bucket", 5),
        ("token-bucket burst 20", 0),
        ("fixed-window 4/1h", 14),
        ("sliding-log 12/10s & fixed-window 2/1s", 14),
        ("exim", 5),
    ] {
        scope.set("limiter", limiter).unwrap();
        assert_eq!(scope.instrument().refused(), refused, "{limiter}");
        assert_eq!(scope.instrument().allowed(), 18 - refused, "{limiter}");
        assert_eq!(rate(&scope), measured, "{limiter}");
        let link = scope.link().to_string();
        assert_eq!(link.parse::<Link>().unwrap().settings.get("limiter"), limiter);
        same_run(&scope, &run(&link));
    }
    assert!(scope.instrument().lane().is_none());
    // A limit without a rate of its own follows the line that is dragged.
    scope.set("limiter", "gcra").unwrap();
    scope.set("limit", "3").unwrap();
    assert_eq!((scope.instrument().allowed(), scope.instrument().refused()), (6, 12));
    assert_eq!(scope.instrument().lane().unwrap().level(scope.now()).1, 3.0);
}

/// Exim's own stays what it was: its rate and its mode are the settings'.
#[test]
fn exims_limiter_with_its_words_is_the_settings_own() {
    let mut settings = settings(&[("limiter", "token-bucket burst 3")]);
    settings.set("limiter", "exim 7/1m leaky").unwrap();
    let values = ["limit", "decay", "mode", "limiter"].map(|name| settings.get(name));
    assert_eq!(values, ["7", "1m", "leaky", "exim"]);
    settings.set("limiter", "exim strict").unwrap();
    assert_eq!([settings.get("limit"), settings.get("mode")], ["7", "strict"]);
    for (name, value, problem) in [
        ("limiter", "tokn-bucket", "not a limiter"),
        ("limiter", "gcra & gcra 0/1s", "out of range"),
        ("limiter", "gcra burst", "a value is missing after burst"),
    ] {
        let error = settings.set(name, value).unwrap_err().to_string();
        assert!(error.contains(problem) || problem == "out of range", "{error}");
    }
    // A limit that the limiter can't have is refused, and the one before stays.
    settings.set("limiter", "token-bucket").unwrap();
    assert!(settings.set("limit", "0").is_err());
    assert_eq!(settings.get("limit"), "7");
}
