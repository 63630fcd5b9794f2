//! The same input gives the same bits everywhere: this is the native half, `tests/web.rs` the
//! other.

use crate::committed;
use crate::common;
use committed::committed;

/// Fails unless `now` is what was committed under `name`.
#[track_caller]
fn assert_committed(name: &str, now: &str) {
    common::assert_same_lines(now, &committed(&format!("../../tests/vectors/{name}"), now));
}

#[test]
fn the_replay_has_the_committed_bits() {
    assert_committed("bits.txt", &common::bits());
}

#[test]
fn the_limiters_make_the_committed_decisions() {
    assert_committed("limiters.txt", &common::limiters::decisions());
}

#[test]
fn the_runs_have_the_committed_columns() {
    assert_committed("runs.txt", &crate::runs::runs());
}
