//! The token bucket, GCRA and the leaky bucket.

use crate::{END, Event, Twin, assert_generations, assert_twins, events, same_wait};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::gcra::Gcra;
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::limit::token_bucket::TokenBucket;
use ratescope::{Decision, Limiter, Rate, Span, Time};

/// From here on, a debt is rounded up to whole millionths: 2^52.
const EXACT: f64 = 4_503_599_627_370_496.0;

/// `a` millionths drain in `b` microseconds, in lowest terms; the bucket holds `size` millionths.
#[derive(Clone, Copy, Debug)]
struct Rule {
    a: f64,
    b: f64,
    size: f64,
}

/// `whole` millionths and `part / of` of one more, as of `at`.
#[derive(Clone, Copy, Debug)]
struct State {
    at: f64,
    whole: f64,
    part: f64,
    of: f64,
}

impl Rule {
    /// The state as of `now`, and whether the clock was set back.
    fn fill(&self, state: &Option<State>, now: f64) -> (State, bool) {
        let mut state = state.unwrap_or(State { at: now, whole: 0.0, part: 0.0, of: self.b });
        // Another rule may have left a fraction in other units.
        if state.of != self.b {
            (state.part, state.of) = (0.0, self.b);
        }
        let since = now - state.at;
        let times = (since / self.b).floor();
        let rest = (since - times * self.b) * self.a;
        let more = (rest / self.b).floor();
        let drained = times * self.a + more;
        state.at = now;
        if -drained > self.size {
            return (state, true);
        }
        state.whole -= drained;
        state.part -= rest - more * self.b;
        if state.part < 0.0 {
            (state.whole, state.part) = (state.whole - 1.0, state.part + self.b);
        }
        if state.whole < 0.0 {
            (state.whole, state.part) = (0.0, 0.0);
        }
        (state, false)
    }

    /// How long that takes to drain, in microseconds, rounded up.
    fn time(&self, whole: f64, part: f64) -> f64 {
        if whole < 0.0 {
            return 0.0;
        }
        let times = (whole / self.a).floor();
        let rest = (whole - times * self.a) * self.b + part;
        times * self.b - (-rest / self.a).floor()
    }

    /// How long an event stands in the queue of a leaky bucket.
    fn wait(&self, state: &Option<State>, now: f64) -> f64 {
        let (State { whole, part, .. }, _) = self.fill(state, now);
        self.time(whole, part)
    }
}

impl Twin for Rule {
    type State = State;

    fn peek(&self, state: &Option<State>, now: f64, amount: f64) -> (bool, f64) {
        let (State { whole, part, .. }, _) = self.fill(state, now);
        let filled = whole + amount;
        let fits = filled < self.size || (filled == self.size && part == 0.0);
        (fits, (filled + part / self.b) / 1e6)
    }

    fn record(&self, state: &mut Option<State>, now: f64, amount: f64, allowed: bool) {
        let (mut filled, set_back) = self.fill(state, now);
        let counts = allowed && amount > 0.0;
        if !counts && !set_back {
            return;
        }
        if let Some(latest) = state.filter(|state| state.at > now && !set_back) {
            let part = if latest.of == self.b { latest.part } else { 0.0 };
            filled = State { part, of: self.b, ..latest };
        }
        filled.whole += if counts { amount } else { 0.0 };
        if filled.whole >= EXACT && filled.part > 0.0 {
            (filled.whole, filled.part) = (filled.whole + 1.0, 0.0);
        }
        *state = Some(filled);
    }

    fn retry_after(&self, state: &Option<State>, now: f64, amount: f64) -> Option<f64> {
        let (State { whole, part, .. }, _) = self.fill(state, now);
        (amount <= self.size).then(|| self.time(whole + amount - self.size, part))
    }

    fn remaining(&self, state: &Option<State>, now: f64) -> f64 {
        let (State { whole, part, .. }, _) = self.fill(state, now);
        let room = self.size - whole - if part > 0.0 { 1.0 } else { 0.0 };
        if room > 0.0 { room } else { 0.0 }
    }
}

/// A bucket of `count` millionths in `per` microseconds, in each of its forms.
fn bucket(count: u64, per: u64, size: u64) -> (Rule, [AnyLimiter; 3]) {
    let (mut a, mut b) = (count as f64, per as f64);
    while b > 0.0 {
        (a, b) = (b, a - (a / b).floor() * b);
    }
    let rule = Rule { a: count as f64 / a, b: per as f64 / a, size: size as f64 };
    let rate = Rate::new(count as f64 / 1e6, Span::micros(per)).unwrap();
    let size = size as f64 / 1e6;
    let limiters = [
        AnyLimiter::TokenBucket(TokenBucket::new(rate, size).unwrap()),
        AnyLimiter::Gcra(Gcra::new(rate, size).unwrap()),
        AnyLimiter::LeakyBucket(LeakyBucket::new(rate, size).unwrap()),
    ];
    (rule, limiters)
}

/// Numbers of events and seconds as people choose them, and any that are within the domain: from
/// 2^n millionths in 2^(53-n) microseconds down.
fn numbers() -> impl Strategy<Value = (u64, u64, u64)> {
    let any = (10..53u32).prop_flat_map(|n| {
        let size = (10..51u32).prop_flat_map(|n| 1 << 10..1u64 << (n + 1));
        (1000..(1u64 << n).max(1001), 1..1u64 << (53 - n), size)
    });
    let per = prop_oneof![Just(1u64), Just(60), Just(3600), Just(86_400), 1..3_000_000u64];
    let chosen = (1..1_000_000u64, per, 1..1_000_000u64)
        .prop_map(|(count, per, size)| (count * 1_000_000, per * 1_000_000, size * 1_000_000));
    prop_oneof![any, chosen]
}

/// Numbers, and events on their scale.
fn cases() -> impl Strategy<Value = ((u64, u64, u64), Vec<Event>)> {
    numbers().prop_flat_map(|(count, per, size)| {
        let drained = size as f64 / count as f64 * per as f64;
        let events = events(size, drained.clamp(1.0, END as f64) as i64);
        let exact = move |mut events: Vec<Event>| {
            // What is charged sixty times stays below 2^52.
            let owed = |event: &&mut Event| size >= 1 << 46 && event.allowed == Some(true);
            events.iter_mut().filter(owed).for_each(|event| event.allowed = None);
            events
        };
        (Just((count, per, size)), events.prop_map(exact))
    })
}

proptest! {
    #[test]
    fn it_decides_alike(((count, per, size), events) in cases(), form in 0..3usize) {
        let (rule, limiters) = bucket(count, per, size);
        assert_twins(&limiters[form], &rule, &events);
    }

    #[test]
    fn generations_decide_alike(
        ((count, per, size), events) in cases(),
        other in numbers(),
        near in prop_oneof![Just(None), (1u64..5, 1u64..5).prop_map(Some)],
        forms in (0..3usize, 0..3usize),
    ) {
        // Half of them change by a small factor, as limits do.
        let (more, larger, far) = match near {
            Some((more, larger)) => (count * more, size * larger, per),
            None => (other.0, other.2, other.1),
        };
        let (one, limiters) = bucket(count, per, size);
        let (two, others) = bucket(more, far, larger);
        prop_assume!(others[0].exact_in_f64().is_ok());
        assert_generations([(&limiters[forms.0], &one), (&others[forms.1], &two)], &events);
    }

    /// A leaky bucket's event that may pass also waits as long.
    #[test]
    fn the_queue_is_as_long(((count, per, size), events) in cases()) {
        let (rule, [.., queue]) = bucket(count, per, size);
        let (mut state, mut twin) = (queue.initial(), None);
        for Event { now, amount, .. } in events {
            let wait = rule.wait(&twin, now as f64);
            let outcome = queue.check(&mut state, Time::from_micros(now), amount as f64 / 1e6);
            if let Decision::Allowed { wait: queued } = outcome.decision {
                prop_assert!(same_wait((wait, queued.secs())), "{wait} and {queued}");
            }
            rule.record(&mut twin, now as f64, amount as f64, outcome.is_allowed());
        }
    }
}
