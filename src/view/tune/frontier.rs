//! The frontier: the burst that each rate needs.

use super::curve::ticks;
use super::layout::Layout;
use super::{Picture, Viewport};
use crate::lab::tune::Burst;
use crate::plot::{Anchor, Baseline, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{SIZE, label, width};

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let plot = layout.frontier;
    let title = "Buckets that would do: the burst that a rate needs";
    marks.push(label(plot.x - 52.0, plot.y - 30.0, title, Anchor::Start, Baseline::Middle));
    let mut pairs = Vec::new();
    if !picture.bursts().is_empty() {
        for (y, text) in ticks(layout.bursts, 30.0) {
            pairs.push((Point::new(plot.x, y), Point::new(plot.right(), y)));
            marks.push(label(plot.x - 8.0, y, &text, Anchor::End, Baseline::Middle));
        }
        for burst in &spaced(layout, picture) {
            let [x, _] = layout.place(burst);
            pairs.push((Point::new(x, plot.y), Point::new(x, plot.bottom())));
            let text = burst.rate.to_string();
            marks.push(label(x, plot.bottom() + 14.0, &text, Anchor::Middle, Baseline::Middle));
        }
    }
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let points: Vec<Point> = picture
        .bursts()
        .iter()
        .map(|burst| layout.place(burst))
        .map(|[x, y]| Point::new(x, y))
        .collect();
    let stroke = Stroke::solid(Ink::Smoothed, 2.0);
    marks.push(Mark::Polyline { points: points.clone(), stroke });
    for point in points {
        disc(marks, point, 3.5, Ink::Smoothed);
    }
    let pointed = view.pointer.and_then(|at| layout.burst_at(picture, at));
    let chosen = picture.bursts().iter().find(|burst| Some(burst.rate) == picture.rate);
    if let Some(burst) = pointed.as_ref().or(chosen) {
        let [x, y] = layout.place(burst);
        disc(marks, Point::new(x, y), 6.5, Ink::Limit);
        let text = format!("burst {} at {}", burst.burst, burst.rate);
        let room = width(&text, SIZE);
        let (at, anchor) = match x + 12.0 + room > plot.right() {
            true => (x - 4.0, Anchor::End),
            false => (x + 8.0, Anchor::Start),
        };
        // The line falls to the right, so that there is room above it.
        let at = Point::new(at, (y - 14.0).max(plot.y + 8.0));
        if let Mark::Text(mut text) = label(at.x, at.y, &text, anchor, Baseline::Middle) {
            (text.ink, text.bold) = (Ink::Text, true);
            marks.push(Mark::Text(text));
        }
    }
    if picture.bursts().is_empty() {
        let (x, y) = (plot.x + plot.width / 2.0, plot.y + plot.height / 2.0);
        marks.push(label(x, y, "still counting", Anchor::Middle, Baseline::Middle));
    }
}

fn disc(marks: &mut Vec<Mark>, at: Point, radius: f64, ink: Ink) {
    let rect =
        Rect { x: at.x - radius, y: at.y - radius, width: 2.0 * radius, height: 2.0 * radius };
    marks.push(Mark::Rounded { rect, radius, fill: Fill::new(ink, 1.0) });
}

/// The buckets whose rates have room below the plot.
fn spaced(layout: &Layout, picture: &Picture<'_>) -> Vec<Burst> {
    let mut last = f64::NEG_INFINITY;
    let mut spaced = Vec::new();
    for burst in picture.bursts() {
        let [x, _] = layout.place(burst);
        if x - last >= 58.0 {
            spaced.push(*burst);
            last = x;
        }
    }
    spaced
}
