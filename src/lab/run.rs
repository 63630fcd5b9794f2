//! What every run has, whatever it measures: commands with their times, a pace, and settings that
//! are read from text.

pub mod commands;
pub mod link;
pub mod pace;
pub(crate) mod read;

pub use commands::Command;
pub use link::{Link, Named};

use crate::time::Time;

/// A run that a [pace](pace::Pace) can drive.
pub trait Run {
    /// The time that it is in the run.
    fn now(&self) -> Time;

    /// Seconds of the run in a second of the viewer.
    fn speed(&self) -> f64;

    /// How many events a second are generated in the run, in the mean.
    fn load(&self) -> f64;

    /// How many events one frame generates at most, so that a frame always ends.
    fn per_frame(&self) -> usize;

    /// Lets time pass until `until`, or until about `most` events have arrived.
    fn advance(&mut self, until: Time, most: usize);
}
