//! Marks as SVG files, held by pictures in tests/plots.

use crate::picture;
use picture::in_both_themes;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke, Text, svg};

fn at(x: f64, y: f64) -> Point {
    Point::new(x, y)
}

fn text(x: f64, y: f64, text: &str, anchor: Anchor) -> Mark {
    let (text, ink) = (text.to_owned(), Ink::Text);
    Mark::Text(Text { at: at(x, y), text, ink, size: 12.0, bold: false, anchor })
}

fn every_mark() -> Vec<Mark> {
    let plot = Rect { x: 40.0, y: 10.0, width: 220.0, height: 100.0 };
    let wave = (0..=24).map(|i| {
        let x = f64::from(i);
        at(30.0 + 10.0 * x, 60.0 - 40.0 * libm::sin(x / 3.0))
    });
    let wave: Vec<_> = wave.collect();
    let mut below = wave.clone();
    below.extend([at(270.0, 110.0), at(30.0, 110.0)]);
    let grid = (0..=5).map(|i| 10.0 + 20.0 * f64::from(i)).map(|y| (at(40.0, y), at(260.0, y)));
    let ticks = [60.0, 61.5, 110.0].map(|x| Rect { x, y: 114.0, width: 1.5, height: 8.0 });
    let tag = Rect { x: 200.0, y: 20.0, width: 50.0, height: 18.0 };
    vec![
        Mark::Segments { pairs: grid.collect(), stroke: Stroke::solid(Ink::Grid, 1.0) },
        Mark::Clip(plot),
        Mark::Area { points: below, fill: Fill::new(Ink::Rate, 0.09) },
        Mark::Polyline { points: wave, stroke: Stroke::solid(Ink::Rate, 1.75) },
        Mark::Unclip,
        Mark::Line {
            from: at(40.0, 45.0),
            to: at(260.0, 45.0),
            stroke: Stroke::dashed(Ink::Limit, 1.5),
        },
        Mark::Rects { rects: ticks.to_vec(), fill: Fill::new(Ink::Allowed, 1.0) },
        Mark::Rounded { rect: tag, radius: 3.0, fill: Fill::new(Ink::Smoothed, 1.0) },
        text(36.0, 10.0, "1 000", Anchor::End),
        text(150.0, 126.0, "−1 m 30 s", Anchor::Middle),
        text(40.0, 150.0, "<escaped> & \"quoted\"", Anchor::Start),
    ]
}

#[test]
fn every_mark_in_both_themes() {
    in_both_themes("marks", &every_mark(), [300.0, 160.0]);
}

/// The marks alone, without the frame around them.
fn body(marks: &[Mark]) -> String {
    let file = svg::write(marks, 10.0, 10.0, Theme::Light);
    let lines: Vec<_> = file.lines().collect();
    lines[2..lines.len() - 1].join("\n")
}

#[test]
fn numbers_are_short() {
    let line =
        |x| Mark::Line { from: at(x, 0.0), to: at(x, 1.0), stroke: Stroke::solid(Ink::Axis, 1.0) };
    for (x, want) in [(1.0, "1"), (-0.001, "0"), (0.126, "0.13"), (100.5, "100.5"), (-2.0, "-2")] {
        assert!(body(&[line(x)]).contains(&format!(r#"d="M{want},0v1""#)), "{x}");
    }
}

/// A point is where it is, however many come before it.
#[test]
fn rounding_does_not_add_up() {
    let points = (0..=1000).map(|i| at(0.126 * f64::from(i), 0.0)).collect();
    let drawn = body(&[Mark::Polyline { points, stroke: Stroke::solid(Ink::Axis, 1.0) }]);
    let (_, path) = drawn.split_once("M0,0h").unwrap();
    let ways = path.split('"').next().unwrap().split('h').map(|way| way.parse::<f64>().unwrap());
    let [count, sum] = ways.fold([0.0, 0.0], |[count, sum], way| [count + 1.0, sum + way]);
    assert_eq!([count, libm::round(sum * 100.0)], [1000.0, 12_600.0]);
}

#[test]
fn points_that_are_not_finite_are_left_out() {
    let nan = f64::NAN;
    let stroke = Stroke::solid(Ink::Rate, 1.0);
    let points = vec![at(nan, 0.0), at(1.0, 2.0), at(2.0, f64::INFINITY), at(3.0, 4.0)];
    let drawn = body(&[Mark::Polyline { points, stroke }]);
    assert!(drawn.contains(r#"d="M1,2l2,2""#), "{drawn}");
    let bad = Rect { x: nan, y: 0.0, width: 1.0, height: 1.0 };
    let fill = Fill::new(Ink::Gap, 1.0);
    let nothing = [
        Mark::Polyline { points: vec![at(nan, nan)], stroke },
        Mark::Polyline { points: vec![], stroke },
        Mark::Segments { pairs: vec![], stroke },
        Mark::Area { points: vec![], fill },
        Mark::Rects { rects: vec![bad], fill },
        Mark::Rounded { rect: bad, radius: 1.0, fill },
        text(nan, 1.0, "x", Anchor::Start),
    ];
    assert_eq!(body(&nothing), "");
}

#[test]
fn clips_are_closed_whatever_comes() {
    let rect = Rect { x: 0.0, y: 0.0, width: -1.0, height: f64::NAN };
    for marks in [vec![Mark::Unclip], vec![Mark::Clip(rect)], vec![Mark::Clip(rect); 3]] {
        let file = svg::write(&marks, 10.0, 10.0, Theme::Dark);
        assert_eq!(file.matches("<svg").count(), file.matches("</svg>").count());
        assert!(!file.contains("NaN"), "{file}");
    }
}

#[test]
fn text_cannot_end_the_file() {
    let drawn = body(&[text(1.0, 2.0, "</svg>\0\u{ffff}&amp;", Anchor::Start)]);
    assert!(drawn.ends_with(">&lt;/svg&gt; \u{fffd}&amp;amp;</text>"), "{drawn}");
}
