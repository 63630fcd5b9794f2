//! States that outlive their rule: what they become when a limit changes, as bytes, and between
//! two generations of rules.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "kept/bytes.rs"]
mod bytes;
#[path = "kept/changes.rs"]
mod changes;
#[path = "kept/generations.rs"]
mod generations;
#[path = "kept/standing.rs"]
mod standing;

use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, Rate, Span, Time};

/// Every kind, with a limit of `{rate}`, a number `{n}` and spans in terms of its period. Of each
/// pair the second has the shape of the first.
const PAIRS: [[&str; 2]; 12] = [
    ["exim {rate} leaky", "exim {count}/{per} strict"],
    ["exim {rate} strict", "exim {count}/{per} leaky"],
    ["earrrl {rate} half-life {long}", "earrrl {count}/{short} half-life {long}"],
    ["token-bucket {rate} burst {n}", "token-bucket {count}/{short} burst {n}"],
    ["gcra {rate} burst {n}", "leaky-bucket {count}/{long} queue {count}"],
    ["leaky-bucket {rate} queue {n}", "gcra {count}/{per} burst {n}"],
    ["fixed-window {rate}", "fixed-window {count}/{per}"],
    ["sliding-window {rate} precision {short}", "sliding-window {count}/{per} precision {short}"],
    ["sliding-counter {rate}", "sliding-counter {count}/{per}"],
    ["sliding-log {rate}", "sliding-log {count}/{per}"],
    [
        "adaptive x3 decay {per} increase {long} floor {n}",
        "adaptive x1.5 decay {per} increase {long} floor {count} strict",
    ],
    [
        "adaptive x3 decay {short} increase {long} floor {n} by hour day {day}",
        "adaptive x1.5 decay {short} increase {long} floor {count} by hour day {day} strict",
    ],
];

#[track_caller]
fn limiter(text: &str) -> AnyLimiter {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// A number anywhere between 10^`from` and 10^`to`, each order of magnitude as likely.
fn magnitude(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(|exponent| 10f64.powf(exponent))
}

/// A limiter and another one of the same shape, of 1 to 10,000 events in a millisecond to a year;
/// and their period.
fn pairs() -> impl Strategy<Value = ([AnyLimiter; 2], Span)> {
    let count = || prop_oneof![(1u32..30).prop_map(f64::from), magnitude(0.0, 4.0)];
    let period = prop_oneof![
        Just(Span::seconds(1)),
        Just(Span::minutes(1)),
        magnitude(-3.0, 7.5).prop_map(|s| Span::from_secs(s).unwrap()),
    ];
    let n = magnitude(0.0, 3.0);
    (prop::sample::select(&PAIRS[..]), count(), count(), period, n).prop_map(
        |(pair, count, other, period, n)| {
            let times = |factor: f64| Span::from_secs(period.secs() * factor).unwrap();
            let text = |kind: &str| {
                kind.replace("{rate}", &Rate::new(count, period).unwrap().to_string())
                    .replace("{per}", &period.to_string())
                    .replace("{short}", &times(1.0 / 7.0).to_string())
                    .replace("{long}", &times(20.0).to_string())
                    .replace("{day}", &times(4.0).to_string())
                    .replace("{count}", &other.to_string())
                    .replace("{n}", &n.to_string())
            };
            (pair.map(|kind| limiter(&text(kind))), period)
        },
    )
}

/// Those of real servers, which take whole numbers and have the states that the servers have.
const SERVERS: [&str; 4] =
    ["nginx 10/1s burst 20", "haproxy 20/10s", "haproxy 7/10s allowed", "envoy 7/1s burst 10"];

/// Any limiter, and a period on whose scale it decides.
fn limiters() -> impl Strategy<Value = (AnyLimiter, Span)> {
    let server = prop::sample::select(&SERVERS[..]);
    prop_oneof![
        3 => pairs().prop_map(|([limiter, _], period)| (limiter, period)),
        1 => server.prop_map(|text| (limiter(text), Span::seconds(10))),
    ]
}

/// What happens to a limiter: a gap in periods, a cost, and how it is put to it.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: f64,
    cost: f64,
    call: Call,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Check,
    Charge,
    /// Another limit refused it.
    Refused,
}

/// Steps with time running forwards and now and then the other way.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![
        3 => Just(0.0),
        6 => magnitude(-4.0, 0.7),
        1 => magnitude(-4.0, 1.0).prop_map(|gap| -gap),
    ];
    let cost = prop_oneof![6 => Just(1.0), 1 => Just(0.0), 3 => magnitude(-6.0, 3.0)];
    let call =
        prop_oneof![8 => Just(Call::Check), 1 => Just(Call::Charge), 1 => Just(Call::Refused)];
    let step = (gap, cost, call).prop_map(|(gap, cost, call)| Step { gap, cost, call });
    prop::collection::vec(step, 1..50)
}

/// The times of the steps, on from `now`.
fn times(steps: &[Step], period: Span, mut now: Time) -> Vec<(Time, Step)> {
    let at = |step: &Step| {
        let micros = (step.gap * period.secs() * 1e6) as i64;
        now = Time::from_micros(now.as_micros() + micros);
        (now, *step)
    };
    steps.iter().map(at).collect()
}

fn apply(limiter: &AnyLimiter, state: &mut AnyState, (now, step): (Time, Step)) -> bool {
    match step.call {
        Call::Check => return limiter.check(state, now, step.cost).is_allowed(),
        Call::Charge => limiter.charge(state, now, step.cost).unwrap(),
        Call::Refused => limiter.record(state, now, step.cost, false),
    }
    step.call == Call::Charge
}

/// A time that is no edge of a window.
const START: Time = Time::from_micros(1_234_567);

/// The state after the steps from [`START`], and the time of the last.
fn run(limiter: &AnyLimiter, steps: &[Step], period: Span) -> (AnyState, Time) {
    let (mut state, mut now) = (limiter.initial(), START);
    for (at, step) in times(steps, period, now) {
        apply(limiter, &mut state, (at, step));
        now = at;
    }
    (state, now)
}
