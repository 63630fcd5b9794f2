//! The layout: the plot within the canvas, and the two scales.

use super::Viewport;
use crate::plot::Rect;
use crate::scope::Scope;
use crate::view::timebase::{Timebase, edges, is_narrow};
use ratescope::time::Time;

/// The height of each of the two strips of events.
pub(super) const STRIP: f64 = 17.0;

/// The height of the picture of the limiter's memory, with the row of its words above.
const MEMORY: f64 = 62.0;
const WORDS: f64 = 18.0;

/// The middle of the row above the plot.
pub(super) const HEADING: f64 = 15.0;

/// The geometry of one picture.
pub(super) struct Layout {
    pub(super) plot: Rect,
    /// The picture of the limiter's memory, if the settings want one.
    pub(super) memory: Option<Rect>,
    /// The upper edge of the strips of events.
    pub(super) strips: f64,
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

/// The upper edge of the strips of events on a canvas of that height.
pub(super) fn strips(height: f64) -> f64 {
    height - 2.0 * STRIP - 30.0
}

impl Layout {
    pub(super) fn new(scope: &Scope, view: &Viewport) -> Self {
        let settings = scope.settings();
        let [left, right] = edges(view.size[0]);
        let width = right - left;
        let strips = strips(view.size[1]);
        let row = if settings.memory { MEMORY } else { 0.0 };
        let plot = Rect { x: left, y: 30.0, width, height: strips - 34.0 - row };
        let memory = settings.memory.then(|| {
            let y = plot.bottom() + WORDS;
            Rect { x: left, y, width, height: strips - 6.0 - y }
        });
        let lane = scope.instrument().lane();
        let limit = lane.map_or(settings.limit, |lane| lane.level(scope.now()).1);
        Layout {
            plot,
            memory,
            strips,
            time: Timebase::new([left, right], view.right, view.window)
                .in_own_time(view.own_time, view.runs),
            top: view.top,
            period: settings.decay.as_secs_f64(),
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
        self.strips + 2.0 * STRIP + 10.0
    }

    pub(super) fn has_limit(&self) -> bool {
        self.limit > 0.0
    }

    pub(super) fn limit_y(&self) -> f64 {
        self.y(self.limit / self.period)
    }
}
