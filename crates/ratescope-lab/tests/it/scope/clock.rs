//! The viewer's clock: speed, pauses and absences.

use super::*;

#[test]
fn time_is_the_viewers_time_at_the_chosen_speed() {
    for (speed, seconds) in [("0.1", 0.1), ("1", 1.0), ("10", 10.0)] {
        let mut scope = Scope::new(settings(&[("speed", speed)])).unwrap();
        let mut pace = Pace::default();
        for frame in 0..=60 {
            pace.run(&mut scope, 5000.0 + f64::from(frame) * 1000.0 / 60.0);
        }
        assert!((scope.now().as_secs_f64() - seconds).abs() <= 1e-6, "{speed}: {:?}", scope.now());
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

/// After an absence, a scenario ends at its end, and no absence is marked behind that end.
#[test]
fn an_absence_while_a_part_is_played_ends_with_the_part() {
    let mut scope = Scope::new(settings(&[("pattern", "steady"), ("auto-rate", "2")])).unwrap();
    let mut pace = Pace::default();
    for wall in [0.0, 500.0, 60_500.0, 60_600.0] {
        pace.play(&mut scope, wall, 4.0, at(40.0));
    }
    assert_eq!(scope.now(), at(40.0));
    let told = pace.gaps().iter().map(|gap| (gap.from, gap.to, gap.skipped)).collect::<Vec<_>>();
    assert_eq!(told, [(at(2.0), at(40.0), Span::ZERO)]);
    // A part that has ended has no more of them.
    pace.play(&mut scope, 160_000.0, 4.0, at(40.0));
    assert_eq!((scope.now(), pace.gaps().len()), (at(40.0), 1));
}

#[test]
fn an_absence_with_too_many_events_is_cut_and_says_so() {
    let mut scope = Scope::new(settings(&[("auto-rate", "1000000")])).unwrap();
    let mut pace = Pace::default();
    pace.run(&mut scope, 0.0);
    pace.run(&mut scope, 60_000.0);
    let seen = CATCH_UP / 1e6;
    assert_eq!(pace.gaps()[0].skipped, Span::try_from_secs_f64(60.0 - seen).unwrap());
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
