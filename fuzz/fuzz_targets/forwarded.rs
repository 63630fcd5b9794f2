//! Arbitrary bytes as a list of Forwarded: the tests say what must hold for them, and run the corpus too.
#![no_main]

#[path = "../../crates/ratescope-tower/tests/it/middleware/listed.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
