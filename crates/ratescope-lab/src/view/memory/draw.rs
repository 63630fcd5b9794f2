//! The marks of a memory: a shade whose height is the weight of the events below it, and a heading.

use super::{Form, Memory};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{SMALL, below, disc, small, width};
use crate::view::timebase::Timebase;
use ratescope::time::Time;

/// The distance between two points of a curve, in CSS pixels.
const STEP: f64 = 4.0;

/// A weight below this is left out.
const UNSEEN: f64 = 0.004;

/// Blocks narrower than this, in CSS pixels, are not drawn separately.
const BLOCK: f64 = 5.0;

/// The most dots of a bucket. In a larger one, a dot stands for several.
const DOTS: f64 = 20.0;

/// The distance of two dots, and the diameter of one, in CSS pixels.
const PITCH: f64 = 10.0;
const DOT: f64 = 8.0;

/// The distance from the dots to the words, in CSS pixels.
const GAP: f64 = 4.0;

const EDGE: Stroke = Stroke::dashed(Ink::Crosshair, 1.0);

/// Shades the remembered time. The upper edge of the plot is the weight 1.
pub(in crate::view) fn shade(marks: &mut Vec<Mark>, memory: &Memory, time: &Timebase, plot: Rect) {
    let at = time.x(memory.at).min(plot.right());
    if at < plot.x {
        return;
    }
    let inside = |then: Time| time.x(then).max(plot.x).min(plot.right());
    let height = |weight: f64| plot.bottom() - weight * plot.height;
    let mut points = Vec::new();
    let mut edges = Vec::new();
    let mut stretch = |from: f64, to: f64, weight: f64| {
        points.extend([from, to].map(|x| Point::new(x, height(weight))));
    };
    match memory.form {
        Form::Window { from, end, .. } => {
            stretch(inside(from), at, 1.0);
            edges.extend(end.map(|end| [from, end]).into_iter().flatten());
        }
        Form::Counter { before, weight, from, end } => {
            stretch(inside(before), inside(from), weight);
            stretch(inside(from), at, 1.0);
            edges.extend([before, from, end]);
        }
        Form::Rate(_) | Form::Average(_) => {
            let weights = (0..).map(|i| at - f64::from(i) * STEP).take_while(|x| *x >= plot.x);
            let weights = weights.map(|x| (x, memory.weight(time.time_at(x).min(memory.at))));
            points.extend(
                weights
                    .take_while(|(_, weight)| *weight >= UNSEEN)
                    .map(|(x, weight)| Point::new(x, height(weight))),
            );
        }
        Form::Bucket { .. } => return,
    }
    marks.extend(below(&points, plot.bottom(), Fill::new(Ink::Crosshair, 0.1)));
    let is_seen = |x: &f64| (plot.x..=plot.right()).contains(x);
    let pairs = edges.into_iter().map(|edge| time.x(edge)).filter(is_seen).map(|x| plot.upright(x));
    marks.push(Mark::Segments { pairs: pairs.collect(), stroke: EDGE });
    // The first and the last point are the ends of the bracket.
    let ticks = ticks(memory, time, plot, at);
    marks.push(Mark::Segments { pairs: ticks, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
    marks.push(Mark::Polyline { points, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
    landmark(marks, memory, time, plot);
}

/// Marks the weight at the age that the words name.
fn landmark(marks: &mut Vec<Mark>, memory: &Memory, time: &Timebase, plot: Rect) {
    let Some(age) = memory.form.age() else { return };
    let then = memory.at.before(age);
    let weight = memory.weight(then);
    let at = Point::new(time.x(then), plot.bottom() - weight * plot.height);
    if at.x >= plot.x {
        marks.push(disc(at, 3.0, Ink::Crosshair));
    }
}

/// The left end of the bracket of a window, and the edges of its blocks if these are visible.
fn ticks(memory: &Memory, time: &Timebase, plot: Rect, at: f64) -> Vec<(Point, Point)> {
    let Form::Window { from, block, .. } = memory.form else { return Vec::new() };
    let left = time.x(from);
    let tick = |x: f64, length: f64| (Point::new(x, plot.y), Point::new(x, plot.y + length));
    let end = (left >= plot.x && left < at).then(|| tick(left, 8.0));
    let wide = block.map_or(0.0, |block| block.as_secs_f64() * time.pace);
    let blocks = if wide < BLOCK { 0 } else { libm::floor((at - left) / wide).max(0.0) as usize };
    let blocks = (1..=blocks).map(|i| left + i as f64 * wide).filter(|x| *x >= plot.x);
    end.into_iter().chain(blocks.map(|x| tick(x, 4.0))).collect()
}

/// Writes the memory around the height `y` of a row between two CSS pixels. A bucket has its dots before the words.
pub(in crate::view) fn heading(
    marks: &mut Vec<Mark>,
    memory: &Memory,
    [left, right]: [f64; 2],
    y: f64,
) {
    let whole = memory.words.as_str();
    let short = whole.strip_prefix("remembers ").unwrap_or(whole);
    // Without the length of blocks.
    let shortest = short.split(',').next().unwrap_or(short);
    let fits = |text: &&str| width(text, SMALL) <= right - left;
    let text = [whole, short].into_iter().find(fits).unwrap_or(shortest);
    let dots = shares(memory, (right - left - width(text, SMALL) - GAP) / PITCH);
    draw_dots(marks, &dots, [left, y]);
    let x = left + dots_width(&dots);
    marks.push(small(x, y, text, Ink::Text, Anchor::Start));
}

/// The width of dots and of the gap after them; 0 without any.
fn dots_width(dots: &[f64]) -> f64 {
    if dots.is_empty() { 0.0 } else { dots.len() as f64 * PITCH + GAP }
}

/// A dot for each share of 1: a disc, or a ring with a disc within it whose area is the share.
fn draw_dots(marks: &mut Vec<Mark>, dots: &[f64], [x, y]: [f64; 2]) {
    for (i, share) in dots.iter().enumerate() {
        let centre = Point::new(x + (i as f64 + 0.5) * PITCH, y);
        marks.push(disc(centre, DOT / 2.0, Ink::Crosshair));
        if *share < 1.0 {
            let inner = DOT / 2.0 - 1.0;
            marks.push(disc(centre, inner, Ink::Panel));
            marks.push(disc(centre, inner * libm::sqrt(*share), Ink::Crosshair));
        }
    }
}

/// How full each dot of a bucket is, from 0 to 1. A dot stands for a token, or for several: there are at most about
/// `most` dots, and never more than [`DOTS`].
fn shares(memory: &Memory, most: f64) -> Vec<f64> {
    let Form::Bucket { filled, size } = memory.form else { return Vec::new() };
    let each = (size / libm::floor(most).clamp(1.0, DOTS)).max(1.0);
    let dots = libm::ceil(size / each).clamp(0.0, DOTS) as usize;
    (0..dots).map(|i| (filled / each - i as f64).clamp(0.0, 1.0)).collect()
}
