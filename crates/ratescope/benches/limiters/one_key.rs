//! The time of a limiter's decision about one key, beside its formula.

use crate::formulas;
use crate::turns::{in_turn, median, ratio};
use ratescope::limit::any::AnyLimiter;
use ratescope::{Limiter, Time};
use std::cell::Cell;
use std::hint::black_box;

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

/// How many decisions are timed at once.
const CALLS: usize = 2000;

/// An event each so many microseconds: half of the limit, and ten times the limit.
const GAPS: [i64; 2] = [20_000, 1_000];

type Call<'a> = Box<dyn FnMut(usize) -> usize + 'a>;

/// Prints a row a limiter.
pub(crate) fn print(rounds: usize) {
    println!("| one key | allowed | of the formula | refused | of the formula | of allowed |");
    println!("|---|--:|--:|--:|--:|--:|");
    for text in LIMITERS {
        let passed: [Cell<usize>; 4] = Default::default();
        let [a, b, c, d] = &passed;
        let mut calls = vec![limiter(text, GAPS[0], a), limiter(text, GAPS[1], b)];
        calls.extend(formula(text, GAPS[0], c));
        calls.extend(formula(text, GAPS[1], d));
        let times = in_turn(rounds, &mut calls);
        drop(calls);
        let of_formula = |i: usize| match times.get(2 + i) {
            Some(formula) => {
                let (ours, theirs) = (passed[i].get() as f64, passed[2 + i].get() as f64);
                assert!((ours - theirs).abs() <= 0.02 * theirs, "{text}: {ours}, formula {theirs}");
                format!("{:.2}", ratio(&times[i], formula))
            }
            None => String::new(),
        };
        let ns = |i: usize| median(times[i].iter().copied());
        println!(
            "| `{text}` | {:.1} ns | {} | {:.1} ns | {} | {:.2} |",
            ns(0),
            of_formula(0),
            ns(1),
            of_formula(1),
            ratio(&times[1], &times[0]),
        );
    }
}

/// The limiter, as a service that knows which one it is would call it.
fn limiter<'a>(text: &str, gap: i64, passed: &'a Cell<usize>) -> Call<'a> {
    fn check<'a, L: Limiter + 'a>(limiter: L, gap: i64, passed: &'a Cell<usize>) -> Call<'a> {
        let mut state = limiter.initial();
        timed(gap, passed, move |now| {
            black_box(limiter.check(&mut state, Time::from_micros(now), 1.0)).is_allowed()
        })
    }
    match text.parse().unwrap() {
        AnyLimiter::Exim(limiter) => check(limiter, gap, passed),
        AnyLimiter::Earrrl(limiter) => check(limiter, gap, passed),
        AnyLimiter::TokenBucket(limiter) => check(limiter, gap, passed),
        AnyLimiter::Gcra(limiter) => check(limiter, gap, passed),
        AnyLimiter::LeakyBucket(limiter) => check(limiter, gap, passed),
        AnyLimiter::FixedWindow(limiter) => check(limiter, gap, passed),
        AnyLimiter::SlidingWindow(limiter) => check(limiter, gap, passed),
        AnyLimiter::SlidingCounter(limiter) => check(limiter, gap, passed),
        AnyLimiter::SlidingLog(limiter) => check(limiter, gap, passed),
        AnyLimiter::Adaptive(limiter) => check(limiter, gap, passed),
        other => check(other, gap, passed),
    }
}

/// The formula of the limiter, if it is one of those that have one.
fn formula<'a>(text: &str, gap: i64, passed: &'a Cell<usize>) -> Option<Call<'a>> {
    let (limit, second) = black_box((100.0, 1.0));
    fn ask<'a>(mut formula: impl FnMut(i64) -> (bool, f64) + 'a) -> impl FnMut(i64) -> bool + 'a {
        move |now| black_box(formula(now)).0
    }
    Some(match text.split_whitespace().next()? {
        "exim" => timed(gap, passed, ask(formulas::exim(limit, second, text.ends_with("leaky")))),
        "earrrl" => timed(gap, passed, ask(formulas::earrrl(limit, second))),
        "token-bucket" => timed(gap, passed, ask(formulas::token_bucket(limit, limit))),
        "gcra" => timed(gap, passed, ask(formulas::gcra(limit, limit))),
        _ => return None,
    })
}

fn timed<'a>(
    gap: i64,
    passed: &'a Cell<usize>,
    mut decide: impl FnMut(i64) -> bool + 'a,
) -> Call<'a> {
    let mut now = 0;
    Box::new(move |_| {
        let passes = (0..CALLS).filter(|_| {
            now += gap;
            decide(black_box(now))
        });
        passed.set(passed.get() + passes.count());
        CALLS
    })
}
