//! Arbitrary bytes as a kept state: what holds of them is in the tests, where the corpus is run too.
#![no_main]

#[path = "../../crates/ratescope/tests/it/kept/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
