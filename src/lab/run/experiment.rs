//! What is done in a run, apart from the events and commands themselves.

use super::{Arrival, Named};
use crate::text::ParseError;
use crate::time::Time;

/// What a run puts its events to.
pub trait Experiment: Sized {
    /// What can be set.
    type Settings: Named;

    /// How many events one frame of a page generates at most, so that a frame always ends.
    const PER_FRAME: usize;

    /// How many columns of its history end in a second; each is as much work as an event.
    const COLUMNS_A_SECOND: f64 = 0.0;

    /// One that has seen nothing, at the time `begin`.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`] would have refused.
    fn new(settings: &Self::Settings, begin: Time) -> Result<Self, ParseError>;

    /// An event; time never goes back.
    fn event(&mut self, arrival: &Arrival);

    /// Puts other settings in force, from `now` on.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    fn follow(&mut self, now: Time, settings: &Self::Settings) -> Result<(), ParseError>;

    /// The last instant of the column that is filling, where columns end without an event.
    fn column_end(&self) -> Time {
        Time::LAST
    }

    /// That instant has passed.
    fn end_column(&mut self) {}

    /// How much work an event or a column is.
    fn weight(&self) -> usize {
        1
    }
}
