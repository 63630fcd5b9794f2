//! The limiter does as the scope predicts.

use crate::recorded;
use crate::table;
use ratescope::limit::Limiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Rate, Retry, Span, Time};
use ratescope_lab::plot::axis::{readout_count, seconds};
use ratescope_lab::run::Link;
use ratescope_lab::scope::outlook::{FastSender, Fate, Outlook};
use ratescope_lab::scope::{Scope, Settings};
use ratescope_lab::view::scope::outlook as words;
use recorded::{at, settings};
use table::rows;

/// Enough events to be sure that none of the limits here is ever met.
const MANY: u32 = 20_000;

fn exim(limit: f64, period: f64, mode: Mode) -> Exim {
    Exim { limit: Rate::new(limit, Span::try_from_secs_f64(period).unwrap()).unwrap(), mode }
}

/// How many of the events, so many seconds apart, pass before the first is refused.
fn passed(limiter: Exim, gap: f64) -> f64 {
    let mut state = limiter.initial();
    let refused = (0..MANY)
        .position(|n| !limiter.check(&mut state, at(f64::from(n) * gap), 1.0).is_allowed());
    refused.map_or(f64::INFINITY, |n| n as f64)
}

fn over(limit: f64, period: f64, per_second: f64) -> FastSender {
    match Outlook::new(&exim(limit, period, Mode::Strict), per_second).fate {
        Fate::Over(over) => over,
        other => panic!("{other:?} of {limit} per {period} s at {per_second} a second"),
    }
}

#[test]
fn as_many_pass_at_once_as_the_limiter_lets_through() {
    for period in [0.1, 1.0, 10.0, 3600.0, 604_800.0] {
        for limit in [0.5, 1.0, 1.000001, 1.5, 2.0, 3.5, 10.0, 11.001, 100.0, 1000.0, 9999.0] {
            let limiter = exim(limit, period, Mode::Strict);
            let Outlook { at_once, .. } = Outlook::new(&limiter, 1.0);
            assert_eq!(at_once, passed(limiter, 0.0), "{limit} per {period} s");
        }
    }
}

#[test]
fn as_many_pass_evenly_as_the_limiter_lets_through() {
    for period in [0.5, 10.0, 64.0, 3600.0] {
        for limit in [1.01, 2.0, 3.7, 10.0, 100.0, 512.5] {
            // In whole microseconds.
            for gap in [0.000_002, 0.001, 0.0625, 0.2, 0.5, 1.0, 3.0, 100.0] {
                for mode in [Mode::Strict, Mode::Leaky] {
                    let limiter = exim(limit, period, mode);
                    let outlook = Outlook::new(&limiter, 1.0 / gap);
                    let told = match outlook.fate {
                        Fate::Over(over) => over.events,
                        _ => f64::INFINITY,
                    };
                    // At the limit itself, and at numbers that round to it, only rounding decides.
                    let at_limit = (outlook.steady / limit - 1.0).abs() <= 1e-9;
                    let unseen = told.is_finite() && told > f64::from(MANY);
                    if !at_limit && !unseen {
                        assert_eq!(told, passed(limiter, gap), "{limiter} each {gap} s");
                    }
                }
            }
        }
    }
}

/// The rate of the n-th event is that of the recurrence, to the digit.
#[test]
fn even_events_read_what_the_formula_says() {
    let limiter = exim(10.0, 10.0, Mode::Strict);
    let (mut state, r) = (limiter.initial(), 20.0_f64);
    for n in 0..100 {
        let n = f64::from(n);
        let level = limiter.check(&mut state, at(n * 0.5), 1.0).level;
        let told = r + (1.0 - r) * (-n / r).exp();
        assert!((level - told).abs() <= 1e-12 * told, "{level}, not {told}");
    }
}

#[test]
fn a_sender_over_its_limit_to_the_digit() {
    let over = over(10.0, 10.0, 2.0);
    assert_eq!((over.events, over.pace), (13.0, 1.0));
    assert!((over.back - 10.0 * 2.0_f64.ln()).abs() < 1e-12);
    // 20 e^-x + (1 - e^-x)/x = 10.
    let x = over.again / 10.0;
    assert!((20.0 * (-x).exp() - (-x).exp_m1() / x - 10.0).abs() < 1e-5, "{x}");
    assert!(over.again > over.back);
}

#[test]
fn the_curves_are_those_of_the_limiter() {
    for (limit, gap) in [(10.0, 0.5), (10.0, 0.01), (10.0, 2.0), (10.0, 30.0), (2.5, 1.0)] {
        let limiter = exim(limit, 10.0, Mode::Strict);
        let outlook = Outlook::new(&limiter, 1.0 / gap);
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b, "{a}, not {b}: {gap}");
        let mut state = limiter.initial();
        let events = match outlook.fate {
            Fate::Over(over) => over.events as u32,
            _ => 100,
        };
        for n in 0..events {
            let now = f64::from(n) * gap;
            let level = limiter.check(&mut state, at(now), 1.0).level;
            near(outlook.even_at(now).unwrap(), level);
        }
        if matches!(outlook.fate, Fate::Over(_)) {
            near(outlook.last_passes(), f64::from(events - 1) * gap);
            let silence = outlook.last_passes() + 7.0;
            near(outlook.even_at(silence).unwrap(), state.rate * (-0.7_f64).exp());
        }
        let burst = f64::floor(limit);
        near(outlook.burst_at(7.0).unwrap(), burst * (-0.7_f64).exp());
    }
    let barred = Outlook::new(&exim(1.0, 10.0, Mode::Strict), 2.0);
    assert_eq!((barred.burst_at(0.0), barred.even_at(0.0)), (None, None));
    let endless = Outlook::new(&exim(0.0, 10.0, Mode::Strict), 2.0);
    assert_eq!((endless.burst_at(0.0), endless.even_at(0.0)), (None, Some(1.0)));
}

#[test]
fn in_strict_the_next_event_passes_when_it_is_told() {
    for (limit, period, gap) in [(10.0, 10.0, 0.5), (3.0, 1.0, 0.01), (1.5, 600.0, 30.0)] {
        let limiter = exim(limit, period, Mode::Strict);
        let over = over(limit, period, 1.0 / gap);
        let mut state = limiter.initial();
        let last = f64::from(MANY) * gap;
        (0..=MANY).for_each(|n| limiter.record(&mut state, at(f64::from(n) * gap), 1.0, false));
        let passes = |after: f64| limiter.peek(&state, at(last + after), 1.0).is_allowed();
        assert!(passes(over.again + 2e-6) && !passes(over.again - 2e-6), "{limiter}");
        let rate = state.rate * (-over.back / period).exp();
        assert!((rate - limit).abs() < 1e-9 * limit, "{rate} after {} s", over.back);
    }
}

#[test]
fn in_leaky_events_pass_no_faster_and_none_waits_longer() {
    for (limit, period, gap) in [
        (10.0, 10.0, 0.5),
        (10.0, 10.0, 0.001),
        (10.0, 10.0, 0.3),
        (2.0, 10.0, 4.95),
        (50.0, 7.0, 0.1),
    ] {
        let limiter = exim(limit, period, Mode::Leaky);
        let over = over(limit, period, 1.0 / gap);
        let (mut state, mut allowed, mut longest) = (limiter.initial(), Vec::new(), 0.0_f64);
        for n in 0..MANY {
            let now = at(f64::from(n) * gap);
            if limiter.check(&mut state, now, 1.0).is_allowed() {
                allowed.push(now);
                let Retry::After(wait) = limiter.retry_after(&state, now, 1.0) else { panic!() };
                longest = longest.max(wait.as_secs_f64());
            }
        }
        assert!(longest <= over.pace + 2e-6, "{limiter}: {longest}");
        let settled = &allowed[over.events as usize - 1..];
        let span = settled.last().unwrap().since(settled[0]);
        let mean = span / (settled.len() - 1) as f64;
        // At best: the sender's own gaps make it a little more.
        let most = over.pace + gap;
        assert!(mean > 0.999 * over.pace && mean <= most, "{limiter} each {gap} s: {mean}");
    }
    // A sender that takes every chance has exactly that pace.
    let limiter = exim(10.0, 10.0, Mode::Leaky);
    let (mut state, mut now) = (limiter.initial(), Time::ZERO);
    (0..10).for_each(|_| assert!(limiter.check(&mut state, now, 1.0).is_allowed()));
    for _ in 0..100 {
        let Retry::After(wait) = limiter.retry_after(&state, now, 1.0) else { panic!() };
        assert!((wait.as_secs_f64() - 1.0).abs() < 3e-6, "{wait}");
        now = now.after(wait);
        assert!(limiter.check(&mut state, now, 1.0).is_allowed());
    }
}

#[test]
fn a_rate_below_the_limit_is_never_refused() {
    for per_second in [0.1, 0.7, 0.999, 1.0] {
        let outlook = Outlook::new(&exim(10.0, 10.0, Mode::Strict), per_second);
        assert_eq!(outlook.fate, Fate::Passes, "{per_second}");
    }
    assert_eq!(Outlook::new(&exim(1.01, 1.0, Mode::Strict), 0.1).fate, Fate::Passes);
}

#[test]
fn the_limits_at_the_edge() {
    let told = |limit| {
        let Outlook { at_once, fate, .. } = Outlook::new(&exim(limit, 10.0, Mode::Strict), 2.0);
        (at_once, fate)
    };
    assert_eq!(told(0.0), (f64::INFINITY, Fate::Passes));
    assert_eq!(told(0.01), (0.0, Fate::Barred));
    assert_eq!(told(1.0), (0.0, Fate::Barred));
    // The most that can be set: within 100 ms an instant is a nanosecond, and 10^8 are fewer.
    let most = Outlook::new(&exim(1e9, 0.1, Mode::Strict), 1e6);
    assert_eq!((most.at_once, most.fate), (f64::INFINITY, Fate::Passes));
    let over = over(1.5, 604_800.0, 1e6);
    assert_eq!(over.events, 1.0);
    assert!(over.back.is_finite() && over.again >= over.back);
}

#[test]
fn it_is_said_in_three_sentences() {
    for [changes, at_once, even, after] in rows("
        auto-rate=2 | At once: 10 events. | \
            At an even 2 a second: 13, then one each 1.0 s at best (leaky) or none (strict). | \
            After that, free again in at most 1.0 s (leaky) or 7.7 s (strict).
        auto-rate=0.7 | At once: 10 events. | At an even 0.7 a second: all; the rate settles at 7.00. | Nothing has to wait.
        limit=0&auto-rate=1000000 | At once: all events. | \
            At an even 1,000,000 a second: all; the rate settles at 10,000,000. | Nothing has to wait.
        limit=1 | At once: none. | At an even 0.7 a second: none. | \
            Nothing ever passes: a single event already measures 1.
        limit=1.5&auto-rate=0.123456789 | At once: 1 event. | \
            At an even 0.123 a second: all; the rate settles at 1.23. | Nothing has to wait.
        limit=1000000000&decay=1w&auto-rate=1000000 | At once: 1,000,000,826 events. | \
            At an even 1,000,000 a second: 1,000,827,631, then one each 605 µs at best (leaky) or none (strict). | \
            After that, free again in at most 605 µs (leaky) or 44 d 20 h (strict).
        ") {
        let settings = changes.parse::<Link<Settings>>().unwrap().settings;
        let found = words(&settings, &settings.outlook().unwrap());
        let found = found.map(|text| text.replace('\u{202f}', " "));
        assert_eq!(found, [at_once, even, after], "{changes}");
    }
}

/// At any knobs the words have the numbers of the closed forms, written out here once more.
#[test]
fn the_words_have_the_numbers_of_the_closed_forms() {
    for (p, m, per_second) in [
        (10.0, 10.0, 2.0),
        (10.0, 10.0, 1.1),
        (60.0, 7.5, 0.3),
        (3600.0, 1000.0, 5.0),
        (0.5, 2.5, 1000.0),
        (86_400.0, 40.0, 0.1),
    ] {
        let [decay, limit, rate] = [format!("{p}s"), m.to_string(), per_second.to_string()];
        let changes = [("decay", &*decay), ("limit", &limit), ("auto-rate", &rate)];
        let settings: Settings = settings(&changes);
        let r: f64 = per_second * p;
        let events = (r * ((r - 1.0) / (r - m)).ln()).ceil();
        // Silence x of p until the next event reads m: (1 - e^-x)/x + r e^-x = m, by halving.
        let reads = |x: f64| -(-x).exp_m1() / x + r * (-x).exp();
        let (mut low, mut high) = (1e-9, 100.0);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            (low, high) = if reads(middle) >= m { (middle, high) } else { (low, middle) };
        }
        let [pace, again] = [p / m, p * high].map(seconds);
        let rate = per_second.to_string();
        let rate = if rate == "1000" { "1,000" } else { &rate };
        let plain = |text: String| text.replace('\u{202f}', " ");
        let [at_once, even, after] = words(&settings, &settings.outlook().unwrap()).map(plain);
        let [pace, again] = [pace, again].map(plain);
        let [floor, events] = [m.floor(), events].map(|count| readout_count(count as u64));
        assert!(at_once.contains(&format!(" {floor} ")), "{at_once}");
        for number in [format!(" {rate} "), format!(" {events},"), format!(" {pace} ")] {
            assert!(even.contains(&number), "{number} in {even}");
        }
        for number in [pace, again] {
            assert!(after.contains(&format!(" {number} (")), "{number} in {after}");
        }
    }
}

/// The run of the page agrees: the automatic events are those told of.
#[test]
fn a_run_of_the_scope_comes_to_the_same() {
    let changes = [("pattern", "steady"), ("auto-rate", "2"), ("mode", "strict")];
    let mut scope = Scope::new(settings(&changes)).unwrap();
    scope.advance(at(60.0), usize::MAX);
    assert_eq!(scope.instrument().allowed(), 13);
}
