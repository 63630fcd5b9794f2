//! The models beside the red line: each is what its formula says, and changes nothing else.

use crate::recorded;
use crate::table;
use proptest::prelude::*;
use ratescope::estimate::exim::DecayingRate;
use ratescope::estimate::recent_average::{Impulse, RecentAverage, settled};
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::{Limiter, Rate, Span, Time};
use ratescope_lab::plot::axis::{readout, readout_count};
use ratescope_lab::run::Link;
use ratescope_lab::scope::models::{Model, ModelColumn};
use ratescope_lab::scope::moving_average::MovingAverage;
use ratescope_lab::scope::{Models, Scope, Settings};
use ratescope_lab::trace::Trace;
use ratescope_lab::view::scope::models as words;
use recorded::{at, run, settings};
use table::rows;

#[track_caller]
fn near(found: f64, told: f64) {
    assert!((found - told).abs() <= 1e-12 * told.abs().max(1e-12), "{found}, not {told}");
}

const ALL: &str = "bucket=on&mean=on&recent=on";

fn models(scope: &Scope) -> &Models {
    scope.instrument().models().unwrap()
}

/// All four at an instant, in events of a decay interval.
fn values(scope: &Scope, at: Time) -> [f64; 4] {
    let (point, period) = (models(scope).at(at), scope.instrument().period().as_secs_f64());
    Model::ALL.map(|model| point.value(model) * period)
}

#[test]
fn the_mean_is_the_average_rate_of_the_last_events() {
    let mut mean = MovingAverage::new(3);
    assert_eq!(mean.rate_at(at(0.0)), 0.0);
    mean.add(at(1.0));
    // One event has no gap.
    assert_eq!(mean.rate_at(at(1.0)), 0.0);
    mean.add(at(3.0));
    assert_eq!(mean.rate_at(at(3.0)), 1.0 / 2.0);
    mean.add(at(3.5));
    mean.add(at(4.0));
    assert_eq!(mean.rate_at(at(4.0)), 3.0 / 3.0);
    // The gap of two seconds is forgotten, with the event after it; in silence the time goes on.
    mean.add(at(5.0));
    assert_eq!([5.0, 6.0, 9.0].map(|t| mean.rate_at(at(t))), [3.0 / 2.0, 3.0 / 3.0, 3.0 / 6.0]);
    // Steady events read exactly, as soon as there are enough.
    let mut mean = MovingAverage::new(10);
    for n in 0..=30 {
        let now = Time::from_micros(7 * n);
        mean.add(now);
        assert_eq!(mean.events().events, n.min(10) as u32);
        if n >= 1 {
            near(mean.rate_at(now), 1e6 / 7.0);
        }
    }
}

#[test]
fn the_mean_knows_no_burst_and_stands_still_when_time_runs_backwards() {
    let mut mean = MovingAverage::new(4);
    (0..5).for_each(|_| mean.add(at(2.0)));
    near(mean.rate_at(at(2.0)), 4e9);
    mean.add(at(1.0));
    assert_eq!(mean.rate_at(at(3.0)), 4.0);
    // A mean of none is one of one.
    let mut least = MovingAverage::new(0);
    [1.0, 2.0, 4.0].into_iter().for_each(|t| least.add(at(t)));
    assert_eq!(least.rate_at(at(4.0)), 0.5);
}

/// The aside of the page of 2009: with 1 for the first term, the rate comes out about a half too high.
#[test]
fn n_settles_about_a_half_above_the_rate() {
    let period = Span::from_secs(10);
    let (exim, recent) = (DecayingRate { period }, RecentAverage::over(period).unwrap());
    near(recent.lambda(), 0.1);
    for steady in [0.5, 1.0, 2.0, 9.5, 20.0, 1000.0, 1e5] {
        // Gaps of whole microseconds; from about where it settles.
        let gap = (1e7_f64 / steady).round() as i64;
        let steady = 1e7 / gap as f64;
        let (mut rate, mut impulse) = (None, Impulse { size: steady, at: Time::ZERO });
        let settles = settled(steady);
        for n in 1..=(40.0 * steady.max(1.0)) as i64 {
            let now = Time::from_micros(n * gap);
            rate = Some(exim.measure(rate, now, 1.0));
            impulse = recent.add(impulse, now, 1.0);
        }
        assert!((impulse.size / settles - 1.0).abs() < 1e-9, "{} of {settles}", impulse.size);
        let rate = rate.unwrap().rate;
        assert!((rate / steady.max(1.0) - 1.0).abs() < 1e-9, "{rate} of {steady}");
        near(settles, 1.0 / -(-1.0 / steady).exp_m1());
        if steady >= 9.0 {
            let series = steady + 0.5 + 1.0 / (12.0 * steady);
            assert!((settles - series).abs() < 1e-5, "{settles} and {series}");
        }
    }
    assert!(settled(1e-9) == 1.0 && settled(1e12) == 1e12 + 0.5);
}

/// At any rate the level tends to nothing or to its maximum.
#[test]
fn the_bucket_is_empty_or_full() {
    for (limit, period) in [(10.0, 10.0), (2.5, 1.0), (1.0, 2.0), (0.5, 1.0), (100.0, 60.0)] {
        let rate = Rate::new(limit, Span::try_from_secs_f64(period).unwrap()).unwrap();
        let bucket = LeakyBucket::new(rate, limit).unwrap();
        for times in [0.01, 0.5, 0.97, 1.0, 1.03, 1.37, 2.1, 50.3, 1e5] {
            let gap = (period * 1e6 / (limit * times)).round() as i64;
            let steady = period * 1e6 / gap as f64;
            let mut state = bucket.initial();
            let first = (0..5000).position(|n| {
                !bucket.check(&mut state, Time::from_micros(n * gap), 1.0).is_allowed()
            });
            let passed = first.map_or(f64::INFINITY, |n| n as f64);
            assert_eq!(passed, bucket.passing(steady), "{bucket} at {steady}");
            // As an event finds it, when it is full or one was just refused.
            let mut level = 0.0;
            for n in 5000..10_000 {
                let now = Time::from_micros(n * gap);
                level = bucket.level(&state, now);
                let _ = bucket.check(&mut state, now, 1.0);
            }
            match limit {
                ..1.0 => assert_eq!(level, 0.0),
                _ if times <= 1.0 => assert_eq!(level, 0.0, "{bucket} at {steady}"),
                _ => assert!(
                    level > limit - 1.0 - limit / steady && level <= limit,
                    "{level} of {bucket}"
                ),
            }
        }
    }
    let bucket = LeakyBucket::new("10/10s".parse().unwrap(), 10.0).unwrap();
    assert_eq!(
        [0.7, 10.0, 20.0, 1e9].map(|r| bucket.passing(r)),
        [f64::INFINITY, f64::INFINITY, 19.0, 10.0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At any events the scope shows what each formula says of them, at them and in between; and
    /// coarser columns hold what the finest do.
    #[test]
    fn the_scope_shows_what_the_formulas_say(
        gaps in prop::collection::vec(0_u32..4_000_000, 1..200),
        limit in (8_u32..160).prop_map(|eighths| f64::from(eighths) / 8.0),
        last in 1_u32..20,
        leaky in any::<bool>(),
    ) {
        let mode = if leaky { "leaky" } else { "strict" };
        let mut scope = run(&format!("{ALL}&auto=off&limit={limit}&mode={mode}&last={last}"));
        let p = 10.0;
        let (mut level, mut n, mut counted) = (0.0_f64, 0.0_f64, Vec::new());
        let mut most = 0.0_f64;
        for gap in gaps {
            // A third of them at the instant of the one before.
            let gap = i64::from(gap.saturating_sub(1_300_000));
            scope.advance(Time::from_micros(scope.now().as_micros() + gap), usize::MAX);
            let now = scope.now();
            let d = gap as f64 / 1e6;
            (level, n) = ((level - d * limit / p).max(0.0), n * (-d / p).exp());
            let mean = |times: &[Time]| {
                let gaps = times.len().saturating_sub(1).min(last as usize);
                let Some(from) = times.len().checked_sub(gaps + 1) else { return 0.0 };
                p * gaps as f64 / now.since(times[from]).max(1e-9)
            };
            let told = [level, mean(&counted), n];
            for (found, told) in values(&scope, now).into_iter().zip(told) {
                prop_assert!((found - told).abs() <= 1e-6 * told.max(1.0), "{found}, not {told}");
            }
            let refused = scope.instrument().refused();
            scope.click();
            if level + 1.0 <= limit + 1e-7 {
                level += 1.0;
            }
            if !leaky || scope.instrument().refused() == refused {
                n += 1.0;
                counted.push(now);
            }
            most = most.max(n);
        }
        let trace = &models(&scope).trace;
        let fine = trace.columns(Time::ZERO, scope.now(), 0.0);
        for coarse in trace.columns(Time::ZERO, scope.now(), 2.0) {
            let within = |c: &&&ModelColumn| coarse.first <= c.first && c.end.at <= coarse.end.at;
            for column in fine.iter().filter(within) {
                for model in Model::ALL {
                    let (inner, outer) = (column.range(model), coarse.range(model));
                    prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
                }
            }
        }
        let highest = fine.iter().map(|c| c.range(Model::Recent).high).fold(0.0, f64::max);
        prop_assert!((highest * p - most).abs() <= 1e-9 * most);
    }
}

#[test]
fn they_are_off_and_cost_nothing_until_they_are_shown() {
    let mut scope = run("auto-rate=5&at=20");
    assert!(scope.instrument().models().is_none());
    scope.set("mean", "on").unwrap();
    assert!(scope.instrument().models().is_some());
    scope.set("mean", "off").unwrap();
    assert!(scope.instrument().models().is_none());
    const { assert!(Trace::<ModelColumn>::BYTES < 9_000_000) };
}

/// A line that is switched on shows its past, also to others by a link.
#[test]
fn a_line_that_is_switched_on_has_its_past() {
    let link = "auto-rate=3&limit=8&at=50&do=7:events*5,20:decay=20s,30:limit=5,40:mode=leaky";
    let mut scope = run(link);
    scope.click();
    let without = scope.link().unwrap();
    for name in ["bucket", "mean", "recent"] {
        scope.set(name, "on").unwrap();
    }
    scope.set("last", "7").unwrap();
    assert!(models(&scope).whole);
    let link = scope.link().unwrap().to_string();
    assert!(link.contains("&bucket=on&mean=on&last=7&recent=on&"), "{link}");
    let columns = |scope: &Scope| -> Vec<ModelColumn> {
        let trace = &models(scope).trace;
        trace.columns(Time::ZERO, scope.now(), 0.0).into_iter().copied().collect()
    };
    assert!(columns(&scope).len() > 100);
    let replayed = run(&link);
    assert_eq!(columns(&replayed), columns(&scope));
    // Only the view of the run has changed, and it goes on.
    assert_eq!(scope.link().unwrap().commands, without.commands);
    let counts = |s: &Scope| (s.now(), s.instrument().allowed(), s.instrument().refused());
    let mut plain = run(&without.to_string());
    for scope in [&mut scope, &mut plain] {
        scope.advance(at(80.0), usize::MAX);
    }
    assert_eq!(counts(&scope), counts(&plain));
}

/// Where that were too much work, it begins when it is switched on.
#[test]
fn the_past_of_too_many_events_is_not_gone_through_again() {
    let mut scope = run("auto-rate=1000000&at=5");
    scope.set("recent", "on").unwrap();
    assert!(!models(&scope).whole && models(&scope).trace.total() == 0);
    scope.advance(at(5.1), usize::MAX);
    let oldest = models(&scope).trace.oldest().unwrap();
    assert!(oldest >= at(5.0), "{oldest}");
}

#[test]
fn another_decay_interval_keeps_events_per_second_and_what_is_queued() {
    let turned =
        |done: &str| run(&format!("{ALL}&pattern=steady&auto-rate=2&at=21&do=21:auto=off{done}"));
    let before = turned("");
    let [level, mean, n, _] = values(&before, at(21.0));
    let scope = turned(",21:decay=20s");
    let [after, twice, double, _] = values(&scope, at(21.0));
    near(after, level);
    near(twice, 2.0 * mean);
    near(double, 2.0 * n);
    // It drains half as fast now, and a lower limit cuts the part that no longer fits.
    near(values(&scope, at(23.0))[0], level - 1.0);
    near(values(&turned(",21:decay=20s,21:limit=4"), at(21.0))[0], 4.0);
    assert_eq!(values(&turned(",21:decay=20s,21:limit=0"), at(21.0))[0], 0.0);
}

#[test]
fn each_says_what_it_makes_of_even_events() {
    for [changes, bucket, mean, recent] in rows("
        auto-rate=2 | At an even 2 a second: full after 19 events. | At an even 2 a second: 20.0 from event 11 on. | \
            At an even 2 a second: 20.5, which is 0.504 above the rate.
        last=1000 | At an even 0.7 a second: each event finds it empty. | \
            At an even 0.7 a second: 7.00 from event 1,001 on. | \
            At an even 0.7 a second: 7.51, which is 0.512 above the rate.
        limit=0&auto-rate=1000000 | There is none without a limit. | \
            At an even 1,000,000 a second: 10,000,000 from event 11 on. | \
            At an even 1,000,000 a second: 10,000,001, which is 0.500 above the rate.
        limit=0.5&auto-rate=0.1&last=1 | It holds not even one event. | \
            At an even 0.1 a second: 1.00 from event 2 on. | \
            At an even 0.1 a second: 1.58, which is 0.582 above the rate.
        limit=1&auto-rate=2 | At an even 2 a second: full after 1 event. | \
            At an even 2 a second: 20.0 from event 11 on. | \
            At an even 2 a second: 20.5, which is 0.504 above the rate.
        ") {
        let found = words(&changes.parse::<Link<Settings>>().unwrap().settings);
        let found = found.map(|text| text.replace('\u{202f}', " "));
        assert_eq!(found[..3], [bucket, mean, recent], "{changes}");
    }
}

/// At any knobs they have the numbers of the closed forms, written out here once more.
#[test]
fn the_sentences_have_the_numbers_of_the_closed_forms() {
    for (p, m, per_second) in
        [(10.0, 10.0, 1.1), (60.0, 7.5, 0.3), (3600.0, 900.0, 5.0), (0.5, 2.5, 40.0)]
    {
        let [decay, limit, rate] = [format!("{p}s"), m.to_string(), per_second.to_string()];
        let settings = settings(&[("decay", &decay), ("limit", &limit), ("auto-rate", &rate)]);
        let r: f64 = p * per_second;
        let full = 1.0 + ((m - 1.0) * r / (r - m)).floor();
        let n = 1.0 / (1.0 - (-1.0 / r).exp());
        let told = [
            format!("full after {} events.", readout_count(full as u64)),
            format!("{} from event 11 on.", readout(r)),
            format!("{}, which is {} above the rate.", readout(n), readout(n - r)),
        ];
        let told = told.map(|said| format!("At an even {per_second} a second: {said}"));
        assert_eq!(words(&settings)[..3], told);
    }
}

/// The run of the page agrees with the sentences.
#[test]
fn a_run_of_the_scope_comes_to_what_is_said() {
    let scope = run(&format!("{ALL}&pattern=steady&auto-rate=2&limit=10&at=200"));
    let last = scope.instrument().last().unwrap().at;
    let [level, mean, n, _] = values(&scope, last);
    near(level, 10.0);
    near(mean, 20.0);
    assert!((n - 20.504).abs() < 0.0005, "{n}");
    let red = scope.instrument().rate_at(last);
    assert!((red - 20.0).abs() < 1e-6, "{red}");
}

/// Memory is for the events that came, and not for those that may come.
#[test]
fn the_mean_of_the_last_four_billion_events() {
    let mut mean = MovingAverage::new(u32::MAX);
    mean.add(Time::ZERO);
    mean.add(Time::from_micros(500_000));
    assert_eq!(mean.rate_at(Time::from_micros(500_000)), 2.0);
}

/// The formula of 2009 converges to any steady rate by its closed form, and starts from 0; today's reads at least 1.
#[test]
fn the_rate_of_2009_reads_widely_spaced_events_as_they_are() {
    for per_second in [0.02, 0.05, 0.4] {
        let text = format!("rate-2009=on&limit=0&pattern=steady&auto-rate={per_second}&at=600");
        let link: Link<Settings> = text.parse().unwrap();
        let mut scope = Scope::open(&link).unwrap();
        scope.advance(link.at, usize::MAX);
        let r = 10.0 * per_second;
        let gap = 1.0 / per_second;
        // The first event reads 0, so the last of n has r_n = R (1 - e^(-(n - 1) d/p)).
        let n = (600.0_f64 / gap).floor() - if 600.0 % gap == 0.0 { 1.0 } else { 0.0 };
        let since = 600.0 - n * gap;
        let told = r * (1.0 - (-(n - 1.0) * gap / 10.0).exp()) * (-since / 10.0_f64).exp();
        let [_, _, _, former] = values(&scope, at(600.0));
        assert!((former - told).abs() < 1e-9, "{per_second}: {former}, not {told}");
        let red = scope.instrument().rate_at(at(600.0));
        let level = if r < 1.0 { (-since / 10.0_f64).exp() } else { told };
        assert!((red - level).abs() < 1e-6, "{per_second}: {red}, not {level}");
    }
    let said = words(&settings(&[("auto-rate", "0.05")]))[3].clone();
    assert_eq!(said, "At an even 0.05 a second: 0.500, where red reads 1.00.");
}
