//! Any input in any format: what holds of it is in the tests, where the corpus is run too.
#![no_main]

#[allow(dead_code)] // The lines to begin with are for the tests.
#[path = "../../crates/ratescope-log/tests/it/log/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
