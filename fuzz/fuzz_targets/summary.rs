//! Arbitrary bytes as the summary of a log.
#![no_main]

#[path = "../../crates/ratescope-lab/tests/it/tune/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
