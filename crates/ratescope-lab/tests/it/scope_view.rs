//! The scope's picture of typical runs, each written as the link that one would share. The whole picture of one of them is
//! that of the README.

use crate::compare_view::bounds::reaches;
use crate::recorded;
use ratescope::{Retry, Span, Time};
use ratescope_lab::plot::axis::seconds;
use ratescope_lab::plot::{Ink, Mark, Rect};
use ratescope_lab::run::pace::Gap;
use ratescope_lab::scope::Scope;
use ratescope_lab::view::edges;
use ratescope_lab::view::scope::{Term, draw, fates, top, words};
use ratescope_lab::view::{Click, Viewport};
use recorded::{at, run};

const DESK: [f64; 2] = [1000.0, 420.0];
const PHONE: [f64; 2] = [360.0, 320.0];

/// The view of a page that was just opened on a run.
fn view(scope: &Scope, size: [f64; 2]) -> Viewport<'static> {
    let (right, settings) = (scope.now(), scope.settings());
    Viewport {
        size,
        right,
        live: true,
        window: settings.common.window,
        top: top(scope, right, settings.common.window),
        ..Viewport::default()
    }
}

/// Typical runs under a crosshair: all is on the canvas, made of no more points than the canvas has room for.
#[test]
fn everything_is_on_the_canvas() {
    for (link, size) in [
        ("auto=off&limit=10&at=45&do=15:events*10", DESK),
        ("mode=strict&auto-rate=3&pattern=steady&at=55&do=30:auto-rate=0.5", DESK),
        ("mode=leaky&auto-rate=3&exact=on&at=55", DESK),
        ("mode=strict&auto-rate=2&pattern=steady&ghost=on&at=55", DESK),
        ("auto-rate=0.9&ghost=on&at=55", PHONE),
        ("pattern=steady&auto-rate=2&bucket=on&mean=on&recent=on&at=40&do=40:auto=off", DESK),
        ("mode=leaky&auto-rate=1.2&bucket=on&mean=on&recent=on&at=60&do=20:events*12", PHONE),
        ("auto-rate=1000000&decay=1s&limit=800000&window=10s&at=4", DESK),
        ("auto-rate=1.5&at=50&do=20:events*4", PHONE),
        ("mode=leaky&auto-rate=2&at=55&do=20:limit=4,35:mode=strict,40:limit=8", DESK),
        ("limiter=token-bucket burst 15&auto-rate=1.5&at=55&do=30:events*20", DESK),
    ] {
        let scope = run(link);
        let [width, height] = size;
        let view = Viewport { pointer: Some([0.6 * width, 0.0]), ..view(&scope, size) };
        let mut is_clipped = false;
        let mut points = 0;
        for mark in draw(&scope, &view) {
            match mark {
                Mark::Clip(_) => is_clipped = true,
                Mark::Unclip => is_clipped = false,
                _ => {}
            }
            for reach in reaches(&mark) {
                points += 1;
                let numbers = [reach.x, reach.y, reach.width, reach.height];
                assert!(numbers.iter().all(|n| n.is_finite()), "{link}: {mark:?}");
                let is_inside = reach.x >= -0.1
                    && reach.right() <= width + 0.1
                    && reach.y >= 0.0
                    && reach.bottom() <= height;
                assert!(is_clipped || is_inside, "{link}: {mark:?}");
            }
        }
        assert!(points < 10 * width as usize, "{link}: {points} points");
    }
}

/// The lines of an ink in the picture of a run.
fn lines(link: &str, ink: Ink) -> usize {
    let scope = run(link);
    let marks = draw(&scope, &view(&scope, DESK));
    let is_line = |mark: &&Mark| matches!(mark, Mark::Polyline { stroke, .. } if stroke.ink == ink);
    marks.iter().filter(is_line).count()
}

#[test]
fn a_line_is_drawn_if_the_link_asks_for_it() {
    for (setting, ink, n) in [
        ("exact=on", Ink::Exact, 1),
        ("bucket=on", Ink::Bucket, 1),
        ("mean=on", Ink::Mean, 1),
        ("recent=on", Ink::Recent, 1),
        // A sender that sends all at once, and one that sends evenly.
        ("ghost=on", Ink::Limit, 2),
        ("limiter=token-bucket burst 15", Ink::Lane(7), 1),
    ] {
        let link = "pattern=steady&auto-rate=2&at=40";
        let drawn = [lines(link, ink), lines(&format!("{link}&{setting}"), ink)];
        assert_eq!(drawn, [0, n], "{setting}");
    }
}

#[test]
fn a_limit_that_lets_nothing_pass_has_no_ghost() {
    assert_eq!(lines("limit=1&ghost=on&at=5", Ink::Limit), 0);
}

/// Ten events in an instant, and one more an interval later: of 10 are left 3.68 then, and the event adds 0.63.
#[test]
fn the_terms_of_the_formula_are_heights_at_the_last_event() {
    let scope = run("auto=off&limit=0&at=11&do=1:events*10,11:events*1");
    let heights = [Term::Left, Term::Added, Term::Sum].map(|term| {
        let view = Viewport { term: Some(term), ..view(&scope, DESK) };
        let marks = draw(&scope, &view);
        let bar = |mark: &Mark| match mark {
            Mark::Rects { rects, fill } if fill.ink == Ink::Rate => Some(rects[0]),
            _ => None,
        };
        let bar = marks.iter().find_map(bar).unwrap();
        assert_eq!(bar.right(), edges(DESK[0])[1], "it is at the event");
        bar
    });
    let [left, added, sum] = heights;
    let share =
        |bar: Rect, rate: f64| assert!((bar.height / sum.height - rate / 4.31).abs() < 1e-3);
    share(left, 3.679);
    share(added, 0.632);
    assert_eq!((left.y, left.bottom()), (added.bottom(), sum.bottom()), "they stand on each other");
    assert_eq!(added.y, sum.y);
}

/// On a phone too: the box is beside the crosshair and takes half of the canvas at most.
#[test]
fn the_box_of_the_crosshair_leaves_room_beside_it() {
    for size in [PHONE, [334.0, 300.0], DESK] {
        let scope = run("auto-rate=2&at=60");
        let [left, right] = edges(size[0]);
        for percent in 0..=100 {
            let x = left + f64::from(percent) / 100.0 * (right - left);
            let marks = draw(&scope, &Viewport { pointer: Some([x, 0.0]), ..view(&scope, size) });
            let edge =
                |mark: &&Mark| matches!(mark, Mark::Rounded { fill, .. } if fill.ink == Ink::Axis);
            let Some(Mark::Rounded { rect, .. }) = marks.iter().find(edge) else {
                panic!("no box")
            };
            assert!(rect.right() < x || rect.x > x, "over the crosshair at {x} of {size:?}");
            assert!(rect.x >= 0.0 && rect.right() <= size[0], "beside the canvas at {x}");
            assert!(rect.width <= size[0] / 2.0, "{} of {size:?}", rect.width);
        }
    }
}

/// The dot of a click flies from the pointer to the line, or to the limit that refused it, and falls to its mark: only then
/// the strip has one.
#[test]
fn a_click_lands() {
    for (link, allowed) in [("limit=10&auto=off&at=20", true), ("limit=1&auto=off&at=20", false)] {
        let mut scope = run(link);
        scope.click();
        let clicks = [Click {
            at: scope.now(),
            from: Some([400.0, 200.0]),
            wall: 1000.0,
            fates: fates(&scope).unwrap(),
        }];
        assert_eq!(
            clicks[0].fates.each.iter().map(|fate| fate.allowed).collect::<Vec<_>>(),
            [allowed]
        );
        let marks = |age: f64, still: bool| {
            let wall = 1000.0 + age;
            let view = Viewport { clicks: &clicks, wall, still, ..view(&scope, DESK) };
            draw(&scope, &view)
        };
        // The places of flying dots, of falling crosses, and the number of marks in the strips.
        let [_, right] = edges(DESK[0]);
        let middle = |rect: &Rect| [rect.x + rect.width / 2.0, rect.y + rect.width / 2.0];
        let dot = |age: f64, ink: Ink| {
            marks(age, false).iter().find_map(|mark| match mark {
                Mark::Rounded { rect, fill, .. } if fill.ink == ink && rect.width == 9.0 => {
                    Some(middle(rect))
                }
                _ => None,
            })
        };
        let strip = |age: f64, still: bool| {
            let of = |mark: &Mark| match mark {
                Mark::Rects { rects, fill } if fill.ink == Ink::Allowed => rects.len(),
                Mark::Segments { pairs, stroke }
                    if stroke.ink == Ink::Refused && stroke.width < 2.0 =>
                {
                    pairs.len() / 2
                }
                _ => 0,
            };
            marks(age, still).iter().map(of).sum::<usize>()
        };
        let start = dot(0.0, Ink::Text).unwrap();
        assert!((start[0] - 400.0).abs() < 1e-9 && (start[1] - 200.0).abs() < 1e-9, "{start:?}");
        let [x, y] = dot(159.9, Ink::Text).unwrap();
        let line = if allowed {
            30.0 + 322.0 * (1.0 - 1.0 / 11.8)
        } else {
            30.0 + 322.0 * (1.0 - 1.0 / 1.18)
        };
        assert!((x - right).abs() < 0.01 && (y - line).abs() < 0.01, "{x} {y}, not {line}");
        assert_eq!(dot(200.0, Ink::Text), None);
        assert_eq!(dot(200.0, Ink::Allowed).is_some(), allowed);
        assert_eq!([159.0, 359.0, 361.0].map(|age| strip(age, false)), [0, 0, 1]);
        // With less motion nothing flies, and the words are at the pointer.
        assert_eq!((strip(0.0, true), dot(0.0, Ink::Text).is_some()), (1, true));
        let said = |still: bool| {
            let words = if allowed { "allowed now" } else { "refused now: 1" };
            marks(10.0, still)
                .iter()
                .any(|mark| matches!(mark, Mark::Text(text) if text.text.starts_with(words)))
        };
        assert_eq!([said(true), said(false)], [true, false]);
    }
}

/// Its rows are always as many, whether an event is there or not.
#[test]
fn the_box_at_the_crosshair_keeps_its_height() {
    let scope = run("auto=off&limit=3&at=50&do=20:events*1,30:events*9");
    let [left, right] = edges(DESK[0]);
    let height = |at: f64| {
        let pointer = Some([right - (50.0 - at) / 60.0 * (right - left), 0.0]);
        let view = Viewport { pointer, ..view(&scope, DESK) };
        draw(&scope, &view).iter().find_map(|mark| match mark {
            Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Panel => Some(rect.height),
            _ => None,
        })
    };
    assert!(height(10.0).is_some());
    assert_eq!([height(20.0), height(30.0), height(40.0)], [height(10.0); 3]);
}

/// In the unit of each, at an event and in between.
#[test]
fn the_crosshair_reads_the_models() {
    let models = "pattern=steady&auto-rate=1&limit=4&bucket=on&mean=on&last=3&recent=on";
    let scope = run(&format!("{models}&auto=off&at=30&do=10:events,12:events,13:events,14:events"));
    let [left, right] = edges(DESK[0]);
    let said = |ago: f64| -> Vec<String> {
        let pointer = Some([right - ago / 60.0 * (right - left), 0.0]);
        words(&scope, &Viewport { pointer, ..view(&scope, DESK) })[3..6].to_vec()
    };
    // Three gaps in four seconds, and the bucket has lost 0.4 a second.
    let n = 1.0 + (-0.1_f64).exp() + (-0.2_f64).exp() + (-0.4_f64).exp();
    assert_eq!(
        said(16.0),
        [
            "leaky bucket 2.40 events".to_owned(),
            "mean of 3: 7.50 per 10\u{202f}s, 0.750 per second".to_owned(),
            format!("recent average's N {n:.2}"),
        ]
    );
    let n = n * (-0.6_f64).exp();
    assert_eq!(
        said(10.0),
        [
            "leaky bucket 0 events".to_owned(),
            "mean of 3: 3.00 per 10\u{202f}s, 0.300 per second".to_owned(),
            format!("recent average's N {n:.2}"),
        ]
    );
    // Without a limit there is no bucket, and before the first event all are zero.
    let scope = run("limit=0&bucket=on&recent=on&auto=off&at=5");
    let view = Viewport { pointer: Some([500.0, 0.0]), ..view(&scope, DESK) };
    assert_eq!(
        words(&scope, &view)[3..],
        ["recent average's N 0".to_owned(), "exactly 0 events in the last 10\u{202f}s".to_owned(),]
    );
}

/// An event that may have come before an instant or after it makes a count uncertain, which the words say.
#[test]
fn the_crosshair_says_whether_a_count_is_exact() {
    for (link, window, said) in [
        ("pattern=steady&auto-rate=1000000&decay=1s&limit=0&at=8", "10s", "about"),
        ("pattern=steady&auto-rate=2&at=50", "1m", "exactly"),
    ] {
        let scope = run(&format!("{link}&window={window}"));
        let view = Viewport { pointer: Some([700.0, 0.0]), ..view(&scope, DESK) };
        let words = words(&scope, &view);
        let count = words.iter().find(|line| line.contains(" events in the last ")).unwrap();
        assert!(count.starts_with(said), "{count}");
    }
}

/// The scale has room for N; a mean without bounds may leave the picture.
#[test]
fn the_picture_has_room_for_what_is_bounded() {
    let with = |more: &str| {
        let scope = run(&format!("limit=0&auto=off&at=5{more}&do=1:events*3"));
        10.0 * top(&scope, scope.now(), Span::from_mins(1))
    };
    let without = with("");
    assert!((without - 1.18 * 3.0).abs() < 1e-6, "{without}");
    assert_eq!(with("&mean=on&bucket=on"), without);
    let scope = |n| format!("limit=0&pattern=steady&auto-rate=0.1&at=300&window=1h&recent={n}");
    let [off, on] = ["off", "on"].map(|n| {
        let scope = run(&scope(n));
        10.0 * top(&scope, scope.now(), Span::from_hours(1)) / 1.18
    });
    assert!((off - 1.0).abs() < 1e-6 && (on - 1.582).abs() < 1e-3, "{off} and {on}");
}

/// In the past as well. A stretch that was not seen is shaded, with the reason.
#[test]
fn a_gap_is_shaded_where_it_was() {
    let scope = run("mode=leaky&auto-rate=2&at=80");
    let gaps = [Gap { from: at(12.0), to: at(32.0), skipped: Span::from_secs(90), hidden: true }];
    let view = Viewport { right: at(70.0), live: false, gaps: &gaps, ..view(&scope, DESK) };
    let marks = draw(&scope, &view);
    let [left, right] = edges(DESK[0]);
    let x = |seconds: f64| left + (seconds - 10.0) / 60.0 * (right - left);
    let shade = marks.iter().find_map(|mark| match mark {
        Mark::Rects { rects, fill } if fill.ink == Ink::Gap => Some(rects[0]),
        _ => None,
    });
    let shade = shade.unwrap();
    assert!((shade.x - x(12.0)).abs() < 1e-6 && (shade.right() - x(32.0)).abs() < 1e-6);
    let reason =
        |mark: &Mark| matches!(mark, Mark::Text(text) if text.text.starts_with("while hidden; "));
    assert!(marks.iter().any(reason));
}

/// It says what the readout said then. In leaky a refused event leaves the limiter as it was,
/// whatever the line shows.
#[test]
fn the_crosshair_on_a_refusal_knows_when_to_come_back() {
    // At 5.2 s a leaky limiter lets the next event but one through; the line alone would say 1.35 s.
    for (mode, refusal, wait) in [("leaky", 23, 0.084693), ("strict", 0, 8.00603)] {
        let link = format!("mode={mode}&limit=2&auto-rate=5&pattern=steady&window=10s");
        let scope = run(&format!("{link}&at=10"));
        let view = view(&scope, DESK);
        let [left, right] = edges(view.size[0]);
        let mut then = run(&link);
        let mut waits = Vec::new();
        for column in scope.instrument().trace().columns(Time::ZERO, scope.now(), 0.0) {
            then.advance(column.first.after(Span::from_micros(1)), usize::MAX);
            if column.end.refused == 1 {
                let again = then.instrument().retry_after(column.first);
                let Retry::After(wait) = again else { panic!("{again:?}") };
                let share = scope.now().since(column.first) / view.window.as_secs_f64();
                let pointer = Some([right - share * (right - left), 0.0]);
                let said = words(&scope, &Viewport { pointer, ..view });
                let expected = format!("allowed again in {}", seconds(wait.as_secs_f64()));
                assert_eq!(said.last(), Some(&expected), "{mode}: {said:?}");
                waits.push(wait.as_secs_f64());
            }
        }
        assert_eq!(waits[refusal], wait, "{mode}");
    }
}

/// Where the events before a change were not decided by it, the limit's line has a step and a flag.
#[test]
fn a_change_in_the_middle_has_a_flag_at_a_step_of_the_limit() {
    let link = "mode=leaky&auto-rate=2&at=55&do=20:limit=4,35:mode=strict,40:limit=8";
    let scope = run(link);
    let view = view(&scope, DESK);
    let [left, right] = edges(DESK[0]);
    let x = |seconds: f64| right - (55.0 - seconds) / 60.0 * (right - left);
    let mut limits = Vec::new();
    let mut flags = Vec::new();
    for mark in draw(&scope, &view) {
        match mark {
            Mark::Line { from, to, stroke } if stroke.ink == Ink::Limit && from.y == to.y => {
                limits.push([from.x, to.x]);
            }
            Mark::Text(text) if text.text.contains('→') => flags.push(text.text),
            _ => {}
        }
    }
    let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6;
    let told = [[x(40.0), right], [x(20.0), x(40.0)], [left, x(20.0)]];
    assert!(limits.len() == 3 && limits.iter().zip(told).all(|(a, b)| near(*a, b)), "{limits:?}");
    assert_eq!(flags, ["limit 4 → 8", "mode leaky → strict", "limit 10 → 4"]);
    // A setting that is turned now has no flag: the whole run is decided by it.
    let mut scope = scope;
    scope.set("limit", "6").unwrap();
    let texts = |marks: Vec<Mark>| {
        let is_flag = |mark: &Mark| matches!(mark, Mark::Text(text) if text.text.contains('→'));
        marks.iter().filter(|mark| is_flag(mark)).count()
    };
    assert_eq!(texts(draw(&scope, &view)), 1);
}

/// Where there was no limit there is no line of one.
#[test]
fn the_line_of_the_limit_is_where_there_was_one() {
    for (link, seconds) in [
        ("limit=0&auto-rate=1&at=40&do=20:limit=10", [20.0, 40.0]),
        ("limit=10&auto-rate=2&at=40&do=20:limit=0", [-20.0, 20.0]),
    ] {
        let scope = run(link);
        let [left, right] = edges(DESK[0]);
        let lines = draw(&scope, &view(&scope, DESK)).into_iter().filter_map(|mark| match mark {
            Mark::Line { from, to, stroke } if stroke.ink == Ink::Limit => Some([from, to]),
            _ => None,
        });
        let [[from, to]] = lines.collect::<Vec<_>>()[..] else { panic!("{link}") };
        let seen = [from.x, to.x].map(|x| 40.0 - (right - x) / (right - left) * 60.0);
        assert!(seen.iter().zip(seconds).all(|(a, b)| (a - b).abs() < 1e-6), "{link}: {seen:?}");
        assert_eq!(from.y, to.y, "{link}");
    }
}

/// Another limiter's level is drawn beside the rate, with its own limit, on one scale.
#[test]
fn another_limiter_in_place_of_exims() {
    let link = "limiter=token-bucket burst 15&auto-rate=1.5&at=55&do=30:events*20";
    let scope = run(link);
    let view = view(&scope, DESK);
    let [left, right] = edges(DESK[0]);
    let pointer = Some([right - 25.0 / 60.0 * (right - left), 0.0]);
    let said = words(&scope, &Viewport { pointer, ..view }).join("; ");
    assert!(
        said.contains("; tokens used 14.9 of 15; ")
            && said.contains("; 7 allowed, 13 refused; next in "),
        "{said}"
    );
}
