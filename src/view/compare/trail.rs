//! A line through columns that leaves out what would not be seen.

use crate::plot::Point;

/// The points of a line, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    pub(super) points: Vec<Point>,
}

impl Trail {
    /// An empty line with room for about two points a column.
    pub(super) fn with_capacity(columns: usize) -> Self {
        Trail { points: Vec::with_capacity(2 * columns + 4) }
    }

    /// Goes on to `x`, `y`. A level stretch is one line, whatever its length.
    pub(super) fn to(&mut self, x: f64, y: f64) {
        if let [.., before, last] = self.points.as_mut_slice()
            && last.y == y
            && (before.y == y || last.x == x)
        {
            last.x = x;
            return;
        }
        self.points.push(Point::new(x, y));
    }
}
