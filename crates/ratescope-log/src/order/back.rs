//! The places where a log goes back in time.

use core::fmt;
use ratescope::internal::{grouped, plural};
use ratescope::time::Span;

/// The corrections of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corrections {
    /// The number of events that were spread over their second, without the first of each second.
    pub spread_out: u64,
    /// The number of events that came too late to be sorted.
    pub late: u64,
    /// The number of events dropped because their lines were far ahead of all others.
    pub dropped: u64,
    /// The places where the clock counted as set back.
    pub steps_back: StepsBack,
}

impl Corrections {
    /// Adds the corrections of another log.
    pub fn add(&mut self, other: Corrections) {
        self.spread_out += other.spread_out;
        self.late += other.late;
        self.dropped += other.dropped;
        self.steps_back.add(other.steps_back);
    }
}

/// The longest step back of a clock, in seconds. A longer step means that the parts of the log are in the wrong order.
const FAR: f64 = 3.0 * 3600.0;

/// The places where a log goes back in time. The text form is a sentence, empty if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepsBack {
    /// The number of places.
    pub count: u64,
    /// The longest of the steps back.
    pub farthest: Span,
}

impl StepsBack {
    /// Adds the places of another log.
    pub fn add(&mut self, other: StepsBack) {
        self.count += other.count;
        self.farthest = self.farthest.max(other.farthest);
    }
}

impl fmt::Display for StepsBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = grouped(self.count);
        let s = plural(self.count);
        match self.farthest.as_secs_f64() {
            _ if self.count == 0 => Ok(()),
            far if far > FAR => {
                let hours = grouped((far / 3600.0) as u64);
                write!(
                    f,
                    "The log goes back {n} time{s}, by up to {hours} hours, so its times are wrong from \
                     there on. If there are several files, give the oldest first."
                )
            }
            _ => write!(f, "The clock was set back {n} time{s}."),
        }
    }
}
