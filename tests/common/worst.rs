//! The most that a sender can get through a limiter, counted exactly.

#![allow(dead_code, unreachable_pub)] // The tests and an example use their parts.

#[path = "exact.rs"]
pub(crate) mod exact;

use exact::ExactWindow;
use ratescope::{Limiter, Retry, Span, Time};

/// How many events of cost 1 pass in the same instant, from rest.
pub fn burst<L: Limiter>(limiter: &L, at: Time) -> u32 {
    let mut state = limiter.initial();
    (0..).take_while(|_| limiter.check(&mut state, at, 1.0).is_allowed()).count() as u32
}

/// The most that passes within `window`, counted exactly, from a sender that knows when it may
/// send and does so at once, from `from` on and for four windows.
pub fn greedy<L: Limiter>(limiter: &L, window: Span, from: Time) -> f64 {
    greedy_after(limiter, limiter.initial(), window, from)
}

/// As [`greedy`], from a state that an earlier event has left.
fn greedy_after<L: Limiter>(limiter: &L, mut state: L::State, window: Span, from: Time) -> f64 {
    let mut oracle = ExactWindow::new(window);
    let (mut now, mut most) = (from, 0.0f64);
    let end = from.after(Span::try_from_secs_f64(window.as_secs_f64() * 4.0).unwrap());
    while now < end {
        let Retry::After(wait) = limiter.retry_after(&state, now, 1.0) else { break };
        now = now.after(wait);
        assert!(limiter.check(&mut state, now, 1.0).is_allowed());
        most = most.max(oracle.add(now, 1.0));
    }
    most
}

/// The most of [`greedy`], wherever it begins in a window of the clock, or in one that began with
/// an event of its own.
pub fn greediest<L: Limiter>(limiter: &L, window: Span) -> f64 {
    let mut scouted = limiter.initial();
    let _ = limiter.check(&mut scouted, Time::ZERO, 1.0);
    let micros = window.as_secs_f64() * 1e6;
    let begins = (1..=60).map(|i| Time::from_micros((micros * f64::from(i) / 60.0) as i64 - 1));
    let most = |from| {
        let scouted = greedy_after(limiter, scouted.clone(), window, from);
        greedy(limiter, window, from).max(scouted)
    };
    begins.map(most).fold(0.0, f64::max)
}

/// How many of the events pass in the tenth window, when ten times `count` are sent in each.
pub fn hammered<L: Limiter>(limiter: &L, count: u32, window: Span) -> u32 {
    let (mut state, mut allowed) = (limiter.initial(), 0);
    let gap = window.as_secs_f64() * 1e6 / f64::from(count * 10);
    for i in 0..count * 100 {
        let now = Time::from_micros((f64::from(i) * gap) as i64);
        let passes = limiter.check(&mut state, now, 1.0).is_allowed();
        allowed += u32::from(passes && i >= count * 90);
    }
    allowed
}
