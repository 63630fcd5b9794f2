//! Arbitrary bytes as a kept state: the tests say what must hold for them, and run the corpus too.
#![no_main]

#[path = "../../crates/ratescope/tests/it/kept/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
