//! Any headers of proxies: the tests say what must hold for them, and run the corpus too.
#![no_main]

#[path = "../../crates/ratescope-tower/tests/it/middleware/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
