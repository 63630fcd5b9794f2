//! Any input in any format: the tests say what must hold for it, and run the corpus too.
#![no_main]

#[allow(dead_code)] // The lines to begin with are for the tests.
#[path = "../../crates/ratescope-log/tests/it/log/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
