//! Settings that are turned: the whole run is decided again, or the change is remembered.

use super::*;

/// A frame's steps of a gesture, sixty times a second for as many seconds.
fn drag(scope: &mut Scope, seconds: u32, name: &str, value: impl Fn(u32) -> f64) {
    for step in 0..60 * seconds {
        scope.set(name, &value(step).to_string()).unwrap();
        scope.advance(scope.now().after(Span::from_micros(16_667)), usize::MAX);
    }
}

#[track_caller]
fn replays(scope: &Scope) -> usize {
    let link = scope.link().unwrap();
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
        assert_eq!(scope.link().unwrap().to_string(), run(&told).link().unwrap().to_string());
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
    let link = scope.link().unwrap();
    let mut calls = 0;
    while !scope.catch_up(200_000) {
        assert_eq!(scope.instrument().refused(), 0);
        calls += 1;
    }
    assert!((2..20).contains(&calls), "{calls}");
    assert!(scope.instrument().refused() > 200_000);
    assert_eq!(scope.link().unwrap(), link);
    let mut again = Scope::open(&link).unwrap();
    again.advance(link.at, usize::MAX);
    same_run(&scope, &again);
}

/// A run that is too long to be decided again keeps its past, and remembers the change.
#[test]
fn too_long_a_run_keeps_its_past_and_remembers_the_change() {
    let mut scope = run("auto-rate=1000000&decay=1s&limit=2000000&at=5");
    for limit in ["900000", "800000", "700000"] {
        scope.set("limit", limit).unwrap();
        scope.advance(scope.now().after(Span::from_micros(16_000)), usize::MAX);
    }
    let refused = scope.instrument().refused();
    assert!(refused > 0 && refused <= 48_000, "{refused}");
    let [turned] = scope.turned() else { panic!("a drag is one change") };
    assert_eq!((turned.at, turned.name.as_str()), (at(5.0), "limit"));
    assert_eq!([&turned.from, &turned.to], ["2000000", "700000"]);
    scope.advance(at(5.2), usize::MAX);
    scope.set("mode", "leaky").unwrap();
    assert_eq!(scope.turned().len(), 2);
    assert_eq!(scope.link().unwrap().commands.len(), 4);
}

#[test]
fn a_drag_of_the_rate_replays_what_came_of_it() {
    let mut scope = Scope::new(Settings::default()).unwrap();
    drag(&mut scope, 60, "auto-rate", |step| 0.1 + f64::from(step) * 0.001);
    drag(&mut scope, 10, "auto-rate", |step| [5.0, 0.1][step as usize % 2]);
    assert!(replays(&scope) < 4200 / 4);
}

/// There and back is two changes: states that started over in between do not come back.
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
        let link = scope.link().unwrap().to_string();
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

/// Exim's own stays as it was: its rate and its mode are the settings'.
#[test]
fn exims_limiter_with_its_words_is_the_settings_own() {
    let mut settings: Settings = settings(&[("limiter", "token-bucket burst 3")]);
    settings.set("limiter", "exim 7/1m leaky").unwrap();
    let values = ["limit", "decay", "mode", "limiter"].map(|name| settings.get(name));
    assert_eq!(values, ["7", "1m", "leaky", "exim"]);
    settings.set("limiter", "exim strict").unwrap();
    assert_eq!([settings.get("limit"), settings.get("mode")], ["7", "strict"]);
    for (name, value, problem) in [
        ("limiter", "tokn-bucket", "not a limiter"),
        ("limiter", "gcra & nginx 0/1s", "the count of a rate cannot be 0"),
        ("limiter", "gcra burst", "a value is missing after burst; write one, or leave burst out"),
    ] {
        let error = settings.set(name, value).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    // A limit that the limiter can't have is refused, and the one before stays.
    settings.set("limiter", "nginx").unwrap();
    assert!(settings.set("limit", "0").is_err());
    assert_eq!(settings.get("limit"), "7");
}
