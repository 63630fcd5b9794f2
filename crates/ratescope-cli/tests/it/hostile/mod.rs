//! Input that somebody made to do harm: every parser takes time and memory in proportion to it, and
//! what the fuzzer begins with and what it found, as ordinary tests.

mod columns;
mod invariants;
mod logs;
mod packed;
mod requests;
mod texts;

use crate::growth;
use crate::seeds;

/// Reads the corpus of a fuzz target, whose files all have to hold.
#[track_caller]
fn corpus(target: &str, hold: impl Fn(&[u8])) {
    seeds::each(target, 3, hold);
}

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap()
}

#[test]
fn links_of_the_corpus_hold() {
    corpus("links", |data| invariants::links::hold(text(data)));
}

#[test]
fn policies_of_the_corpus_hold() {
    corpus("policies", |data| invariants::policies::hold(text(data)));
}

#[test]
fn limiters_of_the_corpus_hold() {
    corpus("limiters", invariants::limiters::hold);
}

#[test]
fn kept_states_of_the_corpus_hold() {
    corpus("kept", invariants::kept::hold);
}

#[test]
fn tables_of_the_corpus_hold() {
    corpus("csv", invariants::csv::hold);
}

#[test]
fn lists_of_addresses_of_the_corpus_hold() {
    corpus("forwarded", invariants::forwarded::hold);
}

/// Input that the fuzzer found, which did not hold at the time.
#[test]
fn what_was_found_holds() {
    // A cost that is no number.
    invariants::limiters::hold(b"sliding-log 3/1m\n\x18\0\x18\0\x18.\0\x18\0");
    // Blocks at the end of time.
    invariants::kept::hold(
        b"\x01\x0esliding-log/1s\x03\xc1\x8d\xb7\xb7\x01\xa0\x8d\x06\xc1\x8d\xb7\x01\xa37\x06\
          \xc1\x8d\xf7\x01",
    );
    // Periods of millions of years: the search for the time to retry took seconds.
    invariants::policies::hold("adaptive x6000015366 decay 00000002384155858d floor 16  per ll");
}

/// The seeds of kept states: each kind after some events. Run it with `--ignored` to write them again.
#[test]
#[ignore = "writes the seeds of the corpus"]
fn write_the_kept_seeds() {
    use ratescope::limit::any::AnyLimiter;
    use ratescope::{Limiter, Time};
    for form in ratescope::limit::FORMS {
        let limiter: AnyLimiter = form.example.parse().unwrap();
        let mut state = limiter.initial();
        for i in 0..3 {
            limiter.charge(&mut state, Time::from_micros(i * 100_000), 1.5).unwrap();
        }
        seeds::write("kept", form.name, limiter.keep(&state, Time::ZERO).to_bytes());
    }
}
