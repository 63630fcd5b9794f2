//! Prints what a check costs, in nanoseconds and in calls of `exp`.
//!
//! `cargo bench --bench limiters`
//!
//! A machine that does other things too is now fast and now slow, so everything is measured in
//! turn, many times, and each is compared with the `exp` of its own round; what is printed is the
//! median. Without `--bench`, as `cargo test --benches` calls it, each is done once.
#![allow(clippy::unwrap_used)]

use ratescope::keyed::Keyed;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Event, Limiter, Store, Time};
use std::env;
use std::hint::black_box;
use std::time::Instant;

const LIMITERS: [&str; 11] = [
    "exim 100/1s strict",
    "exim 100/1s leaky",
    "earrrl 100/1s half-life 1s",
    "token-bucket 100/1s",
    "gcra 100/1s",
    "leaky-bucket 100/1s",
    "fixed-window 100/1s",
    "sliding-window 100/1s precision 10ms",
    "sliding-counter 100/1s",
    "sliding-log 100/1s",
    "adaptive x3 decay 1s increase 1m floor 100",
];

const POLICY: &str = "10/1s & 120/1m & 240/1h precision 1m";

/// How many calls are timed at once.
const CALLS: i64 = 1000;

/// Something to time: its name, and what is done in a call.
type Task = (String, Box<dyn FnMut()>);

fn main() {
    let rounds = if env::args().any(|arg| arg == "--bench") { 501 } else { 1 };
    let mut tasks = vec![exp()];
    tasks.extend(LIMITERS.iter().map(|text| check(text, "allowed", 20_000)));
    tasks.extend(LIMITERS.iter().map(|text| check(text, "mostly refused", 1_000)));
    tasks.push(policy("allowed", 20_000));
    tasks.push(policy("mostly refused", 1_000));
    tasks.push(keyed());

    let mut times = vec![Vec::new(); tasks.len()];
    for _ in 0..rounds {
        for ((_, call), times) in tasks.iter_mut().zip(&mut times) {
            times.push(nanoseconds(call));
        }
    }
    let exps = times[0].clone();
    println!("{:>8}  {:>6}", "ns", "exps");
    for ((name, _), times) in tasks.iter().zip(times) {
        let ratios = times.iter().zip(&exps).map(|(time, exp)| time / exp).collect();
        println!("{:8.1}  {:6.1}  {name}", median(times), median(ratios));
    }
}

fn nanoseconds(call: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_nanos() as f64 / CALLS as f64
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn exp() -> Task {
    let call = || {
        for i in 0..CALLS {
            black_box(libm::exp(black_box(-(i as f64) / 100.0)));
        }
    };
    ("one exp, of libm".to_owned(), Box::new(call))
}

/// One key, with an event each `gap` microseconds.
fn check(text: &str, what: &str, gap: i64) -> Task {
    let limiter: AnyLimiter = text.parse().unwrap();
    let (mut state, mut now) = (limiter.initial(), 0);
    let call = move || {
        for _ in 0..CALLS {
            now += gap;
            let _ = black_box(limiter.check(&mut state, Time::from_micros(black_box(now)), 1.0));
        }
    };
    (format!("{text}, {what}"), Box::new(call))
}

/// Several limits on one key, with an event each `gap` microseconds.
fn policy(what: &str, gap: i64) -> Task {
    let (store, mut now) = (Store::new(POLICY.parse().unwrap(), 1), 0);
    let call = move || {
        for _ in 0..CALLS {
            now += gap;
            let time = Time::from_micros(black_box(now));
            let _ = black_box(store.check(&Event { time, cost: 1.0, fields: &() }));
        }
    };
    (format!("{POLICY}, {what}"), Box::new(call))
}

/// A hundred thousand keys in turn, in room for half of them.
fn keyed() -> Task {
    let limiter: AnyLimiter = "gcra 100/1s".parse().unwrap();
    let (mut keyed, mut now) = (Keyed::new(limiter, 50_000), 0);
    let call = move || {
        for _ in 0..CALLS {
            now += 10;
            let key = (now as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_000;
            let _ = black_box(keyed.check(&key, Time::from_micros(now), 1.0));
        }
    };
    ("gcra 100/1s, in a map of 50,000 of 100,000 keys".to_owned(), Box::new(call))
}
