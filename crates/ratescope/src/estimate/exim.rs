//! Exim's exponentially decaying rate.
//!
//! Source: the Exim specification, chapter "Access control lists", section "Rate limiting
//! incoming messages", and `acl_ratelimit` in Exim's `acl.c`, both by Tony Finch. His page
//! "ratelimit demo" of 2009 derives the form that Exim had then, without the lower bound.
//!
//! # The formula
//! The instantaneous rate is smoothed exponentially. An event of cost w arrives d after the one
//! before. With the period p and x = d/p, the rate over that gap was w/x, in events per period.
//! The old rate r is weighted by e^-x, the new measurement by 1 - e^-x:
//!
//! ```text
//! r' = (1 - e^-x) w/x + e^-x r
//! r' = max(r', w)
//! ```
//!
//! Between events the rate decays as r e^-(t/p).
//!
//! # The edges
//! * **First event:** r = w, which the formula gives for an infinite gap.
//! * **No time passed, or time ran backwards:** d is taken as a nanosecond. Then (1 - e^-x)/x is
//!   slightly below 1, and the event adds slightly less than its cost. Because of that difference
//!   a limit of m lets the m-th event of an instant burst pass. For periods of months x would vanish
//!   beside 1 in f64, so x is at least 1e-15.
//! * **Digits:** Exim subtracts e^-x from 1 as it is written above, which leaves few digits where x
//!   is tiny. For two events in one microsecond its rate is off by up to 1.1e-16/x of a cost: 7 % at
//!   a period of a week, and less than 0.1 % up to two hours. Here no digits are lost.
//! * **A long silence:** w/x becomes tiny, but an isolated event is w events in its period, so
//!   the rate starts again from w. If r was at most w, one gap longer than the period is enough.
//!   For x >= 2 the mean is below 0.44, and e^-x is at most 1/(1 + x + x²/2). So where r is at most
//!   w (1 + x + x²/2)/2, the formula gives less than 0.94 w. The rate is then w, and the exponential
//!   need not be computed. That is so for most events of most senders.
//! * **Cost 0:** the rate only decays.
//! * **More than f64 can hold:** the rate stays at the largest number, and decays from there.

use super::decay::{Decay, decay};
use crate::extremes::{larger, smaller};
use crate::time::{Span, Time};

/// The gap assumed between two events at the same instant, in seconds, as in Exim.
pub(super) const SHORTEST_GAP: f64 = 1e-9;

/// The least value of that gap in periods: with some margin, the smallest x for which 1 - x differs
/// from 1 in f64.
const LEAST_X: f64 = 1e-15;

/// Measures events per period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayingRate {
    /// The smoothing period p, which is also the unit of the rate; longer than zero.
    pub period: Span,
}

/// The rate as of the last event. Nothing else is remembered: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Measured {
    /// Events per period.
    pub rate: f64,
    /// When it was measured.
    pub at: Time,
}

impl DecayingRate {
    /// The rate after an event of cost `cost` (finite, at least 0) at `now`.
    #[inline(always)]
    pub fn measure(&self, before: Option<Measured>, now: Time, cost: f64) -> Measured {
        let rate = match before {
            None => cost,
            Some(last) => {
                let x = self.gap(last.at, now);
                if is_forgotten(last.rate, x, cost) {
                    cost
                } else {
                    decayed(last.rate, decay(x), cost)
                }
            }
        };
        Measured { rate, at: now }
    }

    /// The gap x in periods, from the last event at `last` to an event at `now`.
    #[inline(always)]
    pub(crate) fn gap(&self, last: Time, now: Time) -> f64 {
        let gap = now.since(last);
        if gap > 0.0 { gap / self.period.as_secs_f64() } else { self.least_gap() }
    }

    /// The gap assumed between two events at the same instant, in periods.
    #[inline(always)]
    pub fn least_gap(&self) -> f64 {
        larger(LEAST_X, SHORTEST_GAP / self.period.as_secs_f64())
    }

    /// The rate at `now`, at or after the last event, if nothing has arrived since.
    #[inline]
    pub fn rate_at(&self, last: Measured, now: Time) -> f64 {
        last.rate * decay(now.since(last.at).max(0.0) / self.period.as_secs_f64()).left
    }

    /// The largest cost, 0 or more, with which an event at `now` would read at most `target`.
    ///
    /// It is the w for which w·mean + r·left is the target. After a long silence, when the rate is the cost of the
    /// event, w is the target.
    pub fn room(&self, before: Option<Measured>, now: Time, target: f64) -> f64 {
        let Some(last) = before else { return target };
        let Decay { left, mean } = decay(self.gap(last.at, now));
        let room = (target - last.rate * left).max(0.0);
        (room / mean).min(target)
    }

    /// Returns after how many periods of silence an event of cost `cost` reads `target`, if the rate was `rate`; 0 when
    /// it does already. `cost` is at most `target`, and both are finite.
    ///
    /// After x periods the event reads w·mean(x) + r·e^-x. Both terms fall with x and their sum is convex. Halley's
    /// method starts where the second term alone equals the target, and converges in two or three steps; the first
    /// needs no exponential.
    pub fn periods_until(rate: f64, cost: f64, target: f64) -> f64 {
        let mut x = ln_ratio(rate, target).max(0.0);
        let left = target / rate;
        let known = Decay { left, mean: (1.0 - left) / x };
        let mut at = if x < 1.0 / 128.0 { decay(x) } else { known };
        for _ in 0..64 {
            let Decay { left, mean } = at;
            // The slope of the mean is -bend, and that of the bend is -bow. Near 0 these are their series.
            let per = 1.0 / x;
            let bend = (mean - left) * per;
            let (bend, bow) = if x > 1e-3 {
                (bend, (2.0 * bend - left) * per)
            } else {
                (0.5 - x / 3.0, 1.0 / 3.0)
            };
            let excess = cost * mean + rate * left - target;
            let slope = cost * bend + rate * left;
            let turn = (cost * bow + rate * left) / (2.0 * slope);
            let newton = excess / slope;
            let step = newton / (1.0 - newton * turn);
            if step.abs() <= x * f64::EPSILON || step.is_nan() || x + step <= 0.0 {
                break;
            }
            x += step;
            // The error that is left is less than the cube of the step.
            if step.abs() < 1e-4 {
                break;
            }
            at = decay(x);
        }
        x
    }

    /// The measurement in events per `period`: the rate in events per second stays the same.
    pub fn rescale(&self, last: Measured, period: Span) -> Measured {
        let ratio = (period.as_secs_f64() / self.period.as_secs_f64()).min(f64::MAX);
        Measured { rate: (last.rate * ratio).min(f64::MAX), at: last.at }
    }
}

/// The rate after an event of cost `cost`, if it was `rate` before the decay.
#[inline(always)]
pub(crate) fn decayed(rate: f64, Decay { left, mean }: Decay, cost: f64) -> f64 {
    smaller(f64::MAX, larger(cost, cost * mean + rate * left))
}

/// True if a rate, `x` periods before an event of cost `cost`, certainly leaves less than `cost`: see
/// the edges above. If not, the formula decides.
#[inline(always)]
fn is_forgotten(rate: f64, x: f64, cost: f64) -> bool {
    x >= 2.0 && rate <= cost * (0.5 + x * (0.5 + x * 0.25))
}

/// Returns how many events, evenly spaced at `steady` events per period, bring the rate from `from` to
/// `to`: the number n for which `to = steady + (from - steady) e^(-n/steady)`.
///
/// All three are in events per period. The answer is infinite when the rate never reaches `to`.
/// It tends to `to - from` as `steady` grows: a limit is also the size of the burst that it lets
/// through. The page of 2009 and the comment in Exim's source derive it by summing the geometric
/// series of the formula without its lower bound.
pub fn events_between(from: f64, to: f64, steady: f64) -> f64 {
    let reachable = (from <= to && to < steady) || (steady < to && to <= from);
    if to == from {
        0.0
    } else if reachable {
        // ln((steady - from) / (steady - to)) without cancellation when steady is large.
        steady * libm::log1p((to - from) / (steady - to))
    } else {
        f64::INFINITY
    }
}

/// How long it takes without events for the rate to decay from `from` to `to` events per
/// period: p ln(from/to). Zero when `from` is not above `to`. `None` when `to` is 0, which the rate
/// never reaches, or when the time is more than a span can hold.
pub fn recovery_time(period: Span, from: f64, to: f64) -> Option<Span> {
    let periods = if from <= to { 0.0 } else { ln_ratio(from, to) };
    Span::try_from_secs_f64(period.as_secs_f64() * periods).ok()
}

/// ln(a/b), also when the quotient overflows.
fn ln_ratio(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_finite() { libm::log(ratio) } else { libm::log(a) - libm::log(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With and without the exponential, at and around the rate from which on it is computed.
    #[test]
    fn a_long_silence_is_what_the_formula_says() {
        let exim = DecayingRate { period: Span::from_secs(1) };
        let at = Time::from_micros(0);
        for micros in (2_000_000..60_000_000).step_by(77_777) {
            let now = Time::from_micros(micros);
            let x = now.since(at);
            let Decay { left, mean } = decay(x);
            for cost in [0.0, f64::MIN_POSITIVE, 0.3, 1.0, 1e12] {
                let most = cost * (0.5 + x * (0.5 + x * 0.25));
                // From the rate `even` the formula gives exactly the cost.
                let even = (cost * (1.0 - mean) / left).min(f64::MAX);
                let near = [most.next_down(), most, most.next_up(), even * 0.99, even * 1.01];
                for rate in [0.0, most / 2.0, most * 9.0].into_iter().chain(near) {
                    let rate = rate.max(0.0);
                    let formula = (cost * mean + rate * left).max(cost);
                    let measured = exim.measure(Some(Measured { rate, at }), now, cost);
                    assert_eq!(measured.rate, formula, "{x} {cost} {rate}");
                }
            }
        }
    }
}
