//! Arbitrary bytes as a list of addresses: what holds of them is in the tests, where the corpus is run
//! too.
#![no_main]

#[path = "../../tests/hostile/invariants/forwarded.rs"]
#[allow(dead_code)] // Only what the list means is used.
mod forwarded;
#[path = "../../tests/hostile/invariants/headers.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
