//! The memory of a limiter, against the formulas and against the events that were counted.

use crate::recorded::{at, run};
use ratescope::limit::exim::Exim;
use ratescope::{Span, Time};
use ratescope_lab::plot::{Ink, Mark, Point};
use ratescope_lab::scope::Scope;
use ratescope_lab::view::memory::{Form, Memory, fading, of_lane};
use ratescope_lab::view::scope::{draw, memory, top};
use ratescope_lab::view::{Viewport, edges};

/// Two events at 1 s, one at 9 s and four at 12 s, as the limiter has it at 13 s.
fn decided(limiter: &str) -> Scope {
    run(&format!("limiter={limiter}&auto=off&do=1:events*2,9:events*1,12:events*4&at=13"))
}

/// The memory of the limiter at an instant of that run.
fn remembered(limiter: &str, seconds: f64) -> Option<Memory> {
    let scope = decided(limiter);
    of_lane(scope.instrument().lane().unwrap(), at(seconds), scope.now())
}

fn window(limiter: &str, seconds: f64) -> (Time, Option<Time>, Option<Span>) {
    match remembered(limiter, seconds).unwrap().form {
        Form::Window { from, end, block } => (from, end, block),
        other => panic!("{limiter}: {other:?}"),
    }
}

#[test]
fn each_limiter_says_what_it_remembers() {
    for (limiter, seconds, words) in [
        ("fixed-window 10/10s", 9.5, "remembers 3 events of this window"),
        ("fixed-window 10/10s", 11.0, "remembers 0 events of this window"),
        ("fixed-window 10/10s", 13.0, "remembers 4 events of this window"),
        ("sliding-log 10/10s", 10.9, "remembers 3 events of the last 10\u{202f}s"),
        ("sliding-log 10/10s", 11.5, "remembers 1 event of the last 10\u{202f}s"),
        ("sliding-log 10/10s", 13.0, "remembers 5 events of the last 10\u{202f}s"),
        (
            "sliding-window 10/10s precision 2s",
            13.0,
            "remembers 5 events of the last 10\u{202f}s, by blocks of 2\u{202f}s",
        ),
        ("sliding-counter 10/10s", 13.0, "the last window counts 70\u{202f}%"),
        // The windows begin with the first event: 8/10 of three events of the one, and four of the other.
        ("haproxy 10/10s", 13.0, "remembers about 6 events of the last 10\u{202f}s"),
        ("fail2ban 9/10s", 1.5, "remembers about 2 events of the last 10\u{202f}s"),
        ("fail2ban 2/10s ban 1m", 13.0, "banned, and counts nothing"),
        ("exim 10/10s readonly", 13.0, "an event 10\u{202f}s old counts 37\u{202f}%"),
        ("earrrl 10/10s half-life 5s", 13.0, "an event 5\u{202f}s old counts 50\u{202f}%"),
        (
            "adaptive x3 decay 20s increase 1m floor 5",
            13.0,
            "an event 20\u{202f}s old counts 37\u{202f}%",
        ),
        (
            "adaptive x3 decay 1m increase 7d floor 5 by hour",
            13.0,
            "an event 1\u{202f}m old counts 37\u{202f}%",
        ),
        ("token-bucket 5/10s burst 10", 13.0, "6.50 of 10 tokens"),
        ("gcra 5/10s burst 10", 13.0, "6.50 of 10 tokens"),
        ("envoy 5/10s burst 10", 13.0, "6.50 of 10 tokens"),
        ("leaky-bucket 5/10s queue 10", 13.0, "3.50 of 10 in the queue"),
        ("nginx 1/1s burst 9", 13.0, "3 of 10 in the queue"),
        ("nginx 1/1s burst 9 nodelay", 13.0, "7 of 10 tokens"),
    ] {
        let memory = remembered(limiter, seconds).unwrap();
        assert_eq!(memory.words, words, "{limiter} at {seconds} s");
    }
}

#[test]
fn a_policy_of_several_limits_and_a_time_before_the_lane_have_nothing_to_show() {
    assert_eq!(remembered("gcra 5/10s %26 sliding-log 10/1m", 13.0), None);
    let scope = run("auto=off&at=13&do=1:events*2,5:limiter=gcra");
    let lane = scope.instrument().lane().unwrap();
    assert_eq!(of_lane(lane, at(3.0), scope.now()), None);
    assert!(of_lane(lane, at(6.0), scope.now()).is_some());
}

#[test]
fn a_window_has_the_edges_of_its_limiter() {
    let micro = Span::from_micros(1);
    for seconds in [10.0, 13.0] {
        assert_eq!(window("fixed-window 10/10s", seconds), (at(10.0), Some(at(20.0)), None));
    }
    // An event at 3 s counts until just before 13 s.
    assert_eq!(window("sliding-log 10/10s", 13.0), (at(3.0).after(micro), None, None));
    let blocks = window("sliding-window 10/10s precision 2s", 13.0);
    assert_eq!(blocks, (at(4.0), None, Some(Span::from_secs(2))));
    assert_eq!(window("haproxy 10/10s", 13.0).0, at(3.0));
    let counter = remembered("sliding-counter 10/10s", 13.0).unwrap().form;
    let [before, from, end] = [0.0, 10.0, 20.0].map(at);
    assert_eq!(counter, Form::Counter { before, weight: 0.7, from, end });
}

/// The weights of all events add up to the level of the limiter: the memory forgets nothing and adds nothing.
#[test]
fn the_weights_of_the_events_add_up_to_the_level() {
    for (limiter, unit) in [
        ("fixed-window 10/10s", 1.0),
        ("sliding-log 10/10s", 1.0),
        ("sliding-window 10/10s precision 2s", 1.0),
        ("sliding-window 10/10s precision 3s", 1.0),
        ("sliding-counter 10/10s", 1.0),
        // The recent average reads events per period: N times lambda times the period.
        ("earrrl 10/10s half-life 5s", core::f64::consts::LN_2 / 5.0 * 10.0),
    ] {
        let scope = decided(limiter);
        let lane = scope.instrument().lane().unwrap();
        let memory = of_lane(lane, scope.now(), scope.now()).unwrap();
        let events = [(1.0, 2.0), (9.0, 1.0), (12.0, 4.0)];
        let sum: f64 = events.iter().map(|&(time, n)| n * memory.weight(at(time))).sum();
        let (level, _) = lane.level(scope.now());
        assert!((unit * sum - level).abs() < 1e-12, "{limiter}: {sum} and {level}");
    }
}

#[test]
fn the_weight_in_a_rate_falls_to_a_share_of_e_in_a_decay_interval() {
    let exim = Exim { limit: "10/10s".parse().unwrap(), mode: Default::default() };
    let memory = fading(at(13.0), exim.estimator());
    assert_eq!(memory.weight(at(13.0)), 1.0);
    assert_eq!(memory.weight(at(3.0)), (-1.0_f64).exp());
    assert_eq!(memory.words, "an event 10\u{202f}s old counts 37\u{202f}%");
}

/// At 5 tokens in 10 s, one comes back every two seconds.
#[test]
fn the_tokens_of_a_bucket_come_back() {
    let filled = |seconds: f64| match remembered("token-bucket 5/10s burst 10", seconds) {
        Some(Memory { form: Form::Bucket { filled, size: 10.0 }, .. }) => filled,
        other => panic!("{other:?}"),
    };
    // The history has the level at the end of its columns of 16 ms.
    for (seconds, tokens) in [(0.5, 10.0), (1.5, 8.25), (3.0, 9.0), (5.5, 10.0), (12.5, 6.25)] {
        assert!((filled(seconds) - tokens).abs() < 0.0083, "{} at {seconds} s", filled(seconds));
    }
    assert_eq!(filled(13.0), 6.5);
}

const DESK: [f64; 2] = [1000.0, 420.0];

fn view(scope: &Scope) -> Viewport<'static> {
    let (right, window) = (scope.now(), Span::from_secs(20));
    let top = top(scope, right, window);
    Viewport { size: DESK, right, live: true, window, top, ..Viewport::default() }
}

/// The upper and the lower edge of its picture.
const AXIS: [f64; 2] = [308.0, 350.0];

/// The corners of the shade, if it is drawn.
fn shade(scope: &Scope, view: &Viewport) -> Option<Vec<Point>> {
    draw(scope, view).into_iter().find_map(|mark| match mark {
        Mark::Area { points, fill } if fill.ink == Ink::Crosshair && fill.opacity < 0.5 => {
            Some(points)
        }
        _ => None,
    })
}

fn heading(scope: &Scope, view: &Viewport) -> Option<String> {
    let words = memory(scope, view)?;
    let is_drawn = |mark: &Mark| matches!(mark, Mark::Text(text) if words.ends_with(&text.text));
    assert!(draw(scope, view).iter().any(is_drawn), "{words}");
    Some(words)
}

#[test]
fn it_is_drawn_on_demand_at_the_right_edge_or_the_crosshair() {
    let mut scope = decided("sliding-log 10/10s");
    // At 10.5 s the log holds the events since 0.5 s.
    let [_, right] = edges(DESK[0]);
    let x = |seconds: f64| right - (13.0 - seconds) * (right - 60.0) / 20.0;
    let pointer = Some([x(10.5), 0.0]);
    for quiet in [view(&scope), Viewport { pointer, ..view(&scope) }] {
        assert_eq!((shade(&scope, &quiet), heading(&scope, &quiet)), (None, None));
    }

    scope.set("memory", "on").unwrap();
    assert_eq!(scope.link().unwrap().to_string().matches("memory=on").count(), 1);
    let words = heading(&scope, &view(&scope)).unwrap();
    assert_eq!(words, "remembers 5 events of the last 10\u{202f}s", "at the right edge");
    assert_eq!(shade(&scope, &view(&scope)).unwrap()[1].x, right);
    let pointed = Viewport { pointer, ..view(&scope) };
    let words = heading(&scope, &pointed).unwrap();
    assert_eq!(words, "remembers 3 events of the last 10\u{202f}s");
    let corners = shade(&scope, &pointed).unwrap();
    assert!((corners[0].x - x(0.5)).abs() < 1e-3 && (corners[1].x - x(10.5)).abs() < 1e-3);
    assert_eq!([corners[0].y, corners[3].y], AXIS, "it has an axis of its own, below the plot");
}

#[test]
fn the_shade_of_a_rate_is_as_high_as_the_weight() {
    let scope = run("auto=off&memory=on&do=1:events*2&at=13");
    let corners = shade(&scope, &view(&scope)).unwrap();
    let [left, right] = edges(DESK[0]);
    let per_interval = (right - left) / 2.0;
    let height = |x: f64| {
        let near = corners.iter().min_by(|a, b| (a.x - x).abs().total_cmp(&(b.x - x).abs()));
        (AXIS[1] - near.unwrap().y) / (AXIS[1] - AXIS[0])
    };
    assert_eq!(height(right), 1.0);
    assert!((height(right - per_interval) - 0.3679).abs() < 2e-3);
    let n = corners.len();
    assert!(n < DESK[0] as usize, "{n} points");
}

#[test]
fn a_bucket_has_a_dot_for_each_token_and_at_most_twenty() {
    for (burst, dots, full) in [(10, 10, 6), (20, 20, 16), (1000, 20, 19)] {
        let scope = decided(&format!("token-bucket 5/10s burst {burst}&memory=on"));
        let marks = draw(&scope, &view(&scope));
        let discs = |ink: Ink| {
            let is = |mark: &&Mark| match mark {
                Mark::Rounded { rect, fill, .. } => {
                    fill.ink == ink && rect.width <= 8.0 && (rect.y - AXIS[0]).abs() < 20.0
                }
                _ => false,
            };
            marks.iter().filter(is).count()
        };
        // One that is not full has a ring, and a disc within it.
        let rings = discs(Ink::Panel);
        assert_eq!([discs(Ink::Crosshair) - rings, dots - rings], [dots, full], "burst {burst}");
    }
}
