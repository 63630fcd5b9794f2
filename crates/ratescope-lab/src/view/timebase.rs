//! The time base of a picture: the place of each instant, the scale of times, and the stretches of time that were not
//! watched.

use super::label::{SIZE, SMALL, TAG, label, tag, width};
use crate::plot::axis::{self, Tick};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use crate::run::pace::Gap;
use ratescope::time::{Span, Time};
use ratescope_log::civil::{Civil, DAY};

/// Below this width of the canvas, in CSS pixels, margins shrink.
const NARROW: f64 = 480.0;

/// A canvas of that width has small margins.
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
    window.as_secs_f64() / (right - left)
}

/// The intended distance of grid lines, in CSS pixels.
const GRID: f64 = 96.0;

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
    /// Times count from the start of the run, and not back from the right edge.
    own: bool,
    /// Time passes, so the time of the right edge is in whole seconds.
    runs: bool,
}

impl Timebase {
    /// `window` up to the instant `to`, between the CSS pixels `left` and `right`.
    pub(super) fn new([left, right]: [f64; 2], to: Time, window: Span) -> Self {
        let pace = (right - left) / window.as_secs_f64();
        Timebase { from: to.before(window), to, pace, left, right, window, own: false, runs: false }
    }

    /// A copy whose times count from the start of the run if `own`, where time passes if it `runs`.
    pub(super) fn in_own_time(self, own: bool, runs: bool) -> Self {
        Timebase { own, runs, ..self }
    }

    pub(super) fn x(&self, at: Time) -> f64 {
        self.right + at.since(self.to) * self.pace
    }

    /// The instant at an x between the edges.
    pub(super) fn time_at(&self, x: f64) -> Time {
        let seconds = (x.max(self.left).min(self.right) - self.right) / self.pace;
        let micros = libm::round(seconds * 1e6) as i64;
        Time::from_micros(self.to.as_micros().saturating_add(micros))
    }

    /// Draws the labels of the scale around the height `y`, except any that would touch the label of the [right
    /// edge](Self::end); returns the x of each grid line.
    pub(super) fn scale(&self, marks: &mut Vec<Mark>, y: f64, live: bool) -> Vec<f64> {
        let columns = ((self.right - self.left) / GRID).max(2.0) as usize;
        // A label close to the left edge would leave the picture.
        let half = |text: &str| width(text, SIZE) / 2.0;
        let labels = |ticks: &[(f64, String)]| {
            let edge = (self.right, self.end_text(live));
            let mut labels: Vec<(f64, String)> = Vec::new();
            for (x, text) in ticks {
                let is_apart =
                    |(other, its): &(f64, String)| (x - other).abs() > half(text) + half(its) + 6.0;
                if x - self.left > 24.0 && is_apart(&edge) && labels.last().is_none_or(is_apart) {
                    labels.push((*x, text.clone()));
                }
            }
            labels
        };
        // A scale needs two labels, so the step shrinks until there are two. If the times of a run are too long for
        // two, times count back from the right edge.
        let scales = [*self, self.in_own_time(false, self.runs)];
        let mut tried =
            scales.iter().flat_map(|scale| (columns..=4 * columns).map(|n| scale.ticks(n)));
        let ticks =
            tried.find(|ticks| labels(ticks).len() > 1).unwrap_or_else(|| self.ticks(columns));
        for (x, text) in labels(&ticks) {
            marks.push(label(x, y, &text, Anchor::Middle));
        }
        ticks.into_iter().map(|(x, _)| x).collect()
    }

    /// The x and the label of each tick, for at most `about` intervals.
    fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let seconds = self.to.as_secs_f64();
        if is_date(self.to) {
            return self.hours(about);
        }
        if self.own {
            let ticks = axis::run_ticks(seconds - self.window.as_secs_f64(), seconds, about);
            let place = |tick: Tick| (self.right + (tick.value - seconds) * self.pace, tick.label);
            return ticks.into_iter().map(place).collect();
        }
        let ticks = axis::time_ticks(self.window.as_secs_f64(), about);
        ticks.into_iter().map(|tick| (self.right - tick.value * self.pace, tick.label)).collect()
    }

    /// The ticks on dates: at round times of a clock, in UTC. Midnight has the date in place of the time.
    fn hours(&self, about: usize) -> Vec<(f64, String)> {
        let first = axis::time_ticks(self.window.as_secs_f64(), about).into_iter().next();
        let step = first.map_or(0, |tick| (tick.value * 1e6) as i64);
        if step <= 0 {
            return Vec::new();
        }
        let last = self.to.as_micros().div_euclid(step);
        let tick = |i: i64| {
            let at = Time::from_micros((last - i) * step);
            let civil = Civil(at).to_string();
            let (date, of_day) = civil.split_once(' ').unwrap_or((&civil, ""));
            let label = match at.as_micros().rem_euclid(DAY) {
                0 => date,
                _ => of_day.strip_suffix(":00").unwrap_or(of_day),
            };
            (self.x(at), label.to_owned())
        };
        (0..=about as i64).map(tick).filter(|(x, _)| *x >= self.left).collect()
    }

    /// Draws the label of the right edge: `now`, a time of the run, or a date.
    pub(super) fn end(&self, marks: &mut Vec<Mark>, y: f64, live: bool) {
        let text = self.end_text(live);
        marks.push(label(self.right, y, &text, Anchor::Middle));
    }

    /// Leaves out the date where a tick at midnight shows it.
    fn end_text(&self, live: bool) -> String {
        let day = |at: Time| at.as_micros().div_euclid(DAY);
        match (self.own, live) {
            _ if is_date(self.to) => {
                let text = date(self.to, 1_000_000);
                match text.split_once(' ') {
                    Some((_, of_day)) if day(self.from) < day(self.to) => of_day.to_owned(),
                    _ => text,
                }
            }
            (true, _) if self.runs => {
                format!("at {}", axis::instant(libm::floor(self.to.as_secs_f64())))
            }
            (true, _) => self.when(self.to, self.to),
            (false, true) => "now".to_owned(),
            (false, false) => clock(self.to),
        }
    }

    /// The time `at` as text, as seen at `now`: a date, a time in the run, or how long ago it was.
    pub(super) fn when(&self, at: Time, now: Time) -> String {
        if is_date(at) {
            date(at, 1000)
        } else if self.own {
            format!("at {}", axis::instant(at.as_secs_f64()))
        } else {
            format!("{} ago", axis::seconds(now.since(at).max(0.0)))
        }
    }

    /// Writes the [text](Self::when) of `at`, seen from `now`, in a tag around `x` and the height `y` that ends at
    /// `right` at the latest.
    pub(super) fn tag_instant(
        &self,
        marks: &mut Vec<Mark>,
        [at, now]: [Time; 2],
        x: f64,
        right: f64,
        y: f64,
    ) {
        let text = self.when(at, now);
        let wide = width(&text, SMALL) * 1.05 + 14.0;
        let left = (x - wide / 2.0).min(right - wide).max(2.0);
        let rect = Rect { x: left, y, width: wide, height: TAG };
        make_room(marks, rect);
        tag(marks, rect, &text, Ink::Crosshair, SMALL);
    }

    /// Draws the pole of a flag at each of the instants `flags` that is in sight, through all plots, with its time around
    /// the height `y`. Returns the x of each pole.
    pub(super) fn poles(
        &self,
        marks: &mut Vec<Mark>,
        flags: &[Time],
        plots: &[Rect],
        y: f64,
    ) -> Vec<f64> {
        let mut lines = Vec::new();
        let mut poles = Vec::new();
        let mut places = Vec::new();
        let mut tags = Vec::new();
        for &at in flags.iter().filter(|&&at| at >= self.from && at <= self.to) {
            let x = self.x(at);
            poles.push(x);
            lines.extend(plots.iter().map(|p| (Point::new(x, p.y), Point::new(x, p.bottom()))));
            let text = axis::instant(at.as_secs_f64());
            let wide = width(&text, SMALL) + 6.0;
            places.push([x - wide / 2.0, wide]);
            tags.push((wide, text));
        }
        for (left, (wide, text)) in apart(&places).into_iter().zip(tags) {
            let rect = Rect { x: left, y, width: wide, height: TAG };
            make_room(marks, rect);
            tag(marks, rect, &text, Ink::Crosshair, SMALL);
        }
        marks.push(Mark::Segments { pairs: lines, stroke: Stroke::dashed(Ink::Crosshair, 1.0) });
        poles
    }

    /// Shades the gaps on a plot. If `why`, writes the reason on each gap with room for it.
    pub(super) fn gaps(&self, marks: &mut Vec<Mark>, plot: Rect, gaps: &[Gap], why: bool) {
        for gap in gaps {
            let [unseen, short] = if gap.hidden {
                ["while hidden", "hidden"]
            } else {
                ["while the page did not run", "not run"]
            };
            let skipped = axis::seconds(gap.skipped.as_secs_f64());
            let whole = if gap.skipped > Span::ZERO {
                format!("{unseen}; stood still for {skipped}")
            } else {
                unseen.to_owned()
            };
            let words = [whole.as_str(), unseen, short].map(|words| if why { words } else { "" });
            self.band(marks, plot, [gap.from, gap.to], &words);
        }
    }

    /// Shades the stretch in which limiters do not know all earlier events yet. If `why`, writes the reason on it.
    pub(super) fn warming(
        &self,
        marks: &mut Vec<Mark>,
        plot: Rect,
        warming: Option<[Time; 2]>,
        why: bool,
    ) {
        let words = ["warming up: earlier events are unknown", "warming up"];
        let words = words.map(|words| if why { words } else { "" });
        warming.into_iter().for_each(|stretch| self.band(marks, plot, stretch, &words));
    }

    /// Shades a stretch of time on a plot, with the longest of `words` that fits.
    fn band(&self, marks: &mut Vec<Mark>, plot: Rect, [from, to]: [Time; 2], words: &[&str]) {
        if to <= self.from || from >= self.to {
            return;
        }
        let from = self.x(from).max(plot.x);
        let width = self.x(to).min(plot.right()) - from;
        let rect = Rect { x: from, width, ..plot };
        marks.push(Mark::Rects { rects: vec![rect], fill: Fill::new(Ink::Gap, 1.0) });
        let fits = words.iter().find(|words| width > 6.0 * words.len() as f64);
        if let Some(words) = fits.filter(|words| !words.is_empty()) {
            marks.push(label(from + width / 2.0, plot.y + 14.0, words, Anchor::Middle));
        }
    }
}

/// The cloth of a flag on top of a pole that ends at `x`, `y`.
pub(super) fn flag(x: f64, y: f64) -> Mark {
    const SIZE: f64 = 8.0;
    let at = |across: f64, up: f64| Point::new(x + across, y - up);
    let points = vec![at(0.0, 0.0), at(0.0, SIZE), at(SIZE, SIZE / 2.0)];
    Mark::Area { points, fill: Fill::new(Ink::Crosshair, 1.0) }
}

/// The left edges of tags so that no tag touches another, from the left edge and the width that each would have alone.
/// Where two would touch, both give way equally: one placement moves tags only to the right, another only to the left,
/// and their mean keeps the distances, too.
fn apart(tags: &[[f64; 2]]) -> Vec<f64> {
    const GAP: f64 = 6.0;
    let mut from = f64::NEG_INFINITY;
    let mut to = f64::INFINITY;
    let mut lefts = vec![0.0; tags.len()];
    for (left, [alone, wide]) in lefts.iter_mut().zip(tags) {
        let after = alone.max(from);
        *left += after / 2.0;
        from = after + wide + GAP;
    }
    for (left, [alone, wide]) in lefts.iter_mut().zip(tags).rev() {
        let before = alone.min(to - wide);
        *left += before / 2.0;
        to = before - GAP;
    }
    lefts
}

/// Removes the labels that a tag at their height would touch.
fn make_room(marks: &mut Vec<Mark>, tag: Rect) {
    marks.retain(|mark| match mark {
        Mark::Text(text) if text.at.y == tag.y && text.ink == Ink::Muted => {
            let apart = (text.at.x - tag.x - tag.width / 2.0).abs();
            apart > (tag.width + width(&text.text, text.size)) / 2.0 + 4.0
        }
        _ => true,
    });
}

/// Tells a date of the calendar, as in recorded events. No other run gets so far: it would take 31 years.
fn is_date(at: Time) -> bool {
    at.as_secs_f64() >= 1e9
}

/// A date and the time of day, cut off to a multiple of `micros` microseconds.
fn date(at: Time, micros: i64) -> String {
    Civil(Time::from_micros(at.as_micros() / micros * micros)).to_string()
}

/// The time of a run, as in `at 1m5s`.
fn clock(at: Time) -> String {
    let seconds = libm::round(at.as_secs_f64() * 10.0) / 10.0;
    format!("at {}", Span::try_from_secs_f64(seconds).unwrap_or_default())
}
