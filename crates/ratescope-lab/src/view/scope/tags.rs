//! The names and values at the ends of the lines, and the handle of the limit.

use super::layout::Layout;
use super::{Viewport, lines, models};
use crate::plot::axis;
use crate::plot::{Anchor, Ink, Mark, Rect};
use crate::scope::Scope;
use crate::view::label::{BOLD, SIZE, SMALL, TAG, small, tag};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;

/// The height of a tag, the name and the value of its line, and its ink.
pub(super) type Tag = (f64, &'static str, f64, Ink);

/// The tags of all lines, the upper ones first.
pub(super) fn place(layout: &Layout, scope: &Scope, view: &Viewport) -> Vec<Tag> {
    let plot = layout.plot;
    let now = scope.now().min(view.right);
    let (rate, smoothed) = lines::at(scope, now);
    let mut values = vec![("rate", rate, Ink::Rate)];
    if !view.hides_blue {
        values.push(("smoothed", smoothed, Ink::Smoothed));
    }
    let level = lines::level(scope, now).map(|level| level / layout.per_decay(1.0));
    values.extend(level.map(|level| ("level", level, lines::LEVEL)));
    let thin = models::at(scope, now).into_iter();
    values.extend(thin.map(|(model, value)| (models::name(model), value, models::ink(model))));
    let tag = |(name, value, ink)| (layout.y(value), name, layout.per_decay(value), ink);
    // The upper tags are placed first; lower ones give way.
    let mut tags = Vec::<Tag>::with_capacity(values.len());
    for tag in values.into_iter().map(tag) {
        tags.insert(tags.partition_point(|above| above.0 <= tag.0), tag);
    }
    let mut least = plot.y;
    let mut below = tags.len() as f64 - 1.0;
    for tag in &mut tags {
        tag.0 = tag.0.max(least).min(plot.bottom() - TAG / 2.0 - below * (TAG + 1.0));
        least = tag.0 + TAG + 1.0;
        below -= 1.0;
    }
    tags
}

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, tags: &[Tag], scope: &Scope) {
    let plot = layout.plot;
    // Wide enough for the longest name and a number of four characters.
    let (width, size) = if layout.narrow { (78.0, SMALL - 2.0) } else { (104.0, SIZE) };
    let mut texts = Vec::with_capacity(tags.len());
    for &(_, name, value, _) in tags {
        let number = axis::compact(value);
        let text = if layout.narrow && name.len() + number.len() > 12 {
            number
        } else {
            format!("{name} {number}")
        };
        texts.push(text);
    }
    // A wide font would exceed the edges; all tags have one size.
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(1);
    let size = size.min((width - 6.0) / (BOLD * longest as f64));
    for (text, &(y, _, _, ink)) in texts.iter().zip(tags) {
        tag(marks, Rect { x: plot.right() + 2.0, y, width, height: TAG }, text, ink, size);
    }
    if layout.has_limit() {
        let y = layout.limit_y();
        let width = plot.x - 4.0;
        let text = limit_text(layout.limit);
        let size = if layout.narrow { SMALL } else { SIZE };
        // A limit that moves is known at the right end of its line only, and has no handle at the left.
        let (x, name, anchor) = if layout.moves {
            (2.0, plot.x + 6.0, Anchor::Start)
        } else {
            (plot.right() - width - 2.0, plot.right() - width - 8.0, Anchor::End)
        };
        tag(marks, Rect { x, y, width, height: TAG }, &text, Ink::Limit, size);
        marks.push(small(name, y - 9.0, limit_name(scope), Ink::Limit, anchor));
    }
}

/// The name of the limit's number: for a bucket its burst, for a queue its length. These may differ from the limit of
/// the settings.
fn limit_name(scope: &Scope) -> &'static str {
    let lane = scope.instrument().lane();
    let limits = lane.map(|lane| lane.policy().limits()).unwrap_or_default();
    match limits {
        [Limit { limiter: AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_), .. }] => "burst",
        [Limit { limiter: AnyLimiter::LeakyBucket(_), .. }] => "queue",
        _ => "limit",
    }
}

/// The limit as set, or a shorter form of a long one.
pub fn limit_text(limit: f64) -> String {
    let exact = limit.to_string();
    if exact.len() < 6 { exact } else { axis::compact(limit) }
}
