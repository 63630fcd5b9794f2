//! Limiters and events of every scale, drawn at random.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::sliding_log::MAX_ENTRIES;
use ratescope::{Limiter, Outcome, Rate, Retry, Span, Time};

/// Every kind of limiter, with a limit of `{rate}`, a number `{n}` and spans in terms of its period. This is
/// the only list of them in the tests; `vectors/limiters.txt` has the decisions of each.
pub const KINDS: [&str; 26] = [
    "token-bucket {rate} burst {n}",
    "gcra {rate} burst {n}",
    "leaky-bucket {rate} queue {n}",
    "fixed-window {rate}",
    "fixed-window {rate} from {short}",
    "fixed-window {rate} from first",
    "sliding-window {rate} precision {short}",
    "sliding-counter {rate}",
    "sliding-log {rate}",
    "nginx {rate} burst {n} nodelay",
    "nginx {rate} burst {n} delay 1",
    "haproxy {rate} allowed",
    "exim {rate} leaky",
    "adaptive x3 decay {per} increase {long} floor {n}",
    "adaptive x3 decay {per} increase {days} floor {n} by hour day {day}",
    "exim {rate} strict",
    "earrrl {rate} half-life {short}",
    "earrrl {rate} half-life {long}",
    "adaptive x1.5 decay {per} increase {long} floor {n} strict",
    "adaptive x1.5 decay {per} increase {days} floor {n} by hour day {day} strict",
    "haproxy {rate}",
    "envoy {rate} burst {n}",
    "nginx {rate}",
    "fail2ban {rate} ban {per}",
    "fixed-window {rate} attempts",
    "fixed-window {rate} from first attempts",
];

/// Those that count in whole numbers.
pub const COUNTING: &[&str] = KINDS.split_at(9).0;

/// Those that count only allowed events. Envoy's bucket begins with the first event, be it
/// refused, and is as exact as the clock reads then.
pub const ALLOWED_ONLY: &[&str] = KINDS.split_at(15).0;

/// Those that measure a rate.
pub const RATES: &[&str] = KINDS.split_at(20).0.split_at(12).1;

/// A limiter and the scale that its events are of.
#[derive(Clone, Debug)]
pub struct Case {
    pub limiter: AnyLimiter,
    pub count: f64,
    pub period: Span,
}

pub fn limiter(text: &str) -> AnyLimiter {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// A limiter made from one of the [`KINDS`].
pub fn case(kind: &str, count: f64, period: Span, n: f64) -> Case {
    let (count, period, n) = within(kind, count, period, n);
    let times = |factor: f64| Span::try_from_secs_f64(period.as_secs_f64() * factor).unwrap();
    let text = kind
        .replace("{rate}", &Rate::new(count, period).unwrap().to_string())
        .replace("{per}", &period.to_string())
        .replace("{short}", &times(1.0 / 7.0).to_string())
        .replace("{long}", &times(20.0).to_string())
        .replace("{day}", &times(30.0).to_string())
        .replace("{days}", &times(90.0).to_string())
        .replace("{n}", &n.to_string());
    Case { limiter: limiter(&text), count, period }
}

pub fn is_server(kind: &str) -> bool {
    ["nginx", "haproxy", "envoy", "fail2ban"].iter().any(|server| kind.starts_with(server))
}

/// The nearest numbers that a kind takes: a log has a cap, and servers count whole events in whole
/// milliseconds.
fn within(kind: &str, count: f64, period: Span, n: f64) -> (f64, Span, f64) {
    let millis = |from: f64, to: f64| {
        Span::try_from_secs_f64((period.as_secs_f64() * 1e3).round().clamp(from, to) / 1e3).unwrap()
    };
    match kind.split(' ').next().unwrap() {
        "sliding-log" => (count.min(MAX_ENTRIES as f64), period, n),
        "nginx" if period.as_secs_f64() < 8.0 => (count.ceil(), Span::from_secs(1), n.ceil()),
        "nginx" => (count.ceil(), Span::from_mins(1), n.ceil()),
        "haproxy" => (count.ceil(), millis(2.0, 2_147_483_647.0), n),
        "fail2ban" => {
            let seconds =
                Span::try_from_secs_f64(period.as_secs_f64().round().clamp(1.0, 3e9)).unwrap();
            (count.ceil().max(2.0), seconds, n)
        }
        // A bucket of one token may hold a little less.
        "envoy" => (count.ceil(), millis(50.0, f64::INFINITY), n.ceil().max(2.0)),
        _ => (count, period, n),
    }
}

/// A limiter of any of `kinds`, of 1 to a million events in a millisecond to a year.
pub fn cases(kinds: &'static [&'static str]) -> impl Strategy<Value = Case> {
    let count = prop_oneof![(1u32..30).prop_map(f64::from), magnitude(0.0, 6.0)];
    let part = prop_oneof![Just(1.0), magnitude(-0.5, 1.0)];
    let kind = prop::sample::select(kinds);
    (kind, count, period(), part)
        .prop_map(|(kind, count, period, part)| case(kind, count, period, (count * part).max(1.0)))
}

/// A second, a minute, or anything from a millisecond to a year.
pub fn period() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::from_secs(1)),
        Just(Span::from_mins(1)),
        magnitude(-3.0, 7.5).prop_map(|s| Span::try_from_secs_f64(s).unwrap()),
    ]
}

/// The same, without limiters that no event of cost 1 ever passes: rule files refuse these.
pub fn admitting(kinds: &'static [&'static str]) -> impl Strategy<Value = Case> {
    let admits = |limiter: &AnyLimiter| {
        limiter.retry_after(&limiter.initial(), Time::ZERO, 1.0) != Retry::Never
    };
    cases(kinds).prop_filter("admits an event", move |case| admits(&case.limiter))
}

/// A number anywhere between 10^`from` and 10^`to`, each order of magnitude as likely.
pub fn magnitude(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(|exponent| 10f64.powf(exponent))
}

/// An event in terms of a limiter: the gap before it in periods, its cost in limits. A cost of
/// less than a hundredth of the limit stands for 1.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub gap: f64,
    pub cost: f64,
}

/// Steps with time running forwards or, if `backwards`, now and then the other way.
pub fn steps(backwards: bool) -> impl Strategy<Value = Vec<Step>> {
    let sign = if backwards { -1.0 } else { 1.0 };
    let gap = prop_oneof![
        3 => Just(0.0),
        6 => magnitude(-4.0, 0.7),
        1 => magnitude(-4.0, 0.7).prop_map(move |gap| sign * gap),
    ];
    let cost = prop_oneof![4 => Just(0.0), 4 => magnitude(-2.0, 0.05)];
    let step = (gap, cost).prop_map(|(gap, cost)| Step { gap, cost });
    prop::collection::vec(step, 1..60)
}

impl Case {
    pub fn cost(&self, step: Step) -> f64 {
        if step.cost < 0.01 { 1.0 } else { step.cost * self.count }
    }

    /// The steps as times and costs, from an origin that is no edge of a window.
    pub fn events(&self, steps: &[Step]) -> Vec<(Time, f64)> {
        let mut now = 1_234_567;
        let event = |step: &Step| {
            now += (step.gap * self.period.as_secs_f64() * 1e6) as i64;
            (Time::from_micros(now), self.cost(*step))
        };
        steps.iter().map(event).collect()
    }

    /// The outcomes of the steps, and the state that they leave at the time of the last.
    pub fn run(&self, steps: &[Step]) -> (Vec<Outcome>, <AnyLimiter as Limiter>::State, Time) {
        let (mut state, mut now, mut outcomes) = (self.limiter.initial(), Time::ZERO, Vec::new());
        for (at, cost) in self.events(steps) {
            now = at;
            outcomes.push(self.limiter.check(&mut state, at, cost));
        }
        (outcomes, state, now)
    }
}

/// Puts an event to a limiter. When it is refused, says when to come back.
pub fn refused<L: Limiter>(
    limiter: &L,
    state: &mut L::State,
    at: Time,
    cost: f64,
) -> Option<Retry> {
    let refused = !limiter.check(state, at, cost).is_allowed();
    refused.then(|| limiter.retry_after(state, at, cost))
}

pub fn micros_later(at: Time, micros: i64) -> Time {
    Time::from_micros(at.as_micros() + micros)
}
