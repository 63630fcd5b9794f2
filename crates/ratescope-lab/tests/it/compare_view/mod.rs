//! The comparison's picture: it shows the values of the lanes, wherever it is looked at.

pub(crate) mod bounds;
mod feedback;

use crate::picture::in_both_themes;
use crate::recorded::{at, compared as run};
use bounds::reaches;
use ratescope::{Span, Time};
use ratescope_lab::compare::{Comparison, Lanes, Link};
use ratescope_lab::plot::{Anchor, Ink, Mark, Point, Rect, Text};
use ratescope_lab::run::pace::Gap;
use ratescope_lab::run::past::Past;
use ratescope_lab::view::compare::{
    Below, colours, draw, head, height, names, pitch, readings, top, total, waits, words,
};
use ratescope_lab::view::{Viewport, edges, seconds_per_pixel};

/// The tops that a page comes to rest at.
fn tops(comparison: &Comparison, right: Time) -> Vec<f64> {
    let window = comparison.settings().common.window;
    comparison.lanes().iter().map(|lane| top(lane, right, window)).collect()
}

/// The view of a page that was just opened on a run.
fn view<'a>(comparison: &Comparison, width: f64, tops: &'a [f64]) -> Viewport<'a> {
    let (right, window) = (comparison.now(), comparison.settings().common.window);
    Viewport {
        size: [width, height(comparison.lanes().len(), [width, 0.0], Below::Totals)],
        right,
        live: true,
        window,
        tops,
        top: total(comparison, right, window),
        ..Viewport::default()
    }
}

#[test]
fn eight_lanes_in_both_themes() {
    let comparison = run("at=75");
    let tops = tops(&comparison, comparison.now());
    let view = view(&comparison, 1200.0, &tops);
    in_both_themes("compare-eight", &draw(&comparison, &view), view.size);
}

/// However many events there are, the canvas has room for so many points.
#[test]
fn a_busy_run_has_no_more_points_than_pixels() {
    let comparison = run("limit=100/10s&auto-rate=2000&window=10s&at=11");
    let tops = tops(&comparison, comparison.now());
    let marks = draw(&comparison, &view(&comparison, 1200.0, &tops));
    let points: usize = marks.iter().map(|mark| reaches(mark).len()).sum();
    assert!(points < comparison.lanes().len() * 3 * 1200, "{points}");
}

/// The line of a limit that moves is level before it has learned anything, and then follows.
#[test]
fn limits_that_move() {
    for (lane, moves) in
        [("adaptive x2 decay 10s increase 1m floor 5 leaky", true), ("sliding-log 10/1m", false)]
    {
        let script = "1/500ms from 5s to 40s,20 at 45s,1/2s from 50s";
        let comparison = run(&format!("auto=off&at=70&lanes={lane}&script={script}"));
        let tops = tops(&comparison, comparison.now());
        let marks = draw(&comparison, &view(&comparison, 1000.0, &tops));
        let limit = marks.iter().find_map(|mark| match mark {
            Mark::Polyline { points, stroke } if stroke.ink == Ink::Limit => Some(points),
            _ => None,
        });
        let limit = limit.unwrap();
        assert_eq!(limit.iter().any(|point| point.y != limit[0].y), moves, "{lane}");
    }
}

/// The keys stand there if lanes differ in them, and the counts if there is room.
#[test]
fn names_are_in_the_heads() {
    let texts = |link: &str, width: f64| {
        let comparison = run(&format!("{link}&auto=off&do=1:events*12&at=5"));
        let tops = tops(&comparison, comparison.now());
        let marks = names(&comparison, &view(&comparison, width, &tops), true);
        let text = |mark| match mark {
            Mark::Text(Text { text, .. }) => text,
            other => panic!("{other:?}"),
        };
        marks.into_iter().map(text).collect::<Vec<_>>()
    };
    let counts = "10 passed, 2 refused";
    assert_eq!(
        texts("lanes=sliding-log%20per%20ip;sliding-log%20per%20user", 720.0),
        ["1  sliding-log 10/10s per ip", counts, "2  sliding-log 10/10s per user", counts]
    );
    let one = "lanes=sliding-log%20per%20ip";
    assert_eq!(texts(one, 720.0), ["1  sliding-log 10/10s", counts]);
    // The default precision, a sixtieth of the window, is left out.
    assert_eq!(texts("lanes=sliding-window", 720.0), ["1  sliding-window 10/10s", counts]);
    let written = ["1  sliding-window 10/10s precision 1s", counts];
    assert_eq!(texts("lanes=sliding-window%20precision%201s", 720.0), written);
    let long = "lanes=adaptive%20x2%20decay%2010s%20increase%201m%20floor%2010%20strict";
    let name = "1  adaptive x2 decay 10s increase 1m floor 10 strict";
    assert_eq!(texts(long, 490.0), [name]);
    // A narrow canvas has a second row.
    assert_eq!(texts(long, 400.0).len(), 2);
}

/// The counts are joined to their lines only where the lines end.
#[test]
fn lines_that_end_before_the_edge_are_not_joined_to_their_counts() {
    let comparison = run("at=60&lanes=sliding-log;fixed-window");
    let tops = tops(&comparison, comparison.now());
    let [_, edge] = edges(1000.0);
    let joins = |right: f64| {
        let view = Viewport { right: at(right), ..view(&comparison, 1000.0, &tops) };
        let is_join = |mark: &&Mark| matches!(mark, Mark::Polyline { points, .. } if points.iter().all(|p| p.x > edge));
        draw(&comparison, &view).iter().filter(is_join).count()
    };
    assert_eq!(joins(60.0), 3);
    assert_eq!(joins(90.0), 0);
}

/// In every lane, and in the past as well.
#[test]
fn a_gap_is_shaded_where_it_was() {
    let comparison = run("at=100");
    let right = at(80.0);
    let tops = tops(&comparison, right);
    let gaps = [Gap { from: at(24.0), to: at(36.0), skipped: Span::ZERO, hidden: true }];
    let view = view(&comparison, 1000.0, &tops);
    let top = total(&comparison, right, view.window);
    let view = Viewport { right, live: false, top, gaps: &gaps, ..view };
    let [left, edge] = edges(1000.0);
    let x = |seconds: f64| left + (seconds - 20.0) / 60.0 * (edge - left);
    let marks = draw(&comparison, &view);
    let shades = marks.iter().filter_map(|mark| match mark {
        Mark::Rects { rects, fill } if fill.ink == Ink::Gap => Some(rects[0]),
        _ => None,
    });
    let shades: Vec<Rect> = shades.collect();
    // The lanes and the totals under them.
    assert_eq!(shades.len(), comparison.lanes().len() + 1);
    for shade in shades {
        assert!((shade.x - x(24.0)).abs() < 1e-6 && (shade.right() - x(36.0)).abs() < 1e-6);
    }
}

/// On a phone too: beside the crosshair, half of the canvas at most.
#[test]
fn the_boxes_of_the_crosshair_leave_room_beside_it() {
    let comparison = run("at=60");
    let tops = tops(&comparison, comparison.now());
    for width in [334.0, 1000.0] {
        let [left, right] = edges(width);
        for percent in (0..=100).step_by(4) {
            let x = left + f64::from(percent) / 100.0 * (right - left);
            let marks = draw(
                &comparison,
                &Viewport { pointer: Some([x, 0.0]), ..view(&comparison, width, &tops) },
            );
            let boxes = marks.iter().filter_map(|mark| match mark {
                Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Axis => Some(rect),
                _ => None,
            });
            // That of the counts: the readings of the lanes stand in their heads.
            assert_eq!(boxes.clone().count(), 1, "at {x}");
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

/// The distance of lanes that have no room for more.
fn least(width: f64) -> f64 {
    pitch(8, [width, 0.0], Below::Totals)
}

/// Where the level `value` of lane `i` is, as the labels of its scale say.
fn height_of(marks: &[Mark], width: f64, i: usize, value: f64) -> f64 {
    let pitch = least(width);
    let zone = i as f64 * pitch + head(width)..(i + 1) as f64 * pitch;
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
        let colours = colours(shown.lanes());
        // One run on its way: in which steps it goes does not matter.
        let mut comparison = Comparison::open(&link.parse().unwrap()).unwrap();
        for step in (1..40).rev() {
            let ago = view.window.as_secs_f64() * f64::from(step) / 40.3;
            let then = view.right.before(Span::try_from_secs_f64(ago).unwrap());
            comparison.advance(then, usize::MAX);
            let x = right - ago / seconds_per_pixel(view.size[0], view.window);
            for (i, lane) in comparison.lanes().iter().enumerate() {
                let want = height_of(&marks, width, i, lane.level(then).0);
                let [least, most] = range(level_line(&marks, colours[i]), x - 1.6, x + 1.6);
                assert!(
                    least - 0.7 <= want && want <= most + 0.7,
                    "{link} {ago} {}: {want} {least} {most}",
                    lane.template()
                );
            }
        }
    }
}

/// The count of a window is forgotten in an instant, and the line falls there: at the edge of a window of the clock,
/// and of the log within the column.
#[test]
fn what_falls_at_once_is_drawn_upright() {
    let script = "script=10%20at%204.5s";
    let comparison = run(&format!(
        "limit=10/5s&auto=off&lanes=fixed-window;sliding-log;sliding-window;exim&{script}&window=10s&at=11"
    ));
    let tops = tops(&comparison, comparison.now());
    for width in [320.0, 1200.0] {
        let view = view(&comparison, width, &tops);
        let marks = draw(&comparison, &view);
        let pixel = seconds_per_pixel(width, view.window);
        let [_, right] = edges(width);
        let colours = colours(comparison.lanes());
        // A sliding window forgets a block, which is up to 83 ms long, at once.
        let block = 5.0 / 60.0 / pixel;
        for (lane, seconds, near) in [(0, 5.0, 1e-3), (1, 9.5, 0.8), (2, 9.5, 0.8 + block)] {
            let steep = |pair: &&[Point]| pair[1].y - pair[0].y > 3.0;
            let falls: Vec<_> =
                level_line(&marks, colours[lane]).windows(2).filter(steep).collect();
            let x = right - view.right.since(at(seconds)) / pixel;
            let [[high, low]] = falls[..] else { panic!("lane {lane}: {falls:?}") };
            assert!(high.x == low.x && (low.x - x).abs() < near, "lane {lane}: {falls:?}, {x}");
        }
        let falls = |pair: &[Point]| pair[0].x == pair[1].x && pair[0].y < pair[1].y;
        assert!(!level_line(&marks, colours[3]).windows(2).any(falls), "a rate fades");
    }
}

#[test]
fn every_event_has_its_cross_or_its_bar() {
    let clicks: Vec<String> = (1..=50).map(|i| format!("{i}:events")).collect();
    let comparison = run(&format!("auto=off&limit=3/10s&at=55&do={}", clicks.join(",")));
    let tops = tops(&comparison, comparison.now());
    let marks = draw(&comparison, &view(&comparison, 1200.0, &tops));
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
    let lanes: Vec<_> = comparison.lanes().iter().map(|l| (l.allowed(), l.refused())).collect();
    assert_eq!(drawn, lanes);
}

#[test]
fn the_top_has_room_for_the_limit_and_for_what_is_seen() {
    let quiet = run("auto=off&at=30");
    let busy = run("auto-rate=50&at=30");
    let (quiet_tops, busy_tops) = (tops(&quiet, quiet.now()), tops(&busy, busy.now()));
    for (lane, top) in quiet.lanes().iter().zip(quiet_tops) {
        assert_eq!(top, 1.25 * lane.level(quiet.now()).1, "{}", lane.template());
    }
    // Exim's strict rate runs away from the limit, a bucket does not.
    let of = |name: &str| {
        busy_tops[busy.lanes().iter().position(|lane| lane.template().as_str() == name).unwrap()]
    };
    assert!((400.0..600.0).contains(&of("exim strict")), "{busy_tops:?}");
    assert_eq!(of("token-bucket"), 12.5);
    let window = Span::from_secs(10);
    assert!((500.0..600.0).contains(&total(&busy, busy.now(), window)));
    assert_eq!(total(&quiet, quiet.now(), window), 1.08 * 4.0);
}

#[test]
fn the_cumulative_picture_counts_from_the_left_edge() {
    let early = run("at=30&window=20s");
    let comparison = run("at=50&window=20s");
    let tops = tops(&comparison, comparison.now());
    let marks = draw(&comparison, &view(&comparison, 1000.0, &tops));
    let all: Vec<&str> = texts(&marks).map(|text| text.text.as_str()).collect();
    let sent = format!("{} sent", comparison.sent() - early.sent());
    assert!(all.contains(&sent.as_str()), "{sent} in {all:?}");
    for (i, (now, then)) in comparison.lanes().iter().zip(early.lanes()).enumerate() {
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
    let comparison = run("at=40&auto-rate=0.9");
    let tops = tops(&comparison, comparison.now());
    let view = view(&comparison, 1000.0, &tops);
    let [_, right] = edges(view.size[0]);
    let x = right - view.right.since(then) / seconds_per_pixel(view.size[0], view.window);
    let heads = readings(&comparison, &Viewport { pointer: Some([x, 0.0]), ..view });
    assert!(readings(&comparison, &view).is_empty(), "without a crosshair");
    let mut past = Comparison::open(&"at=40&auto-rate=0.9".parse().unwrap()).unwrap();
    past.advance(then, usize::MAX);
    let all = words(&comparison, &view, then);
    assert_eq!(all.len(), 8);
    for (i, (lane, words)) in past.lanes().iter().zip(all).enumerate() {
        let (level, limit) = lane.level(then);
        let (number, rest) = words.split_once(", ").unwrap();
        assert_eq!(number, (i + 1).to_string());
        let said = rest.strip_prefix(&format!("{}: {} ", lane.template(), lane.unit())).unwrap();
        let said = said.split("; ").next().unwrap();
        let (value, of) = said.split_once(" of ").unwrap();
        assert!((value.parse::<f64>().unwrap() - level).abs() < 0.006, "{words} {level}");
        assert_eq!(of.parse::<f64>().unwrap(), limit);
        // The lane's head has the same words.
        let head = heads[i].as_ref().unwrap();
        assert!(head.text.contains(&format!("{said}; next ")) && !head.refused, "{head:?}");
    }
}

/// Recorded events are also decided beyond the right edge, where there is nothing but silence.
#[test]
fn the_tag_beside_recorded_events_says_where_the_line_ends() {
    let events: Vec<(Time, f64)> = (0..30).map(|i| (at(100.0 + f64::from(i)), 1.0)).collect();
    let link: Link = "lanes=sliding-log&limit=20/1m&window=1m".parse().unwrap();
    let mut past = Past::<Lanes>::new(link.settings, events).unwrap();
    past.look(at(70.0), at(130.0));
    let tops = tops(past.run(), at(130.0));
    let view = Viewport { right: at(130.0), ..view(past.run(), 1000.0, &tops) };
    assert!(past.run().now() > view.right);
    let marks = draw(past.run(), &view);
    assert!(marks.iter().any(|mark| matches!(mark, Mark::Text(text) if text.text == "20 of 20")));
}

#[test]
fn an_event_near_the_crosshair_is_the_one_that_is_meant() {
    let comparison = run(
        "auto=off&lanes=token-bucket;leaky-bucket;fixed-window&at=30&do=10:events*10,20:events",
    );
    let tops = tops(&comparison, comparison.now());
    let view = view(&comparison, 1000.0, &tops);
    let near = at(20.0).before(
        Span::try_from_secs_f64(3.0 * seconds_per_pixel(view.size[0], view.window)).unwrap(),
    );
    assert_eq!(
        words(&comparison, &view, near),
        [
            "1, token-bucket: tokens used 0.995 of 10; allowed; next now",
            "2, leaky-bucket: queue 0.995 of 10; allowed; next now",
            "3, fixed-window: in window 1 of 10; allowed; next now",
        ]
    );
    let burst = &words(&comparison, &view, at(10.0))[0];
    assert!(burst.ends_with("; 10 allowed; next in 1.0\u{202f}s"), "{burst}");
    let later = &words(&comparison, &view, at(10.5))[0];
    assert!(later.ends_with("of 10; next in 500\u{202f}ms"), "{later}");
    assert!(words(&comparison, &view, at(15.0)).iter().all(|line| line.matches(';').count() == 1));
    assert!(words(&comparison, &view, at(-5.0))[0].ends_with(": nothing known"));
}

#[test]
fn lanes_share_the_room() {
    let cases = [(Below::Totals, [86.0, 160.0]), (Below::Nothing, [72.0, 320.0])];
    for (width, (below, [least, most])) in
        [1000.0, 400.0].into_iter().flat_map(|w| cases.map(|c| (w, c)))
    {
        let more = head(width) - head(1000.0);
        // The whole picture is within the room, wherever it may be higher than it has to be.
        for lanes in 1..=12 {
            for room in [300.0, 800.0, 1100.0, 3000.0] {
                let high = height(lanes, [width, room], below);
                let each = pitch(lanes, [width, room], below);
                assert!((least + more..=most + more).contains(&each), "{each}");
                assert!(high <= room || each == least + more, "{lanes} lanes, {high} of {room}");
                // And the canvas that gets this height has lanes of this distance.
                assert_eq!(pitch(lanes, [width, high], below), each);
            }
        }
        assert_eq!(pitch(2, [width, 2000.0], below), most + more);
    }
}

#[test]
fn a_colour_belongs_to_an_algorithm() {
    let of = |lanes: &str| colours(run(&format!("auto=off&at=1&lanes={lanes}")).lanes());
    assert_eq!(of("token-bucket;earrrl;sliding-log"), [3, 2, 8]);
    assert_eq!(of("sliding-log;token-bucket"), [8, 3]);
    // Who shares one takes a free one, and nobody else's.
    assert_eq!(of("gcra;token-bucket;leaky-bucket;exim"), [3, 5, 4, 1]);
    assert_eq!(of("exim leaky;exim strict;earrrl"), [1, 3, 2]);
    assert_eq!(of("fixed-window %26 gcra;sliding-counter"), [5, 7]);
    let eight = "fixed-window;sliding-window;sliding-counter;sliding-log;token-bucket;leaky-bucket;exim;earrrl";
    assert_eq!(of(&format!("{eight};gcra;nginx 1/1s")), [5, 6, 7, 8, 3, 4, 1, 2, 3, 4]);
}

#[test]
fn waits_of_each_sender_begin_at_a_refusal_and_end_when_one_passes() {
    let said = |link: &str| {
        let comparison = run(&format!("auto=off&at=60&{link}"));
        comparison.lanes().iter().map(waits).collect::<Vec<_>>()
    };
    // Nobody was refused; somebody still waits; then one waits from 1 s to 11 s.
    assert_eq!(said("lanes=token-bucket&do=1:events*10"), [""]);
    assert_eq!(said("lanes=sliding-log&do=1:events*11,5:events"), [""]);
    assert_eq!(
        said("lanes=sliding-log&do=1:events*11,5:events,11.5:events"),
        ["waits 10.5\u{202f}s"]
    );
    // Two of a second, one of 8 s: three lengths apart.
    let link = "lanes=fixed-window 1/1s;token-bucket 1/8s&script=2 at 10s, 1 at 11s, 2 at 12s, 1 at 13s, 1 at 18s";
    assert_eq!(said(link)[0], "waits 1.0\u{202f}s");
    assert_eq!(said(link)[1], "waits 8.0\u{202f}s");
    let link = "lanes=fixed-window 1/1s&script=2 at 10.5s, 1 at 11.5s, 2 at 12.5s, 1 at 13.5s, 2 at 14.5s, 1 at 18.5s";
    assert_eq!(said(link), ["waits 1.0\u{202f}s █ ▄ 4.0\u{202f}s"]);
    // Ann is refused from the second on, and Bob is not.
    let link = "lanes=fixed-window 1/10s per user&script=1/1s user ann to 30s, 1/10s from 500ms to 30s user bob";
    assert_eq!(said(link), ["waits 8.0\u{202f}s ██ 9.0\u{202f}s"]);
}
