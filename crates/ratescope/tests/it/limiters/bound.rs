//! The most that a sender can get from an adaptive limit, whatever it does: the bound that the
//! documentation derives, as a formula to hold the limiters against.

use ratescope::limit::adaptive::Adaptive;
use ratescope::limit::by_hour::{ByHour, HOURS};
use ratescope::limit::exim::Exim;
use ratescope::{Limiter, Rate, Span};
use std::f64::consts::LN_2;

pub(crate) trait Bound {
    /// The highest value that a habit, now `smoothed`, can have after `elapsed`.
    fn highest_after(&self, smoothed: f64, elapsed: Span) -> f64;

    /// The shortest time in which a sender can double its limit, once the limit is above the floor.
    fn doubling_time(&self) -> Span;
}

impl Bound for Adaptive {
    fn highest_after(&self, smoothed: f64, elapsed: Span) -> f64 {
        let (floor, factor) = (self.floor(), self.factor());
        let free = floor / factor;
        let in_increases = elapsed.as_secs_f64() / self.smoothing().increase.as_secs_f64();
        if smoothed >= free {
            return smoothed * f64::exp((factor - 1.0) * in_increases);
        }
        let freed = f64::ln((floor - smoothed) / (floor - free));
        if in_increases <= freed {
            floor - (floor - smoothed) * f64::exp(-in_increases)
        } else {
            free * f64::exp((factor - 1.0) * (in_increases - freed))
        }
    }

    fn doubling_time(&self) -> Span {
        Span::try_from_secs_f64(
            self.smoothing().increase.as_secs_f64() * LN_2 / (self.factor() - 1.0),
        )
        .unwrap()
    }
}

/// In one hour of the day: it comes once in each day.
impl Bound for ByHour {
    fn highest_after(&self, smoothed: f64, elapsed: Span) -> f64 {
        // The most time that can be spent in one hour of the day.
        let hour = self.day().hour().as_secs_f64();
        let day = hour * HOURS as f64;
        let days = (elapsed.as_secs_f64() / day).floor();
        let rest = (elapsed.as_secs_f64() - days * day).clamp(0.0, hour);
        self.hourly().highest_after(smoothed, Span::try_from_secs_f64(days * hour + rest).unwrap())
    }

    fn doubling_time(&self) -> Span {
        Span::try_from_secs_f64(self.hourly().doubling_time().as_secs_f64() * HOURS as f64).unwrap()
    }
}

/// The most that is admitted in an interval of `window` in events of cost `cost`, if at its beginning no
/// hour of it, and no neighbour of one, has a habit above `smoothed`.
pub(crate) fn max_admitted_from(limit: &ByHour, smoothed: f64, window: Span, cost: f64) -> f64 {
    let hourly = limit.hourly();
    let highest = hourly.floor().max(hourly.factor() * limit.highest_after(smoothed, window));
    let limit = Rate::new(highest, hourly.smoothing().decay).unwrap();
    Exim { limit, mode: hourly.mode() }.max_admitted(window, cost)
}
