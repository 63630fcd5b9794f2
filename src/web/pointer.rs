//! Where the pointer is and what it holds.

use crate::time::Time;
use crate::view::scope::Hit;

/// The pointer over the graph.
#[derive(Default)]
pub(crate) struct Pointer {
    /// Where it is, in CSS pixels of the canvas.
    pub(crate) at: Option<[f64; 2]>,
    /// What it is over.
    pub(crate) over: Hit,
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

impl Pointer {
    /// Where the crosshair is, if there is one.
    pub(crate) fn crosshair(&self) -> Option<f64> {
        self.at.map(|[x, _]| x)
    }

    /// Whether the limit is held or about to be.
    pub(crate) fn on_limit(&self) -> bool {
        self.over == Hit::Limit || self.press.as_ref().is_some_and(|p| p.hit == Hit::Limit)
    }

    /// The pointer is gone.
    pub(crate) fn leave(&mut self) {
        *self = Pointer::default();
    }
}
