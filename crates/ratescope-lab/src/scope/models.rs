//! Other measurements of the same events: two models that the page of 2009 rejects, a simpler
//! form of its own formula, and the formula itself.
//!
//! | line | formula | disadvantage |
//! |---|---|---|
//! | the level of a leaky bucket | [`limit::leaky_bucket`](ratescope::limit::leaky_bucket) | at any steady rate it tends to nothing or to its maximum |
//! | the mean of the last events | [`moving_average`](super::moving_average) | it has to remember the events |
//! | N of the recent average | [`estimate::recent_average`](ratescope::estimate::recent_average) | it reads about a half too high |
//! | Exim's rate as of 2009 | [`lane::model`](crate::lane) | an event after a long silence reads nearly 0, whatever its cost |
//!
//! They are measured only while one of them is drawn. The bucket sees every event. It drains at the rate of the limit
//! and holds the limit's number of events, so its maximum is at the limit. The others count the same events as the
//! red line.

mod column;

pub use column::{Model, ModelColumn, ModelPoint};

use super::Settings;
use super::moving_average::MovingAverage;
use crate::lane::model::of_2009;
use crate::trace::Trace;
use ratescope::estimate::exim::{DecayingRate, Measured};
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::limit::Limiter;
use ratescope::limit::leaky_bucket::{LeakyBucket, State};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::Time;

/// The lines, and their history.
#[derive(Clone, Debug)]
pub struct Models {
    limit: Rate,
    bucket: Option<(LeakyBucket, State)>,
    mean: MovingAverage,
    last: u32,
    recent: RecentAverage,
    impulse: Impulse,
    former: Option<Measured>,
    /// The history begins with the run, and each line means the same throughout.
    pub whole: bool,
    /// The history.
    pub trace: Trace<ModelColumn>,
}

impl Models {
    /// Models without events. They are `whole` if the run had none so far.
    pub(super) fn new(settings: &Settings, whole: bool) -> Result<Self, ParseError> {
        Ok(Models {
            limit: Rate::new(settings.limit, settings.decay)?,
            bucket: settings.leaky_bucket().map(|bucket| (bucket, bucket.initial())),
            mean: MovingAverage::new(settings.last),
            last: settings.last,
            recent: RecentAverage::over(settings.decay)?,
            impulse: Impulse::default(),
            former: None,
            whole,
            trace: Trace::new(),
        })
    }

    /// Takes an event of cost 1; `counted` says whether the red line counts it.
    pub(super) fn event(&mut self, now: Time, counted: bool) {
        if let Some((bucket, state)) = &mut self.bucket {
            let _ = bucket.check(state, now, 1.0);
        }
        if counted {
            self.impulse = self.recent.add(self.impulse, now, 1.0);
            self.mean.add(now);
            let rate = of_2009(self.former, now, self.limit.per(), 1.0);
            self.former = Some(Measured { rate, at: now });
        }
        self.record(now, 1);
    }

    /// Applies other settings. Rates in events per second stay the same, and so does the content of
    /// the bucket, as far as it still fits.
    pub(super) fn follow(&mut self, now: Time, settings: &Settings) -> Result<(), ParseError> {
        let limit = Rate::new(settings.limit, settings.decay)?;
        if settings.last != self.last {
            // The line so far is the mean of another number of events.
            self.mean = MovingAverage::new(settings.last);
            self.last = settings.last;
            self.whole = self.trace.total() == 0;
        }
        if limit != self.limit {
            let level = self.level_at(now);
            let scale = limit.per().as_secs_f64() / self.limit.per().as_secs_f64();
            self.bucket = settings.leaky_bucket().map(|bucket| {
                let mut state = bucket.initial();
                bucket.record(&mut state, now, level.min(bucket.queue()), true);
                (bucket, state)
            });
            self.impulse = self.recent.add(self.impulse, now, 0.0);
            self.impulse.size *= scale;
            let rate = self.former_at(now) * scale;
            self.former = self.former.map(|_| Measured { rate, at: now });
            self.recent = RecentAverage::over(settings.decay)?;
            self.limit = limit;
            if self.trace.total() > 0 {
                self.record(now, 0);
            }
        }
        Ok(())
    }

    /// The lines at `now`, which is not before the last event.
    pub fn at(&self, now: Time) -> ModelPoint {
        let impulse = self.recent.add(self.impulse, now, 0.0).size;
        let limit = self.limit;
        let level = self.level_at(now);
        let mean = self.mean.events();
        let former = self.former_at(now);
        ModelPoint { at: now, limit, level, mean, impulse, former, events: 0 }
    }

    /// The rate as of 2009, in events per decay interval.
    fn former_at(&self, now: Time) -> f64 {
        let estimator = DecayingRate { period: self.limit.per() };
        self.former.map_or(0.0, |last| estimator.rate_at(last, now))
    }

    /// The level of the bucket, in events; 0 without a bucket.
    fn level_at(&self, now: Time) -> f64 {
        self.bucket.as_ref().map_or(0.0, |(bucket, state)| bucket.level(state, now))
    }

    fn record(&mut self, now: Time, events: u32) {
        let point = ModelPoint { events, ..self.at(now) };
        self.trace.push(&point);
    }
}
