//! The layout: the plot within the canvas, and the two scales.

use super::Viewport;
use crate::plot::Rect;
use crate::scope::Scope;
use crate::view::timebase::{Timebase, edges, is_narrow};
use ratescope::time::Time;

/// The height of each of the two strips of events.
pub(super) const STRIP: f64 = 14.0;

/// The middle of the row above the plot.
pub(super) const HEADING: f64 = 15.0;

/// The geometry of one picture.
pub(super) struct Layout {
    pub(super) plot: Rect,
    pub(super) time: Timebase,
    /// Events per second at the upper edge.
    pub(super) top: f64,
    /// The decay interval in seconds.
    period: f64,
    /// The limit in events per decay interval.
    pub(super) limit: f64,
    /// A drag moves the limit: with a lane, only if the lane takes the limit of the settings.
    pub(super) moves: bool,
    pub(super) narrow: bool,
}

/// The plot within a canvas of the given size.
pub(super) fn plot([width, height]: [f64; 2]) -> Rect {
    let [left, right] = edges(width);
    let above = 30.0;
    let below = 2.0 * STRIP + 34.0;
    Rect { x: left, y: above, width: right - left, height: height - above - below }
}

impl Layout {
    pub(super) fn new(scope: &Scope, view: &Viewport) -> Self {
        let plot = plot(view.size);
        let settings = scope.settings();
        let lane = scope.instrument().lane();
        let limit = lane.map_or(settings.limit, |lane| lane.level(scope.now()).1);
        Layout {
            plot,
            time: Timebase::new([plot.x, plot.right()], view.right, view.window)
                .in_own_time(view.own_time),
            top: view.top,
            period: settings.decay.secs(),
            limit,
            moves: lane.is_none() || limit == settings.limit && settings.is_limited(),
            narrow: is_narrow(view.size[0]),
        }
    }

    pub(super) fn x(&self, at: Time) -> f64 {
        self.time.x(at)
    }

    /// The y of a rate in events per second; a rate beyond the upper edge stays just above it.
    pub(super) fn y(&self, rate: f64) -> f64 {
        let share = (rate / self.top).min(1.05);
        self.plot.bottom() - share * self.plot.height
    }

    /// The rate in events per second that is at `y`.
    pub(super) fn rate_at(&self, y: f64) -> f64 {
        self.top * ((self.plot.bottom() - y) / self.plot.height).max(0.0)
    }

    /// Events per second as events per decay interval.
    pub(super) fn per_decay(&self, rate: f64) -> f64 {
        rate * self.period
    }

    /// The middle of the time axis.
    pub(super) fn axis(&self) -> f64 {
        self.plot.bottom() + 2.0 * STRIP + 14.0
    }

    /// The edges and the middle of the row for the limiter's memory. On a wide page the row is within the plot, where
    /// the scale leaves room; the page has a note above the plot.
    pub(super) fn heading(&self, view: &Viewport) -> ([f64; 2], f64) {
        if self.narrow || !view.read_beside {
            return ([self.plot.x + 90.0, view.size[0] - 6.0], HEADING);
        }
        // The page's button for the present lies over the end of the row.
        let button = if view.live { 6.0 } else { 90.0 };
        ([self.plot.x + 6.0, self.plot.right() - button], self.plot.y + 13.0)
    }

    pub(super) fn has_limit(&self) -> bool {
        self.limit > 0.0
    }

    pub(super) fn limit_y(&self) -> f64 {
        self.y(self.limit / self.period)
    }
}
