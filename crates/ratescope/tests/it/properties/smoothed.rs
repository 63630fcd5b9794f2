//! The blue line solves dB/dt = (R - B)/q, R falling as e^(-t/p).

use crate::properties::{assert_near, magnitude, span};
use proptest::prelude::*;
use ratescope::Span;
use ratescope::estimate::smoothed::Smoothed;

/// The same by the classical Runge-Kutta method, which knows nothing of the solution.
fn integrated(line: Smoothed, smoothed: f64, rate: f64, elapsed: f64) -> f64 {
    const STEPS: u32 = 1000;
    let (p, q, h) =
        (line.decay.as_secs_f64(), line.increase.as_secs_f64(), elapsed / f64::from(STEPS));
    let slope = |t: f64, b: f64| (rate * f64::exp(-t / p) - b) / q;
    (0..STEPS).fold(smoothed, |b, i| {
        let t = f64::from(i) * h;
        let k1 = slope(t, b);
        let k2 = slope(t + h / 2.0, b + k1 * h / 2.0);
        let k3 = slope(t + h / 2.0, b + k2 * h / 2.0);
        let k4 = slope(t + h, b + k3 * h);
        b + (k1 + 2.0 * k2 + 2.0 * k3 + k4) * h / 6.0
    })
}

/// Intervals whose ratio is anything from 1e-9 to 1e9.
fn intervals() -> impl Strategy<Value = Smoothed> {
    (span(-3.0, 6.0), magnitude(-9.0, 9.0)).prop_map(|(decay, ratio)| Smoothed {
        decay,
        increase: Span::try_from_secs_f64(decay.as_secs_f64() * ratio).unwrap(),
    })
}

proptest! {
    #[test]
    fn agrees_with_an_integration(
        decay in span(-3.0, 6.0),
        ratio in magnitude(-2.0, 2.0),
        elapsed in 0.0f64..5.0,
        smoothed in 0.0f64..10.0,
        rate in 0.0f64..10.0,
    ) {
        let line = Smoothed { decay, increase: Span::try_from_secs_f64(decay.as_secs_f64() * ratio).unwrap() };
        let elapsed = elapsed * decay.as_secs_f64().min(line.increase.as_secs_f64());
        let want = integrated(line, smoothed, rate, elapsed);
        assert_near(line.after(smoothed, rate, elapsed), want, 1e-10, want);
    }

    /// There is no step size: stopping on the way changes nothing.
    #[test]
    fn continues_from_anywhere(
        line in intervals(),
        first in magnitude(-12.0, 2.0),
        second in magnitude(-12.0, 2.0),
        smoothed in magnitude(-3.0, 3.0),
        rate in magnitude(-3.0, 3.0),
    ) {
        let unit = line.decay.as_secs_f64();
        let (first, second) = (first * unit, second * unit);
        let halfway = line.after(smoothed, rate, first);
        let rate_halfway = rate * libm::exp(-first / line.decay.as_secs_f64());
        let continued = line.after(halfway, rate_halfway, second);
        let at_once = line.after(smoothed, rate, first + second);
        // Far out, e^-x has lost as many digits as x is large.
        let digits = 1e-14 + 4.0 * f64::EPSILON * (first + second) / line.decay.as_secs_f64().min(line.increase.as_secs_f64());
        assert_near(continued, at_once, digits.min(1e-9), at_once.max(1e-290));
    }

    /// Equal intervals are where the formula divides 0 by 0, and nothing happens there.
    #[test]
    fn equal_intervals_are_nothing_special(
        interval in span(-3.0, 6.0),
        off in -1e-9f64..1e-9,
        periods in magnitude(-9.0, 2.0),
        smoothed in 0.0f64..10.0,
        rate in 0.1f64..10.0,
    ) {
        let (p, elapsed) = (interval.as_secs_f64(), interval.as_secs_f64() * periods);
        let want = (smoothed + rate * periods) * libm::exp(-periods);
        let equal = Smoothed { decay: interval, increase: interval };
        assert_near(equal.after(smoothed, rate, elapsed), want, 1e-13, want);
        let increase = Span::try_from_secs_f64(p * (1.0 + off)).unwrap();
        let nearly = Smoothed { decay: interval, increase };
        assert_near(nearly.after(smoothed, rate, elapsed), want, 1e-12 + 2.0 * off.abs() * (1.0 + periods), want);
    }

    /// Between nothing and the higher of the two, whatever the intervals and the time.
    #[test]
    fn stays_in_bounds(
        line in intervals(),
        elapsed in prop_oneof![Just(0.0), Just(-1.0), Just(f64::MAX), magnitude(-300.0, 308.0)],
        smoothed in prop_oneof![Just(0.0), magnitude(-300.0, 300.0)],
        rate in prop_oneof![Just(0.0), magnitude(-300.0, 300.0)],
    ) {
        let after = line.after(smoothed, rate, elapsed);
        let most = smoothed.max(rate) * (1.0 + 1e-14);
        prop_assert!((0.0..=most).contains(&after), "{after} of {smoothed} and {rate}");
    }

    /// The line is highest where the falling rate meets it, and from there it falls.
    #[test]
    fn the_peak_is_where_the_rate_comes_down_to_it(
        line in intervals(),
        rate in magnitude(-3.0, 3.0),
        part in 0.0f64..2.0,
    ) {
        let smoothed = rate * part;
        let peak = line.peak_after(smoothed, rate);
        let top = line.after(smoothed, rate, peak);
        if part >= 1.0 {
            prop_assert_eq!(peak, 0.0);
        } else {
            let met = rate * libm::exp(-peak / line.decay.as_secs_f64());
            // The top is flat; when it is later by a part δ the rate is lower by about that.
            let digits = f64::EPSILON * (line.increase.as_secs_f64() / line.decay.as_secs_f64()).max(1.0);
            assert_near(top, met, 1e-12 + 2.0 * digits, met);
        }
        for elsewhere in [0.5, 0.9, 1.1, 2.0] {
            let there = line.after(smoothed, rate, peak * elsewhere);
            prop_assert!(there <= top * (1.0 + 1e-14), "{there} is above {top}");
        }
    }

    /// With a rate that stands still the line climbs to it, 63 % of the way in q.
    #[test]
    fn an_increase_interval_is_63_percent_of_the_way(increase in span(-3.0, 3.0), rate in magnitude(-3.0, 3.0)) {
        let decay = Span::try_from_secs_f64(increase.as_secs_f64() * 1e9).unwrap();
        let after = Smoothed { decay, increase }.after(0.0, rate, increase.as_secs_f64());
        assert_near(after, rate * (1.0 - f64::exp(-1.0)), 1e-8, rate);
    }
}

/// A burst in one instant lifts R; B has had no time.
#[test]
fn a_burst_in_an_instant_leaves_the_line_where_it_was() {
    let line = Smoothed { decay: Span::from_secs(10), increase: Span::from_secs(60) };
    assert_eq!(line.after(3.0, 1e9, 0.0), 3.0);
    assert_eq!(line.after(3.0, 1e9, -5.0), 3.0);
}

/// With equal intervals the smoothed rate is (B + R t/p) e^(-t/p), which is highest at p (1 - B/R).
#[test]
fn equal_intervals_have_a_peak() {
    let minute = Smoothed { decay: Span::from_mins(1), increase: Span::from_mins(1) };
    for (smoothed, rate, peak) in [(1.0, 3.0, 40.0), (0.0, 3.0, 60.0), (3.0, 3.0, 0.0)] {
        assert_near(minute.peak_after(smoothed, rate), peak, 1e-15, 60.0);
    }
}
