//! The same input gives the same bits everywhere: this is the native half, `tests/web.rs` the
//! other.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/committed.rs"]
mod committed;
mod common;

use committed::committed;

/// Fails unless `now` is what was committed under `name`.
#[track_caller]
fn assert_committed(name: &str, now: &str) {
    common::assert_same_lines(now, &committed(&format!("vectors/{name}"), now));
}

#[test]
fn the_replay_has_the_committed_bits() {
    assert_committed("bits.txt", &common::bits());
}

#[test]
fn the_limiters_make_the_committed_decisions() {
    assert_committed("limiters.txt", &common::limiters::decisions());
}

#[cfg(feature = "lab")]
#[test]
fn the_runs_have_the_committed_columns() {
    assert_committed("runs.txt", &common::runs::runs());
}
