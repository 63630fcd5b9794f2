//! The readings and decisions of every lane at the instant under the crosshair.

use super::Viewport;
use super::layout::Layout;
use super::level::Scale;
use super::numbers;
use super::totals::{Count, chip, elder};
use super::{columns, top};
use crate::compare::{Comparison, Lane};
use crate::lane::history::{Column, Columns};
use crate::plot::{Anchor, Ink, Mark, Point, Rect, Stroke};
use crate::view::label::{beside, disc, panel, small};
use ratescope::time::Time;

/// The crosshair snaps to an event this near, in CSS pixels.
const NEAR: f64 = 4.0;

/// The distance of two lines of text in a box.
const LINE: f64 = 15.0;

/// The distance of text from the edge of its box.
const PAD: f64 = 7.0;

/// The distance of a box from the crosshair.
const BESIDE: f64 = 9.0;

/// The sentences for a screen reader about the instant `at`, or about an event drawn close to it: one line for each
/// lane, with its number and template, its level, its verdict and the reason.
pub fn words(comparison: &Comparison, view: &Viewport, at: Time) -> Vec<String> {
    let layout = Layout::new(comparison.lanes(), view);
    let all: Vec<_> = comparison.lanes().iter().map(|lane| columns(lane, &layout)).collect();
    let at = snap(&layout, comparison, &all, at);
    let line = |(i, lane): (usize, &Lane)| {
        let Some(column) = numbers::column(comparison.now(), lane, at) else {
            return format!("{}, {}: nothing known", i + 1, lane.template());
        };
        let level = numbers::level(column.end, column.limit);
        let verdict = numbers::verdict(column, false).map_or(String::new(), |v| format!("; {v}"));
        let next = numbers::next(lane.retry_at(column, at, comparison.now()));
        format!("{}, {}: {} {level}{verdict}; {next}", i + 1, lane.template(), lane.unit())
    };
    comparison.lanes().iter().enumerate().map(line).collect()
}

/// The reading of a lane at the crosshair, as the head of the lane shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The decisions at that instant, if any, the level, and when the next event would be allowed.
    pub text: String,
    /// An event was refused at that instant.
    pub refused: bool,
}

/// The reading of each lane at the crosshair; `None` for a lane without a history of that instant. Without a crosshair
/// the list is empty.
pub fn readings(comparison: &Comparison, view: &Viewport) -> Vec<Option<Reading>> {
    let layout = Layout::new(comparison.lanes(), view);
    let Some(x) = view.crosshair().filter(|x| (layout.left..=layout.right).contains(x)) else {
        return Vec::new();
    };
    let all: Vec<_> = comparison.lanes().iter().map(|lane| columns(lane, &layout)).collect();
    let at = snap(&layout, comparison, &all, layout.time.time_at(x));
    let reading = |lane: &Lane| {
        let column = numbers::column(comparison.now(), lane, at)?;
        let verdict = numbers::verdict(column, layout.narrow).map(|verdict| verdict + "; ");
        let level = numbers::level(column.end, column.limit);
        let next = numbers::next(lane.retry_at(column, at, comparison.now()));
        let text = format!("{}{level}; {next}", verdict.unwrap_or_default());
        Some(Reading { text, refused: column.refused > 0 })
    };
    comparison.lanes().iter().map(reading).collect()
}

pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    comparison: &Comparison,
    columns: &[Columns<'_>],
    view: &Viewport,
) {
    let Some(x) = view.crosshair().filter(|x| (layout.left..=layout.right).contains(x)) else {
        return;
    };
    let pairs = layout.plots().map(|plot| plot.upright(x)).collect();
    marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Crosshair, 1.0) });
    let at = snap(layout, comparison, columns, layout.time.time_at(x));
    let remembered: Vec<_> =
        comparison.lanes().iter().map(|lane| numbers::column(comparison.now(), lane, at)).collect();
    for (i, (column, lane)) in remembered.iter().zip(comparison.lanes()).enumerate() {
        if let Some(column) = column {
            let plot = layout.lane(i).level;
            let top =
                view.tops.get(i).copied().unwrap_or_else(|| top(lane, view.right, view.window));
            let at = Point::new(x, Scale { plot, top }.y(column.end).max(plot.y));
            marks.extend([disc(at, 5.0, Ink::Panel), disc(at, 3.5, layout.ink(i))]);
        }
    }
    counts(marks, layout, x, comparison, &remembered);
    let right = layout.width - 2.0;
    layout.time.tag_instant(marks, [at, comparison.now()], x, right, layout.axis);
}

/// The instant of the event closest to `at`, if one is [near enough](NEAR); otherwise `at`, or the present if that is
/// earlier. All lanes have the same events, so the lane with the longest history is searched.
fn snap(layout: &Layout, comparison: &Comparison, columns: &[Columns<'_>], at: Time) -> Time {
    let at = at.min(comparison.now());
    let Some(columns) = elder(comparison).and_then(|(i, _)| columns.get(i)) else { return at };
    let near = NEAR / layout.time.pace;
    let mut nearest = at;
    let mut distance = near;
    for (event, _) in columns.iter().filter_map(|column| column.judged) {
        let away = event.since(at).abs();
        if away <= distance {
            nearest = event;
            distance = away;
        }
    }
    nearest
}

/// The box with the counts of the cumulative picture: the requests sent, and below them the requests that each lane
/// allowed, in columns of four lanes.
fn counts(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    x: f64,
    comparison: &Comparison,
    remembered: &[Option<&Column>],
) {
    const ROWS: usize = 4;
    let from = layout.time.from;
    let Some(plot) = layout.totals else { return };
    let Some((i, elder)) = elder(comparison) else { return };
    let Some(Some(column)) = remembered.get(i) else { return };
    let sent = Count::of_sent(elder, from).at(column);
    let wide = 66.0 * remembered.len().div_ceil(ROWS) as f64 + PAD;
    let rows = remembered.len().min(ROWS) + 1;
    let height = rows as f64 * LINE + 8.0;
    let left = beside(x, BESIDE, wide, layout.right, layout.width);
    let y = plot.y + ((plot.height - height) / 2.0).max(0.0);
    panel(marks, Rect { x: left, y, width: wide, height }, 5.0);
    let row = |i: usize| y + 4.0 + (i as f64 + 0.5) * LINE;
    let text = format!("{} sent", numbers::count(sent));
    marks.push(small(left + PAD, row(0), &text, Ink::Text, Anchor::Start));
    for (i, (lane, column)) in comparison.lanes().iter().zip(remembered).enumerate() {
        let x = left + PAD + 66.0 * (i / ROWS) as f64;
        chip(marks, x, row(i % ROWS + 1), LINE - 2.0, i, layout.ink(i));
        let text = match column {
            Some(column) => numbers::count(Count::of_allowed(lane, from).at(column)),
            None => "–".to_owned(),
        };
        marks.push(small(x + 22.0, row(i % ROWS + 1), &text, Ink::Text, Anchor::Start));
    }
}
