//! The measurements and decisions at the instant under the crosshair.

use super::layout::Layout;
use super::{Viewport, limit_text, lines, models};
use crate::plot::axis;
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::scope::Scope;
use crate::scope::models::Model;
use crate::trace::Column;
use crate::view::compare::numbers;
use crate::view::label::{LINE, PAD, SIZE, SMALL, beside, bold, panel, plain, spaced, width};
use ratescope::limit::Limiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::outcome::Retry;
use ratescope::rate::Rate;
use ratescope::time::{Span, Time};

/// The crosshair snaps to an event this near, in CSS pixels.
const NEAR: f64 = 4.0;

/// The sentences about the instant under the crosshair, for a screen reader; empty without a crosshair.
pub fn words(scope: &Scope, view: &Viewport) -> Vec<String> {
    let layout = Layout::new(scope, view);
    view.crosshair().map_or_else(Vec::new, |x| read(scope, &layout, x, view, false).words)
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, scope: &Scope, view: &Viewport) {
    let plot = layout.plot;
    let Some(x) = view.crosshair().filter(|x| (plot.x..=plot.right()).contains(x)) else { return };
    // On a narrow screen the box is smaller, to leave room beside it.
    let (size, pad) = if layout.narrow { (SMALL, 6.0) } else { (SIZE, PAD) };
    let Reading { values, words, rows } = read(scope, layout, x, view, layout.narrow);
    let (from, to) = plot.upright(x);
    marks.push(Mark::Line { from, to, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
    // A value above the picture has no mark.
    let points = values.iter().map(|&(value, ink)| (Point::new(x, layout.y(value)), ink));
    points.filter(|(at, _)| at.y >= plot.y).for_each(|(at, ink)| mark(marks, at, ink));
    let longest = words.iter().map(|line| width(line, size)).fold(0.0, f64::max);
    // In steps, so that the box does not quiver with its numbers.
    let step = if layout.narrow { 1.0 } else { 16.0 };
    let width = libm::ceil(longest / step) * step + 2.0 * pad;
    let height = rows as f64 * LINE + 2.0 * pad - 4.0;
    let left = beside(x, pad + 4.0, width, plot.right(), view.size[0]);
    let rect = Rect { x: left, y: plot.y + 8.0, width, height };
    panel(marks, rect, 6.0);
    for (i, text) in words.iter().enumerate() {
        let y = rect.y + pad + LINE * (i as f64 + 0.4);
        let line = if i == 0 { bold } else { plain };
        marks.push(line(rect.x + pad, y, text, Ink::Text, size, Anchor::Start));
    }
}

/// The instant at `x`, or that of an event near `x`, with the column of the event.
pub(super) fn pointed<'a>(scope: &'a Scope, layout: &Layout, x: f64) -> (Time, Option<&'a Column>) {
    let pointed = layout.time.time_at(x);
    let near = Span::try_from_secs_f64(NEAR / layout.time.pace).unwrap_or_default();
    let reach = pointed.after(near).min(scope.now());
    let column = scope.instrument().trace().column_at(reach);
    let column = column.filter(|c| c.last().since(pointed).abs() <= near.as_secs_f64());
    (column.map_or(pointed, |c| c.last()).min(scope.now()), column)
}

/// Marks a value of a line: a disc on the red line, and a square on the blue one. On the thin lines it is a
/// diamond, a triangle with a corner up, and a triangle with a corner down.
fn mark(marks: &mut Vec<Mark>, Point { x, y }: Point, ink: Ink) {
    let half = 3.5;
    let fill = Fill::new(ink, 1.0);
    let corners: &[(f64, f64)] = match ink {
        Ink::Bucket => &[(0.0, -4.5), (4.5, 0.0), (0.0, 4.5), (-4.5, 0.0)],
        Ink::Mean => &[(0.0, -4.0), (4.0, 3.0), (-4.0, 3.0)],
        Ink::Recent => &[(0.0, 4.0), (4.0, -3.0), (-4.0, -3.0)],
        _ => {
            let rect = Rect { x: x - half, y: y - half, width: 2.0 * half, height: 2.0 * half };
            let radius = if ink == Ink::Rate { half } else { 0.0 };
            return marks.push(Mark::Rounded { rect, radius, fill });
        }
    };
    let points = corners.iter().map(|(dx, dy)| Point::new(x + dx, y + dy)).collect();
    marks.push(Mark::Area { points, fill });
}

/// The readings under the crosshair.
struct Reading {
    /// The values of all lines in events per second, each with its ink, the red line first.
    values: Vec<(f64, Ink)>,
    /// The sentences about that instant.
    words: Vec<String>,
    /// The rows of the box, with room for a verdict even where there is none.
    rows: usize,
}

/// The readings at `x`, with shorter sentences if `brief`. The instant of an event near `x` replaces that of `x`.
fn read(scope: &Scope, layout: &Layout, x: f64, view: &Viewport, brief: bool) -> Reading {
    let trace = scope.instrument().trace();
    let (at, column) = pointed(scope, layout, x);
    let (rate, smoothed) = lines::at(scope, at);
    let thin = models::at(scope, at);
    let interval = Span::try_from_secs_f64(layout.per_decay(1.0)).unwrap_or_default();
    let per = spaced(interval);
    let line = |name: &str, value: f64| {
        let per_decay = axis::readout(layout.per_decay(value));
        if brief {
            format!("{name} {per_decay} per {per}")
        } else {
            format!("{name} {per_decay} per {per}, {} per second", axis::readout(value))
        }
    };
    let mut words = vec![layout.time.when(at, scope.now())];
    words.push(line("rate", rate));
    if !view.hides_blue {
        words.push(line("smoothed", smoothed));
    }
    let lane = scope.instrument().lane();
    let said = lane.and_then(|lane| Some((lane, numbers::column(scope.now(), lane, at)?)));
    if let Some((lane, known)) = said {
        words.push(format!("{} {}", lane.unit(), numbers::level(known.end, known.limit)));
    }
    for &(model, value) in &thin {
        words.push(match model {
            Model::Bucket => {
                format!("leaky bucket {} events", axis::readout(layout.per_decay(value)))
            }
            Model::Mean => line(&format!("mean of {}:", scope.settings().last), value),
            Model::Recent => {
                format!("recent average's N {}", axis::readout(layout.per_decay(value)))
            }
            Model::Former => line("rate of 2009", value),
        });
    }
    let before = trace.total_at(at.before(interval));
    if let (Some(before), Some(upto)) = (before, trace.total_at(at)) {
        let events = match upto.0 - before.0 {
            1 => "1 event".to_owned(),
            n => format!("{} events", axis::readout_count(n)),
        };
        let how = match (brief, before.1 && upto.1) {
            (_, false) => "about ",
            (true, true) => "",
            (false, true) => "exactly ",
        };
        let last = if brief { "" } else { "the last " };
        words.push(format!("{how}{events} in {last}{per}"));
    }
    let mut values = vec![(rate, Ink::Rate)];
    if !view.hides_blue {
        values.push((smoothed, Ink::Smoothed));
    }
    let rows = words.len() + 2;
    match said {
        None => words.extend(column.into_iter().flat_map(|column| verdict(column, brief))),
        Some((lane, known)) => {
            words.extend(numbers::verdict(known, brief));
            words.push(numbers::next(lane.retry_at(known, at, scope.now())));
            values.push((known.end / layout.per_decay(1.0), lines::LEVEL));
        }
    }
    values.extend(thin.into_iter().map(|(model, value)| (value, models::ink(model))));
    Reading { values, words, rows }
}

/// The decisions of Exim's limiter in a column, with the reason for a single decision; empty if only a setting changed.
fn verdict(column: &Column, brief: bool) -> Vec<String> {
    let end = column.end;
    match column.events() {
        0 => return Vec::new(),
        1 => {}
        _ => {
            let [allowed, refused] =
                [end.allowed, end.refused].map(|n| axis::readout_count(n.into()));
            return vec![format!("{allowed} allowed, {refused} refused")];
        }
    }
    let rate = axis::readout(end.judged);
    let limit = limit_text(end.limit);
    let reason = if brief {
        format!("limit {limit}")
    } else {
        format!("rate {rate} per {}, limit {limit}", spaced(end.decay))
    };
    if end.allowed == 1 {
        return vec![format!("allowed: {reason}")];
    }
    let again = match Rate::new(end.limit, end.decay) {
        // Both modes wait equally long for a given stored rate; they differ only in the rate stored.
        Ok(limit) => Exim { limit, mode: Mode::Strict }.retry_after(&end.stored, end.at, 1.0),
        Err(_) => Retry::Never,
    };
    let again = match again {
        Retry::After(wait) if brief => format!("again in {}", axis::seconds(wait.as_secs_f64())),
        Retry::After(wait) => format!("allowed again in {}", axis::seconds(wait.as_secs_f64())),
        Retry::Never => "never allowed".to_owned(),
    };
    vec![format!("refused: {reason}"), again]
}
