//! The same input gives the same bits everywhere: this is the native half, `tests/web.rs` the
//! other.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::{env, fs};

#[test]
fn the_replay_has_the_committed_bits() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/bits.txt");
    let now = common::bits();
    if !path.exists() && env::var_os("CI").is_none() {
        fs::write(&path, &now).unwrap();
    }
    let committed =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for (now, committed) in now.lines().zip(committed.lines()) {
        assert_eq!(now, committed);
    }
    assert_eq!(now.len(), committed.len());
}
