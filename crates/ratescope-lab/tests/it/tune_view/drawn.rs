//! The pictures, and the things that the pointer finds on them.

use crate::tune_view::picture::in_both_themes;
use crate::tune_view::{OFFICE, answer};
use ratescope::{Span, Time};
use ratescope_lab::plot::{Anchor, Ink, Mark};
use ratescope_lab::run::RunSettings;
use ratescope_lab::run::past::Past;
use ratescope_lab::scope::{Instrument, Settings};
use ratescope_lab::tune::{Analysis, PictureData};
use ratescope_lab::view::tune::{Picture, burst_at, draw, height, hit, limit_at, words};
use ratescope_lab::view::{Hit, Viewport, scope};
use std::collections::BTreeSet;

/// The picture of an answer.
fn shown<T>(analysis: &Analysis, then: impl FnOnce(&Picture<'_>) -> T) -> T {
    then(&Picture::new(&PictureData::new(analysis), analysis.choices()).unwrap())
}

fn viewport(width: f64, pointer: Option<[f64; 2]>) -> Viewport<'static> {
    Viewport { size: [width, height(width)], pointer, ..Viewport::default() }
}

#[test]
fn a_bucket_as_on_the_page() {
    let analysis = answer("limit=9", "");
    let view = viewport(1200.0, None);
    shown(&analysis, |picture| in_both_themes("tune-bucket", &draw(picture, &view), view.size));
}

/// The text about the limit stands above the lines, not on them.
#[test]
fn nothing_covers_the_lines_on_a_phone() {
    for marks in ["", OFFICE] {
        let analysis = answer("for=exim&limit=8", marks);
        for pointer in (60..=300).step_by(40).map(|x| Some([f64::from(x), 300.0])).chain([None]) {
            let marks = shown(&analysis, |picture| draw(picture, &viewport(320.0, pointer)));
            let top = marks.iter().find_map(|mark| match mark {
                Mark::Text(text) if text.text == "100 %" => Some(text.at.y),
                _ => None,
            });
            let panel = marks.iter().find_map(|mark| match mark {
                Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Panel => Some(*rect),
                _ => None,
            });
            let panel = panel.unwrap();
            assert!(panel.bottom() < top.unwrap() && panel.y > 40.0, "{pointer:?}: {panel:?}");
        }
    }
}

/// The recommended limit has its name, and no name lies on a sign, however near to each other and to the edges they are.
#[test]
fn a_name_covers_no_sign() {
    let analysis = answer("for=exim&limit=8", "");
    let all = PictureData::new(&analysis);
    let limits = [1.0, 4.0, 12.0, 20.0, 25.0, 30.0, 33.0];
    for (recommended, knee) in limits.iter().flat_map(|a| limits.iter().map(move |b| (*a, *b))) {
        let data = PictureData { recommended: Some(recommended), knee: Some(knee), ..all.clone() };
        let picture = Picture::new(&data, analysis.choices()).unwrap();
        let marks = draw(&picture, &viewport(340.0, None));
        let signs = marks.iter().filter_map(|mark| match mark {
            Mark::Area { points, .. } if points.len() == 3 => Some(points[2].x),
            _ => None,
        });
        let signs: Vec<f64> = signs.collect();
        assert!((1..=2).contains(&signs.len()), "{signs:?}");
        for (name, room) in [("recommended", 60.0), ("knee", 20.0)] {
            let at = marks.iter().find_map(|mark| match mark {
                Mark::Text(text) if text.text == name => Some((text.at.x, text.anchor)),
                _ => None,
            });
            let covered = |sign: f64| match at {
                Some((at, Anchor::Start)) => sign > at - 5.0 && sign < at + room,
                Some((at, _)) => sign < at + 5.0 && sign > at - room,
                None => name == "recommended",
            };
            assert!(!signs.iter().any(|sign| covered(*sign)), "{name}: {at:?}, {signs:?}");
        }
    }
}

#[test]
fn events_are_called_as_in_the_log() {
    let analysis = answer("for=exim&limit=8", "");
    let data = PictureData { events: "failed logins", ..PictureData::new(&analysis) };
    let picture = Picture::new(&data, analysis.choices()).unwrap();
    let marks = draw(&picture, &viewport(1200.0, None));
    let says = |end: &str| {
        marks.iter().any(|mark| matches!(mark, Mark::Text(text) if text.text.contains(end)))
    };
    assert!(says("failed logins refused") && says(" failed logins, ") && !says("requests"));
}

/// In two rows where one is too short.
#[test]
fn every_line_has_its_name_at_every_width() {
    let analysis = answer("for=exim&limit=8", OFFICE);
    for width in [320.0, 364.0, 700.0, 720.0, 1200.0] {
        let marks = shown(&analysis, |picture| draw(picture, &viewport(width, None)));
        let names = marks.iter().filter_map(|mark| match mark {
            Mark::Text(text) if text.at.x + 0.5 * 11.0 * text.text.len() as f64 <= width => {
                Some(text.text.as_str())
            }
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        for name in
            ["clients touched", "marked ones, by mistake", "requests refused", "learned", "checked"]
        {
            assert!(names.contains(&name), "{name} at {width}");
        }
    }
}

/// The cell under the pointer has its count in words.
#[test]
fn pointed_at_the_hours() {
    let analysis = answer("for=exim&limit=5", "");
    let hours = &analysis.replayed().unwrap().hours().0;
    let texts = |pointer| -> Vec<String> {
        let marks = shown(&analysis, |picture| draw(picture, &viewport(1000.0, pointer)));
        let texts = marks.into_iter().filter_map(|mark| match mark {
            Mark::Text(text) => Some(text.text),
            _ => None,
        });
        texts.collect()
    };
    let unpointed = texts(None);
    assert!(unpointed.iter().any(|text| text.starts_with("darkest: ")), "{unpointed:?}");
    // Through all hours of a day, and through an hour of all days.
    let across = (0..100).map(|i| [10.0 * f64::from(i), 440.0]);
    let down = (0..100).map(|i| [740.0, height(1000.0) * f64::from(i) / 100.0]);
    let mut cells = BTreeSet::new();
    for pointer in across.chain(down) {
        let all = texts(Some(pointer));
        let Some((cell, n)) = all.iter().find_map(|text| text.split_once(" h: ")) else { continue };
        let [day, hour, ..] = cell.split(' ').collect::<Vec<_>>()[..] else { panic!("{cell}") };
        let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].iter().position(|d| *d == day);
        let (day, hour) = (day.unwrap(), hour.parse::<usize>().unwrap());
        assert_eq!(n.replace(',', ""), hours[day][hour].to_string(), "{cell}");
        cells.insert((day, hour));
    }
    assert_eq!(cells.len(), 24 + 7 - 1);
}

#[test]
fn what_the_pointer_finds() {
    let analysis = answer("limit=12", "");
    shown(&analysis, |picture| {
        let view = viewport(1200.0, None);
        // The line of the limit is where the picture has it.
        let marks = draw(picture, &view);
        let line = marks.iter().find_map(|mark| match mark {
            Mark::Line { from, stroke, .. } if stroke.ink == Ink::Limit => Some(from.x),
            _ => None,
        });
        let x = line.unwrap();
        assert_eq!(limit_at(picture, &view, x), 12.0);
        for y in [60.0, 200.0, 330.0] {
            assert_eq!(hit(picture, &view, [x, y], false), Hit::Upright);
            assert_eq!(hit(picture, &view, [x + 6.0, y], false), Hit::Upright);
            assert_eq!(hit(picture, &view, [x + 15.0, y], false), Hit::Graph);
            assert_eq!(hit(picture, &view, [x + 15.0, y], true), Hit::Upright);
        }
        // Beyond the edges are the limits there; in between it rises.
        let limits: Vec<f64> =
            (0..120).map(|i| limit_at(picture, &view, f64::from(i) * 10.0)).collect();
        assert!(
            limits.is_sorted() && limits[0] == limits[1] && limits[0] < limits[119],
            "{limits:?}"
        );
        // Every bucket is found where its disc is; beside the plot there is none.
        for burst in &picture.data.frontier.bursts {
            let found = (0..600).flat_map(|x| burst_at(picture, &view, [f64::from(x), 480.0]));
            assert!(found.into_iter().any(|found| found == *burst), "{burst:?}");
        }
        assert_eq!(burst_at(picture, &view, [900.0, 480.0]), None);
        assert_eq!(hit(picture, &view, [900.0, 480.0], false), Hit::None);
    });
}

#[test]
fn words_say_what_the_curve_does() {
    let analysis = answer("for=exim&limit=5", OFFICE);
    let (curve, _) = analysis.shown().unwrap();
    let steps = curve.staircase();
    let said = shown(&analysis, |picture| words(picture, 5.0));
    let (touched, all) = (curve.touched(5.0), steps.clients[0]);
    let group = |n: u64| {
        if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
    };
    assert!(
        said[0].starts_with(&format!("touches {} of {} clients, ", group(touched), group(all))),
        "{said:?}"
    );
    assert!(said[1].starts_with("learned "), "{said:?}");
    assert!(said[2].starts_with("refuses ") && said[2].ends_with(" %"), "{said:?}");
    assert_eq!(said[3], "by mistake 1 of 1 marked, 100 %");
}

/// Nothing is drawn beyond the canvas, and nothing that is no number, for any picture and in any room.
#[test]
fn odd_pictures_are_harmless() {
    let analysis = answer("", "");
    let whole = PictureData::new(&analysis);
    let none = PictureData::default();
    let measure = analysis.shown().unwrap().0.measure;
    for width in [0.0, 1.0, 90.0, 320.0, 5000.0] {
        for data in [&none, &whole] {
            for limit in [None, Some(0.001), Some(999e9)] {
                let picture = Picture { data, measure, limit, rate: None };
                let view = viewport(width, Some([width / 2.0, 100.0]));
                for mark in draw(&picture, &view) {
                    assert!(!format!("{mark:?}").contains("NaN"), "{mark:?}");
                }
            }
        }
    }
}

/// The scope over a client's own events: they have their own times, and the limiter decides about them as in a replay.
#[test]
fn a_client_under_the_scope() {
    let analysis = answer("for=exim&limit=12", "");
    let clients = analysis.clients();
    let place = clients.find(OFFICE).unwrap();
    let events: Vec<(Time, f64)> =
        clients.moments(place).map(|moment| (moment.time, moment.cost)).collect();
    let end = events.last().unwrap().0.after(Span::from_mins(3));
    let common = RunSettings { auto: false, window: Span::from_hours(1), ..RunSettings::default() };
    let settings =
        Settings { decay: Span::from_mins(1), limit: 12.0, common, ..Settings::default() };
    let mut past: Past<Instrument> = Past::new(settings, events.clone()).unwrap();
    past.look(Time::from_micros(end.as_micros() - 3_600_000_000), end);
    let refused = analysis.replayed().unwrap().refused_clients();
    let refused = refused.iter().find(|struck| struck.place == place).unwrap().refused;
    assert_eq!(past.end().refused(), refused);
    assert_eq!(past.end().allowed() + refused, events.len() as u64);
    let scope = past.run();
    let view = Viewport {
        size: [900.0, 380.0],
        right: end,
        window: common.window,
        top: scope::top(scope, end, common.window),
        pointer: Some([500.0, 0.0]),
        own_time: true,
        ..Viewport::default()
    };
    assert!(scope::words(scope, &view)[0].starts_with("2026-03-0"), "a date and no \"ago\"");
    let marks = scope::draw(scope, &view);
    let crosses =
        |mark: &Mark| matches!(mark, Mark::Segments { stroke, .. } if stroke.ink == Ink::Refused);
    assert_eq!(marks.iter().any(crosses), refused > 0);
}

/// Costs are those of the events.
#[test]
fn events_cost_what_they_cost() {
    let at = |seconds: f64| Time::try_from_secs_f64(seconds).unwrap();
    let common = RunSettings { auto: false, ..RunSettings::default() };
    let settings = Settings { limit: 10.0, common, ..Settings::default() };
    let events = vec![(at(1.0), 4.0), (at(1.0), 5.0), (at(1.0), 6.0), (at(2e9), 1.0)];
    let mut past: Past<Instrument> = Past::new(settings, events).unwrap();
    past.look(at(0.5), at(1.5));
    let seen = past.run().experiment();
    assert_eq!((seen.allowed(), seen.refused()), (2, 1));
    assert_eq!((past.end().allowed(), past.end().refused()), (3, 1));
}
