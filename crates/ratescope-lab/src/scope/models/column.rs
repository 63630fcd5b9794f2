//! The lines at an instant, and in a column of their history.

use crate::scope::moving_average::MeanEvents;
use crate::trace::{Extent, Fold};
use ratescope::estimate::decay::decay;
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::rate::Rate;
use ratescope::time::Time;

/// One of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The level of a leaky bucket.
    Bucket,
    /// The mean of the last events.
    Mean,
    /// N of the recent average.
    Recent,
    /// Exim's rate as of 2009, without the lower bound of today.
    Former,
}

impl Model {
    /// All models, in the order of the settings.
    pub const ALL: [Model; 4] = [Model::Bucket, Model::Mean, Model::Recent, Model::Former];
}

/// The lines just after an instant, and the numbers from which they continue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPoint {
    /// The instant.
    pub at: Time,
    /// The limit in force from here on, in the decay interval.
    pub limit: Rate,
    /// The level of the bucket, in events.
    pub level: f64,
    /// The number of events in the mean, and when their first gap began.
    pub mean: MeanEvents,
    /// N of the recent average, in events.
    pub impulse: f64,
    /// The rate as of 2009, in events per decay interval.
    pub former: f64,
    /// How many events happened at this instant.
    pub events: u32,
}

impl ModelPoint {
    /// The value of a line at `at` in events per second, if nothing happens until then. The level and N,
    /// which are numbers of events, are divided by the decay interval.
    pub fn value_at(&self, model: Model, at: Time) -> f64 {
        let period = self.limit.per().as_secs_f64();
        let elapsed = at.since(self.at).max(0.0);
        match model {
            Model::Bucket => LeakyBucket::level_after(self.level, self.limit, elapsed) / period,
            Model::Mean => self.mean.rate_at(at),
            Model::Recent => self.impulse * decay(elapsed / period).left / period,
            Model::Former => self.former * decay(elapsed / period).left / period,
        }
    }

    /// The value of a line at the point's own instant, in events per second.
    pub fn value(&self, model: Model) -> f64 {
        self.value_at(model, self.at)
    }
}

/// Successive points that fell into one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelColumn {
    /// When the first point happened.
    pub first: Time,
    /// The last point; the lines go on from here.
    pub end: ModelPoint,
    /// The range of each line, in the order of [`Model::ALL`], from just after the first point to
    /// just after the last.
    pub range: [Extent; 4],
}

impl ModelColumn {
    /// The range of a line.
    pub fn range(&self, model: Model) -> Extent {
        let [bucket, mean, recent, former] = self.range;
        match model {
            Model::Bucket => bucket,
            Model::Mean => mean,
            Model::Recent => recent,
            Model::Former => former,
        }
    }

    fn include(&mut self, values: impl Fn(Model) -> f64) {
        for (range, model) in self.range.iter_mut().zip(Model::ALL) {
            range.include(values(model));
        }
    }
}

impl Fold for ModelColumn {
    type Point = ModelPoint;

    fn time(point: &ModelPoint) -> Time {
        point.at
    }

    fn events(point: &ModelPoint) -> u64 {
        u64::from(point.events)
    }

    fn new(point: &ModelPoint, _total: u64) -> Self {
        let range = Model::ALL.map(|model| Extent::of(point.value(model)));
        ModelColumn { first: point.at, end: *point, range }
    }

    fn first(&self) -> Time {
        self.first
    }

    fn last(&self) -> Time {
        self.end.at
    }

    fn add(&mut self, point: &ModelPoint, _total: u64) {
        self.include(|model| point.value(model));
        self.end = *point;
    }

    /// All lines fall while there are no events, so only the end of the gap is included.
    fn merge(&mut self, later: &ModelColumn) {
        let end = self.end;
        self.include(|model| end.value_at(model, later.first));
        for (range, later) in self.range.iter_mut().zip(later.range) {
            range.cover(later);
        }
        self.end = later.end;
    }
}
