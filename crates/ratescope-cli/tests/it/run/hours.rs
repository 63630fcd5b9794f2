//! The sums at the beginnings of hours, with which Live shows the time before there were viewers.

use super::live::{Scene, at, told};
use ratescope::{Span, Time};
use ratescope_lab::live::Live;
use ratescope_live::{HOURS, Probe, Wanted};
use serde_json::{Value, json};

const RULES: &str = "domain: web\nlimit: gcra 1000/1h per user\n";

const HOUR: f64 = 3600.0;

fn send(scene: &Scene, secs: f64, times: usize) {
    for _ in 0..times {
        scene.event(secs, 1.0, &[("user", "ann")]);
    }
}

/// The hours that a viewer who comes at `secs` is told: for each the time in hours, and the sum of allowed
/// hits up to it.
fn hours(scene: &Scene, asked: &Wanted, secs: f64) -> Vec<[f64; 2]> {
    let (said, _) = told(&scene.look(asked, secs).next(at(secs)));
    let list = said.get("hours").and_then(Value::as_array).cloned().unwrap_or_default();
    let number = |it: &Value| it.as_f64().unwrap();
    list.iter().map(|hour| [number(&hour[0]) / 3.6e9, number(&hour[1])]).collect()
}

#[test]
fn each_hour_is_told_to_whoever_comes_later() {
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 1.25 * HOUR, 3);
    send(&scene, 2.0 * HOUR, 4);
    send(&scene, 2.9 * HOUR, 1);
    // Hours without events follow: the events before and after are not spread over them.
    send(&scene, 5.1 * HOUR, 2);
    let all = vec![[1.25, 0.0], [2.0, 3.0], [3.0, 8.0], [5.0, 8.0]];
    assert_eq!(hours(&scene, &Wanted::default(), 5.5 * HOUR), all);
    // All of it is kept while there are no viewers, and hours without any event begin, too.
    scene.probe.forget(at(6.0 * HOUR));
    scene.probe.forget(at(7.0 * HOUR));
    let later = [all, vec![[6.0, 10.0], [7.0, 10.0]]].concat();
    assert_eq!(hours(&scene, &Wanted::default(), 7.5 * HOUR), later);
}

#[test]
fn a_day_of_hours_is_kept_and_no_more() {
    let scene = Scene::new(RULES, Probe::default());
    for hour in 0..100_u32 {
        send(&scene, (f64::from(hour) + 0.5) * HOUR, 2);
    }
    let told = hours(&scene, &Wanted::default(), 99.9 * HOUR);
    let day: Vec<_> = (76..100_u32).map(|hour| [f64::from(hour), 2.0 * f64::from(hour)]).collect();
    assert_eq!((told.len(), told), (HOURS, day));
    // After more than a week of silence there is only the hour of the viewer.
    scene.probe.forget(at(100.0 * HOUR));
    scene.probe.forget(at(101.0 * HOUR));
    assert_eq!(hours(&scene, &Wanted::default(), 300.5 * HOUR), [[300.0, 200.0]]);
}

#[test]
fn a_clock_that_is_set_back() {
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 9.5 * HOUR, 1);
    send(&scene, 10.1 * HOUR, 1);
    // Set back by little: late events count in the current hour.
    send(&scene, 9.9 * HOUR, 1);
    send(&scene, 11.0 * HOUR, 1);
    let all = [[9.5, 0.0], [10.0, 1.0], [11.0, 3.0]];
    assert_eq!(hours(&scene, &Wanted::default(), 11.5 * HOUR), all);
    // Set back by more: the hours begin anew, and the sums go on.
    send(&scene, 5.5 * HOUR, 1);
    send(&scene, 6.5 * HOUR, 1);
    assert_eq!(hours(&scene, &Wanted::default(), 6.6 * HOUR), [[5.5, 4.0], [6.0, 5.0]]);
}

#[test]
fn a_viewer_who_was_cut_off_is_told_the_hours_in_between() {
    let scene = Scene::new(RULES, Probe::default());
    send(&scene, 1.5 * HOUR, 1);
    let (_, last) = told(&scene.look(&Wanted::default(), 2.5 * HOUR).next(at(2.5 * HOUR)));
    let back = Wanted::read("", last.as_deref());
    assert_eq!(hours(&scene, &back, 2.6 * HOUR), [[0.0; 2]; 0]);
    send(&scene, 3.5 * HOUR, 2);
    scene.probe.forget(at(4.0 * HOUR));
    scene.probe.forget(at(5.0 * HOUR));
    assert_eq!(hours(&scene, &back, 5.5 * HOUR), [[3.0, 1.0], [4.0, 3.0], [5.0, 3.0]]);
}

/// If there are many rules, viewers are told the hours of only the first ones, since a message is bounded.
#[test]
fn many_rules() {
    let rule = |i: usize| format!("- {{key: k{i}, limit: gcra 1/1h}}\n");
    let text: String = (0..300).map(rule).collect();
    let scene = Scene::new(&format!("domain: web\ndescriptors:\n{text}"), Probe::default());
    for hour in 0..24_u32 {
        scene.event(f64::from(hour) * HOUR, 1.0, &[("k0", "a")]);
    }
    let text = scene.look(&Wanted::default(), 23.5 * HOUR).next(at(23.5 * HOUR));
    assert!(text.len() < 100 << 10, "{} bytes at once", text.len());
    let (said, _) = told(&text);
    let hours = said["hours"].as_array().unwrap();
    assert_eq!(hours.len(), 24);
    assert!(hours.iter().all(|hour| hour.as_array().unwrap().len() == 1 + 3 * 170));
    assert_eq!(said["columns"][0].as_array().unwrap().len(), 1 + 3 * 300);
    assert_eq!(said["hours"][23][1], json!(23));
}

/// The page draws the hours in a picture of a day, but not in a picture of a minute.
#[test]
fn the_page_draws_hours_where_they_can_be_told_apart() {
    let mut page = Live::default();
    page.name([("web:user", "gcra 1/1h")].into_iter());
    let hour = |n: f64| Time::from_secs(n * HOUR).unwrap();
    page.add_hour(hour(1.0), &[0.0, 0.0, 0.0]);
    page.add_hour(hour(2.0), &[7200.0, 0.0, 0.0]);
    // As long without an event as a history can be.
    page.add_hour(hour(3.0), &[10_800.0, 3600.0, 0.0]);
    page.add_hour(hour(24.0), &[10_800.0, 3600.0, 0.0]);
    page.add_column(hour(24.5), &[14_400.0, 3600.0, 0.0]);
    page.add_column(hour(24.501), &[14_401.0, 3600.0, 0.0]);
    let rule = &page.rules[0];
    assert_eq!(
        (rule.sums.0, page.heard),
        ([14_401.0, 3600.0, 0.0], Some([hour(1.0), hour(24.501)]))
    );
    let now = hour(24.501);
    let day = rule.columns(now.before(Span::hours(24)), now, 100.0).unwrap();
    let width = day.width.secs();
    let rate = |secs: f64| {
        let place = (at(secs).since(day.first) / width) as usize;
        day.iter().nth(place).unwrap().0.map(|n| (n / width * 100.0).round() / 100.0)
    };
    for (secs, expected) in [(1.5, 2.0), (2.5, 1.0), (3.5, 0.0), (20.0, 0.0), (24.25, 2.0)] {
        assert_eq!(rate(secs * HOUR)[0], expected, "at {secs} h");
    }
    assert_eq!(rate(2.5 * HOUR)[1], 1.0);
    let minute = rule.columns(now.before(Span::minutes(1)), now, 1.1).unwrap();
    assert!(minute.first.since(hour(24.5)).abs() < 1.1, "{:?}", minute.first);
    assert!(minute.len() <= 5);
}

/// Decisions forget the data for viewers who are gone, even if nobody calls `forget`.
#[test]
fn decisions_forget_for_viewers_who_are_gone() {
    let scene = Scene::new(RULES, Probe::default());
    let since = |secs: f64| {
        let (said, _) = told(&scene.look(&Wanted::default(), secs).next(at(secs)));
        said["keys"]["since"].as_i64().unwrap() / 1_000_000
    };
    assert_eq!(since(100.0), 100);
    send(&scene, 110.0, 1);
    // A decision of another thread comes slightly late.
    send(&scene, 109.9, 1);
    send(&scene, 169.0, 1);
    assert_eq!(since(169.5), 100);
    send(&scene, 170.0, 1);
    send(&scene, 230.0, 1);
    assert_eq!(since(231.0), 231);
}
