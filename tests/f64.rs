//! The limiters that count, once more with `+ - * / floor` on f64 and nothing else, as a script
//! has them that runs in Redis; and held against the limiters themselves, within the domain that
//! `ratescope::limit::in_f64` derives.
//!
//! The files in `tests/f64` are the specification from which such a script is written. Times are
//! in whole microseconds, amounts in whole millionths of an event, and states as they are kept
//! (`ratescope::limit::kept`). A key that was never seen has no state.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "f64/blocks.rs"]
mod blocks;
#[path = "f64/bucket.rs"]
mod bucket;
#[path = "f64/counter.rs"]
mod counter;
#[path = "f64/domain.rs"]
mod domain;
#[path = "f64/product.rs"]
mod product;
#[path = "f64/window.rs"]
mod window;

use proptest::prelude::*;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::limit::kept::Kept;
use ratescope::{Limiter, Retry, Span, Time};

/// A limiter in f64 alone. `now` is in microseconds, `amount` in millionths.
trait Twin {
    type State: Clone;

    /// Whether an event passes, and the level with it, in events.
    fn peek(&self, state: &Option<Self::State>, now: f64, amount: f64) -> (bool, f64);

    /// Counts an event that was allowed or refused.
    fn record(&self, state: &mut Option<Self::State>, now: f64, amount: f64, allowed: bool);

    /// How long until it passes, in microseconds; `None` for never.
    fn retry_after(&self, state: &Option<Self::State>, now: f64, amount: f64) -> Option<f64>;

    /// How many millionths may still be counted.
    fn remaining(&self, state: &Option<Self::State>, now: f64) -> f64;
}

/// Where time ends within the domain.
const END: i64 = 1 << 52;

/// An event: when, how much, and whether it is decided here, or else whether it was allowed.
#[derive(Clone, Copy, Debug)]
struct Event {
    now: i64,
    amount: u64,
    allowed: Option<bool>,
}

/// Events on the scale of a limit of `size` millionths that takes `period` microseconds to come
/// back: of any cost, with time standing still and running backwards.
fn events(size: u64, period: i64) -> impl Strategy<Value = Vec<Event>> {
    let gap = prop_oneof![
        3 => Just(0.0),
        6 => magnitude(-4.0, 0.7),
        2 => magnitude(-4.0, 1.0).prop_map(|gap| -gap),
        1 => magnitude(-16.0, 3.0),
    ];
    let part = prop_oneof![2 => Just(0.0), 8 => magnitude(-4.0, 0.0), 1 => magnitude(0.0, 1.0)];
    let odd = prop_oneof![Just(0u64), Just(1), 2..1_000_000u64];
    let allowed = prop_oneof![
        9 => Just(None), 1 => any::<bool>().prop_map(Some)
    ];
    let begin = prop_oneof![0..END, Just(1_790_000_000_000_000)];
    (begin, prop::collection::vec((gap, part, odd, allowed), 1..60)).prop_map(
        move |(mut now, events)| {
            let event = |(gap, part, odd, allowed): (f64, f64, u64, _)| {
                now = now.saturating_add((gap * period as f64) as i64).clamp(0, END - 1);
                let most = if allowed == Some(true) { size } else { 1_000_000_000_000_000_000 };
                let amount = ((part * size as f64) as u64).saturating_add(odd).min(most);
                Event { now, amount, allowed }
            };
            events.into_iter().map(event).collect()
        },
    )
}

/// A number anywhere between 10^`from` and 10^`to`, each order of magnitude as likely.
fn magnitude(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(|exponent| 10f64.powf(exponent))
}

/// A limiter and its twin, each with its state.
struct Both<'a, T: Twin> {
    limiter: &'a AnyLimiter,
    state: &'a AnyState,
    twin: &'a T,
    other: &'a Option<T::State>,
}

impl<T: Twin> Both<'_, T> {
    /// Fails unless both say the same about an event; whether it passes.
    #[track_caller]
    fn peek(&self, now: i64, amount: u64) -> bool {
        let outcome = self.limiter.peek(self.state, Time::from_micros(now), amount as f64 / 1e6);
        let (allowed, level) = self.twin.peek(self.other, now as f64, amount as f64);
        let limiter = self.limiter;
        assert_eq!(allowed, outcome.is_allowed(), "{outcome}: {limiter}, {level} by its twin");
        let near = (level - outcome.level).abs() <= 1e-12 * level;
        assert!(near, "{}: {limiter}, {level} by its twin", outcome.level);
        allowed
    }

    /// Fails unless both say the same about an event, about what remains, about the largest cost
    /// that passes and about the moment from which the event does.
    #[track_caller]
    fn look(&self, event: Event) -> bool {
        let Both { limiter, state, twin, other } = *self;
        let Event { now, amount, allowed } = event;
        let (at, cost) = (Time::from_micros(now), amount as f64 / 1e6);
        let wait = match limiter.retry_after(state, at, cost) {
            Retry::After(wait) => Some(wait.secs()),
            Retry::Never => None,
        };
        let micros = twin.retry_after(other, now as f64, amount as f64);
        let same = micros.zip(wait).map_or(micros.is_none() && wait.is_none(), same_wait);
        assert!(same, "{wait:?} to wait: {limiter}, {micros:?} us by its twin");
        let remaining = twin.remaining(other, now as f64);
        assert_eq!(remaining / 1e6, limiter.remaining(state, at), "remaining: {limiter}");
        let most = remaining as u64;
        assert!(self.peek(now, most) || most == 0, "{limiter}: {most} are said to remain");
        assert!(!self.peek(now, most + 1), "{limiter}: no more than {most} are said to remain");
        // The instant from which it passes, and the one before.
        if let Some(then) = micros.map(|us| now.saturating_add(us as i64)).filter(|&at| at < END) {
            self.peek(then, amount);
            self.peek((then - 1).max(now), amount);
        }
        let passes = self.peek(now, amount);
        allowed.unwrap_or(passes)
    }
}

/// To the microsecond, but beyond 285 years to 15 digits.
fn same_wait((micros, seconds): (f64, f64)) -> bool {
    let other = Span::micros(micros as u64).secs();
    other == seconds || (seconds > 9e9 && (other - seconds).abs() < 1e-15 * seconds)
}

/// Fails unless both decide alike all along.
#[track_caller]
fn assert_twins<T: Twin>(limiter: &AnyLimiter, twin: &T, events: &[Event]) {
    assert_eq!(limiter.exact_in_f64(), Ok(()), "{limiter}");
    let (mut state, mut other) = (limiter.initial(), None);
    for &event in events {
        let allowed = Both { limiter, state: &state, twin, other: &other }.look(event);
        let (at, cost) = (Time::from_micros(event.now), event.amount as f64 / 1e6);
        limiter.record(&mut state, at, cost, allowed);
        twin.record(&mut other, event.now as f64, event.amount as f64, allowed);
    }
}

/// Fails unless both decide alike when two rules of one shape take turns on a state that is kept
/// from one event to the next.
#[track_caller]
fn assert_generations<T: Twin>(rules: [(&AnyLimiter, &T); 2], events: &[Event]) {
    let (mut kept, mut other) = (None::<Vec<u8>>, None);
    for (i, &event) in events.iter().enumerate() {
        // The first is asked twice as often.
        let (limiter, twin) = rules[usize::from(i % 3 == 2)];
        let restored = |bytes| limiter.restore(&Kept::from_bytes(bytes).unwrap()).unwrap();
        let before = kept.as_deref().map_or_else(|| limiter.initial(), restored);
        let allowed = Both { limiter, state: &before, twin, other: &other }.look(event);
        let (at, cost) = (Time::from_micros(event.now), event.amount as f64 / 1e6);
        let mut after = before.clone();
        limiter.record(&mut after, at, cost, allowed);
        if after != before || (allowed && event.amount > 0) {
            kept = Some(limiter.keep(&after, at).to_bytes());
        }
        twin.record(&mut other, event.now as f64, event.amount as f64, allowed);
    }
}
