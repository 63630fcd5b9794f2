//! What a history is made of.

use crate::order::{larger, smaller};
use crate::time::Time;

/// A column: what happened in a short while, in a size that does not grow with it.
pub trait Fold: Copy {
    /// What is known of one instant, just after what happened there.
    type Point;

    /// When that was.
    fn time(point: &Self::Point) -> Time;

    /// How many events it had.
    fn events(point: &Self::Point) -> u64;

    /// A column of one point; `total` counts all events up to it.
    fn new(point: &Self::Point, total: u64) -> Self;

    /// When the first of its points happened.
    fn first(&self) -> Time;

    /// When the last of them happened.
    fn last(&self) -> Time;

    /// Adds a point of the finest level. Columns there are so short against any interval one can
    /// set that what lines do between two of its points would not show.
    fn add(&mut self, point: &Self::Point, total: u64);

    /// Appends a later column.
    fn merge(&mut self, later: &Self);
}

/// The lowest and the highest value of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The lowest.
    pub low: f64,
    /// The highest.
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
