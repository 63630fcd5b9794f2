//! Arbitrary text as policies: what holds of them is in the tests, where the corpus is run too.
#![no_main]

#[path = "../../crates/ratescope/tests/it/policy/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|text: &str| invariants::hold(text));
