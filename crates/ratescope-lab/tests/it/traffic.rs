//! Where events come from: the mean rate, the shape, and the promise of the same events always.

use ratescope::Time;
use ratescope_lab::{traffic::Pattern, traffic::Traffic};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::{wasm_bindgen_test as test, wasm_bindgen_test_configure};
#[cfg(target_arch = "wasm32")]
wasm_bindgen_test_configure!(run_in_browser);

const PATTERNS: [&str; 4] = ["steady", "poisson", "bursts", "day-and-night 100ms"];

fn secs(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).unwrap()
}

/// Traffic from the origin of time.
#[track_caller]
fn traffic(pattern: &str, per_second: f64, seed: u64) -> Traffic {
    Traffic::new(pattern.parse().unwrap(), per_second, seed, Time::ZERO).unwrap()
}

fn micros(traffic: Traffic, count: usize) -> Vec<i64> {
    traffic.take(count).map(Time::as_micros).collect()
}

fn count_before(traffic: &mut Traffic, until: Time) -> usize {
    core::iter::from_fn(|| traffic.next_before(until)).count()
}

/// All bits of the first 100,000 events, folded into one number.
fn fingerprint(pattern: &str) -> u64 {
    let fold = |hash: u64, t: Time| (hash ^ t.as_micros() as u64).wrapping_mul(0x0100_0000_01b3);
    traffic(pattern, 12_345.6, 7).take(100_000).fold(0xcbf2_9ce4_8422_2325, fold)
}

#[test]
fn a_seed_gives_the_same_events_natively_and_in_the_browser() {
    let prints = PATTERNS.map(fingerprint);
    let pinned = [
        0xd54e_f299_404d_6925,
        0xa257_86d9_d6d4_c2a0,
        0x0be7_07b5_f4cc_7a95,
        0xa6f2_53a0_c0e1_7db1,
    ];
    assert_eq!(prints, pinned, "{prints:#x?}");
    assert_eq!(micros(traffic("poisson", 1.0, 1), 3), [710_976, 3_384_081, 5_212_719]);
    assert_ne!(micros(traffic("poisson", 1.0, 1), 4), micros(traffic("poisson", 1.0, 2), 4));
}

#[test]
fn steady_events_are_whole_intervals_after_the_start() {
    assert_eq!(micros(traffic("steady", 4.0, 0), 3), [250_000, 500_000, 750_000]);
    assert_eq!(micros(traffic("steady", 3.0, 0), 3), [333_333, 666_667, 1_000_000]);
    let start = secs(1e9);
    let mut late = Traffic::new(Pattern::Steady, 3.0, 0, start).unwrap();
    // Ten million events later there is no drift.
    let last = late.nth(9_999_999 - 1).unwrap();
    assert_eq!(last.as_micros() - start.as_micros(), 3_333_333_000_000);
}

#[test]
fn an_event_at_the_end_of_the_interval_waits() {
    let mut steady = traffic("steady", 1.0, 0);
    assert_eq!(steady.peek(), secs(1.0));
    assert_eq!(steady.next_before(secs(1.0)), None);
    assert_eq!(steady.next_before(secs(1.000_001)), Some(secs(1.0)));
    assert_eq!(steady.peek(), secs(2.0));
}

#[test]
fn the_mean_is_the_rate() {
    for (seed, pattern) in PATTERNS.iter().enumerate() {
        for exponent in -1..=6 {
            let rate = 10f64.powi(exponent);
            // Whole days, and about 50,000 events.
            let seconds = ((5e4 / rate) * 10.0).ceil() / 10.0;
            let got = count_before(&mut traffic(pattern, rate, seed as u64), secs(seconds)) as f64;
            let want = rate * seconds;
            // Five standard deviations, of Poisson events and of bursts; the first burst is late.
            let slack = match *pattern {
                "steady" => 1.0,
                "bursts" => 5.0 * (want * 10.0 * 0.91 * 0.91).sqrt() + 10.0,
                _ => 5.0 * want.sqrt(),
            };
            assert!((got - want).abs() <= slack, "{pattern} at {rate}: {got}, not {want}");
        }
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    let n = 100_000;
    let events = micros(traffic("poisson", 1.0, 3), n);
    for gap in [0.01, 0.1, 0.5, 1.0, 2.0, 5.0] {
        let longer = events.windows(2).filter(|w| (w[1] - w[0]) as f64 > gap * 1e6).count() as f64;
        let p = f64::exp(-gap);
        let slack = 5.0 * (n as f64 * p * (1.0 - p)).sqrt();
        assert!((longer - n as f64 * p).abs() < slack, "{longer} gaps above {gap}");
    }
}

#[test]
fn bursts_are_ten_events_at_ten_times_the_rate() {
    let events = micros(traffic("bursts", 100.0, 1), 1000);
    for burst in events.chunks(10) {
        for pair in burst.windows(2) {
            assert!((999..=1001).contains(&(pair[1] - pair[0])), "{burst:?}");
        }
    }
    let pauses: Vec<_> = events.chunks(10).map(|burst| burst[0]).collect();
    let mean = (pauses[99] - pauses[0]) as f64 / 99.0;
    assert!((mean - 100_000.0).abs() < 5.0 * 91_000.0 / 99f64.sqrt(), "{mean}");
}

/// Counts per eighth of a day against the integral of the rate, whether a piece of constant top
/// rate is short against the day (many events a day) or longer than it (few).
#[test]
fn day_and_night_follow_the_wave() {
    // The integral of the wave 4p(1 - p) over the first p of a half of the day, in days.
    let integral = |p: f64| p * p - 2.0 / 3.0 * p * p * p;
    for (rate, days) in [(100.0, 10.0), (1.0, 1000.0), (0.01, 100_000.0)] {
        let mut counts = [0.0; 8];
        for event in traffic("day-and-night 1m", rate, 5) {
            if event >= secs(60.0 * days) {
                break;
            }
            counts[(event.as_secs_f64() / 7.5) as usize % 8] += 1.0;
        }
        for (i, count) in counts.into_iter().enumerate() {
            let part = (i % 4) as f64 / 4.0;
            let sign = if i < 4 { 0.9 } else { -0.9 };
            let swing = sign * (integral(part + 0.25) - integral(part));
            let want = 60.0 * rate * days * (0.125 + swing);
            assert!((count - want).abs() < 5.0 * want.sqrt(), "{i}: {count}, not {want}");
        }
    }
}

#[test]
fn days_are_aligned_to_the_origin_and_not_to_the_start() {
    let pattern = "day-and-night 1m".parse().unwrap();
    let mut evening = Traffic::new(pattern, 1000.0, 0, secs(40.0)).unwrap();
    let night = count_before(&mut evening, secs(50.0));
    assert!(night < 3000, "{night} events in the ten quietest seconds");
}

#[test]
fn extreme_rates_neither_panic_nor_loop() {
    for rate in [f64::MIN_POSITIVE, 5e-324, 1e-300, 1e-12, 1e12, 1e300, f64::MAX] {
        for pattern in ["steady", "poisson", "bursts", "day-and-night 1us", "day-and-night 9999w"] {
            for start in [i64::MIN, 0, i64::MAX - 1, i64::MAX] {
                let start = Time::from_micros(start);
                let traffic = Traffic::new(pattern.parse().unwrap(), rate, 1, start).unwrap();
                assert!(traffic.take(100).is_sorted_by(|a, b| start <= *a && a <= b));
            }
        }
    }
}

#[test]
fn rates_that_are_none_are_refused() {
    for rate in [f64::NAN, 0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        for pattern in PATTERNS {
            let pattern = pattern.parse().unwrap();
            let error = Traffic::new(pattern, rate, 0, Time::ZERO).unwrap_err();
            let want =
                format!("events per second cannot be {rate}: it must be finite and above zero");
            assert_eq!(error.to_string(), want);
        }
    }
    let pattern = Pattern::DayAndNight { day: ratescope::Span::ZERO };
    let error = Traffic::new(pattern, 1.0, 0, Time::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "a day in seconds cannot be 0: it must be longer than zero");
}

#[test]
fn patterns_read_back_as_written() {
    for text in ["steady", "poisson", "bursts", "day-and-night", "day-and-night 1m30s"] {
        assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
    }
    let day: Pattern = "day-and-night 24h".parse().unwrap();
    assert_eq!(day.to_string(), "day-and-night");
}

#[track_caller]
fn refused(text: &str, want: &str) {
    assert_eq!(text.parse::<Pattern>().unwrap_err().to_string(), want);
}

#[test]
fn wrong_patterns_say_what_would_be_right() {
    let list = "not a pattern; the patterns are steady, poisson, bursts and day-and-night";
    refused("", &format!("\"\": {list}"));
    refused("Poisson", &format!("\"Poisson\": {list}"));
    refused("night 1m", &format!("\"night\" in \"night 1m\": {list}"));
    refused(
        "poisson 1m",
        "\" 1m\" in \"poisson 1m\": nothing follows this pattern; only day-and-night takes a span",
    );
    refused(
        "day-and-night 1x",
        "\"x\" in \"day-and-night 1x\": not a unit; the units are w, d, h, m, s, ms and us",
    );
    refused("day-and-night 0s", "\"0s\" in \"day-and-night 0s\": a day must be longer than zero");
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use super::*;
    use proptest::prelude::*;

    fn any_traffic() -> impl Strategy<Value = Traffic> {
        let pattern = prop_oneof![
            Just("steady".to_owned()),
            Just("poisson".to_owned()),
            Just("bursts".to_owned()),
            (1u64..10_000_000_000).prop_map(|day| format!("day-and-night {day}us")),
        ];
        (pattern, -3.0..7.0, any::<u64>(), any::<i32>()).prop_map(|(pattern, log, seed, start)| {
            let start = Time::from_micros(i64::from(start));
            Traffic::new(pattern.parse().unwrap(), 10f64.powf(log), seed, start).unwrap()
        })
    }

    proptest! {
        #[test]
        fn order_never_decreases_and_nothing_comes_before_the_start(
            pattern in prop::sample::select(&PATTERNS[..]),
            log in -3.0..7.0,
            start in any::<i32>(),
        ) {
            let start = Time::from_micros(i64::from(start));
            let traffic = Traffic::new(pattern.parse().unwrap(), 10f64.powf(log), 0, start).unwrap();
            prop_assert!(traffic.take(1000).is_sorted_by(|a, b| start <= *a && a <= b));
        }

        /// The events are the same however the time is cut into the intervals that are asked for.
        #[test]
        fn any_split_gives_the_same_events(
            mut traffic in any_traffic(),
            steps in prop::collection::vec(0u64..3, 0..50),
        ) {
            let whole: Vec<_> = traffic.clone().take(100).collect();
            let last = whole[99];
            let mean = (last.as_micros() - whole[0].as_micros()) / 100;
            let (mut now, mut pieces) = (whole[0].as_micros(), Vec::new());
            for step in steps {
                now += step as i64 * mean * 2 + step as i64;
                let until = Time::from_micros(now).min(last);
                while let Some(event) = traffic.next_before(until) {
                    prop_assert!(event < until);
                    pieces.push(event);
                }
                prop_assert!(traffic.peek() >= until);
            }
            pieces.extend(traffic.take(100 - pieces.len()));
            prop_assert_eq!(pieces, whole);
        }
    }
}
