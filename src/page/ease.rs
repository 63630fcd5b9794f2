//! Scales that ease to their targets.

/// The time constant, in milliseconds.
const EASE: f64 = 160.0;

/// The upper edge of a scale, above zero.
pub(crate) struct Eased {
    pub(crate) top: f64,
    /// When it was last eased, in milliseconds.
    at: Option<f64>,
}

impl Eased {
    pub(crate) fn new(top: f64) -> Self {
        Eased { top, at: None }
    }

    /// Lets the next call of [`follow`](Self::follow) reach its target at once.
    pub(crate) fn jump(&mut self) {
        self.at = None;
    }

    /// Moves towards `target`, which is above zero, for the time that has passed until `wall`, in milliseconds. Jumps
    /// to `target` on the first call, and if motion is unwanted (`still`). Returns whether the value moved.
    pub(crate) fn follow(&mut self, target: f64, wall: f64, still: bool) -> bool {
        let passed = self.at.map_or(f64::INFINITY, |last| (wall - last).max(0.0));
        self.at = Some(wall);
        // By the logarithm, so that growing and shrinking look alike.
        let left = if still { 0.0 } else { libm::exp(-passed / EASE) };
        let ratio = libm::exp(left * libm::log(self.top / target));
        // A smaller step changes no pixel of any screen.
        let top = if (ratio - 1.0).abs() < 1e-5 { target } else { target * ratio };
        core::mem::replace(&mut self.top, top) != top
    }
}
