//! The same input gives the same bits in the page as natively, where `tests/bits.rs` wrote them.
//!
//! `wasm-pack test --headless --chrome -- --test web`
#![cfg(target_arch = "wasm32")]

mod common;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_replay_has_the_committed_bits() {
    let (now, committed) = (common::bits(), include_str!("vectors/bits.txt"));
    for (now, committed) in now.lines().zip(committed.lines()) {
        assert_eq!(now, committed);
    }
    assert_eq!(now.len(), committed.len());
}
