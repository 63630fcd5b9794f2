//! The layout: the lanes, the time axis below them and the cumulative picture.

use super::{Below, Viewport, colours, head, pitch};
use crate::compare::Lane;
use crate::plot::{Ink, Rect};
use crate::view::strip::Strip;
use crate::view::timebase::{Timebase, edges, is_narrow};
use ratescope::time::Time;

/// The height of each of the two strips of events.
const STRIP: f64 = 11.0;

/// The height of the time axis.
const AXIS: f64 = 26.0;

/// The height of the cumulative picture's title.
const TITLE: f64 = 22.0;

/// The empty height below the cumulative picture.
const FOOT: f64 = 12.0;

/// The greatest distance between the counts of two lanes beside the cumulative picture.
pub(super) const ROW: f64 = 15.0;

/// The height of the picture below `lanes` lanes.
pub(super) fn foot(lanes: usize, below: Below) -> f64 {
    match below {
        Below::Totals => AXIS + TITLE + (ROW * (lanes as f64 + 1.0)).max(120.0) + FOOT,
        Below::Nothing => AXIS,
    }
}

/// Tells whether the time axis below `lanes` lanes, on a canvas of that size, is at the height `y`.
pub fn is_axis(lanes: usize, size: [f64; 2], below: Below, y: f64) -> bool {
    let top = lanes as f64 * pitch(lanes, size, below);
    (top..top + AXIS).contains(&y)
}

/// The geometry of one picture.
pub(super) struct Layout {
    pub(super) time: Timebase,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) width: f64,
    /// The middle of the time axis.
    pub(super) axis: f64,
    /// The middle of the title.
    pub(super) title: f64,
    /// The cumulative picture, if there is one.
    pub(super) totals: Option<Rect>,
    pub(super) narrow: bool,
    /// The distance from lane to lane.
    pitch: f64,
    inks: Vec<Ink>,
}

/// The parts of one lane, from top to bottom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// The whole plot, which contains the other parts.
    pub(super) plot: Rect,
    pub(super) refused: Strip,
    pub(super) level: Rect,
    pub(super) allowed: Strip,
}

impl Layout {
    pub(super) fn new(lanes: &[Lane], view: &Viewport) -> Self {
        let [left, right] = edges(view.size[0]);
        let pitch = pitch(lanes.len(), view.size, view.below);
        let below = lanes.len() as f64 * pitch;
        let y = below + AXIS + TITLE;
        let width = right - left;
        let height = view.size[1] - FOOT - y;
        let totals = Rect { x: left, y, width, height };
        Layout {
            time: Timebase::new([left, right], view.right, view.window)
                .in_own_time(view.own_time, view.runs),
            left,
            right,
            width: view.size[0],
            axis: below + 13.0,
            title: below + AXIS + 8.0,
            totals: (view.below == Below::Totals).then_some(totals),
            narrow: is_narrow(view.size[0]),
            pitch,
            inks: colours(lanes).into_iter().map(Ink::Lane).collect(),
        }
    }

    /// The colour of lane `i`, from 0.
    pub(super) fn ink(&self, i: usize) -> Ink {
        self.inks.get(i).copied().unwrap_or(Ink::Text)
    }

    pub(super) fn has_room(&self) -> bool {
        let is_high = self.totals.is_none_or(|totals| totals.height > 0.0);
        self.right > self.left && is_high && self.time.pace.is_finite()
    }

    /// Lane `i`, from 0.
    pub(super) fn lane(&self, i: usize) -> Parts {
        let x = self.left;
        let width = self.right - self.left;
        let head = head(self.width);
        let pitch = self.pitch;
        let y = i as f64 * pitch + head;
        let height = pitch - head - 1.0;
        let origin = self.time.x(Time::ZERO);
        let strip = |top: f64| Strip { left: x, right: x + width, top, height: STRIP, origin };
        Parts {
            plot: Rect { x, y, width, height },
            refused: strip(y),
            level: Rect { x, y: y + STRIP + 1.0, width, height: height - 2.0 * STRIP - 2.0 },
            allowed: strip(y + height - STRIP),
        }
    }

    /// Every plot, the cumulative picture last.
    pub(super) fn plots(&self) -> impl Iterator<Item = Rect> {
        (0..self.inks.len()).map(|i| self.lane(i).plot).chain(self.totals)
    }
}
