//! Who looks at a view: how far in time, how large, and where the pointer is.

use super::pointer::Pointer;
use crate::lab::run::pace::{Gap, Pace};
use crate::time::Time;

/// The viewer of a run.
#[derive(Default)]
pub(super) struct Viewer {
    /// The clock by which the run goes on.
    pub(super) pace: Pace,
    /// Whether it is stopped.
    pub(super) paused: bool,
    /// The instant at the right edge while looking back; the present otherwise.
    pub(super) past: Option<Time>,
    pub(super) pointer: Pointer,
    /// Width and height of the picture in CSS pixels.
    pub(super) size: [f64; 2],
    /// Whether the viewer asked for less motion.
    pub(super) still: bool,
}

/// How a view is looked at.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    /// Width and height in CSS pixels.
    pub(super) size: [f64; 2],
    /// The instant at the right edge.
    pub(super) right: Time,
    /// Whether that is the present.
    pub(super) live: bool,
    /// Where the crosshair is, in CSS pixels from the left.
    pub(super) crosshair: Option<f64>,
    /// Where the pointer is, in CSS pixels; a crosshair that keys moved is at the upper edge.
    pub(super) pointer: Option<[f64; 2]>,
    /// Whether the limit is held.
    pub(super) holds_limit: bool,
    /// Whether it is held, or would be by a press.
    pub(super) on_limit: bool,
    /// Stretches that nobody saw.
    pub(super) gaps: &'a [Gap],
}

impl Viewer {
    /// What is seen when it is `now` in the run.
    pub(super) fn sees(&self, now: Time) -> Seen<'_> {
        Seen {
            size: self.size,
            right: self.past.unwrap_or(now),
            live: self.past.is_none(),
            crosshair: self.pointer.crosshair(),
            pointer: self.pointer.at,
            holds_limit: self.pointer.holds_limit(),
            on_limit: self.pointer.is_on_limit(),
            gaps: self.pace.gaps(),
        }
    }

    /// Returns to the present, and to a clock that has not started.
    pub(super) fn begin(&mut self) {
        (self.pace, self.past) = (Pace::default(), None);
    }

    /// Looks back from `from` by `seconds`, or forward if negative: no further than to `oldest`,
    /// or to the present, `now`.
    pub(super) fn look_back(&mut self, from: Time, seconds: f64, [oldest, now]: [Time; 2]) {
        let micros = from.as_micros().saturating_sub((seconds * 1e6) as i64);
        let right = Time::from_micros(micros).max(oldest);
        self.past = (right < now).then_some(right);
    }
}
