//! The receiver of a run's events.

use super::{Arrival, Named};
use crate::lane::history::Grain;
use ratescope::text::ParseError;
use ratescope::time::Time;

/// The receiver of a run's events: an instrument, or several lanes.
pub trait Experiment: Sized {
    /// The settings.
    type Settings: Named;

    /// The most events that one frame of a page generates.
    const PER_FRAME: usize;

    /// An experiment without events, at the time `begin`.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`] would have refused.
    fn new(settings: &Self::Settings, begin: Time) -> Result<Self, ParseError>;

    /// Takes an event; time never runs backwards.
    fn event(&mut self, arrival: &Arrival);

    /// When something within it makes an event next, such as a client that tries again; [`Time::LAST`] means never.
    #[inline(always)]
    fn due(&self) -> Time {
        Time::LAST
    }

    /// Makes all its own events of the instant `at`, and returns how many they were. The next ones are later.
    fn wake(&mut self, at: Time) -> usize {
        let _ = at;
        0
    }

    /// The most events a second that it makes.
    fn fastest(&self) -> f64 {
        0.0
    }

    /// Applies other settings from `now` on.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    fn follow(&mut self, now: Time, settings: &Self::Settings) -> Result<(), ParseError>;

    /// The last instant of the current column; [`Time::LAST`] if only events end columns.
    fn column_end(&self) -> Time {
        Time::LAST
    }

    /// Ends the current column.
    fn end_column(&mut self) {}

    /// A copy of the states, with a new history from `now` on, of columns of `grain` if columns end without events.
    fn with_new_history(&self, now: Time, grain: Grain) -> Self;

    /// The work of an event or a column, in the unit of the budget of [`Run::advance`](super::Run::advance).
    fn weight(&self) -> usize {
        1
    }
}
