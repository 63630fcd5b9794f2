//! The comparison's picture: what it shows is what the lanes say, wherever it is looked at.

#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "lab", not(target_arch = "wasm32")))]

#[path = "compare_view/bounds.rs"]
mod bounds;
#[path = "common/picture.rs"]
mod picture;

use picture::in_both_themes;
use ratescope::lab::compare::{Link, Replay};
use ratescope::lab::run::pace::Gap;
use ratescope::plot::{Anchor, Ink, Mark, Point, Text};
use ratescope::view::compare::{Viewport, draw, head, height, pitch, top, total, words};
use ratescope::view::{edges, seconds_per_pixel};
use ratescope::{Span, Time};

fn at(seconds: f64) -> Time {
    Time::from_secs(seconds).unwrap()
}

/// The run of a link, at the time that the link says.
fn run(link: &str) -> Replay {
    let link: Link = link.parse().unwrap();
    let mut replay = Replay::open(&link).unwrap();
    replay.advance(link.at, usize::MAX);
    replay
}

/// The tops that a page comes to rest at.
fn tops(replay: &Replay, right: Time) -> Vec<f64> {
    let window = replay.settings().run.window;
    replay.lanes().iter().map(|lane| top(lane, right, window)).collect()
}

/// The view of a page that was just opened on a run.
fn view<'a>(replay: &Replay, width: f64, tops: &'a [f64]) -> Viewport<'a> {
    let (right, window) = (replay.now(), replay.settings().run.window);
    Viewport {
        size: [width, height(replay.lanes().len(), width)],
        right,
        live: true,
        window,
        tops,
        total: total(replay, right, window),
        crosshair: None,
        gaps: &[],
        own_time: false,
        flags: &[],
    }
}

#[track_caller]
fn picture(name: &str, link: &str, width: f64) {
    let replay = run(link);
    let tops = tops(&replay, replay.now());
    let view = view(&replay, width, &tops);
    in_both_themes(name, &draw(&replay, &view), view.size);
}

#[test]
fn eight_limiters_on_random_events() {
    picture("compare-eight", "at=75", 1200.0);
}

#[test]
fn the_start_of_a_run() {
    picture("compare-start", "at=20&lanes=exim leaky;token-bucket;fixed-window", 1000.0);
}

#[test]
fn a_phone() {
    picture("compare-phone", "at=50", 320.0);
}

#[test]
fn ten_thousand_a_second() {
    picture("compare-busy", "limit=100/10s&auto-rate=10000&window=10s&at=12", 1200.0);
}

#[test]
fn limits_that_move() {
    let lanes = "adaptive x2 decay 10s increase 1m floor 5 leaky;token-bucket & 30/1m per user;\
                 leaky-bucket queue 5";
    let script = "1/500ms from 5s to 40s,20 at 45s,1/2s from 50s";
    let link = format!("auto=off&at=70&lanes={}&script={script}", lanes.replace('&', "+"));
    picture("compare-adaptive", &link, 1000.0);
}

#[test]
fn the_crosshair_over_the_past_and_a_gap() {
    for (name, width) in [("compare-past", 1000.0), ("compare-past-phone", 320.0)] {
        let replay = run("at=100");
        let right = at(80.0);
        let tops = tops(&replay, right);
        let gaps = [Gap { from: at(24.0), to: at(36.0), skipped: Span::ZERO, hidden: true }];
        let view = view(&replay, width, &tops);
        let total = total(&replay, right, view.window);
        let crosshair = Some(0.62 * width);
        let view = Viewport { right, live: false, total, crosshair, gaps: &gaps, ..view };
        in_both_themes(name, &draw(&replay, &view), view.size);
    }
}

/// On a phone too: beside the crosshair, half of the canvas at most.
#[test]
fn the_boxes_of_the_crosshair_leave_room_beside_it() {
    let replay = run("at=60");
    let tops = tops(&replay, replay.now());
    for width in [334.0, 1000.0] {
        let [left, right] = edges(width);
        for percent in (0..=100).step_by(4) {
            let x = left + f64::from(percent) / 100.0 * (right - left);
            let marks =
                draw(&replay, &Viewport { crosshair: Some(x), ..view(&replay, width, &tops) });
            let boxes = marks.iter().filter_map(|mark| match mark {
                Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Axis => Some(rect),
                _ => None,
            });
            // One a lane and that of the counts.
            assert_eq!(boxes.clone().count(), 9, "at {x}");
            for rect in boxes {
                assert!(rect.right() < x || rect.x > x, "over the crosshair at {x} of {width}");
                assert!(rect.width <= width / 2.0, "{} of {width}", rect.width);
            }
        }
    }
}

/// The line of a lane's level, from the left: the first polyline in its ink.
fn level_line(marks: &[Mark], lane: u8) -> &[Point] {
    let of = |mark: &Mark| matches!(mark, Mark::Polyline { stroke, .. } if stroke.ink == Ink::Lane(lane));
    match marks.iter().find(|mark| of(mark)) {
        Some(Mark::Polyline { points, .. }) => points,
        _ => &[],
    }
}

fn texts(marks: &[Mark]) -> impl Iterator<Item = &Text> {
    marks.iter().filter_map(|mark| match mark {
        Mark::Text(text) => Some(text),
        _ => None,
    })
}

/// Where the level `value` of lane `i` is, as the labels of its scale say.
fn height_of(marks: &[Mark], width: f64, i: usize, value: f64) -> f64 {
    let zone = i as f64 * pitch(width) + head(width)..(i + 1) as f64 * pitch(width);
    let labels: Vec<(f64, f64)> = texts(marks)
        .filter(|text| {
            text.anchor == Anchor::End && text.ink == Ink::Muted && zone.contains(&text.at.y)
        })
        .map(|text| (text.text.parse().unwrap(), text.at.y))
        .collect();
    let [(low, bottom), .., (high, top)] = labels[..] else { panic!("{labels:?}") };
    bottom + (value - low) / (high - low) * (top - bottom)
}

/// The lowest and the highest point of a line between two places.
fn range(line: &[Point], from: f64, to: f64) -> [f64; 2] {
    let inner = line.iter().filter(|p| (from..=to).contains(&p.x)).map(|p| p.y);
    let cut = |x: f64| {
        let pair = line.windows(2).find(|pair| pair[0].x <= x && x <= pair[1].x)?;
        let share = (x - pair[0].x) / (pair[1].x - pair[0].x).max(1e-9);
        Some(pair[0].y + share * (pair[1].y - pair[0].y))
    };
    let all: Vec<f64> = inner.chain(cut(from)).chain(cut(to)).collect();
    [all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max)]
}

#[test]
fn the_level_line_passes_through_the_level() {
    for (link, width) in
        [("at=75", 1200.0), ("at=75&cost=3&seed=7", 320.0), ("window=10m&at=900", 800.0)]
    {
        let shown = run(link);
        let tops = tops(&shown, shown.now());
        let view = view(&shown, width, &tops);
        let marks = draw(&shown, &view);
        let [_, right] = edges(view.size[0]);
        // One run on its way: in which steps it goes does not matter.
        let mut replay = Replay::open(&link.parse().unwrap()).unwrap();
        for step in (1..40).rev() {
            let ago = view.window.secs() * f64::from(step) / 40.3;
            let then = view.right.before(Span::from_secs(ago).unwrap());
            replay.advance(then, usize::MAX);
            let x = right - ago / seconds_per_pixel(view.size[0], view.window);
            for (i, lane) in replay.lanes().iter().enumerate() {
                let want = height_of(&marks, width, i, lane.level(then).0);
                let [least, most] = range(level_line(&marks, i as u8 + 1), x - 1.6, x + 1.6);
                assert!(
                    least - 0.7 <= want && want <= most + 0.7,
                    "{link} {ago} {}: {want} {least} {most}",
                    lane.rule()
                );
            }
        }
    }
}

#[test]
fn every_event_has_its_cross_or_its_bar() {
    let clicks: Vec<String> = (1..=50).map(|i| format!("{i}:events")).collect();
    let replay = run(&format!("auto=off&limit=3/10s&at=55&do={}", clicks.join(",")));
    let tops = tops(&replay, replay.now());
    let marks = draw(&replay, &view(&replay, 1200.0, &tops));
    let crosses = marks.iter().filter_map(|mark| match mark {
        Mark::Segments { pairs, stroke } if stroke.ink == Ink::Refused => {
            Some(pairs.len() as u64 / 2)
        }
        _ => None,
    });
    let bars = marks.iter().filter_map(|mark| match mark {
        Mark::Rects { rects, fill } if fill.ink == Ink::Allowed => Some(rects.len() as u64),
        _ => None,
    });
    let drawn: Vec<_> = bars.zip(crosses).collect();
    let lanes: Vec<_> = replay.lanes().iter().map(|l| (l.allowed(), l.refused())).collect();
    assert_eq!(drawn, lanes);
}

#[test]
fn the_top_has_room_for_the_limit_and_for_what_is_seen() {
    let quiet = run("auto=off&at=30");
    let busy = run("auto-rate=50&at=30");
    let (quiet_tops, busy_tops) = (tops(&quiet, quiet.now()), tops(&busy, busy.now()));
    for (lane, top) in quiet.lanes().iter().zip(quiet_tops) {
        assert_eq!(top, 1.25 * lane.level(quiet.now()).1, "{}", lane.rule());
    }
    // Exim's strict rate runs away from the limit, a bucket does not.
    assert!((400.0..600.0).contains(&busy_tops[0]), "{}", busy_tops[0]);
    assert_eq!(busy_tops[2], 12.5);
    let window = Span::seconds(10);
    assert!((500.0..600.0).contains(&total(&busy, busy.now(), window)));
    assert_eq!(total(&quiet, quiet.now(), window), 1.08 * 4.0);
}

#[test]
fn the_cumulative_picture_counts_from_the_left_edge() {
    let early = run("at=30&window=20s");
    let replay = run("at=50&window=20s");
    let tops = tops(&replay, replay.now());
    let marks = draw(&replay, &view(&replay, 1000.0, &tops));
    let all: Vec<&str> = texts(&marks).map(|text| text.text.as_str()).collect();
    let sent = format!("{} sent", replay.sent() - early.sent());
    assert!(all.contains(&sent.as_str()), "{sent} in {all:?}");
    for (i, (now, then)) in replay.lanes().iter().zip(early.lanes()).enumerate() {
        let number = (i + 1).to_string();
        let count = (now.allowed() - then.allowed()).to_string();
        assert!(
            all.windows(2).any(|pair| pair == [&number, &count]),
            "{number}: {count} in {all:?}"
        );
    }
}

#[test]
fn the_crosshair_says_what_the_lanes_said() {
    // The end of a column of 16 ms, where the history knows the level itself.
    let then = Time::from_micros(1650 * 16_384 - 1);
    let replay = run("at=40&auto-rate=0.9");
    let tops = tops(&replay, replay.now());
    let view = view(&replay, 1000.0, &tops);
    let [_, right] = edges(view.size[0]);
    let x = right - view.right.since(then) / seconds_per_pixel(view.size[0], view.window);
    let marks = draw(&replay, &Viewport { crosshair: Some(x), ..view });
    let mut past = Replay::open(&"at=40&auto-rate=0.9".parse().unwrap()).unwrap();
    past.advance(then, usize::MAX);
    let all = words(&replay, &view, then);
    assert_eq!(all.len(), 8);
    for (i, (lane, words)) in past.lanes().iter().zip(all).enumerate() {
        let (level, limit) = lane.level(then);
        let (number, rest) = words.split_once(", ").unwrap();
        assert_eq!(number, (i + 1).to_string());
        let said = rest.strip_prefix(&format!("{}: {} ", lane.rule(), lane.unit())).unwrap();
        let said = said.split("; ").next().unwrap();
        let (value, of) = said.split_once(" of ").unwrap();
        assert!((value.parse::<f64>().unwrap() - level).abs() < 0.006, "{words} {level}");
        assert_eq!(of.parse::<f64>().unwrap(), limit);
        // The box beside the crosshair has the same words.
        let zone = i as f64 * pitch(1000.0)..(i + 1) as f64 * pitch(1000.0);
        let boxed = texts(&marks).any(|text| {
            text.text.starts_with(&format!("{said}; next "))
                && zone.contains(&text.at.y)
                && text.ink == Ink::Text
        });
        assert!(boxed, "{said}");
    }
}

#[test]
fn an_event_near_the_crosshair_is_the_one_that_is_meant() {
    let replay = run(
        "auto=off&lanes=token-bucket;leaky-bucket;fixed-window&at=30&do=10:events*10,20:events",
    );
    let tops = tops(&replay, replay.now());
    let view = view(&replay, 1000.0, &tops);
    let near = at(20.0)
        .before(Span::from_secs(3.0 * seconds_per_pixel(view.size[0], view.window)).unwrap());
    assert_eq!(
        words(&replay, &view, near),
        [
            "1, token-bucket: tokens used 0.995 of 10; allowed; next now",
            "2, leaky-bucket: queue 0.995 of 10; allowed; next now",
            "3, fixed-window: in window 1 of 10; allowed; next now",
        ]
    );
    let burst = &words(&replay, &view, at(10.0))[0];
    assert!(burst.ends_with("; 10 allowed; next in 1.0\u{202f}s"), "{burst}");
    let later = &words(&replay, &view, at(10.5))[0];
    assert!(later.ends_with("of 10; next in 500\u{202f}ms"), "{later}");
    assert!(words(&replay, &view, at(15.0)).iter().all(|line| line.matches(';').count() == 1));
    assert!(words(&replay, &view, at(-5.0))[0].ends_with(": nothing known"));
}
