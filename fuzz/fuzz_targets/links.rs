//! Arbitrary text as links: what holds of them is in the tests, where the corpus is run too.
#![no_main]

#[path = "../../crates/ratescope-lab/tests/it/compare/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|text: &str| invariants::hold(text));
