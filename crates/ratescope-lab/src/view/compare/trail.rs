//! A line through columns, without invisible points.

use crate::plot::Point;

/// The largest error of a drawn point, in CSS pixels.
const UNSEEN: f64 = 0.1;

/// The points of a line, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    pub(super) points: Vec<Point>,
    /// The least and the greatest slope of a line from the last point but one that passes within [`UNSEEN`] of the last
    /// point and of all points left out between the two.
    slopes: Option<[f64; 2]>,
}

impl Trail {
    /// An empty line, with capacity for about two points a column.
    pub(super) fn with_capacity(columns: usize) -> Self {
        Trail { points: Vec::with_capacity(2 * columns + 4), slopes: None }
    }

    /// Extends the line to `x`, `y`. A straight stretch of any length has two points.
    pub(super) fn to(&mut self, x: f64, y: f64) {
        let [.., before, last] = self.points.as_mut_slice() else {
            self.slopes = self.points.last().and_then(|last| slopes(*last, x, y));
            return self.points.push(Point::new(x, y));
        };
        let slope = (y - before.y) / (x - before.x);
        match (self.slopes, slopes(*before, x, y)) {
            (Some([least, most]), Some([low, high])) if (least..=most).contains(&slope) => {
                *last = Point::new(x, y);
                self.slopes = Some([least.max(low), most.min(high)]);
            }
            _ => {
                self.slopes = slopes(*last, x, y);
                self.points.push(Point::new(x, y));
            }
        }
    }
}

/// The least and the greatest slope of a line from a point that passes within [`UNSEEN`] of `x`, `y`; `None` if `x` is
/// not to the right of the point.
fn slopes(from: Point, x: f64, y: f64) -> Option<[f64; 2]> {
    let across = x - from.x;
    (across > 0.0).then(|| [(y - UNSEEN - from.y) / across, (y + UNSEEN - from.y) / across])
}
