//! One column of the history: everything that happened in a short interval.

use super::{Extent, Fold};
use ratescope::estimate::exim::{DecayingRate, Measured};
use ratescope::estimate::smoothed::Smoothed;
use ratescope::time::{Span, Time};

/// The readings of an instrument just after the events of an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePoint {
    /// The instant.
    pub at: Time,
    /// The red line, in events per second.
    pub rate: f64,
    /// The blue line, in events per second.
    pub smoothed: f64,
    /// The decay interval in force from here on.
    pub decay: Span,
    /// The increase interval in force from here on.
    pub increase: Span,
    /// The level of the last event: with Exim's limiter the rate in events per decay interval, with a lane the level of
    /// its outcome.
    pub judged: f64,
    /// The limit of Exim's limiter, in events per decay interval; 0 if a lane decides.
    pub limit: f64,
    /// The state of Exim's limiter, in events per decay interval, from which the red line and its later verdicts
    /// follow. An event that is not counted does not change it.
    pub stored: Measured,
    /// Events allowed at this instant.
    pub allowed: u32,
    /// Events refused at this instant.
    pub refused: u32,
}

impl TracePoint {
    /// Events at this instant.
    fn events(&self) -> u64 {
        u64::from(self.allowed) + u64::from(self.refused)
    }

    /// The red line at `at`, if nothing happens until then.
    pub fn rate_at(&self, at: Time) -> f64 {
        let last = Measured { rate: self.rate, at: self.at };
        DecayingRate { period: self.decay }.rate_at(last, at)
    }

    /// The blue line at `at`, if nothing happens until then.
    pub fn smoothed_at(&self, at: Time) -> f64 {
        self.smoothing().after(self.smoothed, self.rate, at.since(self.at))
    }

    /// The highest value of the blue line until `until`.
    fn smoothed_peak(&self, until: Time) -> f64 {
        let smoothing = self.smoothing();
        let peak = smoothing.peak_after(self.smoothed, self.rate).min(until.since(self.at));
        smoothing.after(self.smoothed, self.rate, peak)
    }

    fn smoothing(&self) -> Smoothed {
        Smoothed { decay: self.decay, increase: self.increase }
    }
}

/// Successive points of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// When the first point happened.
    pub first: Time,
    /// The last point, with the counts of all points, from which the lines continue.
    pub end: TracePoint,
    /// The range of the red line from just after the first point to just after the last.
    pub rate: Extent,
    /// The range of the blue line over the same time.
    pub smoothed: Extent,
    /// The number of events since the start of the run, including this column.
    pub total: u64,
}

impl Column {
    /// When the last point happened.
    pub fn last(&self) -> Time {
        self.end.at
    }

    /// Events in this column.
    pub fn events(&self) -> u64 {
        self.end.events()
    }

    #[inline(always)]
    fn extend(&mut self, end: &TracePoint, total: u64) {
        let allowed = self.end.allowed.saturating_add(end.allowed);
        let refused = self.end.refused.saturating_add(end.refused);
        self.end = TracePoint { allowed, refused, ..*end };
        self.total = total;
    }
}

impl Fold for Column {
    type Point = TracePoint;

    #[inline(always)]
    fn time(point: &TracePoint) -> Time {
        point.at
    }

    #[inline(always)]
    fn events(point: &TracePoint) -> u64 {
        point.events()
    }

    fn new(point: &TracePoint, total: u64) -> Self {
        Column {
            first: point.at,
            end: *point,
            rate: Extent::of(point.rate),
            smoothed: Extent::of(point.smoothed),
            total,
        }
    }

    #[inline(always)]
    fn first(&self) -> Time {
        self.first
    }

    fn last(&self) -> Time {
        self.end.at
    }

    #[inline(always)]
    fn add(&mut self, point: &TracePoint, total: u64) {
        self.rate.include(point.rate);
        self.smoothed.include(point.smoothed);
        self.extend(point, total);
    }

    fn merge(&mut self, later: &Column) {
        let dip = self.end.rate_at(later.first);
        let peak = self.end.smoothed_peak(later.first);
        self.rate.include(dip);
        self.rate.cover(later.rate);
        self.smoothed.include(peak);
        self.smoothed.cover(later.smoothed);
        self.extend(&later.end, later.total);
    }
}
