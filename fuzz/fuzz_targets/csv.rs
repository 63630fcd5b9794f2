//! Arbitrary bytes as lines of CSV: the tests say what must hold for them, and run the corpus too.
#![no_main]

#[path = "../../crates/ratescope-log/tests/it/log/fields_of_csv.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
