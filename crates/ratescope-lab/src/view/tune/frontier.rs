//! The frontier: the burst that each rate needs.

use super::curve::ticks;
use super::layout::Layout;
use super::{Picture, Viewport};
use crate::plot::{Anchor, Ink, Mark, Point, Stroke};
use crate::tune::Burst;
use crate::view::label::{SIZE, bold, disc, label, width};

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let plot = layout.frontier;
    let title = "Buckets that are enough: the burst that a rate needs";
    marks.push(label(plot.x - 52.0, plot.y - 30.0, title, Anchor::Start));
    let mut pairs = Vec::new();
    if !picture.bursts().is_empty() {
        for (y, text) in ticks(layout.bursts, 30.0) {
            pairs.push(plot.across(y));
            marks.push(label(plot.x - 8.0, y, &text, Anchor::End));
        }
        for burst in &spaced(layout, picture) {
            let [x, _] = layout.place(burst);
            pairs.push(plot.upright(x));
            let text = burst.rate.to_string();
            marks.push(label(x, plot.bottom() + 14.0, &text, Anchor::Middle));
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
        marks.push(disc(point, 3.5, Ink::Smoothed));
    }
    let pointed = view.pointer.and_then(|at| layout.burst_at(picture, at));
    let chosen = picture.bursts().iter().find(|burst| Some(burst.rate) == picture.rate);
    if let Some(burst) = pointed.as_ref().or(chosen) {
        let [x, y] = layout.place(burst);
        marks.push(disc(Point::new(x, y), 6.5, Ink::Limit));
        let text = format!("burst {} at {}", burst.burst, burst.rate);
        let room = width(&text, SIZE);
        let (at, anchor) = if x + 12.0 + room > plot.right() {
            (x - 4.0, Anchor::End)
        } else {
            (x + 8.0, Anchor::Start)
        };
        // The line falls to the right, which leaves room above it.
        let y = (y - 14.0).max(plot.y + 8.0);
        marks.push(bold(at, y, &text, Ink::Text, SIZE, anchor));
    }
    if picture.bursts().is_empty() {
        let x = plot.x + plot.width / 2.0;
        let y = plot.y + plot.height / 2.0;
        marks.push(label(x, y, "still counting", Anchor::Middle));
    }
}

/// The buckets whose rates can be labelled below the plot.
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
