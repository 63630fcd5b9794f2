//! Properties of Exim's rate, the recent average and the exact window.

use crate::properties::{assert_near, events, magnitude, span};
use proptest::prelude::*;
use ratescope::estimate::exim::{DecayingRate, Measured, events_between, recovery_time};
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::{Span, Time};

/// The rate after each of `n` events, `gap` microseconds apart, from a rate of `from`.
fn steadily(exim: DecayingRate, from: f64, gap: i64, cost: f64, n: u32) -> Vec<f64> {
    let mut state = Measured { rate: from, at: Time::ZERO };
    let times = (1..=i64::from(n)).map(|i| Time::from_micros(i * gap));
    let rates = times.map(|at| {
        state = exim.measure(Some(state), at, cost);
        state.rate
    });
    rates.collect()
}

proptest! {
    /// r_n = R + (r0 - R) e^(-nd/p). The gap is at most a period and the first rate at least
    /// the cost, so that the lower bound of the rate never takes part.
    #[test]
    fn a_steady_rate_converges(
        gap in magnitude(0.0, 12.0),
        gaps_in_period in magnitude(0.0, 9.0),
        cost in magnitude(-9.0, 9.0),
        first in magnitude(0.0, 9.0),
        n in 1u32..500,
    ) {
        let gap = gap.floor();
        let period = Span::try_from_secs_f64(gap / 1e6 * gaps_in_period).unwrap();
        let x = gap / 1e6 / period.as_secs_f64();
        let steady = cost / x;
        let got = steadily(DecayingRate { period }, cost * first, gap as i64, cost, n)[n as usize - 1];
        let gone = f64::from(n) * x;
        let want = cost * first * libm::exp(-gone) - steady * libm::expm1(-gone);
        assert_near(got, want, 1e-12, want);
    }

    /// The rate may end above the target only by as much as a microsecond more would take off.
    #[test]
    fn silence_takes_the_time_it_should(
        period in span(-3.0, 9.0),
        to in magnitude(-9.0, 9.0),
        times in magnitude(0.0, 9.0),
    ) {
        let from = to * times;
        let wait = recovery_time(period, from, to).unwrap();
        assert_near(wait.as_secs_f64(), period.as_secs_f64() * libm::log(from / to), 1e-15, wait.as_secs_f64());
        let left = DecayingRate { period }.rate_at(Measured { rate: from, at: Time::ZERO }, Time::ZERO.after(wait));
        let microsecond = 1e-6 / period.as_secs_f64();
        assert!(left <= to * (1.0 + 1e-13) && left >= to * (1.0 - 1e-13 - microsecond), "{left} {to}");
    }

    /// After that silence the event reads the target: w·mean(x) + r·e^-x. If it reads less already, there
    /// is none.
    #[test]
    fn an_event_reads_the_target_after_so_many_periods(
        rate in magnitude(-6.0, 6.0),
        target in magnitude(-6.0, 6.0),
        share in 0.0f64..1.0,
    ) {
        let cost = target * share;
        let x = DecayingRate::periods_until(rate, cost, target);
        if cost + rate <= target {
            prop_assert_eq!(x, 0.0);
        } else {
            let mean = if x < 1e-9 { 1.0 - x / 2.0 } else { -libm::expm1(-x) / x };
            assert_near(cost * mean + rate * libm::exp(-x), target, 1e-12, target);
        }
    }

    /// Counts the events between two rates one by one, and gets the number of the formula. Both rates are above
    /// the cost of an event, again so that the lower bound takes no part.
    #[test]
    fn the_number_of_events_between_two_rates(
        steady in 1.0f64..1000.0,
        from in 0.0f64..1.0,
        to in 0.01f64..0.99,
        rising: bool,
    ) {
        let period = Span::from_secs(1000);
        let gap = (1e9 / steady).floor();
        let steady = 1e9 / gap;
        // From somewhere to nearly the steady rate, from below or from above.
        let (from, to) = if rising {
            let from = 1.0 + (steady - 1.0) * from;
            (from, from + (steady - from) * to)
        } else {
            let from = steady * (1.0 + from);
            (from, from - (from - steady) * to)
        };
        prop_assume!(from != to && to != steady);
        let n = events_between(from, to, steady);
        let rates = steadily(DecayingRate { period }, from, gap as i64, 1.0, n as u32 + 2);
        let reached = |rate: f64| if rising { rate >= to } else { rate <= to };
        let counted = rates.iter().position(|&rate| reached(rate)).map(|i| i + 1);
        prop_assert!((n - n.round()).abs() < 1e-6 || counted == Some(n.ceil() as usize), "{counted:?} {n}");
    }

    #[test]
    fn a_rate_is_always_a_number_and_at_least_the_cost(
        period in span(-9.0, 12.0),
        events in events(prop_oneof![
            Just(0.0), Just(1.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), magnitude(-300.0, 308.0)
        ]),
    ) {
        let (exim, average) = (DecayingRate { period }, RecentAverage { half_life: period });
        let (mut red, mut impulse) = (None, Impulse::default());
        for (at, cost) in events {
            let estimate = average.estimate(impulse, at);
            prop_assert!(estimate >= 0.0 && !estimate.is_nan());
            impulse = average.add(impulse, at, cost);
            prop_assert!(impulse.size >= cost && impulse.size.is_finite());
            let measured = exim.measure(red, at, cost);
            prop_assert!(measured.rate >= cost && measured.rate.is_finite());
            let later = exim.rate_at(measured, at.after(period));
            prop_assert!((0.0..=measured.rate).contains(&later));
            red = Some(measured);
        }
    }

    /// Time standing still or running backwards decays nothing: every cost counts whole.
    #[test]
    fn time_backwards_is_an_instant(
        period in span(0.0, 9.0),
        costs in prop::collection::vec(magnitude(-3.0, 3.0), 1..40),
        back in 0i64..1_000_000_000,
    ) {
        let (exim, average) = (DecayingRate { period }, RecentAverage { half_life: period });
        let (mut red, mut impulse, mut now) = (None, Impulse::default(), 0);
        for &cost in &costs {
            red = Some(exim.measure(red, Time::from_micros(now), cost));
            impulse = average.add(impulse, Time::from_micros(now), cost);
            now -= back;
        }
        let sum: f64 = costs.iter().sum();
        assert_near(red.unwrap().rate, sum, 1e-7, sum);
        assert_near(impulse.size, sum, 1e-14, sum);
    }

    #[test]
    fn another_period_keeps_events_per_second(
        before in span(-9.0, 9.0),
        after in span(-9.0, 9.0),
        rate in magnitude(-9.0, 9.0),
    ) {
        let last = Measured { rate, at: Time::from_micros(7) };
        let rescaled = DecayingRate { period: before }.rescale(last, after);
        let per_second = rate / before.as_secs_f64();
        assert_near(rescaled.rate / after.as_secs_f64(), per_second, 1e-15, per_second);
        prop_assert_eq!(rescaled.at, last.at);
    }
}

/// An event that takes all the room reads the target.
#[test]
fn the_room_is_what_is_missing() {
    let exim = DecayingRate { period: Span::from_mins(1) };
    for (rate, seconds) in [(0.0, 0.0), (3.0, 0.0), (5.0, 10.0), (9.0, 30.0), (100.0, 180.0)] {
        let (before, now) =
            (Measured { rate, at: Time::ZERO }, Time::try_from_secs_f64(seconds).unwrap());
        let room = exim.room(Some(before), now, 10.0);
        assert!((0.0..=10.0).contains(&room), "{room}");
        assert_near(exim.measure(Some(before), now, room).rate, 10.0, 1e-12, 10.0);
    }
    let full = Measured { rate: 20.0, at: Time::ZERO };
    assert_eq!(exim.room(Some(full), Time::ZERO, 10.0), 0.0);
    assert_eq!(exim.room(Some(full), Time::from_micros(i64::MAX), 10.0), 10.0);
}
