//! The curve: the shares of clients that each limit touches, and of requests that it refuses.

use super::effect::{limit_in_words, words};
use super::layout::{Layout, TAGS};
use super::{Picture, Viewport};
use crate::plot::axis;
use crate::plot::scale::LogScale;
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::tune::Stair;
use crate::view::label::{
    LINE, PAD, SIZE, SMALL, TAG, bold, disc, label, panel, small, tag, width,
};

/// A line of the plot.
struct Line {
    name: &'static str,
    stroke: Stroke,
    /// The number drawn as a share, and the number of all.
    of: fn(&Picture<'_>, &Stair) -> [u64; 2],
}

/// The stroke of the line of refused requests, from the staircase or from replays.
const REQUESTS: Stroke = Stroke::solid(Ink::Rate, 1.75);

/// The lines, back to front. A line whose number of all is 0 is left out.
const LINES: [Line; 5] = [
    Line {
        name: "requests refused",
        stroke: REQUESTS,
        of: |picture, step| [step.refused, picture.stairs().requests],
    },
    Line {
        name: "learned",
        stroke: Stroke::solid(Ink::Exact, 1.25),
        of: |picture, step| [step.touched[1], both(picture)[0]],
    },
    Line {
        name: "checked",
        stroke: Stroke::dashed(Ink::Exact, 1.25),
        of: |picture, step| [step.touched[2], both(picture)[1]],
    },
    Line {
        name: "clients touched",
        stroke: Stroke::solid(Ink::Smoothed, 2.5),
        of: |picture, step| {
            [step.touched[0] - step.marked, picture.stairs().clients[0] - picture.stairs().marked]
        },
    },
    Line {
        name: "marked ones, by mistake",
        stroke: Stroke::dashed(Ink::Refused, 2.25),
        of: |picture, step| [step.marked, picture.stairs().marked],
    },
];

/// The numbers of clients in the part for learning and in the part for checking; 0 if the log is not
/// divided.
fn both(picture: &Picture<'_>) -> [u64; 2] {
    let [_, learned, checked] = picture.stairs().clients;
    if checked > 0 { [learned, checked] } else { [0, 0] }
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let plot = layout.curve;
    axes(marks, layout, picture);
    marks.push(Mark::Clip(Rect { y: plot.y - 2.0, height: plot.height + 4.0, ..plot }));
    for line in lines(picture) {
        let points = staircase(layout, picture, line);
        marks.push(Mark::Polyline { points, stroke: line.stroke });
    }
    counted(marks, layout, picture);
    marks.push(Mark::Unclip);
    legend(marks, layout, picture);
    signs(marks, layout, picture);
    limit(marks, layout, picture, view);
    about(marks, layout, picture, view);
}

fn lines<'a>(picture: &'a Picture<'_>) -> impl Iterator<Item = &'static Line> + 'a {
    LINES.iter().filter(|line| (line.of)(picture, &everything(picture))[1] > 0)
}

/// The effect of a limit below all levels: it touches all clients and refuses all requests.
fn everything(picture: &Picture<'_>) -> Stair {
    let steps = picture.stairs();
    Stair { limit: 0.0, touched: steps.clients, marked: steps.marked, refused: steps.requests }
}

fn staircase(layout: &Layout, picture: &Picture<'_>, line: &Line) -> Vec<Point> {
    let y = |step: &Stair| {
        let [some, all] = (line.of)(picture, step);
        layout.y(some, all)
    };
    let plot = layout.curve;
    let mut points = vec![Point::new(plot.x, y(&picture.stairs().at(layout.limits.domain[0])))];
    let mut last = points[0];
    for step in &picture.stairs().stairs {
        let next = Point::new(layout.x(step.limit), y(step));
        if step.limit < layout.limits.domain[0] || next.y == last.y {
            continue;
        }
        // Stairs nearer than a pixel are drawn as a slope.
        if next.x - last.x > 1.0 {
            points.push(Point::new(next.x, last.y));
        }
        points.push(next);
        last = next;
    }
    points.push(Point::new(plot.right(), last.y));
    points
}

/// Draws the requests that some limits refuse, if replays counted them.
fn counted(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>) {
    let replayed = &picture.data.counted;
    if replayed.is_empty() {
        return;
    }
    // The limit in force was replayed too, so the curve passes through it.
    let in_force = picture.limit.zip(picture.data.refusals.as_ref().filter(|all| all.done));
    let in_force = in_force.map(|(limit, refusals)| [limit, refusals.refused as f64]);
    let mut counted: Vec<[f64; 2]> = Vec::with_capacity(replayed.len() + 1);
    for sample in replayed.iter().copied().chain(in_force) {
        counted.insert(counted.partition_point(|[limit, _]| *limit <= sample[0]), sample);
    }
    counted.dedup();
    let points: Vec<Point> = counted
        .iter()
        .map(|[limit, refused]| {
            Point::new(layout.x(*limit), layout.y(*refused as u64, picture.data.requests))
        })
        .collect();
    let discs: Vec<Mark> = points.iter().map(|at| disc(*at, 2.5, Ink::Rate)).collect();
    marks.push(Mark::Polyline { points, stroke: REQUESTS });
    marks.extend(discs);
}

fn axes(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>) {
    let plot = layout.curve;
    let mut pairs = vec![plot.across(plot.bottom())];
    let mut share = 1.0;
    while share > layout.shares.domain[0] / 1.01 {
        let y = layout.shares.at(share);
        pairs.push(plot.across(y));
        let text = format!("{} %", (libm::round(share * 1e9) / 1e7));
        if plot.bottom() - y > 15.0 {
            marks.push(label(plot.x - 8.0, y, &text, Anchor::End));
        }
        share /= 10.0;
    }
    marks.push(label(plot.x - 8.0, plot.bottom(), "none", Anchor::End));
    let ticks = ticks(layout.limits, 54.0);
    pairs.extend(ticks.iter().map(|(x, _)| plot.upright(*x)));
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
    let taken = picture.limit.map_or(f64::NEG_INFINITY, |limit| layout.x(limit));
    let room = width(&limit_tag(picture.limit), SIZE) / 2.0 + 26.0;
    for (x, text) in ticks.iter().filter(|(x, _)| (x - taken).abs() > room) {
        let y = plot.bottom() + TAGS / 2.0 + 2.0;
        marks.push(label(*x, y, text, Anchor::Middle));
    }
    let name = super::axis(picture);
    let y = plot.bottom() + TAGS + 12.0;
    marks.push(label(plot.right(), y, &name, Anchor::End));
}

/// The round numbers of a logarithmic scale, at least `apart` CSS pixels from each other.
pub(super) fn ticks(scale: LogScale, apart: f64) -> Vec<(f64, String)> {
    let [from, to] = scale.domain;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    let mut value = axis::next_round(from * 0.999_999, 1.0);
    let mut count = 0;
    while value <= to && count < 100 {
        let at = scale.at(value);
        if ticks.last().is_none_or(|(last, _)| (at - last).abs() >= apart) {
            let text = if value < 1e4 { value.to_string() } else { axis::compact(value) };
            ticks.push((at, text));
        }
        value = axis::next_round(value, 1.0);
        count += 1;
    }
    ticks
}

fn legend(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>) {
    let plot = layout.curve;
    let title = "What every limit would do, in %";
    marks.push(label(8.0, 11.0, title, Anchor::Start));
    let size = if layout.narrow { 11.0 } else { SIZE };
    let mut x = 8.0;
    let mut y = 27.0;
    let replayed = (!picture.data.counted.is_empty()).then_some(&LINES[0]);
    // The most important line first.
    let mut names: Vec<&Line> = Vec::new();
    for line in replayed.into_iter().chain(lines(picture)) {
        names.insert(names.partition_point(|other| other.stroke.width >= line.stroke.width), line);
    }
    for line in names {
        // The log has a word for its requests.
        let name = line.name.replace("requests", picture.data.events);
        let room = 30.0 + width(&name, size);
        if x + room > plot.right() + 14.0 {
            // A narrow screen has room for another row.
            x = 8.0;
            y += 17.0;
        }
        let from = Point::new(x, y);
        let to = Point::new(x + 22.0, y);
        marks.push(Mark::Line { from, to, stroke: line.stroke });
        marks.push(small(x + 27.0, y, &name, Ink::Text, Anchor::Start));
        x += room + 8.0;
    }
}

/// The height of the signs and their names above the plot, in CSS pixels.
const SIGNS: f64 = 18.0;

/// Marks the recommended limit and the knee. A name is beside its sign, on the right if there is room. A knee under the
/// name of the recommended limit is left out.
fn signs(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>) {
    let y = layout.curve.y;
    let right = layout.curve.right();
    let ink = Ink::Limit;
    let limits = [picture.data.recommended, picture.data.knee];
    let [recommended, knee] = limits.map(|limit| limit.map(|limit| layout.x(limit)));
    let apart = |[a, b]: [f64; 2], [from, to]: [f64; 2]| b < from || a > to;
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for (x, name, other) in [(recommended, "recommended", knee), (knee, "knee", recommended)] {
        let Some(x) = x else { continue };
        let sign = [x - 5.0, x + 5.0];
        let room = width(name, SMALL);
        if !taken.iter().all(|other| apart(sign, *other)) {
            continue;
        }
        let points =
            vec![Point::new(x - 5.0, y - 8.0), Point::new(x + 5.0, y - 8.0), Point::new(x, y)];
        marks.push(Mark::Area { points, fill: Fill::new(ink, 1.0) });
        taken.push(sign);
        let is_free = |side: &[f64; 2]| {
            let [from, to] = *side;
            from > 0.0 && to < right && taken.iter().all(|other| apart(*side, *other))
        };
        let is_clear =
            |side: &[f64; 2]| other.is_none_or(|other| apart([other - 5.0, other + 5.0], *side));
        let sides = [[x + 8.0, x + 8.0 + room], [x - 8.0 - room, x - 8.0]];
        let mut free = sides.into_iter().filter(is_free);
        if let Some(side @ [from, to]) = free.clone().find(is_clear).or_else(|| free.next()) {
            let (at, anchor) = if from > x { (from, Anchor::Start) } else { (to, Anchor::End) };
            marks.push(small(at, y - 6.0, name, ink, anchor));
            taken.push(side);
        }
    }
}

fn limit_tag(limit: Option<f64>) -> String {
    limit.map_or(String::new(), |limit| limit.to_string())
}

/// The limit in force, with its handle.
fn limit(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let Some(limit) = picture.limit else { return };
    let plot = layout.curve;
    let x = layout.x(limit);
    let stroke = Stroke::dashed(Ink::Limit, if view.on_limit { 3.0 } else { 2.0 });
    let from = Point::new(x, plot.y);
    let to = Point::new(x, plot.bottom() + 3.0);
    marks.push(Mark::Line { from, to, stroke });
    let text = limit_tag(Some(limit));
    let room = (width(&text, SIZE) + 14.0).max(30.0);
    let y = plot.bottom() + TAGS / 2.0 + 2.0;
    tag(marks, Rect { x: x - room / 2.0, y, width: room, height: TAG }, &text, Ink::Limit, SIZE);
}

/// Writes the effect of the limit under the pointer, or else of the limit in force.
fn about(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let plot = layout.curve;
    let pointed = view.pointer.filter(|_| !view.on_limit).filter(|[x, y]| {
        // Keys move the pointer along the upper edge of the canvas.
        let inside = *y == 0.0 || (plot.y..=plot.bottom()).contains(y);
        inside && (plot.x..=plot.right()).contains(x)
    });
    let pointed = pointed.map(|[x, _]| (x, super::limit_at(picture, view, x)));
    let Some((x, limit)) = pointed.or(picture.limit.map(|limit| (layout.x(limit), limit))) else {
        return;
    };
    let step = picture.stairs().at(limit);
    let height_of = |line: &Line| {
        let [some, all] = (line.of)(picture, &step);
        layout.y(some, all)
    };
    let highest = lines(picture).map(height_of).fold(plot.bottom(), f64::min);
    if pointed.is_some() {
        let (from, to) = plot.upright(x);
        marks.push(Mark::Line { from, to, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
        for line in lines(picture) {
            marks.push(disc(Point::new(x, height_of(line)), 3.5, line.stroke.ink));
        }
    }
    let mut lines = vec![limit_in_words(picture, limit)];
    lines.extend(words(picture, limit));
    let room = lines.iter().map(|line| width(line, SIZE)).fold(0.0, f64::max) + 2.0 * PAD;
    let height = lines.len() as f64 * LINE + PAD;
    // Curves fall to the right, so there is room above them to the right of `x`, and below them to the left.
    let top = plot.y + 8.0;
    let covers = highest < top + height && x - 12.0 - room >= plot.x;
    let (left, top) = if layout.narrow {
        // A narrow canvas has no room beside the curves, so the box is above the plot.
        let most = plot.right() + 16.0 - room;
        ((x - room / 2.0).min(most).max(4.0), plot.y - SIGNS - height)
    } else if x + 12.0 + room <= plot.right() && !covers {
        (x + 12.0, top)
    } else {
        ((x - 12.0 - room).max(4.0), plot.bottom() - 12.0 - height)
    };
    panel(marks, Rect { x: left, y: top, width: room, height }, 6.0);
    for (line, i) in lines.iter().zip(0..) {
        let y = top + PAD / 2.0 + (f64::from(i) + 0.5) * LINE;
        marks.push(match i {
            0 => bold(left + PAD, y, line, Ink::Text, SIZE, Anchor::Start),
            _ => label(left + PAD, y, line, Anchor::Start),
        });
    }
}
