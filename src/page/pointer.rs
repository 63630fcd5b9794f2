//! The place of the pointer, the thing that it holds, and the crosshair.

use ratescope::time::Time;
use ratescope_lab::view::Hit;

/// A pointer that has not moved so far since a click or since it came, in CSS pixels, is there to click.
const MOVES: f64 = 6.0;

/// A pointer that has not moved for so long, in milliseconds, rests.
const RESTS: f64 = 150.0;

/// The pointer over the picture.
#[derive(Default)]
pub(super) struct Pointer {
    /// The place, in CSS pixels of the canvas.
    pub(super) at: Option<[f64; 2]>,
    /// The instant under the crosshair. It stays while time passes, so that its readings can be read.
    pub(super) crosshair: Option<Time>,
    /// The thing below it while it holds nothing.
    pub(super) over: Hit,
    /// The press that it holds.
    pub(super) press: Option<Press>,
    /// Where the pointer was when it came or clicked.
    from: Option<[f64; 2]>,
    /// When it last moved, in milliseconds, if it is away from there and has not rested since.
    moved: Option<f64>,
}

/// A press that has not ended.
#[derive(Clone, Copy)]
pub(super) struct Press {
    /// The thing that was pressed.
    pub(super) hit: Hit,
    /// The place at which it began.
    pub(super) from: [f64; 2],
    /// The right edge of the picture when it began.
    pub(super) right: Time,
    /// The right edge to return to if the press is cancelled; `None` for the present.
    pub(super) past: Option<Time>,
    /// True if it became a drag.
    pub(super) moved: bool,
    /// True if it is no longer a press on the picture, but a finger that scrolls the page.
    pub(super) ended: bool,
    /// True if a drag chooses a stretch of time to zoom to.
    pub(super) zooms: bool,
    /// True if a finger presses.
    pub(super) touch: bool,
}

/// The most CSS pixels by which a click may move, for an unsteady hand.
pub(super) const DRAG: f64 = 4.0;

/// The most CSS pixels by which a click of a finger may move.
const WOBBLE: f64 = 10.0;

impl Press {
    /// Moves the press, which may become a drag.
    fn follow(&mut self, [x, y]: [f64; 2]) {
        let [across, up] = [(x - self.from[0]).abs(), (y - self.from[1]).abs()];
        // The limit follows at once: each pixel of its line is another value.
        self.moved |= match self.hit {
            Hit::Limit => up >= 1.0,
            Hit::Upright => across >= 1.0,
            _ if self.ended => false,
            _ if self.touch => across > WOBBLE && across > up,
            _ => across.max(up) > DRAG,
        };
        self.ended |= self.touch && !self.moved && up > WOBBLE;
    }
}

impl Pointer {
    /// Moves the pointer at the viewer's time `wall`, which drops its press unless it is still `held` down; returns the
    /// press that it holds.
    pub(super) fn follow(&mut self, at: [f64; 2], held: bool, wall: f64) -> Option<Press> {
        let [x, y] = *self.from.get_or_insert(at);
        let is_away = self.moved.is_some() || libm::hypot(at[0] - x, at[1] - y) >= MOVES;
        self.moved = is_away.then_some(wall);
        self.at = Some(at);
        self.press = self.press.filter(|_| held);
        if let Some(press) = &mut self.press {
            press.follow(at);
        }
        self.press
    }

    /// The place of a pointer that has come to rest without a crosshair.
    pub(super) fn rested(&self, wall: f64) -> Option<[f64; 2]> {
        let rests = self.press.is_none() && self.crosshair.is_none() && wall - self.moved? >= RESTS;
        self.at.filter(|_| rests)
    }

    /// Takes the crosshair away until the pointer has moved from here and rested.
    pub(super) fn clear_crosshair(&mut self) {
        (self.crosshair, self.moved, self.from) = (None, None, self.at);
    }

    /// The left and right ends, in CSS pixels, of the stretch of time that a drag is choosing.
    pub(super) fn chosen(&self) -> Option<[f64; 2]> {
        let Press { from: [from, _], .. } =
            self.press.filter(|press| press.zooms && press.moved)?;
        let [to, _] = self.at?;
        Some([from.min(to), from.max(to)])
    }

    pub(super) fn holds_limit(&self) -> bool {
        self.press.is_some_and(|press| press.hit.is_limit())
    }

    /// True if the pointer holds the limit, or a press would grab it.
    pub(super) fn is_on_limit(&self) -> bool {
        self.over.is_limit() || self.holds_limit()
    }
}
