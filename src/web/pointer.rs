//! Where the pointer is and what it holds.

use crate::time::Time;
use crate::view::scope::Hit;

/// The pointer over the graph.
#[derive(Default)]
pub(crate) struct Pointer {
    /// Where it is, in CSS pixels of the canvas.
    pub(crate) at: Option<[f64; 2]>,
    /// What it holds.
    pub(crate) press: Option<Press>,
}

/// A press that has not ended.
pub(crate) struct Press {
    /// What was pressed.
    pub(crate) hit: Hit,
    /// Where it began.
    pub(crate) from: [f64; 2],
    /// The right edge of the graph when it began.
    pub(crate) right: Time,
    /// Whether it became a drag.
    pub(crate) moved: bool,
}

/// Fewer CSS pixels than this are a click by an unsteady hand.
const DRAG: f64 = 4.0;

impl Press {
    /// The pointer is at another place: the press may become a drag.
    pub(crate) fn follow(&mut self, x: f64, y: f64) {
        let [across, up] = [(x - self.from[0]).abs(), (y - self.from[1]).abs()];
        // The limit follows at once: each pixel of its line is another value.
        self.moved |= match self.hit {
            Hit::Limit => up >= 1.0,
            _ => across.max(up) > DRAG,
        };
    }
}

impl Pointer {
    /// Where the crosshair is, if there is one.
    pub(crate) fn crosshair(&self) -> Option<f64> {
        self.at.map(|[x, _]| x)
    }

    /// Moves the crosshair by so many CSS pixels, no further than to either edge of the plot; it
    /// comes in from the right.
    pub(crate) fn move_crosshair(&mut self, by: f64, [from, to]: [f64; 2]) {
        let [x, y] = self.at.unwrap_or([to, 0.0]);
        self.at = Some([(x + by).max(from).min(to), y]);
    }

    /// Whether the limit is held.
    pub(crate) fn holds_limit(&self) -> bool {
        self.press.as_ref().is_some_and(|p| p.hit == Hit::Limit)
    }

    /// The pointer is gone.
    pub(crate) fn leave(&mut self) {
        *self = Pointer::default();
    }
}
