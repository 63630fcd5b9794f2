//! Limits how often the texts and the screen reader's summary change, so that people can follow them.

/// The least time between two changes of the texts, in milliseconds; faster changes can't be read.
const READABLE: f64 = 100.0;

/// The least time between two summaries for a screen reader, in milliseconds.
const POLITE: f64 = 10_000.0;

/// When the texts, and when the summary for a screen reader, were last written, in milliseconds.
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
    /// True if the texts are due at the viewer's time `wall`, or `urgent`.
    pub(super) fn are_due(&mut self, wall: f64, urgent: bool) -> bool {
        is_due(&mut self.said, wall, if urgent { f64::NEG_INFINITY } else { READABLE })
    }

    /// True if it is time to tell a screen reader the summary.
    pub(super) fn is_summary_due(&mut self, wall: f64) -> bool {
        is_due(&mut self.summed_up, wall, POLITE)
    }

    /// Makes the summary due with the next texts, after an action that a screen reader should report.
    pub(super) fn sum_up_soon(&mut self) {
        self.summed_up = f64::NEG_INFINITY;
    }
}

/// True if `every` milliseconds have passed from `last` to `wall`; if so, `last` becomes `wall`.
fn is_due(last: &mut f64, wall: f64, every: f64) -> bool {
    let due = wall - *last >= every;
    if due {
        *last = wall;
    }
    due
}
