//! Arbitrary text as a file of rules, and as tests of rules.
#![no_main]

#[path = "../../crates/ratescope/tests/it/rules/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|text: &str| invariants::hold(text));
