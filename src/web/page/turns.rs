//! When something is said: not faster than it can be read, or listened to.

/// Texts change at most this often, in milliseconds; faster can't be read.
const READABLE: f64 = 100.0;

/// A screen reader is told at most this often, in milliseconds.
const POLITE: f64 = 10_000.0;

/// When the texts were last asked for, and when they were summed up, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    said: f64,
    summed_up: f64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { said: f64::NEG_INFINITY, summed_up: f64::NEG_INFINITY }
    }
}

impl Turns {
    /// Whether it is time to say something, at the viewer's time `wall`, or it is `urgent`.
    pub(super) fn are_due(&mut self, wall: f64, urgent: bool) -> bool {
        is_due(&mut self.said, wall, if urgent { f64::NEG_INFINITY } else { READABLE })
    }

    /// Whether it is time to tell a screen reader the summary.
    pub(super) fn is_summary_due(&mut self, wall: f64) -> bool {
        is_due(&mut self.summed_up, wall, POLITE)
    }

    /// The screen reader is told at the next chance: something was done that it should hear of.
    pub(super) fn sum_up_soon(&mut self) {
        self.summed_up = f64::NEG_INFINITY;
    }
}

/// Whether `every` milliseconds have passed since `last`, which is now if so.
fn is_due(last: &mut f64, wall: f64, every: f64) -> bool {
    let due = wall - *last >= every;
    if due {
        *last = wall;
    }
    due
}
