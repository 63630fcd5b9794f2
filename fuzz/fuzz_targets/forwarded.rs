//! Arbitrary bytes as a list of Forwarded: what holds of them is in the tests, where the corpus is run too.
#![no_main]

#[path = "../../crates/ratescope-tower/tests/it/middleware/listed.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
