//! Live: the events a second of each rule of a running service, in a lane each.

use super::label::{
    BOLD, LINE, PAD, SIZE, SMALL, beside, bold, label, panel, small, spaced, width,
};
use super::timebase::{Timebase, edges};
use crate::live::{DRAWN, Live, ReportedRule, Stretch};
use crate::plot::axis;
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::view::Viewport;
use ratescope::internal::larger;
use ratescope::internal::shown;

/// The height for the name of a lane, above its plot.
const HEAD: f64 = 26.0;

/// The height of the plot of a lane.
const PLOT: f64 = 84.0;

/// The height of the time axis.
const AXIS: f64 = 28.0;

/// The word of a flag where a process of the service started.
const STARTED: &str = "service started";

/// The lines of a lane, back to front, with the words of their labels.
const LINES: [(usize, &str, Stroke); 3] = [
    (0, "allowed", Stroke::solid(Ink::Allowed, 1.75)),
    (2, "would be", Stroke::dashed(Ink::Refused, 1.75)),
    (1, "refused", Stroke::solid(Ink::Refused, 3.0)),
];

fn time(view: &Viewport<'_>) -> Timebase {
    Timebase::new(edges(view.size[0]), view.right, view.window)
}

/// The counts of a lane's rule in the time in sight, in stretches of two CSS pixels or a second, if known so finely.
fn stretches(live: &Live, lane: usize, view: &Viewport<'_>) -> Vec<Stretch> {
    let time = time(view);
    live.stretches(lane, time.from, time.to, 2.0 / time.pace)
}

fn plot(lane: usize, view: &Viewport<'_>) -> Rect {
    let [left, right] = edges(view.size[0]);
    let y = lane as f64 * (HEAD + PLOT) + HEAD;
    Rect { x: left, y, width: right - left, height: PLOT }
}

/// The rules with a lane; others are in the table only.
fn lanes(live: &Live) -> impl Iterator<Item = (usize, &ReportedRule)> {
    live.rules.iter().take(DRAWN).enumerate()
}

/// The height for the canvas, in CSS pixels.
pub fn height(live: &Live) -> f64 {
    live.rules.len().clamp(1, DRAWN) as f64 * (HEAD + PLOT) + AXIS
}

/// The events a second at the upper edge of a lane: 15 % above the highest rate in sight, or above one event in a
/// hundred seconds; without events, 15 % above 1.
pub fn top(live: &Live, lane: usize, view: &Viewport<'_>) -> f64 {
    let stretches = stretches(live, lane, view);
    let most = stretches.iter().flat_map(|stretch| stretch.rates).fold(0.0, larger);
    1.15 * if most > 0.0 { larger(most, 0.01) } else { 1.0 }
}

/// All marks, back to front.
pub fn draw(live: &Live, view: &Viewport<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let time = time(view);
    if time.pace.is_nan() || time.pace <= 0.0 || live.rules.is_empty() {
        return marks;
    }
    let last = plot(live.rules.len().min(DRAWN) - 1, view);
    let y = last.bottom() + AXIS / 2.0 + 2.0;
    let uprights = time.scale(&mut marks, y, view.live);
    time.end(&mut marks, y, view.live);
    for (lane, rule) in lanes(live) {
        let plot = plot(lane, view);
        let pairs = uprights.iter().map(|x| plot.upright(*x)).collect();
        marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Grid, 1.0) });
        let top = view.tops.get(lane).copied().unwrap_or(1.0);
        scale(&mut marks, plot, top);
        name(&mut marks, plot, rule);
        lines(&mut marks, &time, (plot, view.size[0]), top, &stretches(live, lane, view));
    }
    flags(&mut marks, live, view);
    let unit = plot(0, view);
    marks.push(small(unit.right() + 6.0, unit.y - 12.0, "events/s", Ink::Muted, Anchor::Start));
    crosshair(&mut marks, live, view);
    marks
}

fn scale(marks: &mut Vec<Mark>, plot: Rect, top: f64) {
    for tick in axis::ticks(0.0, top, 3) {
        let y = plot.bottom() - tick.value / top * plot.height;
        let (from, to) = plot.across(y);
        let ink = if tick.value == 0.0 { Ink::Axis } else { Ink::Grid };
        marks.push(Mark::Line { from, to, stroke: Stroke::solid(ink, 1.0) });
        marks.push(label(plot.x - 8.0, y, &tick.label, Anchor::End));
    }
}

fn name(marks: &mut Vec<Mark>, plot: Rect, rule: &ReportedRule) {
    let at = Point::new(plot.x, plot.y - 12.0);
    let wide = rule.name.chars().count() as f64 * SIZE * BOLD + 12.0;
    marks.push(bold(at.x, at.y, &rule.name, Ink::Text, SIZE, Anchor::Start));
    let room = ((plot.right() - at.x - wide) / (SMALL * 0.57)).max(0.0) as usize;
    if room > 8 {
        let limits = shown(&rule.limits, room - 1);
        marks.push(small(at.x + wide, at.y, &limits, Ink::Muted, Anchor::Start));
    }
}

/// The lines, as steps, since the times of events within a stretch are unknown. Stretches longer than the picture could
/// show are bars. The labels at the ends of the lines stay within the width of the picture.
fn lines(
    marks: &mut Vec<Mark>,
    time: &Timebase,
    (plot, all): (Rect, f64),
    top: f64,
    stretches: &[Stretch],
) {
    marks.push(Mark::Clip(Rect { y: plot.y - 1.0, height: plot.height + 2.0, ..plot }));
    let mut ends = Vec::new();
    for (which, word, stroke) in LINES {
        // Without events, only the line of allowed events is drawn.
        if which != 0 && stretches.iter().all(|stretch| stretch.rates[which] <= 0.0) {
            continue;
        }
        for part in stretches.chunk_by(|a, b| a.to == b.from && !a.is_coarse && !b.is_coarse) {
            // A pixel is left between two bars.
            let inset = if part.iter().any(|stretch| stretch.is_coarse) { 0.5 } else { 0.0 };
            let points = steps(time, plot, top, which, part, inset);
            if which == 0 {
                let foot = |x: f64| Point::new(x, plot.bottom());
                let [first, .., last] = *points else { continue };
                let area = [vec![foot(first.x)], points.clone(), vec![foot(last.x)]].concat();
                marks.push(Mark::Area { points: area, fill: Fill::new(stroke.ink, 0.14) });
            }
            marks.push(Mark::Polyline { points, stroke });
        }
        let Some(last) = stretches.last().filter(|last| !last.is_coarse) else { continue };
        let rate = last.rates[which];
        let y = plot.bottom() - rate / top * plot.height;
        ends.push((y, format!("{} {word}", axis::readout(rate)), stroke.ink));
    }
    marks.push(Mark::Unclip);
    // Labels where the lines end, apart from each other.
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut above = plot.bottom() + SMALL;
    for (y, text, ink) in ends {
        above = y.min(above - SMALL - 3.0).max(plot.y - 12.0);
        let wide = width(&text, SMALL);
        let x = (plot.right() + 6.0).min(all - wide);
        // On a narrow screen the label lies over the ends of the lines, so it has a background.
        if x < plot.right() {
            let rect = Rect { x: x - 3.0, y: above - 7.0, width: wide + 6.0, height: 14.0 };
            marks.push(Mark::Rounded { rect, radius: 3.0, fill: Fill::new(Ink::Panel, 0.85) });
        }
        marks.push(small(x, above, &text, ink, Anchor::Start));
    }
}

/// The corners of a line through consecutive stretches, each `inset` CSS pixels shorter at its ends.
fn steps(
    time: &Timebase,
    plot: Rect,
    top: f64,
    which: usize,
    stretches: &[Stretch],
    inset: f64,
) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(2 * stretches.len());
    for stretch in stretches {
        let y = plot.bottom() - stretch.rates[which] / top * plot.height;
        let [from, to] = [time.x(stretch.from) + inset, time.x(stretch.to) - inset];
        // A step of the same height extends the last one.
        match points.last_mut().filter(|last| last.y == y) {
            Some(last) => last.x = to,
            None => points.extend([Point::new(from, y), Point::new(to, y)]),
        }
    }
    points
}

/// A flag where a process of the service started.
fn flags(marks: &mut Vec<Mark>, live: &Live, view: &Viewport<'_>) {
    let time = time(view);
    for start in live.starts().filter(|start| (time.from..=time.to).contains(start)) {
        let x = time.x(start);
        let pairs = lanes(live).map(|(lane, _)| plot(lane, view).upright(x)).collect();
        marks.push(Mark::Segments { pairs, stroke: Stroke::dashed(Ink::Muted, 1.0) });
        let wide = width(STARTED, SMALL);
        let [left, right] = edges(view.size[0]);
        let at = if x + wide + 2.0 * PAD > right { left.max(x - wide - 2.0 * PAD) } else { x };
        let rect = Rect { x: at, y: HEAD, width: wide + 2.0 * PAD, height: LINE };
        marks.push(Mark::Rounded { rect, radius: 0.0, fill: Fill::new(Ink::Panel, 0.85) });
        let y = rect.y + LINE / 2.0;
        marks.push(small(at + PAD, y, STARTED, Ink::Muted, Anchor::Start));
    }
}

/// The sentences about the instant under the crosshair: its distance from the right edge, the length of the stretch
/// counted there, and the rates of each rule in that stretch. Empty without a crosshair.
pub fn words(live: &Live, view: &Viewport<'_>) -> Vec<String> {
    let Some(x) = view.crosshair() else { return Vec::new() };
    let time = time(view);
    let at = time.time_at(x);
    let mut counted = None;
    let mut each = Vec::new();
    for (lane, rule) in lanes(live) {
        let stretches = stretches(live, lane, view);
        let Some(there) = stretches.iter().find(|it| it.from <= at && at < it.to) else { continue };
        counted = Some(there.counted);
        let [allowed, refused, would] = there.rates;
        let shadow = if would > 0.0 {
            format!(", {} would be", axis::readout(would))
        } else {
            String::new()
        };
        let [allowed, refused] = [allowed, refused].map(axis::readout);
        each.push(format!("{}: {allowed} allowed, {refused} refused{shadow}", rule.name));
    }
    let before = axis::seconds(time.to.since(at));
    let first = match counted {
        Some(counted) => format!("{before} before, events a second over {}", spaced(counted)),
        None => format!("{before} before, nothing is known"),
    };
    [vec![first], each].concat()
}

fn crosshair(marks: &mut Vec<Mark>, live: &Live, view: &Viewport<'_>) {
    let Some(x) = view.crosshair() else { return };
    let [left, right] = edges(view.size[0]);
    if !(left..=right).contains(&x) {
        return;
    }
    let pairs = lanes(live).map(|(lane, _)| plot(lane, view).upright(x)).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
    let words = words(live, view);
    let wide = words.iter().map(|text| width(text, SMALL)).fold(0.0, f64::max) + 2.0 * PAD;
    let x = beside(x, 10.0, wide, right, view.size[0]);
    let rect = Rect { x, y: 4.0, width: wide, height: words.len() as f64 * LINE + PAD };
    panel(marks, rect, 6.0);
    for (text, i) in words.iter().zip(0..) {
        let y = rect.y + PAD / 2.0 + (f64::from(i) + 0.5) * LINE;
        marks.push(small(x + PAD, y, text, Ink::Text, Anchor::Start));
    }
}
