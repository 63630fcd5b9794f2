//! Prints the table of the algorithms: what each remembers, and what a sender gets out of ten a
//! minute at best, measured.
//!
//! `cargo run --release --example limiters`

#[path = "../tests/common/worst.rs"]
mod worst;

use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, Span, Time};
use std::error::Error;

const TABLE: [(&str, &str); 11] = [
    ("exim 10/1m strict", "spam and abuse: who goes on over the limit gets nothing"),
    ("exim 10/1m leaky", "a limit on a rate that is worth looking at"),
    ("earrrl 10/1m", "abusers who do not let up; the longer the half-life, the longer the memory"),
    ("token-bucket 10/1m", "interfaces: a burst, then a steady rate"),
    ("gcra 10/1m", "the same, where each byte or a single write counts"),
    ("leaky-bucket 10/1m", "handing work on at a steady pace, without refusing it"),
    ("fixed-window 10/1m", "quotas and invoices, which are per day or month of the calendar"),
    ("sliding-window 10/1m precision 1s", "long windows in bounded memory"),
    ("sliding-counter 10/1m", "a window without hard edges, in three words"),
    ("sliding-log 10/1m", "few, costly events: no window ever has more"),
    ("adaptive x3 decay 1m increase 1h floor 10", "senders too different for one limit"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let minute = Span::minutes(1);
    println!(
        "| limiter | bytes a key | at once | in the worst minute | hammered, a minute | good for |"
    );
    println!("|---|---|---|---|---|---|");
    for (text, good_for) in TABLE {
        let limiter: AnyLimiter = text.parse()?;
        let (bytes, burst) = (bytes(&limiter), worst::burst(&limiter, Time::ZERO));
        let (worst, hammered) =
            (worst::greediest(&limiter, minute), worst::hammered(&limiter, 10, minute));
        println!("| `{text}` | {bytes} | {burst} | {worst} | {hammered} | {good_for} |");
    }
    Ok(())
}

/// The bytes of a state after a minute as busy as can be.
fn bytes(limiter: &AnyLimiter) -> usize {
    let mut state = limiter.fresh();
    for i in 0..60_000 {
        limiter.check(&mut state, Time::from_micros(i * 1_000), 1.0);
    }
    match &state {
        AnyState::Exim(state) => size_of_val(state),
        AnyState::RecentAverage(state) => size_of_val(state),
        AnyState::TokenBucket(state) => size_of_val(state),
        AnyState::Gcra(state) => size_of_val(state),
        AnyState::LeakyBucket(state) => size_of_val(state),
        AnyState::FixedWindow(state) => size_of_val(state),
        AnyState::SlidingCounter(state) => size_of_val(state),
        AnyState::Adaptive(state) => size_of_val(state),
        AnyState::SlidingWindow(state) | AnyState::SlidingLog(state) => {
            size_of_val(&**state) + 16 * state.len()
        }
        AnyState::AllOf(states) => size_of_val(states),
    }
}
