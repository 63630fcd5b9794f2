//! The sliding counter.

use crate::product::{divided, divided_up, less};
use crate::{Twin, assert_generations, assert_twins, events};
use proptest::prelude::*;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::sliding_counter::SlidingCounter;
use ratescope::{Rate, Span};

/// At most `most` millionths in `period` microseconds.
#[derive(Clone, Copy, Debug)]
struct Rule {
    most: f64,
    period: f64,
}

/// The latest time seen, the count of its window and of the one before.
#[derive(Clone, Copy, Debug)]
struct State {
    at: f64,
    previous: f64,
    current: f64,
}

impl Rule {
    /// The state as it stands at `now`.
    fn roll(&self, state: &Option<State>, now: f64) -> State {
        let Some(state) = *state else { return State { at: now, previous: 0.0, current: 0.0 } };
        if state.at - now > self.period {
            // The clock was set back, and the level moves with it.
            let level = state.current + self.faded(&state);
            return State { at: now, previous: 0.0, current: level };
        }
        let at = if now > state.at { now } else { state.at };
        match (at / self.period).floor() - (state.at / self.period).floor() {
            0.0 => State { at, ..state },
            1.0 => State { at, previous: state.current, current: 0.0 },
            _ => State { at, previous: 0.0, current: 0.0 },
        }
    }

    /// How much of the current window is left.
    fn left(&self, at: f64) -> f64 {
        self.period - (at - (at / self.period).floor() * self.period)
    }

    /// What is left of the previous count, rounded up.
    fn faded(&self, state: &State) -> f64 {
        divided_up(state.previous, self.left(state.at), self.period)
    }

    fn fits(&self, state: &State, amount: f64) -> bool {
        let room = self.most - state.current - amount;
        room >= 0.0 && !less(room, self.period, state.previous, self.left(state.at))
    }

    /// How much of a window must be left, at most, for `fading` to fit beside `standing`.
    fn fits_from(&self, fading: f64, standing: f64) -> f64 {
        if fading == 0.0 {
            return self.period;
        }
        divided(self.most - standing, self.period, fading, self.period)
    }
}

impl Twin for Rule {
    type State = State;

    fn peek(&self, state: &Option<State>, now: f64, amount: f64) -> (bool, f64) {
        let state = self.roll(state, now);
        let previous = state.previous * (self.left(state.at) / self.period);
        (self.fits(&state, amount), (previous + state.current + amount) / 1e6)
    }

    fn record(&self, state: &mut Option<State>, now: f64, amount: f64, allowed: bool) {
        let State { at, previous, current } = self.roll(state, now);
        let current = current + if allowed { amount } else { 0.0 };
        // Nothing counted is nothing to remember.
        let any = previous > 0.0 || current > 0.0;
        *state = any.then_some(State { at, previous, current });
    }

    fn retry_after(&self, state: &Option<State>, now: f64, amount: f64) -> Option<f64> {
        if amount > self.most {
            return None;
        }
        let state = self.roll(state, now);
        if self.fits(&state, amount) {
            return Some(0.0);
        }
        // The previous count fades in what is left of this window, or else the current one does
        // in the next.
        let (left, standing) = (self.left(state.at), state.current + amount);
        let wait = if standing <= self.most {
            left - self.fits_from(state.previous, standing)
        } else {
            left + self.period - self.fits_from(state.current, amount)
        };
        Some(state.at - now + wait)
    }

    fn remaining(&self, state: &Option<State>, now: f64) -> f64 {
        let state = self.roll(state, now);
        let room = self.most - state.current - self.faded(&state);
        if room > 0.0 { room } else { 0.0 }
    }
}

fn counter(most: u64, period: u64) -> (Rule, AnyLimiter) {
    let rate = Rate::new(most as f64 / 1e6, Span::micros(period)).unwrap();
    let rule = Rule { most: most as f64, period: period as f64 };
    (rule, AnyLimiter::SlidingCounter(SlidingCounter::new(rate).unwrap()))
}

proptest! {
    #[test]
    fn it_decides_alike(
        ((most, period), events) in crate::window::numbers()
            .prop_flat_map(|(most, period)| (Just((most, period)), events(most / 8, period as i64))),
        other in crate::window::numbers(),
    ) {
        let (rule, limiter) = counter(most, period);
        assert_twins(&limiter, &rule, &events);
        let (other, changed) = counter(other.0, period);
        assert_generations([(&limiter, &rule), (&changed, &other)], &events);
    }
}
