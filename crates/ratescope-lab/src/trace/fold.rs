//! The columns of a history.

use ratescope::internal::{larger, smaller};
use ratescope::time::Time;

/// A column: a summary of fixed size of a short interval.
pub trait Fold: Copy {
    /// The readings just after the events of an instant.
    type Point;

    /// The time of a point.
    fn time(point: &Self::Point) -> Time;

    /// The number of events of a point.
    fn events(point: &Self::Point) -> u64;

    /// A column of one point; `total` counts all events up to it.
    fn new(point: &Self::Point, total: u64) -> Self;

    /// When its first point happened.
    fn first(&self) -> Time;

    /// When its last point happened.
    fn last(&self) -> Time;

    /// Adds a point to a column of the finest level, which is so short, compared with any interval of the settings,
    /// that the course of a line between two of its points is invisible.
    fn add(&mut self, point: &Self::Point, total: u64);

    /// Appends a later column.
    fn merge(&mut self, later: &Self);
}

/// The lowest and the highest value of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

impl Extent {
    pub(crate) const fn of(value: f64) -> Self {
        Extent { low: value, high: value }
    }

    #[inline(always)]
    pub(crate) fn include(&mut self, value: f64) {
        self.low = smaller(self.low, value);
        self.high = larger(self.high, value);
    }

    pub(crate) fn cover(&mut self, other: Extent) {
        self.include(other.low);
        self.include(other.high);
    }
}
