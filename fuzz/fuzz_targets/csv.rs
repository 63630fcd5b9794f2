//! Arbitrary bytes as lines of CSV: what holds of them is in the tests, where the corpus is run too.
#![no_main]

#[path = "../../crates/ratescope-log/tests/it/log/fields_of_csv.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::hold(data));
