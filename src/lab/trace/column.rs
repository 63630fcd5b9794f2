//! One column of the history: everything that happened in a short while.

use crate::estimate::exim::{Exim, Measured};
use crate::estimate::smoothed::Smoothed;
use crate::order::{larger, smaller};
use crate::time::{Span, Time};

/// What an instrument shows at one instant, just after what happened there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When.
    pub at: Time,
    /// The red line, in events per second.
    pub rate: f64,
    /// The blue line, in events per second.
    pub smoothed: f64,
    /// The decay interval in force from here on.
    pub decay: Span,
    /// The increase interval in force from here on.
    pub increase: Span,
    /// The rate that the last event was judged by, in events per decay interval.
    pub judged: f64,
    /// The limit that it was held against, in events per decay interval.
    pub limit: f64,
    /// What the limiter has stored, in events per decay interval: the red line goes on from there,
    /// and so do the verdicts. An event that is not counted leaves it as it was.
    pub stored: Measured,
    /// Events that were allowed here.
    pub allowed: u32,
    /// Events that were refused here.
    pub refused: u32,
}

impl Point {
    /// The red line at `at`, if nothing happens between here and there.
    pub fn rate_at(&self, at: Time) -> f64 {
        let last = Measured { rate: self.rate, at: self.at };
        Exim { period: self.decay }.rate_at(last, at)
    }

    /// The blue line at `at`, if nothing happens between here and there.
    pub fn smoothed_at(&self, at: Time) -> f64 {
        self.smoothing().after(self.smoothed, self.rate, at.since(self.at))
    }

    /// The highest the blue line gets on the way to `until`.
    fn smoothed_peak(&self, until: Time) -> f64 {
        let smoothing = self.smoothing();
        let peak = smoothing.peak_after(self.smoothed, self.rate).min(until.since(self.at));
        smoothing.after(self.smoothed, self.rate, peak)
    }

    fn smoothing(&self) -> Smoothed {
        Smoothed { decay: self.decay, increase: self.increase }
    }
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
    #[inline(always)]
    fn include(&mut self, value: f64) {
        self.low = smaller(self.low, value);
        self.high = larger(self.high, value);
    }
}

/// A run of points that fell into one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// When the first of them happened.
    pub first: Time,
    /// The last point, with the counts of all; the lines go on from here.
    pub end: Point,
    /// The range of the red line from just after the first point to just after the last.
    pub rate: Extent,
    /// The range of the blue line over the same time.
    pub smoothed: Extent,
    /// All events since the start of the run, up to and with this column.
    pub total: u64,
}

impl Column {
    pub(super) fn new(point: &Point, total: u64) -> Self {
        Column {
            first: point.at,
            end: *point,
            rate: Extent { low: point.rate, high: point.rate },
            smoothed: Extent { low: point.smoothed, high: point.smoothed },
            total,
        }
    }

    /// When the last of them happened.
    pub fn last(&self) -> Time {
        self.end.at
    }

    /// Events in this column.
    pub fn events(&self) -> u64 {
        u64::from(self.end.allowed) + u64::from(self.end.refused)
    }

    /// Adds a point of the finest level. Columns there are so short against any interval one can
    /// set that what the lines do between two of its points would not show.
    #[inline(always)]
    pub(super) fn add(&mut self, point: &Point, total: u64) {
        self.rate.include(point.rate);
        self.smoothed.include(point.smoothed);
        self.extend(point, total);
    }

    /// Appends a later column.
    pub(super) fn merge(&mut self, later: &Column) {
        let dip = self.end.rate_at(later.first);
        let peak = self.end.smoothed_peak(later.first);
        for value in [dip, later.rate.low, later.rate.high] {
            self.rate.include(value);
        }
        for value in [peak, later.smoothed.low, later.smoothed.high] {
            self.smoothed.include(value);
        }
        self.extend(&later.end, later.total);
    }

    #[inline(always)]
    fn extend(&mut self, end: &Point, total: u64) {
        let allowed = self.end.allowed.saturating_add(end.allowed);
        let refused = self.end.refused.saturating_add(end.refused);
        self.end = Point { allowed, refused, ..*end };
        self.total = total;
    }
}
