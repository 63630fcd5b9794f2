//! Prints BENCHMARKS.md's table of the algorithms: the memory of each, and the events that a sender gets through at ten
//! a minute, measured.
//!
//! `cargo run --release --example limiters`

#[path = "../../../tests/common/worst.rs"]
mod worst;

use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, ParseError, Span, Time};

const LIMITERS: [(&str, &str); 17] = [
    ("exim 10/1m strict", "abuse: a sender that stays over the limit gets nothing until it stops"),
    ("exim 10/1m leaky", "a burst, then a steady rate, and a measured rate to look at"),
    ("earrrl 10/1m", "abuse that goes on and on; the half-life is how long it is remembered"),
    ("token-bucket 10/1m", "APIs: a burst, then a steady rate"),
    ("gcra 10/1m", "the same decisions, under the name that networks know"),
    ("leaky-bucket 10/1m", "handing work on at a steady pace: what passes waits in a queue"),
    ("fixed-window 10/1m", "quotas and invoices, which are per hour or day of the clock"),
    (
        "sliding-window 10/1m precision 1s",
        "long windows: 16 bytes a block in use, whatever the limit",
    ),
    ("sliding-counter 10/1m", "a window without hard edges, in three words"),
    ("sliding-log 10/1m", "few, costly events: 16 bytes an event, and never more in any window"),
    ("adaptive x3 decay 1m increase 1h floor 10", "senders too different for one limit"),
    ("adaptive x3 decay 1m increase 7d floor 10 by hour", "the same, if nights differ from days"),
    ("nginx 10/1m burst 9 nodelay", "what nginx would have done"),
    ("haproxy 10/1m", "what HAProxy would have done, counting every request"),
    ("haproxy 10/1m allowed", "what HAProxy would have done, counting those it let through"),
    ("envoy 10/1m", "what Envoy would have done"),
    ("fail2ban 10/1m", "what fail2ban would have done: ten failures, and banned for ten minutes"),
];

fn main() -> Result<(), ParseError> {
    print!("{}", table()?);
    Ok(())
}

/// The table, in Markdown.
pub(crate) fn table() -> Result<String, ParseError> {
    let minute = Span::from_mins(1);
    let mut table =
        "| limiter | bytes of state | at once | worst minute | never more than | hammered \
                     | good for |\n|---|--:|--:|--:|--:|--:|---|\n"
            .to_owned();
    for (text, good_for) in LIMITERS {
        let limiter: AnyLimiter = text.parse()?;
        let bytes = [1, 6000].map(|millis| bytes(&limiter, millis)).into_iter().fold(0, usize::max);
        let burst = worst::burst(&limiter, Time::ZERO);
        let worst = worst::greediest(&limiter, minute);
        // Whole events pass, so a bound of 20.5 is one of 20.
        let bound = limiter.max_admitted(minute, 1.0).floor();
        assert!(worst <= bound, "{text}: {worst} of at most {bound}");
        let bound = if bound.is_finite() { bound.to_string() } else { "no bound".to_owned() };
        let hammered = worst::hammered(&limiter, 10, minute);
        table += &format!(
            "| `{text}` | {bytes} | {burst} | {worst} | {bound} | {hammered} | {good_for} |\n"
        );
    }
    Ok(table)
}

/// The bytes of a state after a minute with an event each so many milliseconds: a limiter that remembers events or
/// blocks has the most when all are allowed, and far apart.
fn bytes(limiter: &AnyLimiter, millis: i64) -> usize {
    let mut state = limiter.initial();
    for at in (0..60_000).step_by(millis as usize) {
        let _ = limiter.check(&mut state, Time::from_micros(at * 1000), 1.0);
    }
    match &state {
        AnyState::Exim(state) => size_of_val(state),
        AnyState::Earrrl(state) => size_of_val(state),
        AnyState::TokenBucket(state) => size_of_val(state),
        AnyState::Gcra(state) => size_of_val(state),
        AnyState::LeakyBucket(state) => size_of_val(state),
        AnyState::FixedWindow(state) => size_of_val(state),
        AnyState::SlidingCounter(state) => size_of_val(state),
        AnyState::Adaptive(state) => size_of_val(state),
        AnyState::ByHour(state) => size_of_val(&**state),
        AnyState::Nginx(state) => size_of_val(state),
        AnyState::Haproxy(state) => size_of_val(state),
        AnyState::Envoy(state) => size_of_val(state),
        AnyState::Fail2ban(state) => size_of_val(state),
        AnyState::SlidingWindow(state) | AnyState::SlidingLog(state) => state.bytes(),
        // One that was added after this was written.
        other => size_of_val(other),
    }
}
