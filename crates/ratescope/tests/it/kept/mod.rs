//! States that outlive their rule: when a limit changes, as bytes, and between
//! two generations of rules.

mod bytes;
mod changes;
mod generations;
mod invariants;
mod standing;

use crate::random;
use proptest::prelude::*;
use random::{KINDS, case, is_server, limiter, magnitude, period};
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, Span, Time};

/// A limiter and another one of the same shape, of 1 to 10,000 events in a millisecond to a year;
/// and their period. The limiters of servers have no other form.
fn pairs() -> impl Strategy<Value = ([AnyLimiter; 2], Span)> {
    let shape = |kind| case(kind, 10.0, Span::from_mins(1), 10.0).limiter.shape();
    let ours = || KINDS.into_iter().filter(|kind| !is_server(kind));
    let others = |a| ours().filter(move |b| shape(a) == shape(b)).map(move |b| [a, b]);
    let pairs = prop::sample::select(ours().flat_map(others).collect::<Vec<_>>());
    (pairs, [count(), count()], period(), [n(), n()]).prop_map(|([a, b], counts, period, n)| {
        let limiter = |kind, i: usize| case(kind, counts[i], period, n[i]).limiter;
        ([limiter(a, 0), limiter(b, 1)], period)
    })
}

/// Any limiter, and a period on whose scale it decides.
fn limiters() -> impl Strategy<Value = (AnyLimiter, Span)> {
    let kind = prop::sample::select(KINDS.as_slice());
    (kind, count(), period(), n())
        .prop_map(|(kind, count, period, n)| case(kind, count, period, n))
        .prop_map(|case| (case.limiter, case.period))
}

fn count() -> impl Strategy<Value = f64> {
    prop_oneof![(1u32..30).prop_map(f64::from), magnitude(0.0, 4.0)]
}

fn n() -> impl Strategy<Value = f64> {
    magnitude(0.0, 3.0)
}

/// One step of a limiter: a gap in periods, a cost, and the method that is called.
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
        let micros = (step.gap * period.as_secs_f64() * 1e6) as i64;
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
