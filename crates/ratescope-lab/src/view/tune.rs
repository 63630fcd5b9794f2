//! The pictures of a log and its limit: the effect of every limit, the buckets that would suffice, and the hours in
//! which the limit in force refuses.
//!
//! In the first picture, both scales are logarithmic: limits grow to the right, and shares shrink downwards, since one
//! client in a thousand and one in a hundred matter differently. The foot of the plot is a share of zero.

mod curve;
mod effect;
mod frontier;
mod hours;
mod layout;

pub use effect::{axis, words};
pub use layout::height;

use crate::plot::Mark;
use crate::tune::{Burst, Choices, Measure, PictureData, Staircase};
use crate::view::{Hit, Viewport};
use layout::Layout;
use ratescope::rate::Rate;

/// The data to draw.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The answer.
    pub data: &'a PictureData,
    /// The measure of the curve: its limit bounds the burst of a bucket, or a count over a period.
    pub measure: Measure,
    /// The limit in force, if there is one.
    pub limit: Option<f64>,
    /// The rate of the chosen bucket.
    pub rate: Option<Rate>,
}

impl<'a> Picture<'a> {
    /// The picture of an answer to `choices`; `None` without a curve.
    pub fn new(data: &'a PictureData, choices: &Choices) -> Option<Self> {
        let frontier = Some(&data.frontier);
        let measure = choices.measure(frontier)?;
        let rate = choices.rate(frontier);
        let limit = choices.limit.or(data.recommended);
        let picture = Picture { data, measure, limit, rate };
        (!data.staircase.stairs.is_empty()).then_some(picture)
    }

    fn stairs(&self) -> &'a Staircase {
        &self.data.staircase
    }

    fn bursts(&self) -> &'a [Burst] {
        &self.data.frontier.bursts
    }
}

/// All marks, back to front.
pub fn draw(picture: &Picture<'_>, view: &Viewport) -> Vec<Mark> {
    let layout = Layout::new(picture, view.size);
    let mut marks = Vec::with_capacity(96);
    if !layout.has_room() {
        return marks;
    }
    curve::draw(&mut marks, &layout, picture, view);
    frontier::draw(&mut marks, &layout, picture, view);
    hours::draw(&mut marks, &layout, picture, view);
    marks
}

/// Finds the target at a point of the canvas; a finger, `touch`, points less precisely than a mouse.
pub fn hit(picture: &Picture<'_>, view: &Viewport, [x, y]: [f64; 2], touch: bool) -> Hit {
    let layout = Layout::new(picture, view.size);
    let reach = if touch { 20.0 } else { 7.0 };
    let plot = layout.curve;
    let inside = plot.x - reach <= x && x <= plot.right() + reach;
    let upright = plot.y - 20.0 <= y && y <= plot.bottom() + layout::TAGS;
    if !(inside && upright) {
        return match layout.burst_at(picture, [x, y]) {
            Some(_) => Hit::Graph,
            None => Hit::None,
        };
    }
    match picture.limit {
        Some(limit) if (layout.x(limit) - x).abs() <= reach => Hit::Upright,
        _ => Hit::Graph,
    }
}

/// The limit at `x`; an `x` beyond the plot counts as the nearest edge. From 0.5 to 100 the limit is rounded to a whole
/// number, otherwise down to a mark of the curve's scale, which has three digits.
pub fn limit_at(picture: &Picture<'_>, view: &Viewport, x: f64) -> f64 {
    let limit = Layout::new(picture, view.size).limits.invert(x);
    let whole = libm::round(limit);
    // Counts and bursts are whole numbers, and so are the rates that a person would write.
    if whole >= 1.0 && limit < 100.0 { whole } else { crate::tune::Curve::answers_for(limit) }
}

/// The bucket at a point of the canvas, if any.
pub fn burst_at(picture: &Picture<'_>, view: &Viewport, at: [f64; 2]) -> Option<Burst> {
    Layout::new(picture, view.size).burst_at(picture, at)
}

/// Tells whether a point is on the curve's plot or on the axis below it.
pub fn is_on_curve(picture: &Picture<'_>, view: &Viewport, [x, y]: [f64; 2]) -> bool {
    let plot = Layout::new(picture, view.size).curve;
    (plot.x..=plot.right()).contains(&x) && (plot.y..=plot.bottom() + layout::TAGS).contains(&y)
}
