//! Measuring clients: the level of each, the curve of all limits, and the replay of one limit.

mod backlog;
mod curve;
mod highest;
mod histogram;
mod hours;
mod level;
mod metric;
mod replay;
pub mod scale;
mod share;
mod staircase;
mod trial;

pub use curve::{Curve, Part, Tally};
pub use hours::Hours;
pub use level::{Measure, Peak};
pub use metric::{Metric, PERIODS};
pub use replay::{RefusedClient, Replay};
pub use share::{Share, percent};
pub use staircase::{Stair, Staircase};
pub use trial::Trial;
