//! The fixed window.

use crate::{Twin, assert_generations, assert_twins, events};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::fixed_window::FixedWindow;
use ratescope::{Rate, Span};

/// At most `most` millionths in `period` microseconds.
#[derive(Clone, Copy, Debug)]
struct Rule {
    most: f64,
    period: f64,
}

/// The number of a window and what was counted in it.
#[derive(Clone, Copy, Debug)]
struct State {
    number: f64,
    counted: f64,
}

impl Rule {
    /// The state as it stands at `now`.
    fn roll(&self, state: &Option<State>, now: f64) -> State {
        let number = (now / self.period).floor();
        match *state {
            Some(state) if state.number == number + 1.0 => state,
            // From further ahead, the clock was set back.
            Some(state) if state.number >= number => State { number, ..state },
            _ => State { number, counted: 0.0 },
        }
    }
}

impl Twin for Rule {
    type State = State;

    fn peek(&self, state: &Option<State>, now: f64, amount: f64) -> (bool, f64) {
        let level = self.roll(state, now).counted + amount;
        (level <= self.most, level / 1e6)
    }

    fn record(&self, state: &mut Option<State>, now: f64, amount: f64, allowed: bool) {
        let State { number, counted } = self.roll(state, now);
        let counted = counted + if allowed { amount } else { 0.0 };
        // Nothing counted is nothing to remember.
        *state = (counted > 0.0).then_some(State { number, counted });
    }

    fn retry_after(&self, state: &Option<State>, now: f64, amount: f64) -> Option<f64> {
        let state = self.roll(state, now);
        if amount > self.most {
            return None;
        }
        if state.counted + amount <= self.most {
            return Some(0.0);
        }
        let current = (now / self.period).floor();
        Some((state.number + 1.0 - current) * self.period - (now - current * self.period))
    }

    fn remaining(&self, state: &Option<State>, now: f64) -> f64 {
        let room = self.most - self.roll(state, now).counted;
        if room > 0.0 { room } else { 0.0 }
    }
}

fn window(most: u64, period: u64) -> (Rule, AnyLimiter) {
    let rate = Rate::new(most as f64 / 1e6, Span::micros(period)).unwrap();
    let rule = Rule { most: most as f64, period: period as f64 };
    (rule, AnyLimiter::FixedWindow(FixedWindow::new(rate).unwrap()))
}

/// A limit and a period of any size within the domain, one in three at its end.
pub(crate) fn numbers() -> impl Strategy<Value = (u64, u64)> {
    let power = |from: u32| prop_oneof![2 => from..52, 1 => 50..52u32];
    let most = power(11).prop_flat_map(|n| 1000..1u64 << n);
    (most, power(1).prop_flat_map(|n| 1..1u64 << n))
}

proptest! {
    #[test]
    fn it_decides_alike(
        ((most, period), events) in numbers()
            .prop_flat_map(|(most, period)| (Just((most, period)), events(most, period as i64))),
        other in numbers(),
    ) {
        let (rule, limiter) = window(most, period);
        assert_twins(&limiter, &rule, &events);
        let (other, changed) = window(other.0, period);
        assert_generations([(&limiter, &rule), (&changed, &other)], &events);
    }
}
