//! Arbitrary text as policies: the tests say what must hold for them, and run the corpus too.
#![no_main]

#[path = "../../crates/ratescope/tests/it/policy/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|text: &str| invariants::hold(text));
