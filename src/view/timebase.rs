//! The time base of a picture: where instants are, the scale that says so, and the stretches that
//! nobody saw.

use super::label::label;
use crate::civil::{Civil, DAY};
use crate::lab::run::pace::Gap;
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Baseline, Fill, Ink, Mark, Rect};
use crate::time::{Span, Time};

/// Below this width of the canvas, in CSS pixels, margins shrink.
const NARROW: f64 = 480.0;

/// Whether a canvas of that width has small margins.
pub(super) fn is_narrow(width: f64) -> bool {
    width < NARROW
}

/// The left and right edges of the plots of any view on a canvas of that width, in CSS pixels.
pub fn edges(width: f64) -> [f64; 2] {
    let (left, right) = if is_narrow(width) { (44.0, 80.0) } else { (60.0, 108.0) };
    [left, width - right]
}

/// Seconds in a CSS pixel of a canvas of that width.
pub fn seconds_per_pixel(width: f64, window: Span) -> f64 {
    let [left, right] = edges(width);
    window.secs() / (right - left)
}

/// The distance that two grid lines should have, in CSS pixels.
const COLUMN: f64 = 96.0;

/// How time runs across a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timebase {
    /// The instant at the left edge.
    pub(super) from: Time,
    /// The instant at the right edge.
    pub(super) to: Time,
    /// CSS pixels per second.
    pub(super) pace: f64,
    left: f64,
    right: f64,
    window: Span,
}

impl Timebase {
    /// `window` up to the instant `to`, between the CSS pixels `left` and `right`.
    pub(super) fn new([left, right]: [f64; 2], to: Time, window: Span) -> Self {
        let pace = (right - left) / window.secs();
        Timebase { from: to.before(window), to, pace, left, right, window }
    }

    /// Where an instant is.
    pub(super) fn x(&self, at: Time) -> f64 {
        self.right + at.since(self.to) * self.pace
    }

    /// Which instant is where, between the edges.
    pub(super) fn time_at(&self, x: f64) -> Time {
        let seconds = (x.max(self.left).min(self.right) - self.right) / self.pace;
        let micros = libm::round(seconds * 1e6) as i64;
        Time::from_micros(self.to.as_micros().saturating_add(micros))
    }

    /// The labels of the scale around the height `y`; returns where its grid lines are.
    pub(super) fn scale(&self, marks: &mut Vec<Mark>, y: f64) -> Vec<f64> {
        let columns = ((self.right - self.left) / COLUMN).max(2.0) as usize;
        let mut lines = Vec::with_capacity(columns);
        let mut ticks = axis::time_ticks(self.window.secs(), columns);
        let dated = is_date(self.to);
        if dated {
            ticks = self.hours(&ticks);
        }
        // A label centred on either edge would leave the picture or meet the scale.
        let room = if dated { 80.0 } else { 24.0 };
        for tick in ticks {
            let x = self.right - tick.value * self.pace;
            lines.push(x);
            if x - self.left > 24.0 && self.right - x > room {
                marks.push(label(x, y, &tick.label, Anchor::Middle, Baseline::Middle));
            }
        }
        lines
    }

    /// Ticks as far apart as `ticks`, where a clock has them.
    fn hours(&self, ticks: &[Tick]) -> Vec<Tick> {
        let Some(step) = ticks.first().map(|tick| (tick.value * 1e6) as i64).filter(|s| *s > 0)
        else {
            return Vec::new();
        };
        let last = self.to.as_micros();
        let at = |i: usize| last - last.rem_euclid(step) - step * i as i64;
        let tick = |micros: i64| {
            let civil = Civil(Time::from_micros(micros)).to_string();
            let (date, of_day) = civil.split_once(' ').unwrap_or((&civil, ""));
            let label = match micros.rem_euclid(DAY) {
                0 => date,
                _ => of_day.strip_suffix(":00").unwrap_or(of_day),
            };
            Tick { value: (last - micros) as f64 / 1e6, label: label.to_owned() }
        };
        let all = (0..=ticks.len()).map(|i| tick(at(i)));
        all.filter(|tick| tick.value <= self.window.secs()).collect()
    }

    /// What the right edge is: now, or a time of the run.
    pub(super) fn end(&self, marks: &mut Vec<Mark>, y: f64, live: bool) {
        let right = if live { "now".to_owned() } else { clock(self.to) };
        marks.push(label(self.right, y, &right, Anchor::Middle, Baseline::Middle));
    }

    /// Shades what nobody saw on a plot between the edges; `why` says so where there is room.
    pub(super) fn gaps(&self, marks: &mut Vec<Mark>, plot: Rect, gaps: &[Gap], why: bool) {
        for gap in gaps.iter().filter(|gap| gap.to > self.from && gap.from < self.to) {
            let from = self.x(gap.from).max(plot.x);
            let to = self.x(gap.to).min(plot.right());
            let rect = Rect { x: from, width: to - from, ..plot };
            marks.push(Mark::Rects { rects: vec![rect], fill: Fill::new(Ink::Gap, 1.0) });
            let mut unseen =
                if gap.hidden { "while hidden" } else { "while the page did not run" }.to_owned();
            if gap.skipped > Span::ZERO {
                let skipped = axis::seconds(gap.skipped.secs());
                unseen.push_str(&format!("; stood still for {skipped}"));
            }
            if why && rect.width > 6.0 * unseen.len() as f64 {
                let x = from + rect.width / 2.0;
                marks.push(label(x, plot.y + 14.0, &unseen, Anchor::Middle, Baseline::Middle));
            }
        }
    }
}

/// When something was: so long ago, or its date where it has one.
pub(super) fn when(at: Time, now: Time) -> String {
    match is_date(at) {
        true => Civil(Time::from_micros(at.as_micros() / 1000 * 1000)).to_string(),
        false => format!("{} ago", axis::seconds(now.since(at))),
    }
}

/// Whether a time is one of the calendar: that of an event that was, in a run of such events. No
/// other run gets so far.
fn is_date(at: Time) -> bool {
    at.as_secs() >= 1e9
}

/// The time of a run, as in `at 1m5s`, or a date.
fn clock(at: Time) -> String {
    let seconds = libm::round(at.as_secs() * 10.0) / 10.0;
    match is_date(at) {
        true => Civil(Time::from_micros(at.as_micros() / 1_000_000 * 1_000_000)).to_string(),
        false => format!("at {}", Span::from_secs(seconds).unwrap_or_default()),
    }
}
