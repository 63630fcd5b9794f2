//! Axes and scales, as a view uses them.

use proptest::prelude::*;
use ratescope::Span;
use ratescope_lab::plot::axis::{self, Tick};
use ratescope_lab::plot::scale::LogScale;

/// With plain spaces, so that the tests can be read.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}

fn labels(ticks: &[Tick]) -> Vec<String> {
    ticks.iter().map(|tick| plain(&tick.label)).collect()
}

mod numbers {
    use super::*;

    #[track_caller]
    fn ticks(from: f64, to: f64, about: usize, want: &[&str]) {
        assert_eq!(labels(&axis::ticks(from, to, about)), want);
    }

    #[test]
    fn ticks_are_the_round_numbers_of_a_domain() {
        ticks(0.0, 10.0, 5, &["0", "2", "4", "6", "8", "10"]);
        ticks(
            0.0,
            1.0,
            10,
            &["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"],
        );
        ticks(0.13, 0.27, 4, &["0.15", "0.20", "0.25"]);
        ticks(-1500.0, 1500.0, 4, &["−1,000", "0", "1,000"]);
        ticks(1500.0, -1500.0, 4, &["−1,000", "0", "1,000"]);
        ticks(0.0, 2.5e6, 3, &["0", "1,000,000", "2,000,000"]);
        ticks(0.0, 3e-9, 3, &["0", "1×10⁻⁹", "2×10⁻⁹", "3×10⁻⁹"]);
        ticks(0.0, 3e20, 3, &["0", "1×10²⁰", "2×10²⁰", "3×10²⁰"]);
        ticks(9e14, 1.2e15, 3, &["900,000,000,000,000", "1×10¹⁵", "1.1×10¹⁵", "1.2×10¹⁵"]);
    }

    #[test]
    fn a_compact_number_is_short() {
        for (value, want) in [
            (0.0, "0"),
            (0.0004, "0.000"),
            (0.0297, "0.030"),
            (0.123, "0.123"),
            (9.996, "10.0"),
            (-12.34, "−12.3"),
            (9999.4, "9,999"),
            (9999.5, "10k"),
            (12_345.0, "12.3k"),
            (300_000.0, "300k"),
            (999_499.0, "999k"),
            (999_950.0, "1M"),
            (2_591_640.0, "2.59M"),
            (1e9, "1G"),
            (5.5e14, "550T"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(&axis::compact(value)), want, "{value}");
        }
    }

    #[test]
    fn tick_values_are_the_numbers_that_are_written() {
        let values: Vec<_> = axis::ticks(0.0, 1.0, 10).iter().map(|tick| tick.value).collect();
        assert_eq!(values, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    }

    #[test]
    fn a_domain_of_one_value_has_one_tick_and_a_bad_one_none() {
        ticks(3.0, 3.0, 5, &["3.00"]);
        ticks(0.0, 0.0, 5, &["0"]);
        ticks(1e16, 1e16 + 4.0, 5, &["1×10¹⁶"]);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            ticks(0.0, bad, 5, &[]);
            ticks(bad, bad, 5, &[]);
        }
        ticks(-1e308, 1e308, 5, &[]);
    }

    #[test]
    fn readouts_have_three_digits_or_all_before_the_point() {
        let cases = [
            (0.0123, "0.0123"),
            (9.87, "9.87"),
            (12.34, "12.3"),
            (10.0, "10.0"),
            (9.996, "10.0"),
            (99.95, "100"),
            (999.6, "1,000"),
            (1234.5, "1,235"),
            (1e6, "1,000,000"),
            (0.000_001_5, "0.00000150"),
            (-12.34, "−12.3"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.234e-7, "1.23×10⁻⁷"),
            (-2e20, "−2×10²⁰"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "−∞"),
            (f64::NAN, "–"),
        ];
        for (value, want) in cases {
            assert_eq!(plain(&axis::readout(value)), want, "{value}");
        }
        assert_eq!(plain(&axis::readout_count(999)), "999");
        assert_eq!(plain(&axis::readout_count(u64::MAX)), "18,446,744,073,709,551,615");
        // The space between the thousands does not break a line.
        assert_eq!(axis::readout(1e6), "1,000,000");
    }

    #[test]
    fn the_next_round_number_is_1_2_or_5() {
        let mut value = 0.1;
        for want in [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0] {
            value = axis::next_round(value, 1.0);
            assert_eq!(value, want);
        }
        for want in [10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05] {
            value = axis::next_round(value, -3.0);
            assert_eq!(value, want);
        }
        assert_eq!([7.0, -7.0].map(|by| axis::next_round(7.0, by)), [10.0, 5.0]);
        // 0.3 is not quite three times 0.1, but a slider that shows 0.5 has arrived there.
        assert_eq!(axis::next_round(0.1 * 5.0 + 1e-16, 1.0), 1.0);
        for fixed in [0.0, -1.0, f64::INFINITY, f64::MAX, 5e-324] {
            assert_eq!(axis::next_round(fixed, 1.0), fixed);
        }
        assert_eq!(axis::next_round(3.0, 0.0), 3.0);
        assert_eq!(axis::next_round(3.0, f64::NAN), 3.0);
        assert!(axis::next_round(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn two_digits_are_kept() {
        let cases =
            [(0.1234, 0.12), (0.996, 1.0), (1.0, 1.0), (123_456.0, 120_000.0), (-15.5, -16.0)];
        for (value, want) in cases {
            assert_eq!(axis::two_digits(value), want);
        }
        assert_eq!(axis::two_digits(0.0), 0.0);
        assert!(axis::two_digits(f64::NAN).is_nan());
        for exponent in -22..=22 {
            let value: f64 = format!("4.7e{exponent}").parse().unwrap();
            assert_eq!(axis::two_digits(value), value);
        }
    }
}

mod times {
    use super::*;

    #[track_caller]
    fn ticks(window: f64, about: usize, want: &[&str]) {
        assert_eq!(labels(&axis::time_ticks(window, about)), want);
    }

    #[test]
    fn time_ticks_run_back_from_now() {
        ticks(10.0, 5, &["−2 s", "−4 s", "−6 s", "−8 s", "−10 s"]);
        ticks(60.0, 6, &["−10 s", "−20 s", "−30 s", "−40 s", "−50 s", "−1 m"]);
        ticks(120.0, 5, &["−30 s", "−1 m", "−1 m 30 s", "−2 m"]);
        ticks(600.0, 5, &["−2 m", "−4 m", "−6 m", "−8 m", "−10 m"]);
        ticks(3600.0, 4, &["−15 m", "−30 m", "−45 m", "−1 h"]);
        ticks(5400.0, 3, &["−30 m", "−1 h", "−1 h 30 m"]);
        ticks(1.6, 4, &["−0.5 s", "−1.0 s", "−1.5 s"]);
        ticks(86_400.0 * 3.0, 3, &["−1 d", "−2 d", "−3 d"]);
        ticks(604_800.0 * 3.0, 3, &["−7 d", "−14 d", "−21 d"]);
        assert_eq!(axis::time_ticks(10.0, 5)[0].value, 2.0);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX] {
            ticks(bad, 5, &[]);
        }
    }

    #[test]
    fn lengths_of_time_have_two_units_at_most() {
        let cases = [
            (0.0, "0 s"),
            (0.000_35, "350 µs"),
            (0.002_34, "2.3 ms"),
            (0.35, "350 ms"),
            (0.999_6, "1.0 s"),
            (2.34, "2.3 s"),
            (59.94, "59.9 s"),
            (59.96, "1 m"),
            (65.0, "1 m 5 s"),
            (3599.6, "1 h"),
            (3725.0, "1 h 2 m"),
            (86_399.0, "1 d"),
            (93_600.0, "1 d 2 h"),
            (-2.3, "−2.3 s"),
            (1e15, "1×10¹⁵ s"),
            (f64::INFINITY, "∞ s"),
            (f64::NAN, "– s"),
        ];
        for (value, want) in cases {
            assert_eq!(plain(&axis::seconds(value)), want, "{value}");
        }
    }

    #[test]
    fn the_next_round_time_is_one_of_a_clock() {
        let ladder = "100ms 200ms 500ms 1s 2s 5s 10s 15s 20s 30s 1m 2m 5m 10m 15m 20m 30m 1h 2h 6h 12h 1d 1w 2w 5w";
        let seconds = |text: &str| text.parse::<Span>().unwrap().as_secs_f64();
        let ladder: Vec<f64> = ladder.split(' ').map(seconds).collect();
        for pair in ladder.windows(2) {
            assert_eq!(axis::next_round_time(pair[0], 1.0), pair[1]);
            assert_eq!(axis::next_round_time(pair[1], -1.0), pair[0]);
            let between = (pair[0] + pair[1]) / 2.0;
            assert_eq!(axis::next_round_time(between, 1.0), pair[1]);
            assert_eq!(axis::next_round_time(between, -1.0), pair[0]);
        }
        assert_eq!(axis::next_round_time(0.0, 1.0), 0.0);
        assert_eq!(axis::next_round_time(7.0, 0.0), 7.0);
    }
}

mod scales {
    use super::*;

    #[test]
    fn a_logarithmic_scale_stays_within_its_ends() {
        const SLIDER: LogScale = LogScale { domain: [0.1, 1e6], range: [0.0, 700.0] };
        for (value, position) in [(0.1, 0.0), (1.0, 100.0), (1e3, 400.0), (1e6, 700.0)] {
            assert!((SLIDER.at(value) - position).abs() < 1e-9);
            assert!((SLIDER.invert(position) / value - 1.0).abs() < 1e-12);
        }
        assert_eq!([-1.0, 0.0, 0.01, 1e7].map(|v| SLIDER.at(v)), [0.0, 0.0, 0.0, 700.0]);
        assert_eq!([-1.0, 701.0].map(|p| SLIDER.invert(p)), [0.1, 1e6]);
    }
}

mod properties {
    use super::*;

    proptest! {
        #[test]
        fn ticks_are_bounded_ordered_and_inside(from: f64, to: f64, about: usize) {
            let ticks = axis::ticks(from, to, about);
            prop_assert!(ticks.len() <= 1001);
            prop_assert!(ticks.is_sorted_by(|a, b| a.value < b.value));
        }

        #[test]
        fn ticks_are_as_many_as_asked(
            from in -1e6..1e6, log in -3.0..9.0, about in 1usize..40,
        ) {
            let to = from + 10f64.powf(log);
            let ticks = axis::ticks(from, to, about);
            prop_assert!(ticks.len() <= about + 1);
            prop_assert!(3 * (ticks.len() + 1) > about, "{} of {}", ticks.len(), about);
            let slack = (to - from) * 1e-6;
            prop_assert!(ticks.iter().all(|t| t.value > from - slack && t.value < to + slack));
            // No two labels are the same.
            prop_assert!(ticks.windows(2).all(|pair| pair[0].label != pair[1].label));
        }

        #[test]
        fn time_ticks_are_bounded(window: f64, about: usize) {
            let ticks = axis::time_ticks(window, about);
            prop_assert!(ticks.len() <= about.clamp(1, 1000));
            prop_assert!(ticks.is_sorted_by(|a, b| a.value < b.value));
        }

        #[test]
        fn anything_can_be_written(value: f64, by: f64) {
            for text in [axis::readout(value), axis::seconds(value)] {
                prop_assert!(!text.is_empty() && text.chars().count() < 40, "{}", text);
            }
            for next in [axis::next_round(value, by), axis::next_round_time(value, by)] {
                prop_assert!(next.is_nan() == value.is_nan());
            }
        }
    }
}
