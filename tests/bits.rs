//! The same input gives the same bits everywhere: this is the native half, `tests/web.rs` the
//! other.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::{env, fs};

/// Fails unless `now` is what was committed under `name`; writes it where it is missing.
#[track_caller]
fn assert_committed(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    if !path.exists() && env::var_os("CI").is_none() {
        fs::write(&path, now).unwrap();
    }
    let committed =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    common::assert_same_lines(now, &committed);
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
